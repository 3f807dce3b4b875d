"""Each format has an example: it is recognized as its own and is read."""

import json
import re
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stitch.core import Rejection, SourcedStep
from stitch.sources import FORMATS
from stitch.sources.reading import StepReader
from stitch.sources.unread import texts_in

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
    reader = StepReader("log.jsonl", trajectory="log")
    items = [*reader.steps(1, example["record"]), *reader.rest(1)]
    assert all(isinstance(item, SourcedStep) for item in items)
    read = [
        [item.trajectory, item.step.model_dump(mode="json", exclude_defaults=True)]
        for item in items
        if isinstance(item, SourcedStep)
    ]
    assert read == example["steps"]


LONG_WORDS = st.lists(st.text(st.characters(codec="utf-8", categories=["L", "P"]), min_size=4, max_size=12), min_size=3)
WORDS = LONG_WORDS.map(" ".join).filter(lambda text: len(re.findall(r"[^\W\d_]", text)) >= 12)
"""Texts that nobody takes for an id, a time or bytes."""


def changed(record: Any, draw: st.DataObject, *, added: list[str]) -> Any:
    """A record with fields, objects and entries of lists that no format has heard of, and lists the other way round."""
    record = deepcopy(record)
    for _ in range(draw.draw(st.integers(0, 3))):
        holder = draw.draw(st.sampled_from(list(holders_in(record))))
        text = draw.draw(WORDS)
        added.append(text)
        value = draw.draw(st.sampled_from([text, {"inner": text}, [text], {"texts": [{"said": text}]}]))
        if isinstance(holder, dict):
            holder[draw.draw(st.sampled_from(("unheard", "event", "object", "notes", "extra", "x")))] = value
        elif draw.draw(st.booleans()):
            holder.reverse()
        else:
            holder.append(value)
    return record


def holders_in(value: Any) -> Iterator[dict[str, Any] | list[Any]]:
    if isinstance(value, dict | list):
        yield value
        for inner in value.values() if isinstance(value, dict) else value:
            yield from holders_in(inner)


NOTATION = {"INST", "TIMESTAMP"}
"""Words of a notation that is read and not kept."""


@settings(max_examples=20 * settings().max_examples)
@given(example=st.sampled_from(EXAMPLES), draw=st.data())
def test_no_words_of_a_record_are_lost_whatever_stands_in_it(example: dict[str, Any], draw: st.DataObject) -> None:
    added: list[str] = []
    record = changed(example["record"], draw, added=added)
    left = set(texts_of(record))
    said: list[str] = []
    reader = StepReader("log.jsonl", trajectory="log")
    for item in [*reader.steps(1, record), *reader.rest(1)]:
        kept = item.record if isinstance(item, Rejection) else item.step.model_dump_json()
        said += texts_of(json.loads(kept)) if kept else []
    known = " ".join(" ".join(said).split())
    for text in [*left.intersection(added), *(text for _, text in texts_in(record) if text[:1] not in "[{")]:
        words = set(re.findall(r"\w{3,}", text)) - NOTATION
        assert not {word for word in words if word not in known}, (text, record)


def texts_of(value: Any) -> list[str]:
    """All texts of a value, and the names of its fields."""
    if isinstance(value, dict):
        return [*value, *(text for inner in value.values() for text in texts_of(inner))]
    return [text for inner in value for text in texts_of(inner)] if isinstance(value, list) else [str(value)]
