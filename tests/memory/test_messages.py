"""Chat messages as programs hold them: stored once each, however often a conversation is handed over."""

import base64
import dataclasses
import hashlib
import json
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import BaseModel

from doubles.golden import compare_answers
from stitch import Memory
from stitch.errors import InputError, StepRejectedError
from stitch.lifecycle.selection import Selector

PICTURE = b"\x89PNG" + bytes(range(100))
PACKED = base64.b64encode(PICTURE).decode()
DIGEST = hashlib.sha256(PICTURE).hexdigest()
NAMED = f"image/png, 104 bytes, sha256 {DIGEST[:16]}]"

TALK: list[dict[str, Any]] = [
    {"role": "system", "content": "You plan trips."},
    {"role": "user", "content": "Which hotel is there in Porto?"},
    {"role": "assistant", "content": None, "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "find_hotel", "arguments": '{"city": "Porto"}'}}]},
    {"role": "tool", "tool_call_id": "c1", "content": "Casa Azul, 80 euros"},
    {"role": "assistant", "content": "The Casa Azul, for 80 euros."},
]  # fmt: skip


def said(memory: Memory, trajectory: str = "t") -> list[tuple[str, str]]:
    return [(entry.step.role, entry.step.content) for entry in memory.steps(trajectory)]


def add(memory: Memory, messages: list[Any], **options: Any) -> list[bool]:
    """Hand over messages; return of each step whether it was known."""
    return [receipt.repeated for receipt in memory.add_messages(messages, trajectory="t", **options)]


def test_the_last_messages_or_the_new_ones_alone_go_on_where_the_conversation_ended(memory):
    add(memory, TALK[:3])
    assert add(memory, TALK[1:4]) == [True, True, False]
    assert add(memory, TALK[4:]) == [False]
    assert add(memory, TALK[4:]) == [True], "sent again"
    assert add(memory, TALK) == [True] * 5
    assert [entry.step.tool_name for entry in memory.steps("t")][3] == "find_hotel", "its call was in an earlier list"


TURNS = [{"role": "user" if turn % 2 == 0 else "assistant", "content": f"This is turn {turn}."} for turn in range(24)]


@pytest.mark.parametrize("edited", ["refuse", "keep", "revise"])
@pytest.mark.parametrize("kept", [0, 1], ids=["the last", "the first and the last"])
def test_a_window_behind_instructions_goes_on_where_the_conversation_ended(memory, edited, kept):
    for end in range(2, 25, 2):
        clock = {"role": "system", "content": f"Be brief. It is {end} o'clock."}
        window = [*TURNS[:kept], *TURNS[max(kept, end - 6) : end]]
        add(memory, [TALK[0], clock, *window], edited=edited)
    instructions, turns = said(memory)[:2], said(memory)[2:]
    assert [text for _, text in turns] == [turn["content"] for turn in TURNS]
    hour = 24 if edited == "revise" else 2
    assert [text for _, text in instructions] == ["You plan trips.", f"Be brief. It is {hour} o'clock."]


def test_a_summary_in_front_of_a_window_stands_beside_what_was_said(memory):
    for end in range(2, 25, 2):
        summary = [{"role": "system", "content": f"So far there were {end - 6} turns."}] * (end > 12)
        add(memory, [*summary, *TURNS[max(0, end - 6) : end]])
        assert all(add(memory, [*summary, *TURNS[max(0, end - 6) : end]])), "sent again"
    told = [text for role, text in said(memory) if role != "system"]
    assert told == [turn["content"] for turn in TURNS]
    assert ("system", "So far there were 8 turns.") in said(memory)


def test_the_same_words_are_stored_again_where_they_are_said_again(memory):
    yes = {"role": "user", "content": "Yes."}
    talk = [yes, {"role": "assistant", "content": "Really?"}, yes]
    assert add(memory, talk) == [False] * 3
    assert add(memory, [*talk, yes]) == [True] * 3 + [False]
    assert [text for _, text in said(memory)] == ["Yes.", "Really?", "Yes.", "Yes."]
    assert add(memory, [yes], start=4) == [False]
    assert add(memory, [yes], start=1, edited="keep") == [True]


def test_an_edited_message_is_told_and_nothing_is_stored(memory):
    add(memory, TALK[:4])
    other = [*TALK[:3], {**TALK[3], "content": "Casa Verde, 90 euros"}, TALK[4]]
    with pytest.raises(StepRejectedError, match="message 3 of trajectory 't' says something else") as error:
        add(memory, other)
    assert "'tool: Casa Azul, 80 euros'" in error.value.message
    assert "'tool: Casa Verde, 90 euros'" in error.value.message
    assert "edited='revise'" in error.value.hint
    assert len(said(memory)) == 4
    with pytest.raises(StepRejectedError, match="and so do 1 others"):
        add(memory, [TALK[1], TALK[0]], start=0)


def test_an_edited_message_is_kept_or_revised_on_command(memory):
    add(memory, TALK)
    other = [{"role": "system", "content": "You plan journeys."}, *TALK[1:], {"role": "user", "content": "Thanks!"}]
    assert add(memory, other, edited="keep") == [True] * 5 + [False]
    assert said(memory)[0][1] == "You plan trips."
    assert add(memory, other, edited="revise") == [True] * 6
    assert said(memory)[0][1] == "You plan journeys."
    first = next(memory.steps("t")).id
    assert [past.step.content for past in memory.lifecycle.history(first, trajectory="t")] == ["You plan trips."]
    assert add(memory, other) == [True] * 6, "what was revised is known"
    assert add(memory, [TALK[0]], start=0) == [True], "and so is what it was"
    with pytest.raises(StepRejectedError, match="message 0"):
        add(memory, [{"role": "user", "content": "You plan journeys."}], start=0, edited="revise")
    with pytest.raises(InputError, match="'often'"):
        add(memory, other, edited="often")
    with pytest.raises(InputError, match="start -1"):
        add(memory, other, start=-1)


def test_messages_with_ids_keep_them_and_other_ids_are_other_messages(memory):
    hello = {"id": "m1", "role": "user", "content": "Hello"}
    assert add(memory, [hello]) == [False]
    assert add(memory, [{**hello, "id": "m2"}]) == [False]
    assert [entry.id for entry in memory.steps("t")] == ["m1", "m2"]
    assert add(memory, [hello, {**hello, "id": "m2"}]) == [True, True]
    assert add(memory, [{"role": "user", "content": "Hello"}]) == [True], "the same without an id"


def test_what_was_erased_is_not_stored_again_by_the_list_that_has_it(memory):
    add(memory, TALK)
    place = [entry.id for entry in memory.steps("t")][1]
    memory.lifecycle.erase(Selector(trajectory="t", step=place))
    receipts = memory.add_messages([*TALK, {"role": "user", "content": "Thanks!"}], trajectory="t")
    assert [receipt.state.value for receipt in receipts] == ["stored", "erased", *["stored"] * 4]
    assert "Which hotel is there in Porto?" not in [text for _, text in said(memory)]
    assert add(memory, TALK, again=True) == [True, False, True, True, True]


def test_no_digest_of_a_secret_is_kept(memory):
    secret = {"role": "user", "content": "my password is hunter2secret!"}
    add(memory, [secret])
    [entry] = memory.steps("t")
    assert "hunter2" not in entry.step.content
    clean = {"role": "user", "content": entry.step.content}
    assert add(memory, [clean]) == [True], "named by what is kept of it"
    [receipt] = memory.add_messages([secret, {"role": "user", "content": "hi"}], trajectory="u")[:1]
    assert receipt.redacted[0].kind == "password"


def test_what_is_no_text_is_named_where_it_stood_and_kept_nowhere(memory):
    def named(message: str | dict[str, Any]) -> list[str]:
        trajectory = f"t{len(memory.trajectories())}"
        memory.add_messages([json.loads(message) if isinstance(message, str) else message], trajectory=trajectory)
        [entry] = memory.steps(trajectory)
        kept = str(entry.step.metadata)
        assert PACKED not in kept
        if ", sha256 " in entry.step.content and "content" in message:
            assert f"'sha256': '{entry.step.content[-17:-1]}" in kept
        content: str = entry.step.content
        return content.split("\n")

    compare_answers(Path(__file__).parent / "no_text.txt", named)
    given = {"role": "user", "parts": [{"inline_data": {"mime_type": "image/png", "data": PICTURE}}]}
    assert named(given) == [f"[image: {NAMED}"]


def test_objects_are_read_as_the_dictionaries_that_they_stand_for(memory):
    class Function(BaseModel):
        name: str = "find_hotel"
        arguments: str = '{"city": "Porto"}'

    class Call(BaseModel):
        id: str = "c1"
        function: Function = Function()
        type: str = "function"

    class Message(BaseModel):
        role: str = "assistant"
        content: str | None = None
        refusal: str | None = None
        tool_calls: list[Call] = [Call()]

    @dataclasses.dataclass
    class Result:
        tool_call_id: str
        content: str
        role: str = "tool"

    reply = SimpleNamespace(role="assistant", content="The Casa Azul, for 80 euros.", _hidden=1)
    given = [TALK[0], TALK[1], Message(), Result("c1", "Casa Azul, 80 euros"), reply]
    assert add(memory, TALK) == [False] * 5
    assert add(memory, given) == [True] * 5


def test_what_a_memory_recalled_is_not_stored_as_if_it_had_been_said(memory):
    memory.add_messages(TALK, trajectory="old")
    context = memory.search("hotel in Porto").context()
    question = {"role": "user", "content": f"{context}\nWhere did we stay?"}
    call = {
        "role": "assistant",
        "tool_calls": [{"id": "r", "function": {"name": "note", "arguments": {"text": context}}}],
    }
    add(memory, [question, call, {"role": "tool", "tool_call_id": "r", "content": context}])
    steps = [entry.step for entry in memory.steps("t")]
    assert steps[0].content == "[recalled: 5 steps]\nWhere did we stay?"
    assert steps[1].tool_calls[0].arguments == {"text": "[recalled: 5 steps]"}
    assert steps[2].content == "[recalled: 5 steps]"
    assert "Casa Azul" not in str([entry.step for entry in memory.steps("t")])


@pytest.mark.parametrize(
    ("messages", "reason"),
    [
        ("hello", "a list of messages is expected, not str"),
        ({"role": "user", "content": "hello"}, "a list of messages is expected, not one message"),
        (None, "a list of messages is expected, not NoneType"),
        ([TALK[0], 3], r"messages\[1\] is no message but int"),
        ([TALK[0], {"foo": 1}], r"messages\[1\]: no step and no record of a known log"),
        ([object()], r"messages\[0\] holds an object of the type object"),
        ([{"role": "user", "content": dict}], r"messages\[0\] holds the class dict"),
        ([{"role": "x" * 600, "content": "hello"}], r"messages\[0\]: step field 'role'"),
    ],
)
def test_what_is_no_message_is_named_and_nothing_is_stored(memory, messages, reason):
    with pytest.raises(InputError, match=reason) as error:
        memory.add_messages(messages, trajectory="t")
    assert error.value.hint
    assert memory.trajectories() == []


def test_two_threads_that_hand_over_the_same_conversation_store_it_once(memory):
    threads = [threading.Thread(target=add, args=(memory, TALK)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(said(memory)) == 5
