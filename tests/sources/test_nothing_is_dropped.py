"""Whatever a user's step is called by, it is kept: no field is dropped for being one that benchmarks use, too."""

from __future__ import annotations

import json

import pytest

from stitch.core import Rejection, SourcedStep
from stitch.sources import FileSource

NAMES = (
    "gold", "evidence", "answer", "has_answer", "rewrite", "ground_truth", "groundtruth", "is_correct", "is_corrected",
    "mistake_agent", "mistake_step", "mistake_reason", "mistake_type",
)  # fmt: skip
SAID = {name: f"{name} is ours" for name in NAMES}
MESSAGE = {"role": "user", "content": "Which hotel?", **SAID}
CALL = {"name": "find", "arguments": {"city": "Rome"}}

FAMILIES = {
    "a step": MESSAGE,
    "a step in an envelope": {"type": "message", "message": MESSAGE, "uuid": "u"},
    "a trajectory of steps": {"id": "t", "steps": [MESSAGE]},
    "what is known of a trajectory": {"id": "t", "steps": [{"role": "user", "content": "hi"}], **SAID},
    "chat messages": {"messages": [MESSAGE], **SAID},
    "a list of messages": [MESSAGE],
    "a message of LangChain": {"lc": 1, "id": ["HumanMessage"], "kwargs": {"content": "hi", **SAID}},
    "a call": {"type": "function_call", **CALL, **SAID},
    "a result": {"type": "function_call_output", "call_id": "c", "output": "none", **SAID},
    "a turn of CAME-Bench": {"id": "trip-turn-1", "partition": ["p"], "action": "PROPOSE", "action_object": "Nyx",
                             **MESSAGE},
    "SWE-agent": {"history": [{"role": "assistant", "agent": "main", "content": "x", "action": "ls", **SAID}],
                  "trajectory": [{"action": "ls", "observation": "a"}]},
    "a run of SWE-agent": {"history": [{"role": "assistant", "agent": "main", "content": "x", "action": "ls"}],
                           "trajectory": [{"action": "ls", "observation": "a", **SAID}], **SAID},
    "an event of OpenHands": {"id": 1, "source": "agent", "action": "run", "args": {"command": "ls"}, **SAID},
    "agent data protocol": {"id": "t", "content": [{"class_": "message_action", "content": "hi", **SAID}], **SAID},
    "Who&When": {"question": "q", "question_ID": "t", "history": [{"name": "Ann", **MESSAGE}], **SAID},
    "InterCode": {"query": "q", "turn_history": {"actions": ["ls"], "observations": ["a"]}, **SAID},
    "a browsing trajectory": {"intent": "find", "trajectory": [{"action": "click", **SAID}], **SAID},
    "web actions": {"confirmed_task": "find", "actions": [{"operation": {"op": "CLICK"}, **SAID}], **SAID},
    "a chat export": {"mapping": {"a": {"id": "a", "message": {"author": {"role": "user"}, "content": {"parts": ["hi"]},
                                                              **SAID}}}, **SAID},
    "a line of a session": {"type": "user", "sessionId": "s", "uuid": "u", "message": MESSAGE},
    "an envelope of a session": {"type": "user", "sessionId": "s", "uuid": "u",
                                 "message": {"role": "user", "content": "hi"}, **SAID},
    "an event of a session": {"type": "mark", "sessionId": "s", **SAID},
    "a step of smolagents": {"step_number": 1, "model_output": "hi", "observations": "none", **SAID},
    "a run of LangChain": {"input": "hi", "intermediate_steps": [], "output": "ho", **SAID},
    "a span": {"traceId": "t", "spanId": "s", "name": "chat",
               "attributes": {"gen_ai.input.messages": '[{"role": "user", "content": "hi"}]', **SAID}},
    "a message of a span": {"traceId": "t", "spanId": "s", "name": "chat",
                            "attributes": {"gen_ai.input.messages": json.dumps([MESSAGE])}},
    "a run of LangSmith": {"run_type": "llm", "id": "r", "inputs": {"messages": [MESSAGE]}, "outputs": {}},
    "what is known of a run": {"run_type": "llm", "id": "r", "inputs": {}, "outputs": {}, **SAID},
    "a request with its reply": {"request": {"messages": [MESSAGE]}, "response": {"choices": []}, **SAID},
    "a question with its answer": {"query": "Which?", **SAID},
    "an answer beside a reply": {"query": "Which?", "choices": [{"message": {"content": "This"}}], **SAID},
    "a record inside another": {"data": {"messages": [MESSAGE]}, **SAID},
    "records in a list": {"rows": [MESSAGE], **SAID},
}  # fmt: skip


@pytest.mark.parametrize("record", FAMILIES.values(), ids=list(FAMILIES))
def test_no_field_of_a_users_step_is_dropped_for_its_name(tmp_path, record):
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps(record))
    items = list(FileSource(path))
    assert not [item.reason for item in items if isinstance(item, Rejection)]
    kept = json.dumps([item.step.model_dump(mode="json") for item in items if isinstance(item, SourcedStep)])
    written = json.dumps(record)
    assert [name for name in NAMES if kept.count(SAID[name]) < written.count(SAID[name])] == []


def test_no_column_of_a_users_table_is_dropped_for_its_name(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("role,content,answer,evidence,gold\nuser,hi,yes,page 3,pure\n")
    [item] = FileSource(path)
    assert isinstance(item, SourcedStep)
    assert item.step.metadata == {"answer": "yes", "evidence": "page 3", "gold": "pure"}


def test_a_turn_of_came_bench_keeps_what_it_was_said_with(tmp_path):
    path = tmp_path / "turns.jsonl"
    gold = {"partition": ["trip-1"], "action": "PROPOSE", "action_object": "Nyx Inn", "timestamp_mapping": {"a": 1}}
    turn = {"id": "trip-1-turn-12", "role": "user", "content": "A hotel? ----TIMESTAMP: 2025-05-15T08:06", **gold}
    path.write_text(json.dumps(turn))
    [item] = FileSource(path)
    assert isinstance(item, SourcedStep)
    assert (item.trajectory, item.step.content, item.step.timestamp) == ("trip-1", "A hotel?", "2025-05-15T08:06")
    assert item.step.metadata == gold


@pytest.mark.parametrize(
    ("message", "steps"),
    [
        ({"role": "tool", "content": "sunny", "several": True}, [("sunny", {"several": True})]),
        ({"role": "tool", "tool_results": ["sunny", "warm"]}, [("sunny", {}), ("warm", {})]),
        (
            {"role": "tool", "id": "m", "content": "two", "ok": 1, "tool_results": [{"outputs": "sunny"}, "warm"]},
            [("sunny", {"content": "two", "ok": 1, "message_id": "m"}), ("warm", {})],
        ),
    ],
    ids=["a field of this name", "texts", "texts and more beside them"],
)
def test_of_a_message_with_several_results_all_are_kept_and_what_stands_beside_them(tmp_path, message, steps):
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps({"role": "user", "content": "hi"}) + "\n" + json.dumps(message))
    read = [item.step for item in FileSource(path) if isinstance(item, SourcedStep)][1:]
    assert [(step.content, step.metadata) for step in read] == steps
