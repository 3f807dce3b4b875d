"""Each format has an example: it is recognized as its own, is of the type that its family declares, and is read."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import pytest
from pydantic import TypeAdapter

from stitch.core import SourcedStep
from stitch.sources import FORMATS, families
from stitch.sources.families.conversations import Conversation
from stitch.sources.reading import StepReader
from stitch.sources.recognizing import Format

EXAMPLES: list[dict[str, Any]] = [
    {"family": path.stem, **example}
    for path in sorted((Path(__file__).parent / "fixtures").glob("*.json"))
    for example in json.loads(path.read_text(encoding="utf-8"))
]


def test_every_format_has_an_example():
    assert {example["format"] for example in EXAMPLES} == {known.name for known in FORMATS}


@pytest.mark.parametrize("family", [module.name for module in iter_modules(families.__path__)])
def test_a_family_has_formats_each_with_a_type_and_an_example_in_the_file_of_its_name(family):
    module = import_module(f"{families.__name__}.{family}")
    held = [value.format for value in vars(module).values() if isinstance(value, Conversation)]
    formats = [*held, *(value for value in vars(module).values() if isinstance(value, Format))]
    assert formats
    assert [known.name for known in formats if known.model is dict] == []
    assert {known.name for known in formats} == {each["format"] for each in EXAMPLES if each["family"] == family}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: f"{example['family']}: {example['format']}")
def test_an_example_is_recognized_is_of_its_type_and_is_read(example):
    known = next(known for known in FORMATS if known.recognizes(example["record"]))
    assert known.name == example["format"]
    TypeAdapter(known.model).validate_python(example["record"])
    items = list(StepReader("log.jsonl", trajectory="log").steps(1, example["record"]))
    assert all(isinstance(item, SourcedStep) for item in items)
    read = [
        [item.trajectory, item.step.model_dump(mode="json", exclude_defaults=True)]
        for item in items
        if isinstance(item, SourcedStep)
    ]
    assert read == example["steps"]
