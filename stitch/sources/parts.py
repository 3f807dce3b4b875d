"""The parts of a message: what each of them is, whatever program wrote it, and the words it holds."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from html.parser import HTMLParser
from types import UnionType
from typing import Any

import orjson

_THOUGHTS = ("thinking", "reasoning", "redacted_thinking", "thought", "think")
_WITH_DATA = ("text", "reasoning", "tool_call", "tool_result")
_KINDS = ("type", "content_type", "$type", "block_type")
_PART_MARKS = {*_KINDS, "text", "json", "functionResponse", "function_response", "toolResult", "tool_call_result"}
_RESULTS = ("toolresult", "calloutput", "callresponse", "functionresponse", "toolresponse", "callresult",
            "functionresult", "toolreturn", "functionresultcontent", "toolexecutioncomplete")  # fmt: skip
_CALLS = ("tooluse", "call", "toolrequest", "toolcallrequest", "toolinvocation", "dynamictool", "toolexecution",
          "functioncallcontent")  # fmt: skip
"""How the kinds of parts end, written as one word, that are results or calls."""
_FORMS = {
    **dict.fromkeys(("functionCall", "function_call", "toolInvocation", "toolUse", "tool_call"), "tool_call"),
    **dict.fromkeys(("functionResponse", "function_response", "toolResult", "tool_call_result"), "tool_result"),
    **dict.fromkeys(("executableCode", "executable_code"), "code"),
    **dict.fromkeys(("codeExecutionResult", "code_execution_result"), "code result"),
}
"""The fields that say what a part is if they hold an object, the first that counts first."""
_HOLDERS = (("document", "data"), ("resource", "text"))
_WORDS = ("refusal", "thinking", "think", "reasoning", "text", "summary", "transcript", "reasoningText", "input_audio")
_PRINTED_CHARS, _PRINTED_DEPTH = 1_000_000, 50
_NAMES = ("title", "filename", "file_name", "name", "fileName", "file_id", "fileUri", "url")


def kind_of(record: Mapping[str, Any]) -> str | None:
    """`call`, `result` or `thought` for items and parts that are no text; None for all others."""
    kind = record.get("type")
    if not isinstance(kind, str):
        return None
    plain = re.sub(r"[_.-]", "", kind.lower())
    if plain.endswith(_RESULTS):
        return "result"
    own = kind.startswith("tool-") and not {"toolCallId", "state"}.isdisjoint(record)
    if plain.endswith(_CALLS) or (own and plain not in ("toolerror", "toolapprovalresponse")):
        return "call"
    return "thought" if kind in _THOUGHTS else None


def plain_part(part: Mapping[str, Any]) -> Mapping[str, Any]:
    """A part in the form with a `type`, with its data among its fields, if it says in another way what it is."""
    kind = first_of(part, _KINDS, str)
    if kind is not None and "type" not in part:
        part = {**without(part, *_KINDS), "type": kind}
    if isinstance(data := part.get("data"), Mapping) and (kind in _WITH_DATA or "." in str(kind)):
        part = {**without(part, "data"), **data}
    if (field := next((name for name in _FORMS if isinstance(part.get(name), Mapping)), None)) is not None:
        return _opened(part, field)
    if isinstance(text := first_of(object_in(document := object_in(part, "document"), "source"), ("text",)), str):
        source = {"type": "text", "data": text}  # as Bedrock hands a document over
        return {**without(part, "document"), **document, "type": "document", "source": source}
    if part.get("type") == "tool" and isinstance(state := part.get("state"), Mapping):  # as OpenCode writes it
        return {**part, "type": "tool_call", "state": without(state, "input", "output", "error"),
                "input": state.get("input"), "output": state.get("output", state.get("error"))}  # fmt: skip
    return {**part, "type": "tool_result"} if "type" not in part and {"call_id", "content"} <= part.keys() else part


def _opened(part: Mapping[str, Any], field: str) -> Mapping[str, Any]:
    """A part that keeps what it is in an object under `field`."""
    held, rest, kind = part[field], without(part, field), _FORMS[field]
    if len(held) == 1 and isinstance(inner := next(iter(held.values())), Mapping) and "args" in inner:
        held = {"name": next(iter(held)).removesuffix("ToolCall"), **inner}  # as Cursor names what it calls
    if field == "tool_call_result":
        origin = object_in(held, "origin")
        held = {**without(held, "origin"), "name": origin.get("tool_name"), "id": origin.get("id")}
    if kind == "code":
        return {**rest, "type": "tool_call", "name": "code_execution", "arguments": dict(held)}
    if kind == "code result":
        return {**rest, **held, "type": "tool_result", "name": "code_execution", "own": True}
    return {**without(rest, "type"), **held, "type": kind}


def has_parts(content: Any) -> bool:
    """Whether a content is a list of parts, and not any list."""
    return isinstance(content, list) and all(
        isinstance(part, str) or (isinstance(part, Mapping) and bool(_PART_MARKS & part.keys())) for part in content
    )


def document_of(part: Mapping[str, Any]) -> str | None:
    """The text of a document that stands in a message; None if the part is none, or holds no text."""
    source = part.get("source")
    if part.get("type") == "search_result":
        said = (part.get("title"), text_of(part.get("content")))
        return "\n".join(text for text in said if isinstance(text, str) and text) or None
    if part.get("type") != "document" or not isinstance(source, Mapping):
        return None
    text = source.get("data") if source.get("type") == "text" else source.get("content")
    return text_of(text) if text else None


def words_of(parts: Iterable[Any]) -> str:
    """Words for parts that are no text: their thoughts, refusals and data, or what they are, such as `[image]`."""
    return "\n".join(_words_of(part) for part in parts if isinstance(part, Mapping))


def _words_of(part: Mapping[str, Any]) -> str:
    said = next((part[name] for name in _WORDS if part.get(name)), None)
    said = first_of(said, ("text", "transcript"), str) if isinstance(said, Mapping) else said
    data = said or part.get("data")
    if said or isinstance(data, Mapping | list):
        return text_of(data)
    # Its kind, and its name if it has one; what an address holds itself is no name.
    kind = part.get("type") or part.get("kind") or next(iter(part), "part")
    nested = (part, *part.values())
    name = next((str(at) for key in _NAMES for holder in nested if (at := first_of(holder, (key,), str))), "data:")
    return f"[{kind}]" if name.startswith("data:") else f"[{kind} {name}]"


def text_of(content: Any) -> str:
    """The text of a content: of a list of parts, the text parts, one below the other; of other values, their JSON."""
    if content is None or isinstance(content, str):
        return content or ""
    if isinstance(content, list) and content and all(isinstance(part, str | Mapping) for part in content):
        texts = [part if isinstance(part, str) else part.get("text", _text_held(part)) for part in content]
        if all(isinstance(text, str) for text in texts):
            return "\n".join(filter(None, texts))
    return orjson.dumps(content).decode()


def joined_text(content: Any) -> Any:
    """The text that pieces make, some of which say of which kind they are, as links and names do; else the content."""
    if not isinstance(content, list) or {str, dict} != set(map(type, content)):
        return content
    texts = [piece if isinstance(piece, str) else piece.get("text") for piece in content]
    marked = (piece for piece in content if isinstance(piece, dict))
    runs = all(isinstance(text, str) for text in texts) and all(piece.get("type") != "text" for piece in marked)
    return "".join(texts) if runs else content


class _Markup(HTMLParser):
    """Collects the words of HTML; what is a block stands on a line of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._hidden += tag in ("style", "script")
        self.words += ["\n"] if tag in _BLOCKS else []

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in ("style", "script") and self._hidden > 0
        self.words += ["\n"] if tag in _BLOCKS else []

    def handle_data(self, data: str) -> None:
        self.words += [] if self._hidden else [data]


_HTML = re.compile(r"<(?:p|div|ul|ol|blockquote|h[1-6])(?:\s[^>]*)?>", re.IGNORECASE)
_DEEPEST = 60
_TAG_CHARS = 400
_BLOCKS = ("p", "div", "br", "li", "tr", "blockquote", "pre", "h1", "h2", "h3", "h4", "h5", "h6")


def is_html(text: str) -> bool:
    """Whether a text is HTML from its first sign to its last: blocks, one after the other."""
    return bool(_HTML.match(text.lstrip()[:_TAG_CHARS])) and text.rstrip().endswith(">")


def words_of_html(text: str) -> str:
    """The words of a text in HTML."""
    reader = _Markup()
    reader.feed(text)
    reader.close()
    lines = (" ".join(line.split()) for line in "".join(reader.words).splitlines())
    return "\n".join(filter(None, lines))


def _held_in(part: Mapping[str, Any]) -> tuple[str, str] | None:
    """The fields under which a document or resource that a tool gave stands in a part, and its text in that."""
    holders = ((holder, name) for holder, name in _HOLDERS if isinstance(part.get(holder), Mapping))
    return next(((holder, name) for holder, name in holders if part[holder].get(name)), None)


def _text_held(part: Mapping[str, Any]) -> str | None:
    held = _held_in(part)
    if held is None and isinstance(said := part.get("page_content"), str):
        return said
    if held is None and isinstance(part.get("json"), Mapping | list):
        return text_of(part["json"])
    return None if held is None else text_of(part[held[0]][held[1]])


def text_in(part: Mapping[str, Any]) -> tuple[Any, Mapping[str, Any]]:
    """The text of a part, None if it has none, and the part without a second copy of it."""
    text = part.get("text", part.get("content"))
    if isinstance(text, Mapping):  # a text with its annotations
        beside = {key: value for key, value in text.items() if key != "value" and value}
        part, text = {**part, **beside, "text": text.get("value")}, text.get("value")
    if text is None and (held := _held_in(part)) is not None:
        part, text = {**part, held[0]: {**part[held[0]], held[1]: None}}, _text_held(part)
    if not isinstance(text, str) and (nested := _text_of_node(part)) is not None:
        text = nested
    if text is None and part.get("type") == "refusal":
        part, text = {"refused": True, **part}, part.get("refusal")
    return text, part


def _text_of_node(part: Mapping[str, Any]) -> str | None:
    """The words of a node of a rich text, which its leaves say; blocks stand below each other."""
    inner = first_of(part, ("content", "children", "elements"), list) or []
    if not all(isinstance(one, Mapping) and isinstance(one.get("type"), str) for one in inner):
        return None
    texts = [one["text"] if isinstance(one.get("text"), str) else _text_of_node(one) for one in inner]
    return ("" if any("text" in one for one in inner) else "\n").join(filter(None, texts)) or None


def beyond_texts(parts: list[Any]) -> list[dict[str, Any]]:
    """Fields of the parts of an answer beside their texts, if they are read as these."""
    if not all(isinstance(part, Mapping) and isinstance(part.get("text", _text_held(part)), str) for part in parts):
        return []
    beside = (without(text_in(part)[1], "type", "text") for part in parts)
    return list(filter(None, ({key: value for key, value in rest.items() if value} for rest in beside)))


def without(fields: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """The fields of an object but those named."""
    return {key: value for key, value in fields.items() if key not in names}


def first_of(fields: Any, names: Iterable[str], kind: type | UnionType = object) -> Any:
    """The first of these fields of an object that has a value of a kind; None if none has."""
    if isinstance(fields, Mapping):
        for name in names:
            if (value := fields.get(name)) is not None and isinstance(value, kind):
                return value
    return None


_FAULTS = ("errorMessage", "error_message", "errorText", "error")
"""Where what has no words says why it has none."""


def fault_in(fields: Mapping[str, Any]) -> str | None:
    """The message of an error; None if there is none."""
    fault = first_of(fields, _FAULTS, str | Mapping)
    said = first_of(fault, ("message", "content"), str) if isinstance(fault, Mapping) else fault
    return said if isinstance(said, str) and said.strip() else None


def is_mark(row: Mapping[str, Any]) -> bool:
    """Whether a row is what a program notes, which nobody says."""
    return row.get("content", "") is None


def object_in(fields: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """The object under a field; an empty one if there is none."""
    return value if isinstance(value := fields.get(name), Mapping) else {}


def mended(record: Any) -> Any:
    """A record whose texts were UTF-8 and were written as if each byte was a character, as they were meant."""
    broken = [text for text in _texts_below(record) if not text.isascii()]
    if not broken or any(_as_meant(text) is None for text in broken):
        return record
    return _mended(record)


def _texts_below(value: Any) -> Iterator[str]:
    waiting = [value]
    while waiting:
        inner = waiting.pop()
        if isinstance(inner, str):
            yield inner
        elif isinstance(inner, Mapping | list):
            waiting.extend(inner.values() if isinstance(inner, Mapping) else inner)


def _as_meant(text: str) -> str | None:
    try:
        return text.encode("latin-1").decode("utf-8")
    except ValueError:
        return None


def _mended(value: Any, *, depth: int = 0) -> Any:
    if isinstance(value, str):
        return _as_meant(value)
    if depth > _DEEPEST:
        return value
    if isinstance(value, Mapping):
        return {key: _mended(inner, depth=depth + 1) for key, inner in value.items()}
    return [_mended(inner, depth=depth + 1) for inner in value] if isinstance(value, list) else value


def unwritten(value: Any) -> Any:
    """A value; a text that is the JSON of an object, a list or a text is that."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "[", '"'):
        with suppress(orjson.JSONDecodeError):
            return orjson.loads(value)
    return value


def printed(text: str | bytes) -> Any:
    """The value that Python has printed; None if it is none, or so nested that the parser of Python may break."""
    signs = text[:_PRINTED_CHARS] if isinstance(text, bytes) else text[:_PRINTED_CHARS].encode()
    depth = deepest = 0
    for sign in signs:
        depth += (sign in b"[{(") - (sign in b"]})")
        deepest = max(deepest, depth)
    if len(text) > _PRINTED_CHARS or deepest > _PRINTED_DEPTH:
        return None
    try:
        whole = text.decode() if isinstance(text, bytes) else text
        return orjson.loads(orjson.dumps(ast.literal_eval(whole.strip()), option=orjson.OPT_NON_STR_KEYS))
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return None


def listed(value: Any) -> list[Any]:
    """A list as it is, an object as a list of one; of anything else, nothing."""
    return value if isinstance(value, list) else [value] if isinstance(value, Mapping) else []
