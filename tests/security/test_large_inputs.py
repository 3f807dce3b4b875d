"""Inputs that are made to be too large: a packed file that expands, lines without an end, depths and numbers."""

from __future__ import annotations

import gzip
import json

import pytest

from stitch.core import Rejection, SourcedStep
from stitch.errors import InputError
from stitch.sources import FileSource, limits

STEP = b'{"role": "user", "content": "hi"}\n'


@pytest.mark.parametrize(
    "filling",
    [
        b" ",
        b"a\n",
        b"[",
        *(pytest.param(each, marks=pytest.mark.slow) for each in (b"Ann: a\n", b'{"a":1}\n', b"\n", b"x")),
    ],
    ids=repr,
)
def test_a_small_packed_file_that_expands_beyond_measure_is_named_with_the_place(tmp_path, monkeypatch, filling):
    monkeypatch.setattr(limits, "FREE_BYTES", 100_000)
    monkeypatch.setattr(limits, "FREE_LINES", 1_000)
    path = tmp_path / "bomb.jsonl.gz"
    path.write_bytes(gzip.compress(STEP + filling * (2_000_000 // len(filling))))
    assert path.stat().st_size < 8_000
    found: list[SourcedStep | Rejection] = []
    with pytest.raises(InputError, match=r"bomb\.jsonl\.gz.*expands to more than 200 times its size.* after line \d+"):
        found.extend(FileSource(path))
    assert isinstance(found[0], SourcedStep)


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(limits, "MAX_RECORD_BYTES", 1_000)


def brief(path):
    return [(i.line, i.step.content if isinstance(i, SourcedStep) else i.reason) for i in FileSource(path)]


@pytest.mark.parametrize("long", [b"x" * 2_000, b'{"role": "user", "content": "' + b"x" * 2_000 + b'"}', b"[" * 2_000])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_long_line_is_rejected_wherever_it_stands(tmp_path, small, long, place):
    lines = [STEP, STEP]
    lines.insert(place, long + b"\n")
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"".join(lines))
    read = brief(path)
    assert sorted(read)[place][1].startswith("line is longer than")
    assert [said for _, said in read].count("hi") == 2


@pytest.mark.parametrize("depth", [50, 200, 254, 255, 300, 1_000, 1_100, 100_000])
@pytest.mark.parametrize("form", ["content", "metadata", "arguments"])
def test_depths_are_read_or_rejected_with_their_line(tmp_path, depth, form):
    deep = "[" * depth + "]" * depth
    record = {
        "content": f'{{"role": "user", "content": {deep}}}',
        "metadata": f'{{"role": "user", "content": "x", "deep": {deep}}}',
        "arguments": f'{{"role": "assistant", "tool_calls": [{{"name": "f", "arguments": {{"a": {deep}}}}}]}}',
    }[form]
    path = tmp_path / "log.jsonl"
    path.write_bytes(STEP + record.encode() + b"\n" + STEP)
    read = list(FileSource(path))
    assert [item.line for item in read] == [1, 2, 3]
    assert isinstance(read[-1], SourcedStep)


@pytest.mark.parametrize("said", ["\\ud800", "a\\udfffb", "\\ud83d", "\\udc00\\ud800"])
@pytest.mark.parametrize("field", ["role", "content", "id", "trajectory", "name", "session", "tool_name", "timestamp"])
def test_lone_surrogates_are_read_or_rejected_and_nothing_breaks(tmp_path, field, said):
    path = tmp_path / "log.jsonl"
    record = {"role": "user", "content": "x", field: "SAID"}
    path.write_bytes(STEP + json.dumps(record).replace("SAID", f"s{said}").encode() + b"\n" + STEP)
    read = list(FileSource(path))
    assert len(read) == 3
    for item in read:
        text = item.model_dump_json() if isinstance(item, Rejection) else item.step.model_dump_json() + item.trajectory
        text.encode()
