"""The share of questions for which labels decided, were weighed, or were absent."""

from __future__ import annotations

from stitch.bench.figures import print_decided_by
from stitch.bench.records import Record
from stitch.bench.scoring import decided_by
from stitch.core import DecidedBy


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


def test_the_shares_are_printed_beside_the_name_of_the_method(capsys) -> None:
    print_decided_by(
        {"stitch": {"decided_by": {"label density": 0.25, "no labels": 0.75}}, "bm25": {"decided_by": None}}
    )
    assert capsys.readouterr().out == "stitch, ranked by: label density 0.250, no labels 0.750\n"
