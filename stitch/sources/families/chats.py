"""Chats as programs export them: trees of messages, and agents in editors (Cursor, Cline, VS Code)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from stitch.errors import StepRejectedError
from stitch.sources.conversation import Done, about_trajectory, conversation
from stitch.sources.fields import is_message
from stitch.sources.parts import first_of, object_in, text_of, without
from stitch.sources.recognizing import FileReading, TrajectoryRow, has
from stitch.sources.tool_calls import arguments_of

Messages = Iterator[Any]


def is_export(record: Any) -> bool:
    """Whether it is a conversation as ChatGPT exports it."""
    return has(mapping=dict)(record) and all(map(has("message"), record["mapping"].values()))


def export_messages(record: Mapping[str, Any]) -> Messages:
    """The messages of such a conversation from the root, branches in their order, without the empty ones at its top.

    Those of a branch that is shown no longer, such as an answer that was made anew, say so in their metadata.
    """
    shown = _shown_branch(record["mapping"], record.get("current_node"), "parent")
    for node in _in_order(record["mapping"], "parent", "children"):
        message = node.get("message")
        content = message.get("content") if isinstance(message, Mapping) else None
        if isinstance(message, Mapping) and not (
            isinstance(content, Mapping)
            and not any(map(text_of, content.get("parts") or content.get("thoughts") or [content.get("text")]))
        ):
            parent = {"parent": node["parent"]} if node.get("parent") else {}
            left = {"branch": "left"} if shown and node.get("id") not in shown else {}
            told = _called(_of_fragments(message))
            yield {**without(node, "id", "parent", "children", "message"), **told, **parent, **left}


def _called(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """A message; one that is handed to a tool is the call of it."""
    tool, content = message.get("recipient"), message.get("content")
    if tool in (None, "all") or not isinstance(content, Mapping):
        return message
    given = text_of(content.get("text") or content.get("parts"))
    call = {"name": tool, "arguments": {"input": given}, **without(content, "text", "parts")}
    return {**without(message, "content"), "content": "", "tool_calls": [call]}


def _of_fragments(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """A message; of one in fragments, whose kinds alone say who speaks, the role and the parts."""
    parts = message.get("fragments")
    if "role" in message or not isinstance(parts, list) or not all(map(has(type=str), parts)):
        return message
    asked = any(part["type"] == "REQUEST" for part in parts)
    content = [{**part, "type": _FRAGMENTS.get(part["type"], part["type"])} for part in parts]
    return {**without(message, "fragments"), "role": "user" if asked else "assistant", "content": content}


_FRAGMENTS = {"REQUEST": "text", "RESPONSE": "text", "THINK": "thinking"}


def history_of(record: Any) -> Mapping[str, Any] | None:
    """The messages of a chat by their ids, as Open WebUI keeps them; None if it has none."""
    chat = record.get("chat", record) if isinstance(record, Mapping) else None
    history = chat.get("history") if isinstance(chat, Mapping) else None
    messages = history.get("messages") if isinstance(history, Mapping) else None
    return messages if isinstance(messages, dict) and messages and all(map(is_message, messages.values())) else None


def history_messages(record: Mapping[str, Any]) -> Messages:
    """The messages of such a chat from the first one, branches in their order; those shown no longer say so."""
    nodes = history_of(record) or {}
    shown = _shown_branch(nodes, record.get("chat", record)["history"].get("currentId"), "parentId")
    for node in _in_order(nodes, "parentId", "childrenIds"):
        yield {**without(node, "childrenIds"), **({"branch": "left"} if shown and node.get("id") not in shown else {})}


def _shown_branch(nodes: Mapping[str, Any], last: Any, parent: str) -> set[Any]:
    """The ids from the last message that is shown up to the root; none where nothing says which it is."""
    shown = set[Any]()
    while isinstance(last, str) and last not in shown and isinstance(node := nodes.get(last), Mapping):
        shown |= {last, node.get("id")}
        last = node.get(parent)
    return shown


def _in_order(nodes: Mapping[str, Any], parent: str, children: str) -> Iterator[Mapping[str, Any]]:
    """The nodes of the tree, each once: the root first, then branch after branch."""
    waiting = [key for key, node in reversed([*nodes.items()]) if isinstance(node, Mapping) and not node.get(parent)]
    seen = set[str]()
    while waiting:
        node = nodes.get(key := waiting.pop())
        if key not in seen and isinstance(node, Mapping):
            seen.add(key)
            waiting.extend(reversed([child for child in node.get(children) or () if isinstance(child, str)]))
            yield node


def tree_messages(record: Mapping[str, Any]) -> Messages:
    """A tree of messages, each with its replies: read from the root, every branch to its end."""
    root = record.get("prompt")
    about = {"metadata": {"trajectory": about_trajectory(record, "prompt")}} if isinstance(root, Mapping) else {}
    waiting: list[tuple[Mapping[str, Any], Any]] = [(root if isinstance(root, Mapping) else record, None)]
    while waiting:
        message, parent = waiting.pop()
        own, replies = first_of(message, ("message_id", "messageId", "id")), [*_replies_to(message)]
        waiting.extend((reply, own) for reply in reversed(replies) if is_message(reply))
        others = [reply for reply in replies if isinstance(reply, Mapping) and not is_message(reply)]
        if isinstance(title := message.get("title"), str) and isinstance(message.get("body"), str):
            message = {**message, "body": f"{title}\n{message['body']}"}
        yield {"parent_id": parent, **without(message, *_REPLIES), "replies": others or None, **about}
        about = {}


_REPLIES = ("replies", "comments", "children", "conversations")


def _replies_to(message: Mapping[str, Any]) -> Iterator[Any]:
    return (reply for name in _REPLIES if isinstance(message.get(name), list) for reply in message[name])


def is_tree(record: Any) -> bool:
    """Whether it is a message with replies or comments below it, or holds one."""
    if has(replies=list)(record) or has(prompt=has(replies=list))(record):
        return True
    return is_message(record) and any(is_message(reply) for reply in _replies_to(record))


def is_activity(record: Any) -> bool:
    """Whether it is an entry of what somebody did with an assistant of Google's."""
    return has("time", header=str, title=str, products=list)(record)


def activity_messages(record: Mapping[str, Any]) -> Messages:
    """The question and the answers in HTML of an entry of activity."""
    answers = [one["html"] for one in record.get("safeHtmlItem") or () if has(html=str)(one)]
    asked = record["title"].removeprefix("Prompted ")
    yield {**without(record, "safeHtmlItem"), "role": "user", "content": asked}
    for answer in answers:
        yield {"role": "assistant", "content": answer, "contentType": "html", "time": record["time"]}


_CURSOR = ("type", "text", "toolFormerData", "bubbleId")


def bubble_messages(record: Mapping[str, Any]) -> Messages:
    """A bubble of a chat in Cursor: 1 is what the user says, 2 what is answered or done."""
    timing, tool = record.get("timingInfo"), record.get("toolFormerData")
    at = timing.get("clientStartTime") if isinstance(timing, Mapping) else None
    message = {**without(record, *_CURSOR), "id": record["bubbleId"], "content": record.get("text"),
               "role": "user" if record["type"] == 1 else "assistant", **({"timestamp": at} if at else {})}  # fmt: skip
    if isinstance(tool, Mapping) and isinstance(tool.get("name"), str):
        call = {"name": tool["name"], "arguments": tool.get("rawArgs"), "result": tool.get("result")}
        message |= {"tool_calls": [call], "tool": without(tool, "name", "rawArgs", "result")}
    yield message


_CLINE_ROLES = {
    **dict.fromkeys(("task", "user_feedback", "user_feedback_diff"), "user"),
    **dict.fromkeys(("text", "completion_result", "followup", "reasoning", "plan_mode_respond"), "assistant"),
}
_CLINE_CALLS = {"command": "execute_command", "use_mcp_server": "use_mcp_server", "browser_action": "browser_action"}
_CLINE_RESULTS = {"command_output": "execute_command", "mcp_server_response": "use_mcp_server",
                  "browser_action_result": "browser_action"}  # fmt: skip


def is_cline_line(record: Any) -> bool:
    """Whether it is a line of Cline."""
    return has("ts", type=("say", "ask"))(record) and record["type"] in record


def cline_line(record: Any, reading: FileReading) -> Iterator[TrajectoryRow]:
    """A line that Cline or one of its kin showed: `say` or `ask` is its kind; the first text is the user's task."""
    task = not reading.recognized and record.get("say") == "text"
    kind = "task" if task else str(record.get("say") or record.get("ask"))
    for row in conversation([_cline_message(record, kind)], reading.messages):
        yield None, row


def _cline_message(record: Mapping[str, Any], kind: str) -> Any:
    rest, at = without(record, "ts", "text"), record.get("ts")
    said = text_of(record.get("text")) or kind.replace("_", " ")
    given = arguments_of(said) if kind in ("tool", "followup", *_CLINE_CALLS) else {}
    if isinstance(given.get("tool"), str) or kind in _CLINE_CALLS:
        name, arguments = given.get("tool") or given.get("toolName") or _CLINE_CALLS[kind], without(given, "tool")
        arguments = {"command": said} if kind == "command" else arguments
        return {**rest, "timestamp": at, "role": "assistant", "tool_calls": [{"name": name, "arguments": arguments}]}
    if isinstance(given.get("question"), str):
        said, rest = given["question"], {**rest, **without(given, "question")}
    row = {"role": _CLINE_ROLES.get(kind, kind), "content": said, "timestamp": at, "metadata": rest}
    if kind in _CLINE_RESULTS:
        row |= {"role": "tool", "tool_name": _CLINE_RESULTS[kind]}
    return Done(row)


def editor_messages(record: Mapping[str, Any]) -> Messages:
    """A chat of VS Code: requests, each with what was answered in parts."""
    for request in record["requests"]:
        if not isinstance(request, Mapping):
            yield StepRejectedError(f"request is not an object but {type(request).__name__}")
            continue
        at, asked = {"timestamp": request.get("timestamp")}, request.get("message")
        rest = without(request, "message", "response", "timestamp")
        yield {**rest, "role": "user", "content": asked, **at}
        shown = [_shown(part) for part in request.get("response") or () if isinstance(part, Mapping)]
        yield from ({"role": "assistant", **part, **at} for part in _joined(shown))
        fault = first_of(object_in(request, "result").get("errorDetails"), ("message",), str)
        if fault is not None:
            yield {"role": "assistant", "content": "", "error": fault, **at}


def _joined(shown: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Parts of an answer; those that are words go on with each other."""
    said: dict[str, Any] = {}
    for part in shown:
        if "content" in part and said:
            said["content"] += part["content"]
            said["shown"].append(part["shown"])
        elif "content" in part:
            said = {"content": part["content"], "shown": [part["shown"]]}
        else:
            yield from [said] if said else []
            yield part
            said = {}
    yield from [said] if said else []


def _shown(part: Mapping[str, Any]) -> dict[str, Any]:
    """A part of an answer: what is said, or the call of a tool, with what the terminal or the tool gave."""
    if "edits" in part:
        given = {"path": first_of(part.get("uri"), ("path", "fsPath"), str), "edits": part["edits"]}
        return {"tool_calls": [{"name": "edit", "arguments": given}], "shown": without(part, "edits")}
    if isinstance(named := part.get("inlineReference"), Mapping):
        place = first_of(named, ("name", "path", "fsPath"), str) or first_of(named.get("uri"), ("path", "fsPath"), str)
        return {"content": f"`{place}`" if place else "", "shown": dict(part)}
    if isinstance(name := part.get("toolId"), str):
        came = _came_of(part)
        call = {"name": name, "id": part.get("toolCallId"), **({"output": came} if came else {}),
                "arguments": first_of(part.get("resultDetails"), ("input",), str | Mapping)}  # fmt: skip
        return {"tool_calls": [call], "shown": without(part, "toolId", "toolCallId")}
    value = part.get("value", part.get("content"))
    said = value.get("value") if isinstance(value, Mapping) else value
    return {"content": text_of(said) or f"[{part.get('kind', 'part')}]", "shown": dict(part)}


def _came_of(part: Mapping[str, Any]) -> str:
    """The texts that a call gave, as the editor shows them."""
    details, special = part.get("resultDetails"), part.get("toolSpecificData")
    given = details.get("output") if isinstance(details, Mapping) else None
    shown = special.get("terminalCommandOutput") if isinstance(special, Mapping) else None
    texts = [one.get("value") or one.get("text") for one in (*(given if isinstance(given, list) else ()), shown)
             if isinstance(one, Mapping)]  # fmt: skip
    return "\n".join(text for text in texts if isinstance(text, str))
