"""JSON that is nested more deeply than the interpreter goes: whoever reads a stranger's words says so, and goes on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stitch import Step, open_memory
from stitch.core.json_text import read_json
from stitch.testing.model import LoopbackProvider

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
