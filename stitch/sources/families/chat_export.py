"""Conversations as chat programs export them: trees of messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from stitch.errors import StepRejectedError
from stitch.sources.conversation import Reading, about_trajectory, with_about
from stitch.sources.fields import Row
from stitch.sources.messages import MessageReader
from stitch.sources.parts import text_of
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
            yield from reader.rows({**_plain(message), **parent})
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


def _plain(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """A message; a content that is an object with a text is this text, and what stands beside it is of the message."""
    content = message.get("content")
    if not isinstance(content, Mapping) or "parts" in content or not isinstance(content.get("text"), str):
        return message
    rest = {key: value for key, value in content.items() if key != "text"}
    plain = {**message, **rest, "content": content["text"]}
    plain.pop("text", None)
    return plain


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
        said = {key: value for key, value in message.items() if key != "replies"}
        yield from reader.rows({**({"parent_id": parent} if parent else {}), **said})
