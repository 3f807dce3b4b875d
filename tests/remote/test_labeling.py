"""Windows of a memory that is open elsewhere: handed out, answered, taken in, as where it is open."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from stitch import Memory, open_memory
from stitch.label.local import LocalLabeler
from stitch.label.model.offline import OfflineLabeler
from stitch.lifecycle.handover import Handover, NumberedLine
from stitch.lm import Price
from stitch.lm.batch import write_request
from stitch.testing.model import label_by_rules


def by_hand(memory: Memory, **options: Any) -> Handover:
    return memory.lifecycle.handover(OfflineLabeler("hand", fallback=LocalLabeler(), **options))


def requests(handover: Handover) -> list[dict[str, Any]]:
    return [json.loads(write_request(window)) for window in handover.windows()]


def reply(request: dict[str, Any], **more: Any) -> dict[str, Any]:
    system, user = (message["content"] for message in request["messages"])
    return {"id": request["id"], "reply": label_by_rules(system, user), **more}


def lines(replies: Sequence[object]) -> list[NumberedLine]:
    return [NumberedLine("replies", number, json.dumps(each).encode()) for number, each in enumerate(replies, 1)]


@pytest.fixture(params=["another process", "server"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    if request.param == "server":
        with open_memory(request.getfixturevalue("served")) as memory:
            yield memory
    else:
        with open_memory(tmp_path / "m"), open_memory(tmp_path / "m") as memory:
            yield memory


def fill(memory: Memory, *, number: int = 30) -> None:
    said = ["Let us plan day {day}. What is a good hotel?", "The Zephyr Mill costs $41.80.", "Take it for the night."]
    for name in ("a", "b"):
        memory.add_many(
            [
                {"id": str(n), "role": "user", "content": said[n % 3].format(day=1 + n // 12)}
                for n in range(number)
            ],
            trajectory=name,
        )  # fmt: skip


def test_rounds_of_windows_and_replies_label_all_and_cost_what_they_say(memory: Memory) -> None:
    fill(memory)
    price = Price(prompt_usd=1.0, reply_usd=2.0)
    rounds = 0
    while asked := requests(by_hand(memory, window_steps=20)):
        usage = {"prompt_tokens": 1_000_000, "reply_tokens": 500_000}
        taken = by_hand(memory, window_steps=20, price=price).take_in(
            lines([reply(each, usage=usage) for each in asked])
        )
        assert (taken.windows, taken.repeated, taken.rejections) == (2, 0, ())
        rounds += 1
    assert rounds == 2
    assert by_hand(memory).waiting() == (0, 0)
    assert {entry.labels.made_by for entry in memory.steps("a") if entry.labels} == {"hand windowed-3"}
