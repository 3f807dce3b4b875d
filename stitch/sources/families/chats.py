"""Chats as programs export them: trees of messages, and agents in editors (Cursor, OpenCode, Cline, VS Code)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from stitch.errors import StepRejectedError
from stitch.sources.conversation import Reading, about_trajectory, with_about
from stitch.sources.fields import Row, is_message
from stitch.sources.messages import MessageReader
from stitch.sources.parts import arguments_of, text_of, without
from stitch.sources.recognizing import with_fields, with_list


def is_export(record: Any) -> bool:
    """Whether it is a conversation as ChatGPT exports it."""
    return with_fields(mapping=dict)(record) and all(map(with_fields("message"), record["mapping"].values()))


def is_tree(record: Any) -> bool:
    """Whether it is a tree of messages."""
    has_replies = with_list("replies")
    return has_replies(record) or has_replies(record.get("prompt") if isinstance(record, Mapping) else None)


def read_export(record: Mapping[str, Any], reader: MessageReader) -> Reading:
    """The messages from the root, branches in their order."""
    for node in _in_order(record["mapping"]):
        message = node.get("message")
        if not isinstance(message, Mapping) or _is_empty(message.get("content")):
            continue
        try:
            parent = {"parent": node["parent"]} if node.get("parent") else {}
            rest = without(node, "id", "parent", "children", "message")
            yield from reader.rows({**rest, **message, **parent})
        except StepRejectedError as error:
            yield error


def history_of(record: Any) -> Mapping[str, Any] | None:
    """The messages of a chat by their ids, as Open WebUI keeps them; None if it has none."""
    chat = record.get("chat", record) if isinstance(record, Mapping) else None
    history = chat.get("history") if isinstance(chat, Mapping) else None
    messages = history.get("messages") if isinstance(history, Mapping) else None
    return messages if isinstance(messages, dict) and messages and all(map(is_message, messages.values())) else None


def read_history(record: Mapping[str, Any], reader: MessageReader) -> Reading:
    """The messages of a chat from the first one, branches in their order."""
    messages = history_of(record) or {}
    nodes = {key: {**said, "parent": said.get("parentId"), "children": said.get("childrenIds")}
             for key, said in messages.items()}  # fmt: skip
    for node in _in_order(nodes):
        try:
            yield from reader.rows(without(node, "parent", "children", "childrenIds"))
        except StepRejectedError as error:
            yield error


def _in_order(nodes: dict[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The nodes of the tree, each once: the root first, then branch after branch."""
    waiting = [key for key, node in reversed(nodes.items()) if isinstance(node, Mapping) and not node.get("parent")]
    seen = set[str]()
    while waiting:
        key = waiting.pop()
        node = nodes.get(key)
        if key in seen or not isinstance(node, Mapping):
            continue
        seen.add(key)
        waiting.extend(reversed([child for child in node.get("children") or () if isinstance(child, str)]))
        yield node


def _is_empty(content: Any) -> bool:
    """Whether it is the empty message with which each export begins."""
    return isinstance(content, Mapping) and not any(map(text_of, content.get("parts") or [content.get("text")]))


def read_tree(record: Mapping[str, Any], reader: MessageReader) -> Reading:
    """A tree of messages, each with its replies: read from the root, every branch to its end."""
    if not isinstance(record.get("prompt"), Mapping):
        return _branches(record, reader)
    return with_about(about_trajectory(record, "prompt"), _branches(record["prompt"], reader))


def _branches(root: Mapping[str, Any], reader: MessageReader) -> Iterator[Row]:
    waiting: list[tuple[Any, Any]] = [(root, None)]
    while waiting:
        message, parent = waiting.pop()
        if not isinstance(message, Mapping):
            continue
        own = message.get("message_id") or message.get("id")
        waiting.extend((reply, own) for reply in reversed(message.get("replies") or ()))
        said = without(message, "replies")
        yield from reader.rows({**({"parent_id": parent} if parent else {}), **said})


_USERS = ("task", "user_feedback", "user_feedback_diff")


def is_bubble(record: Any) -> bool:
    """Whether it is a bubble of Cursor."""
    return with_fields("bubbleId")(record) and record.get("type") in (1, 2)


def is_open_code(record: Any) -> bool:
    """Whether it is a message of OpenCode."""
    return with_list("parts")(record) and with_fields("role")(record.get("info"))


def is_cline_line(record: Any) -> bool:
    """Whether it is a line of Cline."""
    return with_fields("ts", type=str)(record) and record["type"] in ("say", "ask") and record["type"] in record


def is_editor_chat(record: Any) -> bool:
    """Whether it is a chat of VS Code."""
    return with_list("requests", of="message")(record) and "response" in record["requests"][0]


def cursor_bubble(record: Mapping[str, Any], reader: MessageReader) -> Reading:
    """A bubble of a chat in Cursor: 1 is what the user says, 2 what is answered or done."""
    rest = without(record, "type", "text", "toolFormerData", "bubbleId")
    timing, tool = record.get("timingInfo"), record.get("toolFormerData")
    at = timing.get("clientStartTime") if isinstance(timing, Mapping) else None
    message = {**rest, "id": record["bubbleId"], "role": "user" if record["type"] == 1 else "assistant",
               "content": record.get("text"), **({"timestamp": at} if at else {})}  # fmt: skip
    if isinstance(tool, Mapping) and isinstance(tool.get("name"), str):
        beside = without(tool, "name", "rawArgs", "result")
        call = {"name": tool["name"], "arguments": tool.get("rawArgs"), "result": tool.get("result")}
        message |= {"tool_calls": [call], "tool": beside}
    yield from reader.rows(message)


def open_code(record: Mapping[str, Any], reader: MessageReader) -> Reading:
    """A message of OpenCode: what is known of it under `info`, what it says under `parts`."""
    info = dict(record["info"])
    times = info.get("time")
    if isinstance(times, Mapping) and isinstance(times.get("created"), int | float):
        info["timestamp"] = times["created"]
    yield from reader.rows({**without(record, "info"), **info})


def cline_line(record: Mapping[str, Any], reader: MessageReader) -> Reading:
    """A line that Cline or one of its kin showed: `say` or `ask` is its kind."""
    kind = str(record.get("say") or record.get("ask"))
    role = "user" if kind in _USERS else "assistant" if kind in ("text", "completion_result", "followup") else kind
    rest = without(record, "ts", "text")
    said = text_of(record.get("text")) or kind.replace("_", " ")
    used = arguments_of(said) if kind == "tool" else {}
    if isinstance(used.get("tool"), str):
        call = {"name": used["tool"], "arguments": without(used, "tool")}
        yield from reader.rows({**rest, "timestamp": record.get("ts"), "role": "assistant", "tool_calls": [call]})
        return
    yield {"role": role, "content": said, "timestamp": record.get("ts"), "metadata": rest}


def editor_chat(record: Mapping[str, Any], reader: MessageReader) -> Reading:
    """A chat of VS Code: requests, each with what was answered in parts."""
    for request in record["requests"]:
        if not isinstance(request, Mapping):
            yield StepRejectedError(f"request is not an object but {type(request).__name__}")
            continue
        for message in _asked_and_answered(request):
            yield from reader.rows({**message, "timestamp": request.get("timestamp")})


def _asked_and_answered(request: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    asked = request.get("message")
    rest = without(request, "message", "response", "timestamp")
    if isinstance(asked, Mapping):
        rest, asked = {**without(asked, "text"), **rest}, asked.get("text")
    yield {**rest, "role": "user", "content": asked}
    for part in request.get("response") or ():
        if not isinstance(part, Mapping):
            continue
        if isinstance(name := part.get("toolId"), str):
            beside = without(part, "toolId", "toolCallId")
            yield {"role": "assistant", "tool_calls": [{"name": name, "id": part.get("toolCallId")}], "shown": beside}
        else:
            value = part.get("value", part.get("content"))
            said = value.get("value") if isinstance(value, Mapping) else value
            yield {
                "role": "assistant",
                "content": text_of(said) or f"[{part.get('kind', 'part')}]",
                "shown": dict(part),
            }
