"""A number that no double holds is refused with its step: what reads an export or an answer might not read it."""

from __future__ import annotations

from pathlib import Path

import pytest

from stitch import Step, ToolCall, open_memory
from stitch.errors import StepRejectedError

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
