"""Each format has an example: it is recognized as its own and is read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from stitch.core import SourcedStep
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
