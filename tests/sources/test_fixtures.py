"""Each format has an example: it is recognized as its own and is read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from stitch.core import Rejection, SourcedStep
from stitch.sources import FORMATS
from stitch.sources.reading import StepReader

EXAMPLES: list[dict[str, Any]] = [
    {"family": path.stem, **example}
    for path in sorted((Path(__file__).parent / "fixtures").glob("*.json"))
    for example in json.loads(path.read_text(encoding="utf-8"))
]


def test_every_format_has_an_example():
    assert {example["format"] for example in EXAMPLES} == {known.name for known in FORMATS}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: f"{example['family']}: {example['format']}")
def test_an_example_is_recognized_and_is_read(example):
    known = next(known for known in FORMATS if known.recognizes(example["record"]))
    assert known.name == example["format"]
    items = list(StepReader("log.jsonl", trajectory="log").steps(1, example["record"]))
    assert all(isinstance(item, SourcedStep) for item in items)
    read = [
        [item.trajectory, item.step.model_dump(mode="json", exclude_defaults=True)]
        for item in items
        if isinstance(item, SourcedStep)
    ]
    assert read == example["steps"]


NOTE = {"unheard_of": "kept whatever it is", "unheard_too": {"inner": ["also this text"]}}
UNREAD = ("OpenTelemetry export", "OpenTelemetry span")
"""Their envelopes and the events that are messages are read by the fields of the standard alone."""


def objects_in(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from objects_in(inner)


@pytest.mark.parametrize(
    "example",
    [each for each in EXAMPLES if each["format"] not in UNREAD],
    ids=lambda example: f"{example['family']}: {example['format']}",
)
def test_what_a_format_does_not_know_is_kept_wherever_it_stands(example: dict[str, Any]) -> None:
    for number, _ in enumerate(objects_in(example["record"])):
        record = deepcopy(example["record"])
        holder = list(objects_in(record))[number]
        empty_root = record["mapping"]["a"] if example["format"] == "chat export" else None  # which is no step
        if any(holder is each for each in objects_in(empty_root)):
            continue
        holder.update(NOTE)
        items = list(StepReader("log.jsonl", trajectory="log").steps(1, record))
        kept = [item.reason if isinstance(item, Rejection) else item.step.model_dump_json() for item in items]
        assert all(any(text in said for said in kept) for text in ("kept whatever it is", "also this text")), record
