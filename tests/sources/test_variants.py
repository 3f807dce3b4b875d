"""The forms in which other versions and programs write the same formats: all are recognized, none loses a word.

More than 400 lines because one conversation is written in every form, and each is compared with the others.
"""

from __future__ import annotations

import gzip
import json

import pytest

from stitch.core import Rejection, SourcedStep
from stitch.sources import FileSource

USER = {"role": "user", "content": "Weather in Oslo?"}
SAID = ("user", "Weather in Oslo?", (), None)
CALLED = ("assistant", "", ("weather",), None)
ANSWERED = ("tool", "sunny", (), "weather")
DONE = ("assistant", "It is sunny", (), None)
DONE_MESSAGE = {"role": "assistant", "content": "It is sunny"}


def read(path):
    items = list(FileSource(path))
    assert not [item for item in items if isinstance(item, Rejection)]
    return [item for item in items if isinstance(item, SourcedStep)]


def brief(items):
    return [
        (item.step.role, item.step.content, tuple(call.name for call in item.step.tool_calls), item.step.tool_name)
        for item in items
    ]


OPEN_AI = [
    USER,
    {"role": "assistant", "content": None, "refusal": None, "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Oslo"}'}}]},
    {"role": "tool", "tool_call_id": "c1", "content": "sunny"},
    DONE_MESSAGE,
]  # fmt: skip
ANTHROPIC = [
    USER,
    {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "Oslo"}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "sunny"}]},
    {"role": "assistant", "content": [{"type": "text", "text": "It is sunny", "citations": None}]},
]
GEMINI = [
    {"role": "user", "parts": [{"text": "Weather in Oslo?"}]},
    {"role": "model", "parts": [{"function_call": {"name": "weather", "args": {"city": "Oslo"}}}]},
    {"role": "function", "parts": [{"function_response": {"name": "weather", "response": "sunny"}}]},
    {"role": "model", "parts": [{"text": "It is sunny"}]},
]
RESPONSES = [
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Weather in Oslo?"}]},
    {"type": "function_call", "id": "fc", "call_id": "c1", "name": "weather", "arguments": '{"city": "Oslo"}'},
    {"type": "function_call_output", "call_id": "c1", "output": "sunny"},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "It is sunny"}]},
]
VERCEL = [
    USER,
    {"role": "assistant", "content": [
        {"type": "tool-call", "toolCallId": "c1", "toolName": "weather", "args": {"city": "Oslo"}}]},
    {"role": "tool", "content": [
        {"type": "tool-result", "toolCallId": "c1", "toolName": "weather", "result": "sunny"}]},
    DONE_MESSAGE,
]  # fmt: skip
LANG_CHAIN = [
    {"type": "human", "data": {"content": "Weather in Oslo?"}},
    {"type": "ai", "data": {"content": "", "tool_calls": [{"name": "weather", "args": {"city": "Oslo"}, "id": "c1"}]}},
    {"type": "tool", "data": {"content": "sunny", "tool_call_id": "c1"}},
    {"type": "ai", "data": {"content": "It is sunny"}},
]
CONSTRUCTORS = [
    {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", name], "kwargs": kwargs}
    for name, kwargs in (
        ("HumanMessage", {"content": "Weather in Oslo?", "type": "human"}),
        ("AIMessage", {"content": "", "tool_calls": [{"name": "weather", "args": {"city": "Oslo"}, "id": "c1"}]}),
        ("ToolMessage", {"content": "sunny", "tool_call_id": "c1"}),
        ("AIMessage", {"content": "It is sunny"}),
    )
]
GOOSE = [
    {"role": "user", "created": 1, "content": [{"type": "text", "text": "Weather in Oslo?"}]},
    {"role": "assistant", "content": [{"type": "toolRequest", "id": "c1", "toolCall": {
        "status": "success", "value": {"name": "weather", "arguments": {"city": "Oslo"}}}}]},
    {"role": "user", "content": [{"type": "toolResponse", "id": "c1", "toolResult": [
        {"type": "text", "text": "sunny"}]}]},
    DONE_MESSAGE,
]  # fmt: skip
KINDS = {
    "openai": OPEN_AI, "anthropic": ANTHROPIC, "gemini": GEMINI, "responses": RESPONSES, "vercel": VERCEL,
    "langchain": LANG_CHAIN, "constructors": CONSTRUCTORS, "goose": GOOSE,
}  # fmt: skip
ENVELOPES = {
    "messages": lambda m: {"id": "t", "messages": m},
    "list": lambda m: m,
    "list of lists": lambda m: [m],
    "data": lambda m: {"object": "list", "data": [{"id": "t", "messages": m}]},
    "data of messages": lambda m: {"id": "t", "data": m},
    "conversation": lambda m: {"conversation_id": "t", "conversation": m},
    "simulations": lambda m: {"tasks": [{"id": 1}], "simulations": [{"id": "t", "reward": 1, "messages": m}]},
    "rows": lambda m: {"features": [], "rows": [{"row_idx": 0, "row": {"id": "t", "messages": m}}]},
    "by name": lambda m: {"t": {"messages": m}},
    "lists by name": lambda m: {"t": m},
    "custom": lambda m: {"custom_id": "t", "body": {"model": "x", "messages": m}},
    "deep": lambda m: {"run": 1, "results": [{"trajectories": [{"id": "t", "messages": m}]}]},
    "any other name": lambda m: {"id": "t", "protocol": m},
}
CASES = [(envelope, "line") for envelope in ENVELOPES]
CASES += [("messages", form) for form in ("indented", "gzip", "utf-16", "windows")]


@pytest.mark.parametrize(("envelope", "form"), CASES)
def test_messages_of_every_kind_are_read_in_every_envelope(tmp_path, envelope, form):
    for kind, messages in KINDS.items():
        text = json.dumps(ENVELOPES[envelope](messages), indent=2 if form in ("indented", "windows") else None)
        path = tmp_path / "log.json"
        data = {"gzip": gzip.compress(text.encode()), "utf-16": text.encode("utf-16"),
                "windows": b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode()}.get(form, text.encode())  # fmt: skip
        path.write_bytes(data)
        items = read(path)
        assert brief(items) == [SAID, CALLED, ANSWERED, DONE], kind
        assert items[1].step.tool_calls[0].arguments == {"city": "Oslo"}, kind
        assert len({item.trajectory for item in items}) == 1, kind
        assert [item.step.id for item in items] == ["0", "1", "2", "3"], kind


def one(tmp_path, *records):
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(record if isinstance(record, str) else json.dumps(record) for record in records))
    return read(path)


@pytest.mark.parametrize(
    "record",
    [
        {"request": {"model": "m", "messages": [USER]}, "response": {"choices": [{"message": DONE_MESSAGE}]}},
        {"messages": [USER], "response": {"body": {"choices": [{"index": 0, "message": DONE_MESSAGE}]}}},
        {"messages": [USER], "response": {"type": "message", "role": "assistant",
                                          "content": [{"type": "text", "text": "It is sunny"}]}},
        {"contents": [GEMINI[0]], "response": {"candidates": [{"content": GEMINI[3]}]}},
        {"input": "Weather in Oslo?", "output": [RESPONSES[3]]},
        {"prompt": "Weather in Oslo?", "completion": "It is sunny"},
        {"prompt": "Weather in Oslo?", "response": "It is sunny"},
    ],
)  # fmt: skip
def test_a_request_with_its_reply_is_a_trajectory(tmp_path, record):
    assert brief(one(tmp_path, record)) == [SAID, DONE]


def test_what_a_provider_runs_itself_is_a_call_of_a_tool(tmp_path):
    items = one(tmp_path, {"input": [
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Look it up"}], "id": "r"},
        {"type": "reasoning", "summary": [], "encrypted_content": "xyz"},
        {"type": "web_search_call", "id": "w", "action": {"type": "search", "query": "oslo"}, "status": "completed"},
        {"type": "custom_tool_call", "call_id": "c", "name": "apply_patch", "input": "*** Begin"},
        {"type": "custom_tool_call_output", "call_id": "c", "output": "ok"},
        {"type": "local_shell_call", "call_id": "s", "action": {"type": "exec", "command": ["ls"]}},
    ]})  # fmt: skip
    assert brief(items) == [
        ("assistant", "Look it up", (), None), ("assistant", "reasoning", (), None),
        ("assistant", "", ("web_search",), None), ("assistant", "", ("apply_patch",), None),
        ("tool", "ok", (), "apply_patch"), ("assistant", "", ("local_shell",), None),
    ]  # fmt: skip
    assert items[1].step.metadata["encrypted_content"] == "xyz"
    assert items[2].step.tool_calls[0].arguments == {"type": "search", "query": "oslo"}
    assert items[2].step.metadata["status"] == "completed"
    assert items[3].step.tool_calls[0].arguments == {"input": "*** Begin"}
    called, found, server = one(tmp_path, {"role": "assistant", "content": [
        {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "x"}},
        {"type": "web_search_tool_result", "tool_use_id": "s", "content": [{"url": "u"}]},
        {"type": "text", "text": "Found", "citations": [{"url": "u"}]}]})  # fmt: skip
    assert brief([called, found, server]) == [
        ("assistant", "", ("web_search",), None), ("tool", '[{"url":"u"}]', (), "web_search"),
        ("assistant", "Found", (), None),
    ]  # fmt: skip
    assert server.step.metadata["parts"] == [{"citations": [{"url": "u"}]}]


def test_a_call_written_with_its_result_is_followed_by_it(tmp_path):
    items = one(tmp_path, {"role": "assistant", "parts": [
        {"type": "text", "text": "I look"},
        {"type": "tool-weather", "toolCallId": "c", "state": "output-available", "input": {"city": "Oslo"},
         "output": "sunny"}]}, {"info": {}, "role": "assistant", "parts": [
        {"type": "tool-invocation", "toolInvocation": {
            "toolName": "weather", "args": {"city": "Oslo"}, "toolCallId": "d", "result": "sunny"}}]})  # fmt: skip
    assert brief(items) == [("assistant", "I look", ("weather",), None), ANSWERED, CALLED, ANSWERED]
    assert items[0].step.metadata["parts"] == [{"state": "output-available"}]


def test_times_parents_and_ids_are_kept_under_any_of_their_names(tmp_path):
    items = one(
        tmp_path,
        {"sender": "human", "text": "a", "uuid": "m1", "created_at": "2026-01-01T00:00:00Z"},
        {"speaker": "Ann", "text": "b", "dia_id": "D1:2", "parent_id": "m1", "ts": 12.5},
        {"author": {"role": "user", "name": "Bo"}, "content": "c", "create_time": 3, "reply_to": 7},
        {"source": "writer", "content": "d", "type": "TextMessage", "models_usage": None, "session_id": "s"},
    )
    steps = [item.step for item in items]
    assert [(s.role, s.content, s.id, s.timestamp, s.parent) for s in steps] == [
        ("user", "a", "m1", "2026-01-01T00:00:00Z", None), ("Ann", "b", "D1:2", 12.5, "m1"),
        ("user", "c", "2", 3, "7"), ("writer", "d", "3", None, None),
    ]  # fmt: skip
    assert steps[2].metadata["author"] == {"role": "user", "name": "Bo"}
    assert steps[3].session == "s"


def test_newer_events_of_open_hands_are_read(tmp_path):
    items = one(tmp_path, [
        {"id": "e1", "kind": "MessageEvent", "source": "user",
         "llm_message": {"role": "user", "content": [{"type": "text", "text": "Fix it"}]}},
        {"id": "e2", "kind": "ActionEvent", "source": "agent", "thought": [{"type": "text", "text": "I look"}],
         "action": {"kind": "ExecuteBashAction", "command": "ls"}, "tool_name": "execute_bash", "tool_call_id": "c"},
        {"id": "e3", "kind": "ObservationEvent", "source": "environment", "tool_name": "execute_bash",
         "observation": {"kind": "ExecuteBashObservation", "output": "a.py", "exit_code": 0}, "action_id": "e2"},
    ])  # fmt: skip
    assert brief(items) == [
        ("user", "Fix it", (), None), ("assistant", "I look", ("execute_bash",), None),
        ("tool", "a.py", (), "execute_bash"),
    ]  # fmt: skip
    assert [item.step.id for item in items] == ["e1", "e2", "e3"]
    assert items[2].step.metadata["exit_code"] == 0
    run = {"instance_id": "i-1", "history": [
        [{"action": "run", "args": {"command": "ls", "thought": "I look"}, "message": "Running: ls"},
         {"observation": "run", "content": "a.py", "extras": {"exit_code": 0}}],
    ], "test_result": {"resolved": True}}  # fmt: skip
    items = one(tmp_path, run)
    assert brief(items) == [("assistant", "I look", ("run",), None), ("tool", "a.py", (), "run")]
    assert items[0].trajectory == "i-1"
    about = {"instance_id": "i-1", "test_result": {"resolved": True}}
    assert items[0].step.metadata == {"message": "Running: ls", "trajectory": about}


def test_steps_with_a_source_and_an_observation_inside_are_read(tmp_path):
    record = {"schema_version": "ATIF-v1.0", "session_id": "s", "agent": {"name": "x"}, "steps": [
        {"step_id": 1, "source": "user", "message": "Fix it", "timestamp": "T1"},
        {"step_id": 2, "source": "agent", "message": "", "reasoning_content": "hm", "tool_calls": [
            {"tool_call_id": "c", "function_name": "bash", "arguments": {"cmd": "ls"}}],
         "observation": {"results": [{"source_call_id": "c", "content": "a.py"}]}},
    ]}  # fmt: skip
    assert brief(one(tmp_path, record)) == [
        ("user", "Fix it", (), None), ("assistant", "", ("bash",), None), ("tool", "a.py", (), "bash"),
    ]  # fmt: skip
    react = {"id": "r", "steps": [{"thought": "I look", "action": "Search[Oslo]", "observation": "a city"}]}
    assert brief(one(tmp_path, react)) == [("assistant", "I look", ("Search",), None), ("tool", "a city", (), "Search")]


def test_session_lines_that_are_no_messages_are_kept(tmp_path):
    items = one(
        tmp_path,
        {"type": "system", "uuid": "a", "sessionId": "s", "content": "Compacted", "subtype": "compact"},
        {"type": "file-history-snapshot", "messageId": "a", "snapshot": {"files": ["x"]}},
        {"type": "assistant", "uuid": "b", "parentUuid": "a", "sessionId": "s", "isSidechain": True,
         "message": {"role": "assistant", "id": "msg", "content": "Hi", "usage": {"in": 1}}},
    )  # fmt: skip
    assert brief(items) == [
        ("system", "Compacted", (), None), ("file-history-snapshot", "file history snapshot", (), None),
        ("assistant", "Hi", (), None),
    ]  # fmt: skip
    assert items[1].step.metadata["snapshot"] == {"files": ["x"]}
    assert items[2].step.metadata["isSidechain"] is True
    assert items[2].step.metadata["usage"] == {"in": 1}


def test_session_payloads_show_what_is_said_once(tmp_path):
    def line(event, **payload):
        return {"timestamp": "T", "type": event, "payload": payload}

    items = one(
        tmp_path,
        line("session_meta", id="s", cwd="/x", instructions="Be brief"),
        line("response_item", type="message", role="user", content=[{"type": "input_text", "text": "Go"}]),
        line("event_msg", type="user_message", message="Go", kind="plain"),
        line("response_item", type="function_call", name="shell", arguments='{"command": ["ls"]}', call_id="c"),
        line("response_item", type="function_call_output", call_id="c", output="a.py"),
        line("event_msg", type="token_count", info={"total": 3}),
        line("event_msg", type="agent_message", message="Done"),
        line("response_item", type="message", role="assistant", content=[{"type": "output_text", "text": "Done"}]),
        line("response_item", type="message", role="user", content=[{"type": "input_text", "text": "Go"}]),
    )
    assert brief(items) == [
        ("session_meta", "Be brief", (), None), ("user", "Go", (), None), ("assistant", "", ("shell",), None),
        ("tool", "a.py", (), "shell"), ("token_count", "token count", (), None), ("assistant", "Done", (), None),
        ("user", "Go", (), None),
    ]  # fmt: skip
    assert {item.step.timestamp for item in items} == {"T"}
    old = one(
        tmp_path,
        {"id": "s", "timestamp": "T0", "instructions": None, "git": {"branch": "main"}},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Go"}]},
        {"record_type": "state"},
    )
    assert [(item.step.role, item.step.content) for item in old] == [
        ("session", "session"), ("user", "Go"), ("state", "state"),
    ]  # fmt: skip


def test_exported_chats_are_read_along_their_tree(tmp_path):
    def node(parent, children, message=None):
        return {"parent": parent, "children": children, "message": message}

    def said(role, text, at):
        return {"author": {"role": role}, "create_time": at, "content": {"content_type": "text", "parts": [text]}}

    nodes = {
        "c": node("b", [], said("assistant", "Sunny", 3)), "b": node("a", ["c"], said("user", "Weather?", 2)),
        "a": node(None, ["b"], said("system", "", 1)),
    }  # fmt: skip
    items = one(tmp_path, [{"title": "Trip", "id": "c1", "current_node": "c", "mapping": nodes}])
    assert brief(items) == [("user", "Weather?", (), None), ("assistant", "Sunny", (), None)]
    assert [(i.trajectory, i.step.timestamp, i.step.parent) for i in items] == [("c1", 2, "a"), ("c1", 3, "b")]
    claude = {
        "uuid": "k",
        "name": "Trip",
        "chat_messages": [
            {"uuid": "m", "sender": "human", "text": "Weather?", "content": [{"type": "text", "text": "Weather?"}]}
        ],
    }
    assert brief(one(tmp_path, [claude])) == [("user", "Weather?", (), None)]


def test_what_a_model_did_in_a_bfcl_task_is_read(tmp_path):
    items = one(tmp_path, {"id": "b", "result": [[["cd(folder='x')", "ls()"]], [[{"mv": '{"to": "y"}'}], "Done"]]})
    assert brief(items) == [
        ("assistant", "", ("cd", "ls"), None), ("assistant", "", ("mv",), None), ("assistant", "Done", (), None),
    ]  # fmt: skip
    logged = one(tmp_path, {"id": "b", "result": [[["ls()"]]], "inference_log": [
        {"begin_of_turn_query": [USER], "step_0": [{"role": "assistant", "content": "ls()"}, {
            "role": "tool", "content": "a.py"}]}]})  # fmt: skip
    assert brief(logged) == [SAID, ("assistant", "", ("ls",), None), ("tool", "a.py", (), "ls")]


def test_older_and_other_attributes_of_spans_are_read(tmp_path):
    def span(name, attributes, **more):
        return {"name": name, "context": {"trace_id": "0x1", "span_id": name}, "parent_id": None,
                "start_time": "2026-01-01T00:00:00Z", "attributes": attributes, **more}  # fmt: skip

    events = [
        {"name": "gen_ai.user.message", "attributes": {"content": "Weather in Oslo?"}},
        {"name": "gen_ai.choice", "attributes": {"index": 0, "message": json.dumps({"tool_calls": [
            {"id": "c1", "function": {"name": "weather", "arguments": "{}"}}]})}},
    ]  # fmt: skip
    items = one(tmp_path, span("chat", {"gen_ai.system": "x"}, events=events))
    assert brief(items) == [SAID, CALLED]
    assert items[0].step.timestamp == 1767225600.0
    numbered = {
        "gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "Weather in Oslo?",
        "gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.tool_calls.0.name": "weather",
        "gen_ai.completion.0.tool_calls.0.arguments": "{}",
    }  # fmt: skip
    assert brief(one(tmp_path, span("chat", numbered))) == [SAID, CALLED]
    inference = {
        "openinference.span.kind": "LLM", "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": "Weather in Oslo?", "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "weather",
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": "{}",
    }  # fmt: skip
    assert brief(one(tmp_path, span("chat", inference))) == [SAID, CALLED]
    current = {
        "gen_ai.system_instructions": json.dumps([{"type": "text", "content": "Be brief"}]),
        "gen_ai.input.messages": json.dumps([
            {"role": "user", "parts": [{"type": "text", "content": "Weather in Oslo?"}]},
            {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "weather", "arguments": {}}]},
            {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "sunny"}]}]),
        "gen_ai.output.messages": json.dumps([{
            "role": "assistant", "parts": [{"type": "text", "content": "It is sunny"}], "finish_reason": "stop"}]),
        "gen_ai.usage.input_tokens": 12,
    }  # fmt: skip
    items = one(tmp_path, span("chat m", current))
    assert brief(items) == [("system", "Be brief", (), None), SAID, CALLED, ANSWERED, DONE]
    assert items[4].step.metadata["gen_ai.usage.input_tokens"] == 12
    agent = one(tmp_path, span("invoke_agent Trip", {"gen_ai.operation.name": "invoke_agent"}))
    assert brief(agent) == [("span", "invoke_agent Trip", (), None)]


def test_messages_in_events_and_parts_of_spans_are_read(tmp_path):
    def span(attributes=None, **more):
        return {"name": "chat", "traceId": "t", "attributes": attributes or {}, **more}

    prompts = [
        {"name": "gen_ai.content.prompt", "attributes": {"gen_ai.prompt": "Weather in Oslo?"}},
        {"name": "gen_ai.tool.message", "attributes": {"id": "c1", "name": "weather", "content": "sunny"}},
        {"name": "gen_ai.choice", "attributes": {"message": "It is sunny"}},
        {"name": "exception", "attributes": {"exception.type": "TimeoutError"}},
    ]
    assert brief(one(tmp_path, span(events=prompts))) == [SAID, ANSWERED, DONE]
    parts = {
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.contents.0.message_content.text": "Weather in Oslo?",
        "llm.input_messages.0.message.contents.1.message_content.text": "Today?",
        "llm.input_messages.1.message.content": json.dumps("Be brief"),
    }
    (said, *_) = one(tmp_path, span(parts))
    assert (said.step.role, said.step.content) == ("user", "Weather in Oslo?\nToday?")
    tool = [
        {"key": "gen_ai.tool.name", "value": {"stringValue": "weather"}},
        {"key": "gen_ai.tool.call.arguments", "value": {"kvlistValue": {"values": [
            {"key": "city", "value": {"stringValue": "Oslo"}},
            {"key": "days", "value": {"arrayValue": {"values": [{"intValue": "1"}, {"intValue": "2"}]}}}]}}},
    ]  # fmt: skip
    answer = [{"name": "gen_ai.tool.message", "attributes": {"content": "sunny"}}]
    items = one(tmp_path, span(tool, events=answer))
    assert brief(items) == [CALLED, ANSWERED]
    assert items[0].step.tool_calls[0].arguments == {"city": "Oslo", "days": [1, 2]}
    assert brief(one(tmp_path, span({"gen_ai.tool.name": "weather"}))) == [CALLED], "nobody says what it answered"


@pytest.mark.parametrize(
    ("began", "timestamp"), [(1767225600, 1767225600.0), (1767225600000000000, 1767225600.0), ("soon", None)]
)
def test_a_span_began_when_it_says_in_whatever_unit(tmp_path, began, timestamp):
    (item,) = one(tmp_path, {"name": "chat", "traceId": "t", "start_time": began, "attributes": {"x": 1}})
    assert item.step.timestamp == timestamp


def test_a_message_of_a_span_that_breaks_the_rules_is_rejected_alone(tmp_path):
    path = tmp_path / "spans.jsonl"
    said = json.dumps([{"role": "assistant", "content": None, "tool_calls": [{"id": "c1"}]}, USER])
    path.write_text(json.dumps({"name": "chat", "traceId": "t", "attributes": {"gen_ai.input.messages": said}}))
    items = list(FileSource(path))
    assert [item.line for item in items if isinstance(item, Rejection)] == [1]
    assert brief([item for item in items if isinstance(item, SourcedStep)]) == [SAID]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[10:04] Ann Lee: hello\n[10:05] Bob: bye", [("Ann Lee", "hello", "10:04"), ("Bob", "bye", "10:05")]),
        ("1/2/26, 10:04 - Ann: hello\nand more", [("Ann", "hello\nand more", "1/2/26, 10:04")]),
        ("Ann (10:04 AM): hello\r\nBob: bye\r\n", [("Ann", "hello", "10:04 AM"), ("Bob", "bye", None)]),
        ("<ann> hello\n<bob> bye", [("ann", "hello", None), ("bob", "bye", None)]),
        ("**User:** hello\n\n**Cook**: bye", [("User", "hello", None), ("Cook", "bye", None)]),
        ("USER:\nhello\nCOOK:\nbye", [("USER", "hello", None), ("COOK", "bye", None)]),
        ("A talk of May\n\nÉva: hello\nBob: bye",
         [("text", "A talk of May", None), ("Éva", "hello", None), ("Bob", "bye", None)]),
    ],
)  # fmt: skip
def test_plain_text_says_who_speaks_in_many_ways(tmp_path, text, expected):
    path = tmp_path / "talk.txt"
    path.write_bytes(text.encode())
    assert [(item.step.role, item.step.content, item.step.timestamp) for item in read(path)] == expected


def test_what_python_writes_beyond_json_is_read(tmp_path):
    items = one(tmp_path, '{"role": "user", "content": "x", "score": NaN}', '{"role": "user", "content": "a\\ud83d"}')
    assert items[0].step.metadata == {"score": "NaN"}
    assert items[1].step.content == "a?"


def test_several_documents_over_several_lines_are_read(tmp_path):
    path = tmp_path / "log.json"
    path.write_text("\n".join(json.dumps(message, indent=2) for message in OPEN_AI))
    assert brief(read(path)) == [SAID, CALLED, ANSWERED, DONE]


def test_each_list_on_a_line_of_its_own_is_a_trajectory(tmp_path):
    items = one(tmp_path, OPEN_AI, OPEN_AI)
    assert brief(items) == [SAID, CALLED, ANSWERED, DONE] * 2
    assert [item.trajectory for item in items] == ["log"] * 4 + ["log-2"] * 4


@pytest.mark.parametrize(
    ("data", "reason"),
    [(b"PAR1\x00\x01", "a Parquet file"), (b"PK\x03\x04\x00", "a zip archive"), (b"\x00\x00\n", "malformed JSON"),
     (b'{"hello": 1}', "the generic form")],
)  # fmt: skip
def test_what_is_no_trajectory_is_named(tmp_path, data, reason):
    path = tmp_path / "x.bin"
    path.write_bytes(data)
    [rejection] = FileSource(path)
    assert isinstance(rejection, Rejection)
    assert reason in rejection.reason


def test_tools_in_traces_are_called_and_answer_once(tmp_path):
    items = one(
        tmp_path,
        {"name": "weather", "traceId": "t", "startTimeUnixNano": "1", "attributes": {
            "openinference.span.kind": "TOOL", "input.value": '{"city": "Oslo"}', "output.value": "sunny"}},
        {"name": "chat", "traceId": "t", "startTimeUnixNano": "2", "attributes": {
            "input.value": json.dumps({"messages": [{"role": "tool", "name": "weather", "content": "sunny"}]}),
            "output.value": "It is sunny"}},
        {"id": "r", "trace_id": "l", "run_type": "chain", "name": "agent", "inputs": {"question": "Weather in Oslo?"},
         "outputs": {"answer": "It is sunny"}, "child_runs": [
             {"id": "r2", "run_type": "retriever", "name": "weather", "inputs": {"city": "Oslo"}, "error": "sunny"}]},
    )  # fmt: skip
    assert brief(items) == [CALLED, ANSWERED, DONE, SAID, DONE, CALLED, ANSWERED]
    assert [item.trajectory for item in items] == ["t"] * 3 + ["l"] * 4


def test_events_that_break_the_rules_are_rejected_alone(tmp_path):
    path = tmp_path / "log.jsonl"
    broken = [
        {"history": [{"action": "run", "args": {}}, 3]},
        {"id": "b", "result": []},
        {"id": "c", "mapping": {"a": {"message": {"content": "x"}, "parent": None, "children": ["a", "z"]}}},
        {"data": [USER, 3, {"hello": 1}]},
        {"history": [{"role": "assistant", "content": None, "tool_calls": [{"id": "c1"}]}, USER], "trajectory": []},
        {"id": "d", "content": [{"class_": "text_observation", "content": "x"}, {"content": "y"}]},
    ]
    path.write_text("\n".join(map(json.dumps, broken)))
    rejected = [item.line for item in FileSource(path) if isinstance(item, Rejection)]
    assert rejected == [1, 2, 3, 4, 4, 5, 6]


def test_what_a_spoken_event_of_open_hands_says_beside_its_words_is_kept(tmp_path):
    said, seen = one(
        tmp_path,
        {"history": [
            {"id": 0, "source": "user", "action": "message", "message": "Shown",
             "args": {"content": "Weather in Oslo?", "wait": True}},
            {"id": 1, "source": "environment", "observation": "run", "message": "It ran", "content": "sunny"},
        ]},
    )  # fmt: skip
    assert (said.step.role, said.step.content) == ("user", "Weather in Oslo?")
    assert (said.step.metadata["message"], said.step.metadata["args"]) == ("Shown", {"wait": True})
    assert (seen.step.role, seen.step.content, seen.step.metadata["message"]) == ("tool", "sunny", "It ran")
