"""Files as programs write them that nobody here runs: streams, logs, exports and texts, each read without a loss.

More than 400 lines because each way of writing is shown once, and nearly all of them are data.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from stitch.core import Rejection, SourcedStep
from stitch.sources import FileSource


def text_of(content) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(map(json.dumps, content)) if isinstance(content, list) else json.dumps(content)


def read(path):
    items = list(FileSource(path))
    assert not [item.reason for item in items if isinstance(item, Rejection)]
    return [item for item in items if isinstance(item, SourcedStep)]


def given(tmp_path, content, name="log.jsonl"):
    path = tmp_path / name
    path.write_text(text_of(content))
    return read(path)


def brief(items):
    """Role, words, calls with their arguments, and the tool that answers, one tuple a step."""
    return [
        (item.step.role, item.step.content, [(call.name, dict(call.arguments)) for call in item.step.tool_calls],
         item.step.tool_name)
        for item in items
    ]  # fmt: skip


def said(role, words):
    return role, words, [], None


def called(name, words="", role="assistant", **arguments):
    return role, words, [(name, arguments)], None


def came(tool, words):
    return "tool", words, [], tool


ASKED, SAID = said("user", "Weather?"), said("assistant", "It is sunny")
USER, DONE = {"role": "user", "content": "Weather?"}, {"role": "assistant", "content": "It is sunny"}
T = "2026-01-05T10:00:00Z"


def chunk(delta: dict[str, Any], ended: str | None = None):
    return {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": [{"index": 0, "delta": delta, "finish_reason": ended}]}  # fmt: skip


def piece(**fields):
    return f"event: {fields['type']}\ndata: {json.dumps(fields)}\n\n"


def call_piece(arguments: str, **more):
    return {"tool_calls": [{"index": 0, **more, "function": {**({"name": "weather"} if more else {}),
                                                             "arguments": arguments}}]}  # fmt: skip


STREAMS: dict[str, tuple[Any, list[Any]]] = {
    "chunks as they were sent": (
        "".join(f"data: {json.dumps(chunk(delta))}\n\n" for delta in (
            {"role": "assistant", "content": ""}, {"content": "It is "}, {"content": "sunny"}, {}))
        + "data: [DONE]\n\n", [SAID]),
    "chunks of a call and of the reply after it": (
        [chunk(call_piece("", id="t")), chunk(call_piece('{"city":')), chunk(call_piece(' "Oslo"}')),
         *({**chunk({"content": words}), "id": "c2"} for words in ("It is ", "sunny"))],
        [called("weather", city="Oslo"), SAID]),
    "a stream that breaks off, and a record after it": (
        [chunk({"role": "assistant", "content": "It is"}), chunk({"content": " sunny"}), USER], [SAID, ASKED]),
    "Ollama": (
        [*({"model": "m", "created_at": T, "message": {"role": "assistant", "content": words}, "done": False}
           for words in ("It ", "is", " sunny")),
         {"model": "m", "created_at": T, "message": {"role": "assistant", "content": ""}, "done": True}], [SAID]),
    "Anthropic's blocks": (
        piece(type="message_start", message={"id": "m", "role": "assistant", "content": [], "usage": {"in": 1}})
        + piece(type="content_block_start", index=0, content_block={"type": "text", "text": ""}) + piece(type="ping")
        + piece(type="content_block_delta", index=0, delta={"type": "text_delta", "text": "I "})
        + piece(type="content_block_delta", index=0, delta={"type": "text_delta", "text": "look"})
        + piece(type="content_block_start", index=1, content_block={"type": "tool_use", "id": "t", "name": "weather",
                                                                    "input": {}})
        + piece(type="content_block_delta", index=1, delta={"type": "input_json_delta", "partial_json": '{"city":'})
        + piece(type="content_block_delta", index=1, delta={"type": "input_json_delta", "partial_json": ' "Oslo"}'})
        + piece(type="content_block_stop", index=1)
        + piece(type="message_delta", delta={"stop_reason": "tool_use"}, usage={"output_tokens": 2})
        + piece(type="message_stop"), [called("weather", "I look", city="Oslo")]),
}  # fmt: skip


@pytest.mark.parametrize("kind", STREAMS)
def test_a_reply_that_was_streamed_is_one_step(tmp_path, kind):
    content, expected = STREAMS[kind]
    assert brief(given(tmp_path, content)) == expected


@pytest.mark.parametrize("kind", [kind for kind, (content, _) in STREAMS.items() if isinstance(content, list)])
@pytest.mark.parametrize("around", [lambda pieces: pieces, lambda pieces: {"items": pieces}])
def test_the_pieces_of_a_reply_may_stand_in_a_list(tmp_path, kind, around):
    content, expected = STREAMS[kind]
    assert brief(given(tmp_path, json.dumps(around(content)), "log.json")) == expected


RECORDS: dict[str, tuple[Any, list[Any]]] = {
    "what a log says beside its messages": (
        [{"type": "thread.started", "thread_id": "x"}, {"type": "turn.started"},
         {"type": "item.completed", "item": {"id": "i", "type": "command_execution", "command": "ls",
                                             "aggregated_output": "a.py", "exit_code": 0}},
         {"type": "item.completed", "item": {"id": "j", "type": "agent_message", "text": "It is sunny"}}],
        [said("thread.started", "thread.started"), said("turn.started", "turn.started"),
         called("command_execution", command="ls"), came("command_execution", "a.py"), SAID]),
    "a voice and what it got": (
        [{"type": "session.created", "event_id": "e0", "session": {"instructions": "Be kind"}},
         {"type": "conversation.item.input_audio_transcription.completed", "event_id": "e1", "item_id": "u",
          "transcript": "Weather?"},
         {"type": "response.output_item.done", "event_id": "e2", "item": {
             "type": "function_call", "name": "weather", "call_id": "t", "arguments": '{"city": "Oslo"}'}},
         {"type": "conversation.item.create", "event_id": "e3", "item": {
             "type": "function_call_output", "call_id": "t", "output": "sunny"}}],
        [said("session.created", "session.created"), ASKED, called("weather", city="Oslo"), came("weather", "sunny")]),
    "Gemini live": (
        [{"setup": {"model": "m", "systemInstruction": {"parts": [{"text": "Be terse"}]}}},
         {"clientContent": {"turns": [{"role": "user", "parts": [{"text": "Weather?"}]}], "turnComplete": True}},
         {"toolCall": {"functionCalls": [{"id": "t", "name": "weather", "args": {"city": "Oslo"}}]}},
         {"toolResponse": {"functionResponses": [{"id": "t", "name": "weather", "response": {"sky": "sunny"}}]}},
         {"serverContent": {"modelTurn": {"parts": [{"text": "It is sunny"}]}}}, {"setupComplete": {}}],
        [said("system", "Be terse"), ASKED, called("weather", city="Oslo"), came("weather", '{"sky":"sunny"}'), SAID,
         said("setupComplete", "setupComplete")]),
    "updates of a graph": (
        [{"agent": {"messages": [{"type": "ai", "content": "", "tool_calls": [
            {"name": "weather", "args": {"city": "Oslo"}, "id": "t"}]}]}},
         {"tools": {"messages": [{"type": "tool", "content": "sunny", "tool_call_id": "t"}]}}],
        [called("weather", city="Oslo"), came("weather", "sunny")]),
    "a trace of Bedrock": (
        [{"sessionId": "s", "trace": {"orchestrationTrace": {"rationale": {"traceId": "x", "text": "I look"}}}}],
        [said("rationale", "I look")]),
    "a crew": (
        [{"timestamp": T, "task_name": "t", "task": "Look", "agent": "Scout", "status": "started"},
         {"timestamp": T, "task_name": "t", "task": "Look", "agent": "Scout", "status": "done", "output": "Sunny"}],
        [said("task", "Look"), said("Scout", "Sunny")]),
    "Letta": (
        [{"id": "1", "date": T, "message_type": "user_message", "content": "Weather?"},
         {"id": "2", "date": T, "message_type": "reasoning_message", "reasoning": "I look"},
         {"id": "3", "date": T, "message_type": "tool_call_message", "tool_call": {
             "name": "weather", "arguments": '{"city": "Oslo"}', "tool_call_id": "t"}},
         {"id": "4", "date": T, "message_type": "tool_return_message", "tool_return": "sunny", "tool_call_id": "t"},
         {"id": "5", "date": T, "message_type": "assistant_message", "content": "It is sunny"}],
        [ASKED, said("assistant", "I look"), called("weather", city="Oslo"), came("weather", "sunny"), SAID]),
    "Semantic Kernel": (
        {"messages": [{"role": "user", "items": [{"content_type": "text", "text": "Weather?"}]},
                      {"role": "assistant", "items": [{"content_type": "function_call", "id": "t", "name": "weather",
                                                       "arguments": '{"city": "Oslo"}'}]},
                      {"role": "tool", "items": [{"content_type": "function_result", "id": "t", "name": "weather",
                                                  "result": "sunny"}]}]},
        [ASKED, called("weather", city="Oslo"), came("weather", "sunny")]),
    "Semantic Kernel of .NET": (
        [{"Role": {"Label": "user"}, "Items": [{"$type": "TextContent", "Text": "Weather?"}]},
         {"Role": {"Label": "assistant"}, "Items": [{"$type": "FunctionCallContent", "Id": "t", "FunctionName":
                                                     "weather", "Arguments": {"city": "Oslo"}}]},
         {"Role": {"Label": "tool"}, "Items": [{"$type": "FunctionResultContent", "CallId": "t", "Result": "sunny"}]}],
        [ASKED, called("weather", city="Oslo"), came("weather", "sunny")]),
    "agents of any name call tools": (
        {"messages": [{"source": "scout", "type": "ToolCallRequestEvent", "content": [
            {"id": "t", "name": "weather", "arguments": '{"city": "Oslo"}'}]},
            {"source": "scout", "type": "ToolCallExecutionEvent", "content": [
                {"content": "sunny", "name": "weather", "call_id": "t"}]},
            {"source": "scout", "type": "ToolCallSummaryMessage", "content": "Sunny", "tool_calls": [
                {"id": "t", "name": "weather", "arguments": "{}"}]}]},
        [called("weather", role="scout", city="Oslo"), came("weather", "sunny"), said("scout", "Sunny")]),
    "parts with their data in an object": (
        [{"role": "assistant", "parts": [{"type": "text", "data": {"text": "I look"}}, {"type": "tool_call", "data": {
            "id": "t", "name": "weather", "input": '{"city": "Oslo"}'}}]},
         {"role": "tool", "parts": [{"type": "tool_result", "data": {"tool_call_id": "t", "name": "weather",
                                                                     "content": "sunny"}}]}],
        [called("weather", "I look", city="Oslo"), came("weather", "sunny")]),
    "a result with what was run": (
        [{"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "Grep", "input": {"p": "x"}}]},
         {"role": "user", "content": [{"type": "tool_result", "toolUseID": "t", "run": {"status": "done",
                                                                                         "result": "a.py"}}]}],
        [called("Grep", p="x"), came("Grep", "a.py")]),
    "calls between tags": (
        {"conversations": [{"from": "human", "value": "Weather?"}, {"from": "gpt", "value":
            '<tool_call>\n{"name": "weather", "arguments": {"city": "Oslo"}}\n</tool_call>'},
            {"from": "tool", "value": "sunny"}]},
        [ASKED, called("weather", '<tool_call>\n{"name": "weather", "arguments": {"city": "Oslo"}}\n</tool_call>',
                       city="Oslo"), came("weather", "sunny")]),
    "calls as action and input": (
        {"conversations": [
            {"from": "assistant", "value": 'Thought: look\nAction: weather\nAction Input: {"city": "Oslo"}'},
            {"from": "function", "value": "sunny"}]},
        [called("weather", 'Thought: look\nAction: weather\nAction Input: {"city": "Oslo"}', city="Oslo"),
         came("weather", "sunny")]),
    "calls as Python": (
        {"conversations": [{"from": "assistant", "value": '[weather(city="Oslo")]'},
                           {"from": "tool", "value": "sunny"}]},
        [called("weather", '[weather(city="Oslo")]', city="Oslo"), came("weather", "sunny")]),
    "calls as an answer": (
        {"query": "Weather?", "answers": '[{"name": "weather", "arguments": {"city": "Oslo"}}]', "tools": "[]"},
        [ASKED, called("weather", city="Oslo")]),
    "what a person preferred": (
        [{"prompt": [USER], "chosen": [DONE], "rejected": [{"role": "assistant", "content": "No"}]},
         {"chosen": "\n\nHuman: Weather?\n\nAssistant: It is sunny", "rejected": "\n\nHuman: Weather?"},
         {"prompt": "[INST] Weather? [/INST] It is sunny </s><s>[INST] Weather? [/INST]", "completion": "It is sunny"}],
        [ASKED, SAID, ASKED, SAID, ASKED, SAID, ASKED, SAID]),
    "an example of a data set": (
        {"inputs": {"q": "Weather?"}, "outputs": {"a": "It is sunny"}}, [ASKED, SAID]),
    "invocations of a model": (
        {"timestamp": T, "modelId": "m", "input": {"inputBodyJson": {"messages": [
            {"role": "user", "content": [{"text": "Weather?"}]}]}}, "output": {
               "outputBodyJson": {"output": {"message": {"role": "assistant", "content": [{"text": "It is sunny"}]}}}}},
        [ASKED, SAID]),
    "messages as the text of their JSON": (
        {"id": "x", "messages": json.dumps([USER, DONE])}, [ASKED, SAID]),
    "chats by name": ({"a": [USER, DONE], "b": [USER]}, [ASKED, SAID, ASKED]),
    "instructions and a session beside each other": (
        {"runSettings": {"model": "m"}, "systemInstruction": {"text": "Be terse"}, "chunkedPrompt": {"chunks": [
            {"role": "user", "text": "Weather?"}, {"role": "model", "text": "It is sunny"}]}},
        [said("system", "Be terse"), ASKED, SAID]),
    "a ticket in two places": (
        {"type": "conversation", "id": "x", "source": {"body": "Weather?", "author": {"name": "Ann"}},
         "conversation_parts": {"conversation_parts": [{"id": "p", "body": "It is sunny", "created_at": 1700000060,
                                                        "author": {"name": "Bob"}}]}},
        [said("Ann", "Weather?"), said("Bob", "It is sunny")]),
    "messages with an info of their own": (
        {"info": {"id": "s", "title": "t"}, "messages": [
            {"info": {"id": "m1", "role": "user", "time": {"created": 1760000000100}},
             "parts": [{"type": "text", "text": "Weather?"}]},
            {"info": {"id": "m2", "role": "assistant"}, "parts": [
                {"id": "p", "type": "tool", "callID": "t", "tool": "weather", "state": {
                    "status": "completed", "input": {"city": "Oslo"}, "output": "sunny"}},
                {"type": "text", "text": "It is sunny"}]}]},
        [ASKED, called("weather", city="Oslo"), came("weather", "sunny"), SAID]),
    "a text that repeats its parts": (
        [{"role": "assistant", "content": "It is sunny", "toolInvocations": [{"toolName": "weather"}], "parts": [
            {"type": "tool-invocation", "toolInvocation": {"toolCallId": "t", "toolName": "weather",
                                                           "args": {"city": "Oslo"}, "result": "sunny"}},
            {"type": "text", "text": "It is sunny"}]}],
        [called("weather", city="Oslo"), came("weather", "sunny"), SAID]),
    "bubbles": (
        {"composerId": "c", "conversation": [
            {"type": 1, "bubbleId": "b1", "text": "Weather?"},
            {"type": 2, "bubbleId": "b2", "text": "It is sunny", "timingInfo": {"clientStartTime": 1740000001000},
             "toolFormerData": {"tool": 5, "name": "weather", "rawArgs": '{"city": "Oslo"}', "result": "sunny"}}]},
        [ASKED, called("weather", "It is sunny", city="Oslo"), came("weather", "sunny")]),
    "tools that an editor asks for": (
        [{"ts": 1, "type": "say", "say": "text", "text": "It is sunny"},
         {"ts": 2, "type": "ask", "ask": "tool", "text": '{"tool": "weather", "city": "Oslo"}'}],
        [SAID, called("weather", city="Oslo")]),
    "numbered thoughts": (
        {"trajectory": {"thought_0": "look", "tool_name_0": "weather", "tool_args_0": {"city": "Oslo"},
                        "observation_0": "sunny", "thought_1": "done", "tool_name_1": "finish", "tool_args_1": {},
                        "observation_1": "Completed."}, "reply": "It is sunny"},
        [called("weather", "look", city="Oslo"), came("weather", "sunny"), called("finish", "done"),
         came("finish", "Completed."), SAID]),
    "what was asked, and the steps to the answer": (
        {"question": "Weather?", "steps": [{"thought": "look", "action": "weather", "action_input": {"city": "Oslo"},
                                            "observation": "sunny"}]},
        [ASKED, called("weather", "look", city="Oslo"), came("weather", "sunny")]),
    "operations on a page": (
        [{"website": "w", "annotation_id": "x", "confirmed_task": "Weather?", "actions": [
            {"action_uid": "u", "operation": {"op": "CLICK", "value": "go"}}]}],
        [ASKED, called("CLICK", op="CLICK", value="go")]),
    "pages and what was done on them": (
        {"intent": "Weather?", "trajectory": [{"action": "click [1]", "observation": "sunny", "url": "u"}]},
        [ASKED, said("assistant", "click [1]"), came("browser", "sunny")]),
    "turns without speakers": (
        [{"dialog": ["Weather?", "It is sunny"], "act": [1, 2]},
         {"log": [{"text": "Weather?", "turn": 1}, {"text": "Yes"}]}],
        [said("speaker 1", "Weather?"), said("speaker 2", "It is sunny"), said("speaker 1", "Weather?"),
         said("speaker 2", "Yes")]),
    "events of a tracker": (
        {"sender_id": "x", "events": [{"event": "action", "name": "listen"}, {"event": "user", "text": "Weather?"},
                                      {"event": "bot", "text": "It is sunny"}]},
        [said("action", "action"), ASKED, SAID]),
    "speakers by label and by number": (
        {"results": {"utterances": [{"speaker": 0, "transcript": "Weather?"}, {"speaker": 1, "transcript": "Sunny"}],
                     "language": "en"}},
        [said("speaker 0", "Weather?"), said("speaker 1", "Sunny")]),
    "spans of an observer": (
        [{"id": "o1", "traceId": "t", "type": "GENERATION", "startTime": T, "input": [USER], "output": DONE},
         {"id": "o2", "traceId": "t", "type": "TOOL", "name": "weather", "startTime": T, "input": {"city": "Oslo"},
          "output": "sunny", "parentObservationId": "o1"}],
        [ASKED, SAID, called("weather", city="Oslo"), came("weather", "sunny")]),
}  # fmt: skip


@pytest.mark.parametrize("kind", RECORDS)
def test_what_a_program_writes_is_read_with_its_calls_and_results(tmp_path, kind):
    content, expected = RECORDS[kind]
    assert brief(given(tmp_path, content)) == expected


ENVELOPES = {
    "in a list": lambda record: [record],
    "in a list of lists": lambda record: [[record]],
    "as data": lambda record: {"ok": True, "data": record},
    "as a result": lambda record: {"run": "x", "results": [record]},
    "in a session of an export": lambda record: {"exported_at": T, "export": {"session": record}},
}


@pytest.mark.parametrize("envelope", ENVELOPES)
def test_a_record_is_known_in_whatever_stands_around_it(tmp_path, envelope):
    documents = {kind: (content, said) for kind, (content, said) in RECORDS.items() if isinstance(content, dict)}
    read = {
        kind: brief(given(tmp_path, json.dumps(ENVELOPES[envelope](content)), "log.json"))
        for kind, (content, _) in documents.items()
    }
    assert read == {kind: expected for kind, (_, expected) in documents.items()}


MOMENTS: dict[str, tuple[Any, list[tuple[str, Any, Any]]]] = {
    "when a reply came": (
        {"id": "c", "created": 1741569952, "choices": [{"index": 0, "message": DONE}]},
        [("It is sunny", 1741569952, None)]),
    "what is asked last in a request was said then": (
        {"request_created_at": T, "request_body": {"messages": [USER, DONE, USER]}, "response_body": {"choices": [
            {"message": DONE}]}},
        [("Weather?", None, None), ("It is sunny", None, None), ("Weather?", T, None), ("It is sunny", T, None)]),
    "newest first, in milliseconds": (
        {"participants": [{"name": "Ann"}], "messages": [
            {"sender_name": "Bob", "timestamp_ms": 1700000060000, "content": "Sunny"},
            {"sender_name": "Ann", "timestamp_ms": 1700000000000, "content": "Weather?"}]},
        [("Weather?", 1700000000, None), ("Sunny", 1700000060, None)]),
    "a room": (
        {"messages": [{"type": "m.room.message", "sender": "@bob:x", "origin_server_ts": 1720000060000,
                       "event_id": "$2", "content": {
                           "body": "Sunny", "m.relates_to": {"m.in_reply_to": {"event_id": "$1"}}}}]},
        [("Sunny", 1720000060, "$1")]),
    "a reference": (
        [{"author": {"name": "bob"}, "content": "Sunny", "timestamp": T, "reference": {"messageId": "d1"}},
         {"author": "ann", "body": "Weather?", "created_utc": 1700000000, "parent_id": "t3_x"}],
        [("Sunny", T, "d1"), ("Weather?", 1700000000, "t3_x")]),
    "times of other things are not its own": (
        [{"role": "user", "content": "Weather?", "updated_at": T, "processing_ms": 1700000000000, "expires_time": T}],
        [("Weather?", None, None)]),
    "a cause": (
        [{"id": 2, "source": "agent", "cause": 1, "observation": "run", "content": "a.py", "extras": {}}],
        [("a.py", None, "1")]),
}  # fmt: skip


@pytest.mark.parametrize("kind", MOMENTS)
def test_times_and_what_is_answered_are_found_wherever_they_stand(tmp_path, kind):
    content, expected = MOMENTS[kind]
    items = given(tmp_path, content)
    assert [(item.step.content, item.step.timestamp, item.step.parent) for item in items] == expected


TEXTS: dict[str, tuple[str, str, list[Any]]] = {
    "numbered subtitles": ("talk.srt", ("1\n00:00:01,000 --> 00:00:03,000\nANN: Weather?\n\n2\n00:00:04,000 --> "
                           "00:00:06,000\nBOB: Sunny\n"), [said("ANN", "Weather?"), said("BOB", "Sunny")]),
    "a time before each speaker": ("a.txt", "2026-01-05 10:00:00 Ann: Weather?\n2026-01-05 10:00:30 Bob: Sunny\n",
                                   [said("Ann", "Weather?"), said("Bob", "Sunny")]),
    "columns of a chat room": ("a.log", ("2026-01-05 10:01:02\tann\tWeather?\n2026-01-05 10:01:09\tbob\tSunny\n"
                               "2026-01-05 10:02:00\t-->\tcarl has joined\n"),
                               [said("ann", "Weather?"), said("bob", "Sunny"), said("notice", "carl has joined")]),
    "a world that answers commands": ("a.txt", ("You are in a room.\nYour task is to: find a mug.\n> look\nA desk 1.\n"
                                      "> go to desk 1\nYou see a mug.\n> take mug\nTaken.\n"),
                                      [said("tool", "You are in a room.\nYour task is to: find a mug."),
                                       said("assistant", "look"), came("tool", "A desk 1.")]),
    "a table of questions": ("a.csv", "prompt,response\nWeather?,It is sunny\n", [ASKED, SAID]),
    "documents without a break": ("a.json", json.dumps(USER) + json.dumps(DONE), [ASKED, SAID]),
}  # fmt: skip


@pytest.mark.parametrize("kind", TEXTS)
def test_texts_of_other_programs_say_who_speaks(tmp_path, kind):
    name, content, expected = TEXTS[kind]
    found = brief(given(tmp_path, content, name))[: len(expected)]
    assert [step[:2] for step in found] == [step[:2] for step in expected]


def test_a_document_on_one_line_that_breaks_off_keeps_its_whole_records(tmp_path):
    path = tmp_path / "cut.json"
    path.write_text(json.dumps([USER, DONE])[:-1] + ', {"role": "us')
    items = list(FileSource(path))
    assert brief(item for item in items if isinstance(item, SourcedStep)) == [ASKED, SAID]
    assert next(item.reason for item in items if isinstance(item, Rejection)).endswith(
        "the 2 records before that are stored"
    )


@pytest.mark.parametrize(
    "data",
    [b"[section]\nkey = 1\n", b"Hi,\n> can we meet on Monday?\nYes.\n> And who brings the slides?\nI do.\n",
     b"PAR1\x00\x00", b"PK\x03\x04\x00", b"only prose here\n",
     b'{"name": "pkg", "version": "1"}', b"2026-01-01 10:00:00 INFO server: up\n"],
)  # fmt: skip
def test_what_nobody_knows_is_told_the_generic_form(tmp_path, data):
    path = tmp_path / "unknown"
    path.write_bytes(data)
    (rejection,) = FileSource(path)
    assert isinstance(rejection, Rejection)
    assert "the generic form is one step a line" in rejection.reason


def test_what_a_record_knows_of_the_whole_is_kept_when_its_first_message_is_empty(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps({"task": "t7", "messages": [{"role": "assistant", "content": ""}, USER]}))
    (rejection, item) = FileSource(path)
    assert isinstance(rejection, Rejection)
    assert isinstance(item, SourcedStep)
    assert item.step.metadata["trajectory"] == {"task": "t7"}


def test_spans_of_one_trace_are_of_the_conversation_that_one_of_them_names(tmp_path):
    def span(number, **attributes):
        return {"traceId": "t", "spanId": str(number), "name": f"s{number}", "startTimeUnixNano": str(number),
                "attributes": [{"key": k.replace("__", "."), "value": {"stringValue": v}} for k, v in
                               attributes.items()]}  # fmt: skip

    said_so = json.dumps([{"role": "user", "parts": [{"type": "text", "content": "Weather?"}]}])
    items = given(tmp_path, {"resourceSpans": [{"scopeSpans": [{"spans": [
        span(1, gen_ai__conversation__id="talk"), span(2, gen_ai__input__messages=said_so)]}]}]})  # fmt: skip
    assert {item.trajectory for item in items} == {"talk"}


def test_steps_without_an_id_never_take_that_of_another(tmp_path):
    items = given(tmp_path, {"session_id": "s", "steps": [
        {"step_id": 1, "source": "user", "message": "Weather?"},
        {"step_id": 2, "source": "agent", "message": "I look", "tool_calls": [
            {"tool_call_id": "t", "function_name": "weather", "arguments": {"city": "Oslo"}}],
         "observation": {"results": [{"source_call_id": "t", "content": "sunny"}]}},
        {"step_id": 3, "source": "agent", "message": "It is sunny"}]})  # fmt: skip
    assert [item.step.id for item in items] == ["1", "2", "2-1", "3"]


def test_the_last_observation_of_a_run_stands_in_its_entries_alone(tmp_path):
    items = given(tmp_path, {"trajectory": [{"action": "submit", "observation": "a diff", "thought": "Done",
                                             "extra": 7}],
                             "history": [{"role": "assistant", "content": "Done", "thought": "Done", "action": "submit",
                                          "agent": "main"}]})  # fmt: skip
    assert brief(items) == [called("submit", "Done", input="submit"), came("submit", "a diff")]
    assert items[0].step.metadata["extra"] == 7


def test_a_broken_message_does_not_end_the_reading_of_those_after_it(tmp_path):
    path = tmp_path / "log.json"
    path.write_text(json.dumps({"messages": [USER, {"role": "assistant", "tool_calls": [[1]]}, DONE]}))
    items = list(FileSource(path))
    assert brief(item for item in items if isinstance(item, SourcedStep)) == [ASKED, SAID]
    assert sum(isinstance(item, Rejection) for item in items) == 1


@pytest.mark.parametrize("asked", ["beside", "in a list"])
def test_what_a_benchmark_asks_of_a_conversation_is_no_step(tmp_path, asked):
    question = {"question": "Was it sunny?", "answer": "Yes", "evidence": ["1"], "category": 2}
    record = {"sample_id": "s", **(question if asked == "beside" else {"qa": [question, question]}), "conversation": {
        "speaker_a": "Ann", "session_1": [{"speaker": "Ann", "dia_id": "1", "text": "It is sunny"}]}}  # fmt: skip
    assert brief(given(tmp_path, [record])) == [said("Ann", "It is sunny")]
    sessions = {**question, "haystack_sessions": [[USER, DONE], [DONE]]}
    assert brief(given(tmp_path, [sessions])) == [ASKED, SAID, SAID]


def test_sessions_that_all_have_one_time_stay_in_their_order_also_where_a_later_one_stands_first(tmp_path):
    days = ("2026-01-06", "2026-01-06", "2026-01-05", "2026-01-05")
    steps = [{**said, "timestamp": day} for said, day in zip((USER, DONE, USER, DONE), days, strict=True)]
    assert brief(given(tmp_path, {"id": "t", "steps": steps})) == [ASKED, SAID, ASKED, SAID]
