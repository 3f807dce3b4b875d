"""JSON that is nested more deeply than the interpreter goes: whoever reads a stranger's words says so, and goes on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stitch import Step, StitchError, open_memory
from stitch.core.json_text import read_json
from stitch.lifecycle.backup import MANIFEST, check_backup
from stitch.store.server import _read_generation
from stitch.testing.model import LoopbackProvider

DEEP = "[" * 100_000


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    with open_memory(tmp_path / "m") as made:
        made.add(Step(role="user", content="The hotel is booked.", id="0"), trajectory="t")
    return tmp_path / "m"


def test_it_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="nested too deeply"):
        read_json(DEEP)
    assert read_json(b'{"a": [1]}') == {"a": [1]}


def test_a_note_of_a_server_and_a_backup_are_refused(tmp_path: Path, memory: Path) -> None:
    (tmp_path / "generation.json").write_text(DEEP)
    with pytest.raises(StitchError, match="damaged"):
        _read_generation(tmp_path / "generation.json", what="the memory", hint="")
    with open_memory(memory) as opened:
        opened.lifecycle.backup(tmp_path / "backup")
    (tmp_path / "backup" / MANIFEST).write_text(DEEP)
    with pytest.raises(StitchError):
        check_backup(tmp_path / "backup")


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
