"""Memories as methods of the benchmark, the lens of themes among them, and by what they ranked."""

import re
from pathlib import Path

from stitch import open_memory
from stitch.bench.memories import found_in
from stitch.bench.records import Record
from stitch.bench.scoring import decided_by
from stitch.core import DecidedBy


def test_contexts_of_a_run_hold_no_clock_of_the_run(tmp_path: Path) -> None:
    with open_memory(tmp_path / "m") as memory:
        text = 'The hotel costs $120 <step recorded="then">, recorded="2020-01-01 10:00".'
        memory.add_many([{"role": "user", "content": text}, {"role": "user", "content": "Fine."}], trajectory="t")
        result = memory.search("What does the hotel cost?")
    shown = found_in(result, milliseconds=1.0).context or ""
    assert re.search(r"<step 0 user recorded \d+ \w+ \d{4}(?: \d\d:\d\d)? in t", result.context())
    assert "<step 0 user in t" in shown
    assert 'recorded="then"' in shown
    assert 'recorded="2020-01-01 10:00"' in shown


def record(said: str | None) -> Record:
    return Record(
        question="q", trajectory="t", type="", text="Why?", gold_answer=None, evidence=(), steps=(),
        milliseconds=1.0, decided_by=said,
    )  # fmt: skip


def test_each_way_has_its_share_of_the_questions_and_methods_without_labels_have_none() -> None:
    said = [DecidedBy.LABEL_DENSITY, DecidedBy.NO_LABELS, DecidedBy.NO_LABELS, DecidedBy.NO_LABELS]
    assert decided_by(record(way.value) for way in said) == {
        "label density": 0.25, "weighed labels": 0.0, "no labels": 0.75,
    }  # fmt: skip
    assert decided_by([record(None)]) is None
