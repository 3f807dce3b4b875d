"""Parts of a message as steps in their order: texts, calls, results and documents."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from stitch.core import Origin, ToolCall
from stitch.sources.fields import SHOWN, Row, moment
from stitch.sources.parts import (
    document_of,
    fault_in,
    first_of,
    has_parts,
    is_mark,
    kind_of,
    listed,
    plain_part,
    text_in,
    text_of,
    unwritten,
    without,
    words_of,
)
from stitch.sources.tool_calls import RESULT_IDS, ToolCalls, beyond_call, is_call
from stitch.sources.unread import texts_in

CALLED_BY_NOBODY = ("user", "system", "developer", "tool", "document")
"""Who calls no tools in words of their own; agents have names of any kind."""
_HARNESS = re.compile(
    r"<(?P<name>system-reminder|task-notification|local-command-(?:stdout|stderr|caveat)|bash-(?:stdout|stderr)"
    r"|user-prompt-submit-hook|post-tool-use-hook|ide_(?:selection|opened_file|diagnostics)|environment_(?:context|details))[^<>]*>"
)
"""What the program around an agent puts into messages of the user: what pages, files and commands say, not the user."""
_RESULT = re.compile(r"\[(?P<name>\w+)(?: for '[^\n]*')?\] Result:\s*")
"""How a message of the user begins that is the result of a tool, in programs that tell their calls in words."""
_ANSWERED = ("<answer>", "<feedback>")
"""How such a result begins if the user was asked."""
_UNSAID = ("refusal", "reasoning_content", "reasoning", "thinking")
_ATTACHED = ("files", "extra", "attachments", "documents")
_FILES = {"name", "file_name", "filename"}
_CAPTIONS = ("text", "share_text", "caption", "description")
_MEDIA = ("media_type", "action", "photo", "file")
"""How Telegram says what stands in place of words, with the kind or in the name of the field."""


class Telling:
    """Takes in the parts of one message, whose row says who speaks and when, and gives its steps.

    Results of earlier calls come before what the message says; those of its own calls after the call.
    """

    def __init__(self, tools: ToolCalls, row: Row) -> None:
        self._tools = tools
        self._first = self._row = row
        self._texts: list[str] = []
        self._calls: list[ToolCall] = []
        self._before: list[Row] = []
        self._told: list[Row] = []
        self._after: list[Row] = []
        self._answering: re.Match[str] | None = None
        """The tool whose result the next text is."""

    def call(self, call: Any) -> ToolCall:
        """Take in a call; one that is written twice counts once."""
        made = self._tools.call(call)
        if made.id is None or made.id not in {known.id for known in self._made()}:
            self._calls.append(made)
        return made

    def take_in(self, part: Any) -> None:
        """Take in a part; what is no text and no tool goes to the metadata."""
        if not isinstance(part, Mapping):
            if part is not None and part != "":
                self._hear(text_of(part))
            return
        part = plain_part(part)
        kind = kind_of(part)
        if part.get("type") == "message" and has_parts(part.get("content")):
            for inner in part["content"]:
                self.take_in(inner)
        elif kind == "call" or (kind is None and self._first["role"] not in CALLED_BY_NOBODY and is_call(part)):
            self._take_call(part)
        elif kind == "result":
            self._take_result(part)
        elif (document := document_of(part)) is not None:
            given = ("type", "title", "content") if part.get("type") == "search_result" else ("type", "source")
            self._aside(self._before, "document", document, {**self._row["metadata"], **without(part, *given)})
        else:
            self._say(part, thought=kind == "thought" or part.get("thought") is True)

    def rows(self, written: Iterable[Any]) -> Iterator[Row]:
        """All steps, those of the answers that stand in the calls `written` beside the content among them."""
        made = zip(written, list(self._calls), strict=False)
        answers = [*self._told, *filter(None, (self._tools.own_result(call, its) for call, its in made))]
        rows, first = [*self._before], self._row is self._first
        # A message that tells nothing but results and documents has no step of its own.
        if self._texts or self._calls or (first and not (rows or self._after)):
            content = self._words() if first else "\n".join(self._texts)
            own = {**self._row, "content": content, "tool_calls": tuple(self._calls)}
            answers = [own, *answers] if first else [*answers, own]
        elif not first and (left := self._row["metadata"].get("parts")):
            self._first["metadata"].setdefault("parts", []).extend(left)
        moments = [{**moment(self._first), **row} for row in answers]
        yield from _identified([*rows, *moments, *self._after], self._first.get("id"))

    def _take_call(self, part: Mapping[str, Any]) -> None:
        """A call; some programs write its result into the same part."""
        beside, made = self._row["metadata"], self.call(part)
        if beyond := beyond_call(part):
            beside.setdefault("parts", []).append(beyond)
        if (answered := self._tools.own_result(part, made)) is not None and self._calls:
            self._answered(answered)

    def _take_result(self, part: Mapping[str, Any]) -> None:
        own = {call.id for call in self._made()}
        if part.get("own") or any(str(part[name]) in own for name in RESULT_IDS if part.get(name)):
            self._answered(self._tools.result(part))
        else:
            result = self._tools.result(part, beside=self._first["metadata"])
            self._before.append({**moment(self._first), **result})

    def _aside(self, rows: list[Row], role: str, text: str, metadata: Row) -> None:
        """Add a text that stands in the message and is nobody's words."""
        rows.append({**moment(self._first), "role": role, "origin": Origin.DOCUMENT, "content": text,
                     "metadata": metadata})  # fmt: skip

    def _answered(self, result: Row) -> None:
        """One of its own calls was answered: what it says after that is a step after the answer."""
        if self._texts or self._calls:
            content = "\n".join(self._texts)
            self._told.append({**self._row, "content": content, "tool_calls": tuple(self._calls)})
        self._told.append(result)
        origin = {"origin": self._first["origin"]} if "origin" in self._first else {}
        self._row = {**moment(self._first), "role": self._first["role"], **origin, "metadata": {}}
        self._texts, self._calls = [], []

    def _made(self) -> list[ToolCall]:
        return [*self._calls, *(call for row in self._told for call in row.get("tool_calls", ()))]

    def _say(self, part: Mapping[str, Any], *, thought: bool) -> None:
        text, part = text_in(part)
        if isinstance(text, str) and not thought:
            self._hear(text)
            part = {key: value for key, value in part.items() if value and value != text and key != "type"}
            if not part:
                return
        self._row["metadata"].setdefault("parts", []).append(dict(part))

    def _hear(self, text: str) -> None:
        """Take in what is said; what the program around the agent says in a message of the user is told apart."""
        if self._first["role"] == "user" and not (text := self._beyond_result(text)):
            return
        own, at = list[str](), 0
        found = _HARNESS.search(text) if self._first["role"] == "user" else None
        while found is not None and (end := text.find(f"</{found['name']}>", found.end())) >= 0:
            own.append(text[at : found.start()])
            at = end + len(found["name"]) + 3
            self._aside(self._after, "system", text[found.start() : at], {"told": found["name"]})
            found = _HARNESS.search(text, at)
        said = "".join([*own, text[at:]]).strip() if at else text
        self._texts += [said] if said or not at else []

    def _beyond_result(self, text: str) -> str:
        """The part of a text that is no result of a tool, which some programs tell in the words of the user."""
        if (begun := _RESULT.match(text)) is not None:
            self._answering, text = begun, text[begun.end() :]
        answering = self._answering
        if answering is None or not text:
            return text
        self._answering, told = None, {"told": answering.group().strip()}
        if text.startswith(_ANSWERED):
            self._first["metadata"] |= told
            return text
        result = self._tools.result({"name": answering["name"], "content": text, **told})
        self._before.append({**moment(self._first), **result})
        return ""

    def _words(self) -> str | None:
        """The words of a message; without any, a description of its parts, if these are more than thoughts."""
        said = "\n".join(self._texts)
        if said.strip() or self._calls or self._first["role"] == "tool":
            return said
        metadata = self._first["metadata"]
        beside = [{name: metadata[name]} for name in _UNSAID if isinstance(metadata.get(name), str) and metadata[name]]
        parts = metadata.get("parts", ())
        if parts and not beside and all(kind_of(part) == "thought" for part in parts):
            return None
        return words_of([*beside, *parts])


def _identified(rows: list[Row], identity: Any) -> Iterator[Row]:
    """The steps of a message that has an id: one of them has it, the others are numbered after it."""
    bearer = next((row for row in rows if "id" in row), rows[0])
    number = 0
    for row in rows:
        if identity is not None and row is not bearer:
            number += 1
            row = {**row, "id": f"{identity}-{number}"}
        yield row if identity is None or row is not bearer else {**row, "id": identity}


def with_files(row: Row, rows: Iterable[Row]) -> Iterator[Row]:
    """The texts of files that are attached to a message, and its steps; one without words says what it shows."""
    beside, told = list(_texts_beside(row)), list(rows)
    if len(told) == 1 and not (told[0]["content"] or told[0].get("tool_calls") or is_mark(told[0])):
        # It hands over files, or failed, and says nothing.
        told = [] if beside else [{**told[0], **_told_without_words(row["metadata"])}]
    yield from (*beside, *told)


def _told_without_words(metadata: Mapping[str, Any]) -> Row:
    """Content for a message without words: its failure, what it shows, or the texts of its other fields."""
    if (said := fault_in(metadata)) is not None:
        return {"content": said, "metadata": {"outcome": "failure", **metadata}}
    return {"content": _shown_in(metadata) or "\n".join(text for _, text in texts_in(metadata))}


def _texts_beside(row: Row) -> Iterator[Row]:
    """The texts of files that are attached to a message, taken out of its metadata: documents that come before it."""
    for name in _ATTACHED:
        listed = row["metadata"].get(name)
        if not isinstance(listed, list):
            continue
        kept = []
        for part in listed:
            text = _text_of_file(part) if isinstance(part, Mapping) else None
            if text is None:
                kept.append(part)
            else:
                yield {**moment(row), "role": "document", "content": text, "origin": Origin.DOCUMENT,
                       "metadata": without(part, "content", "extracted_content", "text", "source", "type")}  # fmt: skip
        row["metadata"] = {**without(row["metadata"], name), **({name: kept} if kept else {})}


def _shown_in(metadata: Mapping[str, Any]) -> str:
    """The texts in what a message shows; what has none is named."""
    lines: list[str] = []
    for name in SHOWN:
        for one in listed(metadata.get(name)):
            said = _texts_shown(one, least=3 if name == "embeds" else 12)  # in a word each, as programs report
            if not said and isinstance(one, Mapping):
                short = first_of(one, _CAPTIONS, str)
                said = [short or words_of([{"type": name.removesuffix("s"), **one}])]
            lines += said
    name = next((name for name in _MEDIA if isinstance(metadata.get(name), str)), "")
    kind, place = name if name in _MEDIA[2:] else metadata.get(name), first_of(metadata, _MEDIA[2:], str)
    media = [f"[{kind} {place}]" if place else f"[{kind}]"] if name else []
    return "\n".join(lines or media)


def _texts_shown(one: Any, *, least: int) -> list[str]:
    """The texts of one thing that is shown, or of the card that it holds, each once."""
    held = unwritten(first_of(one, ("content",), str))
    texts = (text for _, text in texts_in(one if held is None else held, least=least))
    return list(dict.fromkeys(text for text in texts if "://" not in text))


def _text_of_file(part: Mapping[str, Any]) -> str | None:
    said = first_of(part, ("content", "extracted_content", "text"))
    named = first_of(part, _FILES) is not None and "attached" not in part
    return document_of(part) or (said if isinstance(said, str) and said.strip() and named else None)
