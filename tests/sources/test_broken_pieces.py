"""Pieces of streams and steps of frameworks that are not as their programs write them: the rest of them is read."""

from __future__ import annotations

import json

from stitch.core import SourcedStep
from stitch.sources import FileSource


def said(tmp_path, content):
    """Role, words and names of calls of each step that is read."""
    path = tmp_path / "log.jsonl"
    path.write_text(content if isinstance(content, str) else "\n".join(map(json.dumps, content)))
    steps = [item.step for item in FileSource(path) if isinstance(item, SourcedStep)]
    return [(step.role, step.content, [call.name for call in step.tool_calls]) for step in steps]


def chunk(*choices):
    return {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": list(choices)}


def test_a_choice_or_call_that_is_none_does_not_stop_a_stream(tmp_path):
    call = {"index": 0, "id": "x", "function": {"name": "weather", "arguments": "{}"}}
    pieces = [
        chunk({"index": 0, "delta": {"role": "assistant", "content": "It is "}}, "nonsense"),
        chunk({"index": 0, "delta": None}),
        chunk({"index": 0, "delta": {"content": "sunny", "tool_calls": ["nonsense", call], "refusal": None}}),
        chunk({"index": 0, "delta": {}, "finish_reason": "stop"}),
    ]
    assert said(tmp_path, pieces) == [("assistant", "It is sunny", ["weather"])]


def test_a_piece_of_a_local_model_without_a_message_does_not_stop_its_stream(tmp_path):
    call = {"function": {"name": "weather", "arguments": {}}}
    rest = {"model": "m", "created_at": "2026-01-05T10:00:00Z"}
    pieces = [
        {**rest, "message": {"role": "assistant", "content": "It is "}, "done": False},
        {**rest, "message": {"role": "assistant", "content": "sunny", "tool_calls": [call]}, "done": False},
        {**rest, "message": {"role": "assistant", "content": ""}, "done": True},
    ]
    assert said(tmp_path, pieces) == [("assistant", "It is sunny", ["weather"])]


def test_arguments_that_break_off_are_kept_as_they_came(tmp_path):
    pieces = [
        {"type": "message_start", "message": {"role": "assistant", "content": [], "model": "m"}},
        {"type": "content_block_start", "index": 0,
         "content_block": {"type": "tool_use", "id": "x", "name": "weather", "input": {}}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": '{"ci'}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_stop"},
    ]  # fmt: skip
    ((role, _, calls),) = said(tmp_path, "".join(f"data: {json.dumps(each)}\n\n" for each in pieces))
    assert (role, calls) == ("assistant", ["weather"])


def test_a_run_may_have_steps_of_other_kinds_and_neither_input_nor_output(tmp_path):
    steps = [[{"tool": "weather", "tool_input": "Oslo", "log": "I look"}, None], "It thinks", ["It stops", None]]
    assert said(tmp_path, [{"intermediate_steps": steps}]) == [
        ("assistant", "I look", ["weather"]), ("assistant", "It thinks", []), ("assistant", "It stops", []),
    ]  # fmt: skip


def test_a_thought_may_lead_to_no_call_and_a_run_to_no_answer(tmp_path):
    run = {"trajectory": {"thought_0": "I look", "tool_name_0": "weather", "tool_args_0": {}, "thought_1": "I know"}}
    assert said(tmp_path, [run])[-2:] == [("assistant", "I look", ["weather"]), ("assistant", "I know", [])]


def test_replies_that_are_no_messages_do_not_stop_a_tree(tmp_path):
    reply = {"message_id": "b", "role": "assistant", "text": "It is sunny"}
    tree = {"message_tree_id": "t", "prompt": {"message_id": "a", "role": "prompter", "text": "Weather?",
                                               "replies": ["nonsense", reply]}}  # fmt: skip
    assert [words for _, words, _ in said(tmp_path, [tree])] == ["Weather?", "It is sunny"]
