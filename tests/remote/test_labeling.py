"""Windows of a memory that is open elsewhere: handed out, answered, taken in, as where it is open."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from stitch import Memory, open_memory
from stitch.cli.main import cli
from stitch.errors import InputError
from stitch.label.local import LocalLabeler
from stitch.label.model.batches import write_window
from stitch.label.model.offline import OfflineLabeler
from stitch.lifecycle.handover import Handover, NumberedLine
from stitch.lm import Price
from stitch.signatures.programs import WindowProgram
from stitch.testing.model import LoopbackProvider, label_by_rules

Opened = Callable[[Memory], Memory]


def by_hand(memory: Memory, **options: Any) -> Handover:
    return memory.lifecycle.handover(OfflineLabeler("hand", fallback=LocalLabeler(), **options))


def requests(handover: Handover) -> list[dict[str, Any]]:
    return [json.loads(write_window(window)) for window in handover.windows()]


def reply(request: dict[str, Any], **more: Any) -> dict[str, Any]:
    system, user = (message["content"] for message in request["messages"])
    return {"id": request["id"], "reply": label_by_rules(system, user), **more}


def lines(replies: Sequence[object]) -> list[NumberedLine]:
    return [NumberedLine("replies", number, json.dumps(each).encode()) for number, each in enumerate(replies, 1)]


@pytest.fixture(params=["another process", "server"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """A memory that is open elsewhere."""
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


def test_what_cannot_be_used_is_named_and_the_same_again_changes_nothing(memory: Memory) -> None:
    fill(memory)
    answered = [reply(each) for each in requests(by_hand(memory))]
    taken = by_hand(memory).take_in(
        lines([answered[0], {"id": "stitch-0123456789ab-1-2-0123456789abcdef", "reply": {}}, "?"])
    )
    assert (taken.windows, [each.line for each in taken.rejections]) == (1, [2, 3])
    again = by_hand(memory).take_in(lines(answered))
    assert (again.windows, again.repeated) == (1, 1)


def test_many_and_long_replies_go_in_several_requests(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    from stitch.remote import handover

    monkeypatch.setattr(handover, "_TOGETHER_CHARS", 200)
    taken = by_hand(memory).take_in(lines(["x" * length for length in (1, 50, 120, 300, 2)]))
    assert [each.line for each in taken.rejections] == [1, 2, 3, 4, 5]


def compiled(instructions: str) -> WindowProgram:
    from stitch.label.model.compiled import put_into, state_of

    program = WindowProgram()
    states = state_of(program, plain=WindowProgram())
    put_into(program, {name: each.model_copy(update={"instructions": instructions.format(each.instructions)})
                       for name, each in states.items()})  # fmt: skip
    return program


def test_compiled_prompts_are_shown_where_the_memory_is(memory: Memory) -> None:
    fill(memory)
    program = compiled("{}\n\nPrefer short names.")
    asked = requests(by_hand(memory, program=program))
    assert all("Prefer short names." in each["messages"][0]["content"] for each in asked)
    assert by_hand(memory, program=program).take_in(lines([reply(each) for each in asked])).windows == 2
    made_by = {entry.labels.made_by for entry in memory.steps("a") if entry.labels}
    assert f"hand windowed-3 {program.digest[:8]}" in made_by


def test_prompts_that_could_harm_are_refused_there_too(memory: Memory) -> None:
    fill(memory)
    handover = by_hand(memory, program=compiled("{}"))
    told = handover._about["program"]["label_window"]  # type: ignore[attr-defined]
    told.__dict__["instructions"] = f"{told.instructions} <|im_start|>system"
    with pytest.raises(InputError, match=r"of the request.*has the marker of a chat template"):
        next(iter(handover.windows()))


def test_a_correction_that_comes_between_a_request_and_its_reply_stays(memory: Memory) -> None:
    fill(memory)
    answered = [reply(each) for each in requests(by_hand(memory))]
    memory.lifecycle.correct("2", trajectory="a", labels={"scope": "the coast"}, by="ann")
    assert by_hand(memory).take_in(lines(answered)).steps == 23 + 24
    found = memory.get("a", "2")
    assert found is not None
    assert found.labels is not None
    assert (found.labels.intent.scope, found.labels.made_by) == ("the coast", "ann")


@pytest.mark.parametrize("labels", ["local", "model"])
def test_the_command_works_beside_the_process_that_has_the_memory_open(tmp_path: Path, labels: Any) -> None:
    at = ["--memory", str(tmp_path / "m"), "--model", "hand"]
    out = str(tmp_path / "requests.jsonl")
    with (
        LoopbackProvider(label_by_rules) as provider,
        open_memory(tmp_path / "m", labels=labels, model="m", base_url=provider.base_url) as memory,
    ):
        memory.add_many([{"role": "user", "content": "A hotel."}] * 3, trajectory="t")
        memory.flush()
        told = CliRunner().invoke(cli, ["label", "export", *at, "--out", out, "--json"])
        assert (told.exit_code, json.loads(told.stdout)["steps"]) == (0, 3), told.stderr
        answered = tmp_path / "replies.jsonl"
        asked = [json.loads(line) for line in Path(out).read_text().splitlines()]
        answered.write_text("".join(json.dumps(reply(each)) + "\n" for each in asked))
        told = CliRunner().invoke(cli, ["label", "import", str(answered), *at, "--json"])
        assert json.loads(told.stdout) == {
            "windows": 1, "steps": 3, "repeated": 0, "rejected": 0, "rejections": [], "waiting_steps": 0,
        }  # fmt: skip
        assert {entry.labels.made_by for entry in memory.steps("t") if entry.labels} == {"hand windowed-3"}
