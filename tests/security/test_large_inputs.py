"""Inputs that are too large, too deep or odd: files that expand, lines without end, depths, numbers, odd names."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stitch import Memory, Step, ToolCall, open_memory
from stitch.core import Rejection, SourcedStep
from stitch.core.json_text import read_json
from stitch.errors import InputError, SettingsError, StepRejectedError, StitchError
from stitch.lifecycle.selection import Selector
from stitch.sources import FileSource, limits
from stitch.testing.model import LoopbackProvider

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


DEEP = "[" * 100_000


def test_it_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="nested too deeply"):
        read_json(DEEP)
    assert read_json(b'{"a": [1]}') == {"a": [1]}


@pytest.mark.parametrize(
    "reply", [DEEP, json.dumps(DEEP), '{"labels": ' * 5_000, json.dumps({"labels": DEEP, "scope": DEEP})]
)
def test_a_reply_is_one_that_cannot_be_read(tmp_path: Path, reply: str) -> None:
    with (
        LoopbackProvider(lambda *_, **__: reply) as provider,
        open_memory(tmp_path / "m", labels="model", model="m", base_url=provider.base_url) as opened,
    ):
        opened.add(Step(role="user", content="The hotel is booked.", id="0"), trajectory="t")
        opened.flush()
        (entry,) = opened.steps("t")
        assert entry.labels is not None
        assert entry.labels.made_by.startswith("local")
        assert [hit.snippet.step for hit in opened.search("hotel").hits] == ["0"]


TOO_LARGE, LARGE = 10**309, 10**308


@pytest.mark.parametrize(
    "more", [{"metadata": {"n": [TOO_LARGE]}}, {"tool_calls": (ToolCall(name="f", arguments={"n": -TOO_LARGE}),)}]
)
def test_a_step_with_a_number_beyond_measure_is_refused_and_others_are_exported_and_imported(
    tmp_path: Path, more: dict[str, object]
) -> None:
    with open_memory(tmp_path / "m") as memory:
        with pytest.raises(StepRejectedError, match="cannot be written as JSON"):
            memory.add({"id": "a", "role": "user", "content": "Book it.", **more}, trajectory="t")
        memory.add(Step(id="b", role="user", content="Book it.", metadata={"n": LARGE}), trajectory="t")
        lines = list(memory.lifecycle.export())
    with open_memory(tmp_path / "n") as memory:
        assert memory.lifecycle.import_lines(lines).rejections == ()
        assert [(entry.id, entry.step.metadata) for entry in memory.steps("t")] == [("b", {"n": LARGE})]


HALF = "a\ud800b"

REFUSED: dict[str, Callable[[Memory], Any]] = {
    "why of a step": lambda memory: memory.why("tea", trajectory="t", step=HALF),
    "get of a step": lambda memory: memory.get("t", HALF),
    "search of a trajectory": lambda memory: memory.search("tea", trajectory=HALF),
    "erasing a trajectory": lambda memory: memory.lifecycle.erase(Selector(trajectory=HALF)),
    "erasing a step": lambda memory: memory.lifecycle.erase(Selector(trajectory="t", step=HALF)),
    "correcting a step": lambda memory: memory.lifecycle.correct(HALF, trajectory="t", text="x"),
    "the role of a message": lambda memory: memory.add_messages([{"role": HALF, "content": "x"}], trajectory="t"),
    "steps to a place": lambda memory: list(memory.steps("t", stop=2**70)),
    "a number of a path query": lambda memory: memory.select(f"//Step[@position > {'9' * 5000}]"),
    "the name of a tree": lambda memory: memory.trees.create(HALF, {"type": "Plan"}),
    "labels of no kind": lambda memory: memory.lifecycle.correct("0", trajectory="t", labels={"scop": "tea"}),
    "labels of a wrong type": lambda memory: memory.lifecycle.correct("0", trajectory="t", labels={"scope": 5}),
    "no themes": lambda memory: memory.themes(limit=0),
    "fewer themes than none": lambda memory: memory.themes(limit=-2),
    "opening a tree": lambda memory: memory.trees.open(HALF),
}


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with open_memory(tmp_path_factory.mktemp("odd") / "m") as opened:
        opened.add(Step(role="user", content="We drink tea on day 1."), trajectory="t")
        yield opened


@pytest.mark.parametrize("name", ["a\0b", HALF, "x" * 5_000])
@pytest.mark.parametrize("setting", ["memory", "journal", "embedder"])
def test_a_name_that_no_file_can_have_is_refused_by_its_setting(tmp_path: Path, setting: str, name: str) -> None:
    given: dict[str, Any] = {"memory": str(tmp_path / "m"), setting: name}
    with pytest.raises(SettingsError, match=f"^setting '{setting}' ") as refused:
        open_memory(**given)
    assert len(refused.value.message) < 200


@pytest.mark.parametrize("what", REFUSED)
def test_what_no_memory_can_hold_is_refused_in_one_line(memory: Memory, what: str) -> None:
    with pytest.raises(StitchError) as refused:
        REFUSED[what](memory)
    assert len(str(refused.value).splitlines()) == 1
    assert [entry.step.content for entry in memory.steps("t")] == ["We drink tea on day 1."]
