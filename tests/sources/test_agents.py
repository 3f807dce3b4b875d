"""Logs of agents, chats and traces: every format is recognized by its content, and nothing it says is lost."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from stitch.core import Rejection, SourcedStep, clean_text
from stitch.sources import FORMATS, FileSource

DATA = Path(os.environ.get("STITCH_TEST_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))
LOGS = sorted((DATA / "agent_trajectories").glob("*/*")) if (DATA / "agent_trajectories").is_dir() else []


def read(tmp_path, *records, name="log.jsonl"):
    path = tmp_path / name
    path.write_text("\n".join(record if isinstance(record, str) else json.dumps(record) for record in records))
    items = list(FileSource(path))
    assert not [item for item in items if isinstance(item, Rejection)]
    return items


def brief(items):
    """Role, content, called tools and answering tool of each step."""
    return [
        (item.step.role, item.step.content, tuple(call.name for call in item.step.tool_calls), item.step.tool_name)
        for item in items
    ]


def test_anthropic_messages_give_a_step_a_result_and_name_the_tool(tmp_path):
    items = read(tmp_path, {"id": "c", "messages": [
        {"role": "user", "content": "Find the bug"},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "u1", "name": "grep", "input": {"pattern": "x"}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "u1", "is_error": False,
             "content": [{"type": "text", "text": "a.py"}]},
            {"type": "text", "text": "Go on"}]},
    ]})  # fmt: skip
    assert brief(items) == [
        ("user", "Find the bug", (), None), ("assistant", "I look.", ("grep",), None),
        ("tool", "a.py", (), "grep"), ("user", "Go on", (), None),
    ]  # fmt: skip
    assert items[1].step.tool_calls[0].arguments == {"pattern": "x"}
    assert items[1].step.metadata["parts"] == [{"type": "thinking", "thinking": "hm"}]
    assert items[2].step.metadata == {"is_error": False, "tool_call_id": "u1"}


def test_gemini_contents_are_read(tmp_path):
    items = read(tmp_path, {"contents": [
        {"role": "user", "parts": [{"text": "Weather?"}]},
        {"role": "model", "parts": [{"functionCall": {"name": "weather", "args": {"city": "Rome"}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "weather", "response": {"sky": "clear"}}}]},
    ]})  # fmt: skip
    assert brief(items) == [
        ("user", "Weather?", (), None), ("assistant", "", ("weather",), None),
        ("tool", '{"sky":"clear"}', (), "weather"),
    ]  # fmt: skip


def test_items_of_the_responses_protocol_are_read(tmp_path):
    items = read(tmp_path, {"input": [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Run it"}]},
        {"type": "function_call", "call_id": "f1", "name": "run", "arguments": '{"n": 2}'},
        {"type": "function_call_output", "call_id": "f1", "output": "ok"},
    ]})  # fmt: skip
    assert brief(items) == [("user", "Run it", (), None), ("assistant", "", ("run",), None), ("tool", "ok", (), "run")]


def test_share_gpt_conversations_keep_the_roles_they_had(tmp_path):
    items = read(
        tmp_path, {"id": "g", "conversations": [{"from": "human", "value": "hi"}, {"from": "gpt", "value": "yo"}]}
    )
    assert [item.step.role for item in items] == ["user", "assistant"]
    assert items[1].step.metadata == {"role": "gpt"}


def test_swe_agent_actions_are_tool_calls_and_observations_their_results(tmp_path):
    history = [
        {"role": "system", "content": "rules", "agent": "primary"},
        {"role": "user", "content": "issue", "agent": "primary"},
        {"role": "assistant", "content": "I list.", "thought": "I list.", "action": "ls -a", "agent": "primary"},
        {"role": "user", "content": ".git", "agent": "primary"},
        {"role": "assistant", "content": "Done", "action": "", "agent": "primary"},
    ]  # fmt: skip
    entries = [{"action": "ls -a", "observation": ".git", "state": "here", "execution_time": 0.2}]
    [*items] = read(tmp_path, {"history": history, "trajectory": entries, "info": {"exit": 0}}, name="x.traj")
    assert brief(items)[2:4] == [("assistant", "I list.", ("ls",), None), ("tool", ".git", (), "ls")]
    assert items[0].step.metadata["trajectory"] == {"info": {"exit": 0}}
    assert items[2].step.metadata["state"] == "here"
    bare = read(tmp_path, {"trajectory": [{**entries[0], "thought": "I list."}]}, name="y.traj")
    assert brief(bare) == brief(items)[2:4]


def test_open_hands_events_are_read(tmp_path):
    items = read(tmp_path, [
        {"id": 0, "source": "user", "action": "message", "args": {"content": "Fix it"},
         "timestamp": "2026-01-01T00:00:00"},
        {"id": 1, "source": "agent", "action": "run", "args": {"command": "ls", "thought": "I look"}},
        {"id": 2, "source": "environment", "observation": "run", "content": "a.py", "cause": 1},
    ], name="events.json")  # fmt: skip
    assert brief(items) == [
        ("user", "Fix it", (), None), ("assistant", "I look", ("run",), None), ("tool", "a.py", (), "run"),
    ]  # fmt: skip
    assert items[0].step.timestamp == "2026-01-01T00:00:00"
    assert {item.trajectory for item in items} == {"events"}
    assert items[2].step.parent == "1"


def test_sessions_of_coding_agents_keep_time_parent_and_tools(tmp_path):
    items = read(
        tmp_path,
        {"type": "user", "uuid": "a", "parentUuid": None, "sessionId": "s", "timestamp": "T1",
         "message": {"role": "user", "content": "hi"}},
        {"type": "assistant", "uuid": "b", "parentUuid": "a", "sessionId": "s", "timestamp": "T2",
         "message": {"role": "assistant", "content": [
             {"type": "tool_use", "id": "u", "name": "Bash", "input": {"c": 1}}]}},
        {"type": "user", "uuid": "c", "parentUuid": "b", "sessionId": "s", "timestamp": "T3",
         "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "u", "content": "out"}]}},
        {"type": "summary", "summary": "They ran it", "leafUuid": "c"},
    )  # fmt: skip
    assert brief(items)[:3] == [
        ("user", "hi", (), None),
        ("assistant", "", ("Bash",), None),
        ("tool", "out", (), "Bash"),
    ]
    assert [(item.trajectory, item.step.id, item.step.parent) for item in items[:3]] == [
        ("s", "a", None), ("s", "b", "a"), ("s", "c", "b"),
    ]  # fmt: skip
    assert items[2].step.timestamp == "T3"
    assert items[3].step.content == "They ran it"


def test_the_agent_data_protocol_is_read(tmp_path):
    items = read(tmp_path, {"id": "t", "details": {"a": 1}, "content": [
        {"class_": "text_observation", "source": "user", "content": "task"},
        {"class_": "api_action", "function": "go", "kwargs": {"to": "shelf"}, "description": "I go"},
        {"class_": "text_observation", "source": "environment", "content": "shelf"},
        {"class_": "code_action", "language": "python", "content": "1+1"},
        {"class_": "web_observation", "axtree": "tree", "url": "u"},
        {"class_": "message_action", "content": "done"},
    ]})  # fmt: skip
    assert brief(items) == [
        ("user", "task", (), None), ("assistant", "I go", ("go",), None), ("tool", "shelf", (), "go"),
        ("assistant", "", ("python",), None), ("tool", "tree", (), "python"), ("assistant", "done", (), None),
    ]  # fmt: skip
    assert items[3].step.tool_calls[0].arguments == {"code": "1+1"}


def test_who_and_when_logs_name_their_speakers(tmp_path):
    items = read(tmp_path, {"question": "q", "ground_truth": "secret", "mistake_step": "5", "history": [
        {"content": "hello", "role": "assistant", "name": "Expert"}]})  # fmt: skip
    assert brief(items) == [("Expert", "hello", (), None)]
    about = {"question": "q", "ground_truth": "secret", "mistake_step": "5"}
    assert items[0].step.metadata == {"role": "assistant", "trajectory": about}


def test_inter_code_and_bfcl_and_browsing_are_read(tmp_path):
    episode = {"query": "count", "environment": "sql", "turn_history": {
        "actions": ["SELECT 1"], "observations": [[[1]]], "rewards": [0.5]}}  # fmt: skip
    assert brief(read(tmp_path, {"0": episode})) == [
        ("user", "count", (), None), ("assistant", "", ("sql",), None), ("tool", "[[1]]", (), "sql"),
    ]  # fmt: skip
    assert brief(read(tmp_path, episode))[0][0] == "user"
    task = {"id": "b", "question": [[{"role": "user", "content": "one"}], [{"role": "user", "content": "two"}]]}
    assert [content for _, content, _, _ in brief(read(tmp_path, task))] == ["one", "two"]
    browsing = {"task_id": 3, "intent": "buy", "trajectory": [{"axtree": "page", "url": "u"}, {"action": "click"}]}
    assert brief(read(tmp_path, browsing)) == [
        ("user", "buy", (), None), ("tool", "page", (), "browser"), ("assistant", "click", (), None),
    ]  # fmt: skip


def test_spans_of_open_telemetry_show_each_message_once(tmp_path):
    def messages(*said):
        return json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]} for role, text in said])

    def span(number, **attributes):
        return {"traceId": "t1", "spanId": str(number), "name": "chat", "startTimeUnixNano": str(number * 10**9),
                "attributes": [{"key": key.replace("__", "."), "value": {"stringValue": value}}
                               for key, value in attributes.items()]}  # fmt: skip

    first = span(
        1, gen_ai__input__messages=messages(("user", "hi")), gen_ai__output__messages=messages(("assistant", "yo"))
    )
    tool = span(
        2, gen_ai__tool__name="find", gen_ai__tool__call__arguments='{"q": 1}', gen_ai__tool__call__result="none"
    )
    last = span(3, gen_ai__input__messages=messages(("user", "hi"), ("assistant", "yo"), ("user", "more")))
    export = {"resourceSpans": [{"scopeSpans": [{"spans": [last, tool, first]}]}]}
    expected = [
        ("user", "hi", (), None), ("assistant", "yo", (), None), ("assistant", "", ("find",), None),
        ("tool", "none", (), "find"), ("user", "more", (), None),
    ]  # fmt: skip
    items = read(tmp_path, export)
    assert brief(items) == expected
    assert [item.step.timestamp for item in items] == [1.0, 1.0, 2.0, 2.0, 3.0]
    assert {item.trajectory for item in items} == {"t1"}
    flat = {
        "trace_id": "t2",
        "attributes": {"gen_ai.conversation.id": "c9", "gen_ai.input.messages": [{"role": "user", "content": "x"}]},
    }
    assert read(tmp_path, flat)[0].step.content == "x"


def test_runs_of_lang_smith_show_each_message_once(tmp_path):
    human = {"role": "user", "content": "hi"}
    items = read(
        tmp_path,
        {"id": "r1", "trace_id": "t", "run_type": "llm", "inputs": {"messages": [[human]]}, "start_time": "T1",
         "outputs": {"generations": [[{"message": {"id": ["x", "AIMessage"], "kwargs": {
             "content": "", "tool_calls": [{"name": "find", "args": {"q": 1}, "id": "c"}]}}}]]}},
        {"id": "r2", "trace_id": "t", "run_type": "tool", "name": "find", "inputs": {"q": 1},
         "outputs": {"output": "none"}},
        {"id": "r3", "trace_id": "t", "run_type": "llm", "inputs": {"messages": [human]},
         "outputs": {"choices": [{"message": {"role": "assistant", "content": "nothing"}}]}},
        {"id": "r4", "trace_id": "t", "run_type": "chain", "inputs": {"x": 1}, "outputs": None},
    )  # fmt: skip
    assert brief(items) == [
        ("user", "hi", (), None), ("assistant", "", ("find",), None), ("assistant", "", ("find",), None),
        ("tool", "none", (), "find"), ("assistant", "nothing", (), None), ("user", '{"x":1}', (), None),
    ]  # fmt: skip
    assert items[0].step.timestamp == "T1"


def test_plain_text_with_speakers_is_read(tmp_path):
    items = read(tmp_path, "Ann Lee: hello", "and more", "", "Bob: bye", name="talk.txt")
    assert [(item.trajectory, item.step.role, item.step.content, item.line) for item in items] == [
        ("talk", "Ann Lee", "hello\nand more", 1), ("talk", "Bob", "bye", 4),
    ]  # fmt: skip


def test_two_records_of_one_name_are_two_trajectories_and_nameless_ones_are_numbered(tmp_path):
    chat = {"messages": [{"role": "user", "content": "hi"}]}
    items = read(tmp_path, chat, chat, {**chat, "id": "x"}, {**chat, "id": "x"})
    assert [item.trajectory for item in items] == ["log", "log-2", "x", "x-2"]


@pytest.mark.parametrize(
    "record",
    [
        {"messages": ["text", 3]},
        {"turn_history": {"actions": 3}},
        {"content": [{"class_": "api_action", "kwargs": 3}, "x", {}]},
        {"resourceSpans": [{"scopeSpans": [{"spans": [{"startTimeUnixNano": "soon"}]}]}]},
        {"intent": "x", "trajectory": [3]},
        {"source": "agent", "action": "run", "args": {"thought": 3}},
        {"type": "user", "message": {"content": "no role, but a type"}},
        {"history": [{"role": "user", "agent": "a"}], "trajectory": None},
    ],
)
def test_records_that_break_the_rules_of_their_format_are_rejected_or_read_but_never_raise(tmp_path, record):
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps(record) + "\n" + json.dumps({"role": "user", "content": "still here"}))
    items = list(FileSource(path))
    last = items[-1]
    assert isinstance(last, SourcedStep)
    assert last.step.content == "still here"
    assert len(items) > 1


def test_names_of_formats_are_distinct():
    assert len({known.name for known in FORMATS}) == len(FORMATS)


def texts_in(value):
    """All texts of a JSON value; a text that is a JSON object itself counts as what it holds."""
    if isinstance(value, str):
        if value.startswith("{"):
            try:
                yield from texts_in(json.loads(value))
            except json.JSONDecodeError:
                yield value
        else:
            yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            # "type" tells parts apart: what it says is in the form of the step.
            if key != "type":
                yield from texts_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from texts_in(inner)


def one_of_each_folder():
    """All logs; those that are not the first of their folder are left to the long tests."""
    for before, path in zip([None, *LOGS], LOGS, strict=False):
        is_first = before is None or before.parent != path.parent
        yield pytest.param(path, id=f"{path.parent.name}/{path.name[:40]}", marks=[] if is_first else pytest.mark.slow)


@pytest.mark.skipif(not LOGS, reason="no data folder: set STITCH_TEST_DATA")
@pytest.mark.parametrize("path", list(one_of_each_folder()))
def test_no_text_of_a_real_log_is_lost(path):
    items = list(FileSource(path))
    assert not [item for item in items if isinstance(item, Rejection)]
    steps = [item.step.model_dump(mode="json") for item in items if isinstance(item, SourcedStep)]
    kept = "\n".join([*texts_in(steps), *(item.trajectory for item in items if isinstance(item, SourcedStep))])
    raw = path.read_text(encoding="utf-8")
    try:
        document = json.loads(raw)
    except json.JSONDecodeError:
        document = [json.loads(line) for line in raw.splitlines() if line.strip()]
    lost = {
        line
        for text in texts_in(document)
        for line in map(str.strip, clean_text(text).splitlines())
        if line not in kept
    }
    assert lost == set()
