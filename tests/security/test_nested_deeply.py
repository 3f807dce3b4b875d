"""JSON that is nested more deeply than the interpreter goes: whoever reads a stranger's words says so, and goes on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

from stitch import Step, StitchError, open_memory
from stitch.core import SourcedStep
from stitch.core.json_text import read_json
from stitch.lifecycle.backup import MANIFEST, check_backup
from stitch.remote.address import holder
from stitch.sources import FileSource
from stitch.store.server import _read_generation
from stitch.testing.model import LoopbackProvider

DEEP = "[" * 100_000


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    with open_memory(tmp_path / "m") as made:
        made.add(Step(role="user", content="The hotel is booked.", id="0"), trajectory="t")
    return tmp_path / "m"


def found(memory: Path) -> list[str]:
    with open_memory(memory) as opened:
        assert opened.lifecycle.verify().disagreements == ()
        return [hit.snippet.step for hit in opened.search("hotel").hits]


def test_it_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="nested too deeply"):
        read_json(DEEP)
    assert read_json(b'{"a": [1]}') == {"a": [1]}


@pytest.mark.parametrize("file", ["store/owner.json", "owner.address"])
def test_a_note_of_who_holds_a_memory_says_nothing_then(memory: Path, file: str) -> None:
    (memory / file).write_text(DEEP)
    assert found(memory) == ["0"]
    assert holder(memory / file) is None


def test_checksums_are_made_anew_and_what_a_store_was_made_with_is_damaged(memory: Path) -> None:
    (memory / "store" / "checksums.json").write_text(f"{crc32(DEEP.encode())}\n{DEEP}")
    assert found(memory) == ["0"]
    (memory / "store" / "store.json").write_text(DEEP)
    with pytest.raises(StitchError, match="made with"):
        found(memory)


def test_a_note_of_a_server_and_a_backup_are_refused(tmp_path: Path, memory: Path) -> None:
    (tmp_path / "generation.json").write_text(DEEP)
    with pytest.raises(StitchError, match="damaged"):
        _read_generation(tmp_path / "generation.json", what="the memory", hint="")
    with open_memory(memory) as opened:
        opened.lifecycle.backup(tmp_path / "backup")
    (tmp_path / "backup" / MANIFEST).write_text(DEEP)
    with pytest.raises(StitchError):
        check_backup(tmp_path / "backup")


def test_the_input_of_a_streamed_call_is_kept_as_it_was_written(tmp_path: Path) -> None:
    call = {"type": "tool_use", "id": "c", "name": "find", "input": {}}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {"id": "m", "role": "assistant", "content": [], "usage": {}}},
        {"type": "content_block_start", "index": 0, "content_block": call},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": DEEP}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_stop"},
    ]
    file = tmp_path / "s.txt"
    file.write_text("".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in events))
    (read,) = FileSource(file)
    assert isinstance(read, SourcedStep)
    assert DEEP in str(read.step.tool_calls[0].arguments)


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
