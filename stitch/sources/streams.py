"""Replies that were streamed: their pieces, joined to the message that they make."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from stitch.core.json_text import read_json
from stitch.sources.parts import object_in, without

Records = Iterable["tuple[int, Any]"]

_NOTES = (b"id:", b"retry:", b":")
_SENT = (b"data:", b"event:", *_NOTES)
_MOST_NOTES = 8
"""So many notes stand before the first event of a stream at most, such as a comment of who passes it on."""
_DONE = b"[DONE]"
_SAID_WHOLE = ("role", "name", "id")
"""What each piece of a message says anew."""
_INDEXED = ("content_block_start", "content_block_delta", "content_block_stop")
_ENDS = ("message_stop", "response.completed", "response.failed", "response.incomplete")
_BLOCKS = ("message_start", *_INDEXED, "message_delta", "message_stop", "ping")


def head_of(lines: Iterable[tuple[int, bytes]]) -> list[tuple[int, bytes]]:
    """The first line, and if it may be a note of a stream, those after it to the first that is none."""
    head: list[tuple[int, bytes]] = []
    for line in islice(lines, _MOST_NOTES):
        head.append(line)
        if not line[1].startswith(_NOTES):
            break
    return head


def is_sent(line: bytes) -> bool:
    """Whether a file whose first line that is no note is this one is a stream of server-sent events."""
    return line.startswith((b"data:", b"event:"))


def sent_in(lines: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
    """The records in a stream of server-sent events, line by line."""
    for number, line in lines:
        data = line.removeprefix(b"data:").strip()
        if not line.startswith(_SENT):
            yield number, line
        elif line.startswith(b"data:") and data and data != _DONE:
            yield number, data


def is_piece(record: Any) -> bool:
    """Whether a record is a piece of a reply: of chat completions, Responses, Anthropic's messages or Ollama's."""
    return _stream_of(record) is not None


def joined(records: Records) -> Iterator[tuple[int, Any]]:
    """The records, each reply that came in pieces as one record; a reply that breaks off is what came of it."""
    stream: tuple[str, str] | None = None
    began, pieces, ended = 0, list[Mapping[str, Any]](), set[str]()
    for number, record in records:
        of = _stream_of(record)
        # What is said in a choice that has ended is of the next reply, whatever its id.
        if stream is not None and not (_goes_on(stream, of) and ended.isdisjoint(_told_in(record, "delta"))):
            yield from _whole(began, stream, pieces)
            stream = None
        if of is None:
            yield number, record
            continue
        if stream is None:
            began, stream, pieces, ended = number, of, [], set()
        stream = stream if stream[1] else of
        pieces.append(record)
        ended.update(_told_in(record, "finish_reason"))
        if record.get("done") is True or record.get("type") in _ENDS:
            yield from _whole(began, stream, pieces)
            stream = None
    if stream is not None:
        yield from _whole(began, stream, pieces)


def _whole(began: int, stream: tuple[str, str], pieces: list[Mapping[str, Any]]) -> Iterator[tuple[int, Any]]:
    """The reply that pieces make; pieces of no choice at all, such as those that only count tokens, make none."""
    if stream[0] != "chunks" or any(piece["choices"] for piece in pieces):
        yield began, _JOINS[stream[0]](pieces)


def _goes_on(stream: tuple[str, str], of: tuple[str, str] | None) -> bool:
    """Whether a piece is of the stream that was begun; some pieces do not say of which reply they are."""
    return of is not None and of[0] == stream[0] and (of[1] in ("", stream[1]) or not stream[1])


def _told_in(piece: Any, field: str) -> list[str]:
    """The choices of which a piece tells something in a field."""
    told = ((choice.get("index"), choice.get(field)) for choice in _choices(piece))
    return [str(index) for index, said in told if (any(said.values()) if isinstance(said, Mapping) else said)]


def _choices(piece: Any) -> list[Mapping[str, Any]]:
    choices = piece.get("choices") if isinstance(piece, Mapping) else None
    return [choice for choice in choices if isinstance(choice, Mapping)] if isinstance(choices, list) else []


def _stream_of(record: Any) -> tuple[str, str] | None:
    """The stream, by kind and reply, that a record is a piece of."""
    if not isinstance(record, Mapping):
        return None
    kind = record.get("type")
    if record.get("object") == "chat.completion.chunk" and isinstance(record.get("choices"), list):
        return "chunks", str(record.get("id"))
    if isinstance(record.get("done"), bool) and "created_at" in record and not record.keys().isdisjoint(
            ("message", "response")):  # fmt: skip
        return "parts", str(record.get("model"))
    if isinstance(kind, str) and kind.startswith("response.") and "event_id" not in record:
        return "events", ""
    return ("blocks", "") if kind in _BLOCKS and ("index" in record or kind not in _INDEXED) else None


def _chunks(pieces: list[Mapping[str, Any]]) -> dict[str, Any]:
    """A chat completion; each of its choices is one message."""
    choices: dict[Any, dict[str, Any]] = {}
    whole: dict[str, Any] = {}
    for piece in pieces:
        whole |= {key: value for key, value in piece.items() if key not in ("choices", "object") and value is not None}
        for choice in _choices(piece):
            made = choices.setdefault(choice.get("index"), {"message": {}})
            made |= {key: value for key, value in choice.items() if key != "delta" and value is not None}
            _grow(made["message"], object_in(choice, "delta"))
    return {**whole, "object": "chat.completion", "choices": list(choices.values())}


def _grow(message: dict[str, Any], delta: Mapping[str, Any]) -> None:
    """Add a piece to a message: texts go on, calls by their index, everything else is as it was said last."""
    for key, value in delta.items():
        if key == "tool_calls" and isinstance(value, list):
            _grow_calls(message.setdefault("tool_calls", []), value)
        elif isinstance(value, str) and isinstance(message.get(key), str) and key not in _SAID_WHOLE:
            message[key] += value
        elif value is not None:
            message[key] = value


def _grow_calls(calls: list[dict[str, Any]], pieces: list[Any]) -> None:
    """Add the pieces of calls to those that have their index; what begins another call is one of its own."""
    for piece in pieces:
        if isinstance(piece, Mapping):
            call = next((made for made in reversed(calls) if made.get("index") == piece.get("index")), None)
            if call is None or _begins_call(call, piece):
                calls.append(call := {})
            _grow(call.setdefault("function", {}), object_in(piece, "function"))
            call |= {name: said for name, said in piece.items() if name != "function" and said not in (None, "")}


def _begins_call(call: Mapping[str, Any], piece: Mapping[str, Any]) -> bool:
    """Whether a piece begins another call: by its id, or, without one, by a name after arguments that are whole."""
    if piece.get("id"):
        return bool(call.get("id")) and piece["id"] != call["id"]
    named, given = object_in(piece, "function").get("name"), call["function"].get("arguments")
    return bool(named) and (named != call["function"].get("name") or isinstance(_input_of(given, call), Mapping))


def _parts(pieces: list[Mapping[str, Any]]) -> dict[str, Any]:
    """A reply of Ollama's: the last piece knows how it ended."""
    whole = {key: value for piece in pieces for key, value in piece.items() if value is not None}
    whole["created_at"] = pieces[0].get("created_at")
    if "response" in whole:
        said = "".join(str(piece.get("response") or "") for piece in pieces)
        if "prompt" in whole:  # an exchange, as a program has logged it
            return {**whole, "response": said}
        return {**without(whole, "response"), "message": {"role": "assistant", "content": said}}
    if "message" in whole:
        whole["message"] = {}
        for piece in pieces:
            _grow(whole["message"], object_in(piece, "message"))
    return whole


def _blocks(pieces: list[Mapping[str, Any]]) -> dict[str, Any]:
    """A message of Anthropic's: its blocks, each with what its deltas add."""
    message: dict[str, Any] = {}
    blocks: dict[Any, dict[str, Any]] = {}
    for piece in pieces:
        kind, index, delta = piece.get("type"), piece.get("index"), object_in(piece, "delta")
        if kind == "message_start":
            message |= object_in(piece, "message")
        elif kind == "content_block_start" and "content_block" in piece:
            blocks[index] = dict(object_in(piece, "content_block"))
        elif kind == "content_block_delta":
            _grow_block(blocks.setdefault(index, {"type": "text"}), delta)
        elif kind == "message_delta":
            usage = {**(message.get("usage") or {}), **(piece.get("usage") or {})}
            message |= {**delta, **({"usage": usage} if usage else {})}
    for block in blocks.values():
        if "json" in block:
            block["input"] = _input_of(block.pop("json"), {"input": {}, **block})
    return {"role": "assistant", **message, "content": list(blocks.values())}


def _events(pieces: list[Mapping[str, Any]]) -> dict[str, Any]:
    """A response: as the last event tells it whole, or of its items what was done and what their deltas add."""
    whole: dict[str, Any] = {}
    items: dict[Any, dict[str, Any]] = {}
    for piece in pieces:
        whole |= object_in(piece, "response")
        item = items.setdefault(piece.get("output_index"), {})
        item |= object_in(piece, "item")
        if isinstance(delta := piece.get("delta"), str):
            item["said"] = item.get("said", "") + delta
    made = [_item(item) for item in items.values() if item]
    return {**whole, "object": "response", "output": whole.get("output") or made}


def _item(item: dict[str, Any]) -> dict[str, Any]:
    """An item of a response; what was said of one that broke off is its text, or its arguments."""
    said, kind = item.pop("said", ""), item.get("type", "message")
    if kind == "message" and not item.get("content"):
        return {"role": "assistant", **item, "type": kind, "content": [{"type": "output_text", "text": said}]}
    return {**item, "arguments": item.get("arguments") or said} if kind == "function_call" else item


def _grow_block(block: dict[str, Any], delta: Mapping[str, Any]) -> None:
    """Add a piece to a block of a message."""
    for key, value in delta.items():
        if key == "citation":
            block.setdefault("citations", []).append(value)
        elif key == "partial_json" or (key != "type" and isinstance(value, str)):
            name = "json" if key == "partial_json" else key
            block[name] = f"{block.get(name) or ''}{value}"


def _input_of(written: Any, block: Mapping[str, Any]) -> Any:
    """The input of a tool that came in pieces of JSON; one that is no JSON is kept as it is written."""
    if not isinstance(written, str):
        return written
    try:
        return read_json(written) if written else block.get("input")
    except ValueError:
        return written


_JOINS = {"chunks": _chunks, "parts": _parts, "blocks": _blocks, "events": _events}
