"""What covers an answer, by the blocks that a method shows."""

from __future__ import annotations

from stitch.bench.blocks import Blocks, block_figures, measure_blocks, step_texts
from stitch.bench.records import Record
from stitch.bench.scoring import all_in, by_budget, recall_in, shown_within
from stitch.core import Step, Trajectory


def record(**fields: object) -> Record:
    given = {
        "question": "q", "trajectory": "t", "type": "list", "text": "What?",
        "gold_answer": "red kite", "evidence": ("1", "2"),
        "steps": ("1", "3", "2"), "step_tokens": (600, 10, 600), "milliseconds": 1.0,
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


def test_a_step_counts_where_a_text_with_its_words_fits() -> None:
    shown = record(pieces=((("1",), 300), (("2", "3"), 150), (("4",), 40)))
    assert shown_within(shown, 512) == ["1", "2", "3", "4"]
    assert recall_in(shown, 512) == 1.0
    assert recall_in(shown, 320) == 0.5
    assert all_in(shown, 320) == 0.0


def test_what_is_shown_in_fewer_tokens_need_not_be_the_beginning_of_what_is_shown_in_more() -> None:
    shown = record(pieces=((("1",), 300), (("2",), 150)), pieces_inside={512: ((("2",), 100), (("4",), 40))})
    assert shown_within(shown, 512) == ["2", "4"]
    assert shown_within(shown, 1024) == ["1", "2"]


def test_without_texts_whole_steps_have_to_fit() -> None:
    assert recall_in(record(), 1024) == 0.5
    assert recall_in(record(), 2048) == 1.0
    assert by_budget([record()])["recall_in"] == {"512": 0.0, "1024": 0.5, "2048": 1.0, "4096": 1.0}


def test_what_steps_say_is_told_by_id() -> None:
    trajectory = Trajectory(id="t", steps=(Step(id="a", role="user", content="hello"),))
    assert step_texts(trajectory) == {"a": "hello"}
