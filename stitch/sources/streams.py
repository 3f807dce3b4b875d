"""Replies that were streamed: their pieces, joined to the message that they make."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from stitch.core.json_text import read_json

Records = Iterable["tuple[int, Any]"]

_SENT = (b"data:", b"event:", b"id:", b"retry:", b":")
_DONE = b"[DONE]"


def is_sent(line: bytes) -> bool:
    """Whether a file that begins with this line is a stream of server-sent events."""
    return line.startswith((b"data:", b"event:"))


def sent_in(lines: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
    """The records in a stream of server-sent events, line by line."""
    for number, line in lines:
        if line.startswith(b"data:"):
            data = line.removeprefix(b"data:").strip()
            if data and data != _DONE:
                yield number, data
        elif not line.startswith(_SENT):
            yield number, line


def is_piece(record: Any) -> bool:
    """Whether a record is a piece of a reply: of chat completions, of Anthropic's messages or of Ollama's."""
    return _stream_of(record) is not None


def joined(records: Records) -> Iterator[tuple[int, Any]]:
    """The records, each reply that came in pieces as one record; a reply that breaks off is what came of it."""
    stream: tuple[str, str] | None = None
    began, pieces = 0, list[Mapping[str, Any]]()
    for number, record in records:
        of = _stream_of(record)
        if pieces and not _goes_on(stream, of):
            yield began, _JOINS[stream[0] if stream else ""](pieces)
            pieces, stream = [], None
        if of is None:
            yield number, record
            continue
        if not pieces:
            began, stream = number, of
        pieces.append(record)
        if record.get("done") is True or record.get("type") == "message_stop":
            yield began, _JOINS[of[0]](pieces)
            pieces, stream = [], None
    if pieces and stream:
        yield began, _JOINS[stream[0]](pieces)


def _goes_on(stream: tuple[str, str] | None, of: tuple[str, str] | None) -> bool:
    """Whether a piece is of the stream that was begun; some pieces do not say of which reply they are."""
    return of is not None and (stream is None or (of[0] == stream[0] and of[1] in ("", stream[1])))


def _stream_of(record: Any) -> tuple[str, str] | None:
    """Of which kind of stream, and of which reply in it, a record is a piece."""
    if not isinstance(record, Mapping):
        return None
    if record.get("object") == "chat.completion.chunk" and isinstance(record.get("choices"), list):
        return "chunks", str(record.get("id"))
    if (
        isinstance(record.get("done"), bool)
        and "created_at" in record
        and ("message" in record or "response" in record)
    ):
        return "parts", str(record.get("model"))
    if record.get("type") in _BLOCKS and ("index" in record or record.get("type") not in _INDEXED):
        return "blocks", ""
    return None


_SAID_WHOLE = ("role", "name", "id")
"""What each piece of a message says anew."""
_INDEXED = ("content_block_start", "content_block_delta", "content_block_stop")
_BLOCKS = ("message_start", *_INDEXED, "message_delta", "message_stop", "ping")


def _chunks(pieces: list[Mapping[str, Any]]) -> dict[str, Any]:
    """A chat completion; each of its choices is one message."""
    choices: dict[Any, dict[str, Any]] = {}
    whole: dict[str, Any] = {}
    for piece in pieces:
        whole |= {key: value for key, value in piece.items() if key not in ("choices", "object") and value is not None}
        for choice in piece["choices"]:
            if not isinstance(choice, Mapping):
                continue
            made = choices.setdefault(choice.get("index"), {"message": {}})
            made |= {key: value for key, value in choice.items() if key != "delta" and value is not None}
            _grow(made["message"], choice.get("delta"))
    return {**whole, "object": "chat.completion", "choices": list(choices.values())}


def _grow(message: dict[str, Any], delta: Any) -> None:
    """Add a piece to a message: texts go on, calls by their index, everything else is as it was said last."""
    if not isinstance(delta, Mapping):
        return
    for key, value in delta.items():
        if key == "tool_calls" and isinstance(value, list):
            _grow_calls(message.setdefault("tool_calls", []), value)
        elif isinstance(value, str) and isinstance(message.get(key), str) and key not in _SAID_WHOLE:
            message[key] += value
        elif value is not None:
            message[key] = value


def _grow_calls(calls: list[dict[str, Any]], pieces: list[Any]) -> None:
    """Add the pieces of calls to those that have their index."""
    for piece in pieces:
        if not isinstance(piece, Mapping):
            continue
        call = next((made for made in calls if made.get("index") == piece.get("index")), None)
        if call is None:
            calls.append(call := {})
        _grow(call.setdefault("function", {}), piece.get("function"))
        call |= {name: said for name, said in piece.items() if name != "function" and said is not None}


def _parts(pieces: list[Mapping[str, Any]]) -> dict[str, Any]:
    """A reply of Ollama's: the last piece knows how it ended."""
    whole = {key: value for piece in pieces for key, value in piece.items() if value is not None}
    whole["created_at"] = pieces[0].get("created_at")
    if "response" in whole:
        whole["response"] = "".join(str(piece.get("response") or "") for piece in pieces)
    if "message" in whole:
        message: dict[str, Any] = {}
        for piece in pieces:
            said = piece.get("message")
            if isinstance(said, Mapping):
                calls = said.get("tool_calls")
                _grow(message, {key: value for key, value in said.items() if key != "tool_calls"})
                if isinstance(calls, list):
                    message.setdefault("tool_calls", []).extend(calls)
        whole["message"] = message
    return whole


def _blocks(pieces: list[Mapping[str, Any]]) -> dict[str, Any]:
    """A message of Anthropic's: its blocks, each with what its deltas add."""
    message: dict[str, Any] = {}
    blocks: dict[Any, dict[str, Any]] = {}
    for piece in pieces:
        kind, index = piece.get("type"), piece.get("index")
        if kind == "message_start" and isinstance(piece.get("message"), Mapping):
            message |= piece["message"]
        elif kind == "content_block_start" and isinstance(piece.get("content_block"), Mapping):
            blocks[index] = dict(piece["content_block"])
        elif kind == "content_block_delta" and isinstance(piece.get("delta"), Mapping):
            _grow_block(blocks.setdefault(index, {"type": "text"}), piece["delta"])
        elif kind == "message_delta":
            usage = {**(message.get("usage") or {}), **(piece.get("usage") or {})}
            message |= {**(piece.get("delta") or {}), **({"usage": usage} if usage else {})}
    for block in blocks.values():
        if "json" in block:
            block["input"] = _input_of(block.pop("json"), block)
    return {"role": "assistant", **message, "content": list(blocks.values())}


def _grow_block(block: dict[str, Any], delta: Mapping[str, Any]) -> None:
    """Add a piece to a block of a message."""
    for key, value in delta.items():
        if key == "partial_json":
            block["json"] = block.get("json", "") + str(value)
        elif key == "citation":
            block.setdefault("citations", []).append(value)
        elif key != "type" and isinstance(value, str):
            block[key] = str(block.get(key) or "") + value


def _input_of(written: str, block: Mapping[str, Any]) -> Any:
    """The input of a tool that came in pieces of JSON; one that is no JSON is kept as it is written."""
    try:
        return read_json(written) if written else block.get("input", {})
    except ValueError:
        return written


_JOINS = {"chunks": _chunks, "parts": _parts, "blocks": _blocks}
