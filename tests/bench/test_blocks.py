"""What covers an answer, by the blocks that a method shows."""

from __future__ import annotations

from stitch.bench.blocks import Blocks, block_figures, measure_blocks, step_texts
from stitch.bench.metrics.scores import Unscored
from stitch.bench.records import Record
from stitch.bench.scoring import all_in, by_budget, precision_in
from stitch.core import Step, Trajectory


def record(**fields: object) -> Record:
    given = {
        "question": "q", "trajectory": "t", "type": "list", "text": "What?",
        "gold_answer": "red kite", "evidence": ("1", "2"),
        "steps": ("1", "3", "2"), "milliseconds": 1.0,
    }  # fmt: skip
    return Record.model_validate(given | fields)


def test_the_first_blocks_that_hold_all_words_cover_the_answer() -> None:
    found = measure_blocks("red kite", Blocks(("a red bird", "nothing", "a kite", "a red kite"), (10, 5, 7, 9)))
    assert found["covers"] == (3, 22)


def test_dense_is_what_fits_the_budget() -> None:
    found = measure_blocks("red kite", Blocks(("a red kite", "x" * 9, "a kite"), (1000, 500, 20)))
    assert found["density"] == (0.5, 0.5, 0.0)


def test_without_an_answer_nothing_is_measured() -> None:
    assert measure_blocks(None, Blocks(("a",), (1,))) == {}


def test_the_figures_tell_how_many_answers_are_covered() -> None:
    covered = record(covers=(2, 30), density=(0.5, 0.0, 0.25))
    missed = record(density=(0.0, 0.0, 0.0))
    figures = block_figures([covered, missed, record()])
    assert figures["covered"] == 0.5
    assert figures["cover_tokens"] == 30
    assert figures["cover_blocks"] == 2
    assert figures["multi_hit"] == 0.125
    assert block_figures([record()])["cover_tokens"] is None


def test_evidence_counts_where_something_of_it_stands_in_the_context() -> None:
    shown = record(shown={512: ("1", "3"), 1024: ("3",), 2048: (), 4096: ("1", "2")})
    told = by_budget([shown])
    assert told["recall_in"] == {"512": 0.5, "1024": 0.0, "2048": 0.0, "4096": 1.0}
    assert told["all_in"] == {"512": 0.0, "1024": 0.0, "2048": 0.0, "4096": 1.0}
    assert [precision_in(shown, budget) for budget in (512, 1024, 2048, 4096)] == [0.5, 0.0, 0.0, 1.0]


def test_a_run_that_does_not_tell_what_stood_in_its_contexts_has_no_recall_in_them() -> None:
    assert set(by_budget([record()])["recall_in"].values()) == {None}
    assert isinstance(all_in(record(), 512), Unscored)


def test_what_steps_say_is_told_by_id() -> None:
    trajectory = Trajectory(id="t", steps=(Step(id="a", role="user", content="hello"),))
    assert step_texts(trajectory) == {"a": "hello"}
