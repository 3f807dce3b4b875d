"""What a message tells, part by part: texts, calls, results and documents, as steps in their order."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from stitch.core import Origin, ToolCall
from stitch.sources.fields import Row, moment
from stitch.sources.parts import (
    RESULT_IDS,
    answer_of,
    beyond_call,
    document_of,
    has_parts,
    is_call,
    kind_of,
    plain_part,
    result_in,
    text_in,
    text_of,
    words_of,
)
from stitch.sources.tool_calls import ToolCalls, outcome_told

CALLED_BY_NOBODY = ("user", "system", "developer", "tool", "document")
"""Who calls no tools in words of their own; agents have names of any kind."""
_HARNESS = re.compile(
    r"<(?P<name>system-reminder|task-notification|local-command-(?:stdout|stderr|caveat)|bash-(?:stdout|stderr)"
    r"|user-prompt-submit-hook|post-tool-use-hook|ide_(?:selection|opened_file|diagnostics)|environment_context)[^<>]*>"
)
"""What the program around an agent puts into messages of the user: what pages, files and commands say, not the user."""
_UNSAID = ("refusal", "reasoning_content", "reasoning", "thinking")


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

    def call(self, call: Any) -> None:
        """Take in a call; one that is written twice counts once."""
        made = self._tools.call(call)
        if made.id is None or made.id not in {known.id for known in self._made()}:
            self._calls.append(made)

    def take_in(self, part: Any) -> None:
        """Take in a part; what is no text and no tool goes to the metadata."""
        if part is None or part == "":
            return
        if not isinstance(part, Mapping):
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
            self._take_document(document, part)
        else:
            self._say(part, thought=kind == "thought" or part.get("thought") is True)

    def rows(self, written: Iterable[Any]) -> Iterator[Row]:
        """All steps, those of the answers that stand in the calls `written` beside the content among them."""
        for call, made in zip(written, list(self._calls), strict=False):
            if isinstance(call, Mapping) and (answer := answer_of(call)) is not None:
                result = self._tools.result(result_in(answer))
                result["tool_name"] = made.name
                if made.id is not None:
                    result["metadata"]["tool_call_id"] = made.id
                if told := outcome_told(call):
                    result["metadata"].setdefault("outcome", told)
                self._told.append({**moment(self._first), **result})
        answers, self._told = self._told, []
        rows = [*self._before]
        if self._row is self._first:
            if self._texts or self._calls or not (rows or self._after):
                rows.append({**self._first, "content": self._words(), "tool_calls": tuple(self._calls)})
            rows += answers
        else:
            rows += answers
            if self._texts or self._calls:
                rows.append({**self._row, "content": "\n".join(self._texts), "tool_calls": tuple(self._calls)})
        rows += self._after
        yield from _identified(rows, self._first.get("id"))

    def _take_call(self, part: Mapping[str, Any]) -> None:
        """A call; some programs write its result into the same part."""
        beside = self._row["metadata"]
        self.call(part)
        if beyond := beyond_call(part):
            beside.setdefault("parts", []).append(beyond)
        if (answer := answer_of(part)) is not None and self._calls:
            call = self._calls[-1]
            told = outcome_told(part)
            self._answered({"type": "tool_result", "id": call.id, "name": call.name, "content": answer,
                            **({"outcome": told} if told else {})})  # fmt: skip

    def _take_result(self, part: Mapping[str, Any]) -> None:
        own = {call.id for call in self._made()}
        if part.get("own") or any(str(part[name]) in own for name in RESULT_IDS if part.get(name)):
            self._answered(part)
        else:
            result = self._tools.result(part, beside=self._first["metadata"])
            self._before.append({**moment(self._first), **result})

    def _take_document(self, text: str, part: Mapping[str, Any]) -> None:
        given = ("type", "title", "content") if part.get("type") == "search_result" else ("type", "source")
        rest = {key: value for key, value in part.items() if key not in given}
        metadata = {**self._row["metadata"], **rest}
        self._before.append({**moment(self._first), "role": "document", "content": text, "origin": Origin.DOCUMENT,
                             "metadata": metadata})  # fmt: skip

    def _answered(self, part: Mapping[str, Any]) -> None:
        """One of its own calls was answered: what it says after that is a step after the answer."""
        if self._texts or self._calls:
            content = "\n".join(self._texts)
            self._told.append({**self._row, "content": content, "tool_calls": tuple(self._calls)})
        self._told.append({**moment(self._first), **self._tools.result(part)})
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
        if self._first["role"] != "user" or (found := _HARNESS.search(text)) is None:
            self._texts.append(text)
            return
        own, at = list[str](), 0
        while found is not None:
            end = text.find(f"</{found['name']}>", found.end())
            if end < 0:
                break
            own.append(text[at : found.start()])
            at = end + len(found["name"]) + 3
            self._after.append({**moment(self._first), "role": "system", "origin": Origin.DOCUMENT,
                                "content": text[found.start() : at], "metadata": {"told": found["name"]}})  # fmt: skip
            found = _HARNESS.search(text, at)
        if said := "".join([*own, text[at:]]).strip():
            self._texts.append(said)

    def _words(self) -> str:
        """What it says; of a message without words and calls, what its parts are."""
        said = "\n".join(self._texts)
        if said.strip() or self._calls or self._first["role"] == "tool":
            return said
        metadata = self._first["metadata"]
        beside = [{name: metadata[name]} for name in _UNSAID if isinstance(metadata.get(name), str) and metadata[name]]
        return words_of([*beside, *metadata.get("parts", ())])


def _identified(rows: list[Row], identity: Any) -> Iterator[Row]:
    """The steps of a message that has an id: one of them has it, the others are numbered after it."""
    bearer = next((row for row in rows if "id" in row), rows[0])
    number = 0
    for row in rows:
        if identity is not None and row is not bearer:
            number += 1
            row = {**row, "id": f"{identity}-{number}"}
        yield row if identity is None or row is not bearer else {**row, "id": identity}
