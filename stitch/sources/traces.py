"""Traces: spans of OpenTelemetry, and runs of LangSmith and other tracers, as messages and calls of tools.

Each call of a model repeats the conversation so far; a message that a trace has shown already is not read again. A span
or run in which nobody says anything is a step that is named as it is, so that nothing of a trace is dropped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import blake2b
from typing import Any, NamedTuple

import orjson

from stitch.errors import StepRejectedError
from stitch.sources.conversation import Reading
from stitch.sources.fields import Row, is_message
from stitch.sources.messages import MessageReader
from stitch.sources.parts import text_of

NESTED = ("messages", "generations", "message", "choices", "output")
"""Where the messages of what a run is given, or gives, stand."""
_SORTED = orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS

NamedReading = Iterator["tuple[str | None, Row | StepRejectedError]"]


class Told(NamedTuple):
    """What a span or a run tells: the call of a tool, or messages; its `name`, as a `kind`, if it tells neither."""

    trace: str
    about: Row
    kind: str
    name: str
    messages: list[Any]
    call: dict[str, Any] | None = None
    answer: Any = None
    beside: Mapping[str, Any] = {}
    """What stands beside the answer."""


class TraceReader:
    """Reads what spans and runs tell; remembers which messages each trace has shown. One reader a file."""

    def __init__(self, messages: MessageReader) -> None:
        self._messages = messages
        self.shown: dict[str, set[str]] = {}
        """Digests of the messages that each trace has shown."""
        self.conversations: dict[str, str] = {}
        """The conversation that each trace is of, where one of its spans has said so."""

    def rows(self, told: Told) -> Reading:
        """The steps of a span or a run."""
        if told.call is None:
            said = [row for message in told.messages for row in self._once(told, message)]
            yield from said or [{**told.about, "role": told.kind, "content": told.name}]
            return
        yield {**told.about, "role": "assistant", "content": "", "tool_calls": (told.call,)}
        if told.answer is not None:
            row = {**told.about, "role": "tool", "tool_name": told.call["name"], "content": text_of(told.answer),
                   "metadata": {**told.about["metadata"], **told.beside}}  # fmt: skip
            self._seen(told.trace, row)
            yield row

    def _once(self, told: Told, message: Any) -> Reading:
        about = told.about
        try:
            for row in self._messages.rows(message):
                if self._seen(told.trace, row):
                    continue
                at = row.get("timestamp")
                yield {**about, **row, "timestamp": about["timestamp"] if at is None else at,
                       "metadata": {**about["metadata"], **row["metadata"]}}  # fmt: skip
        except StepRejectedError as error:
            yield error

    def _seen(self, trace: str, row: Row) -> bool:
        """Whether the trace has shown what a row says, in whichever of its forms; from now on it has."""
        calls = [(call.name, dict(call.arguments)) for call in row.get("tool_calls") or ()]
        said = orjson.dumps([row["role"], row["content"].strip(), calls, row.get("tool_name")], option=_SORTED)
        digest = blake2b(said, digest_size=8).hexdigest()
        shown = self.shown.setdefault(trace, set())
        known = digest in shown
        shown.add(digest)
        return known


def broken(what: str, error: Exception) -> StepRejectedError:
    """Why a part of a record is not read that breaks the rules of its format."""
    return StepRejectedError(f"broken {what}: {type(error).__name__}: {error}")


def words_of(value: Any) -> str:
    """What a chain is given or gives, as a text: its only text, or the JSON of it."""
    only = next(iter(value.values())) if isinstance(value, Mapping) and len(value) == 1 else None
    return only if isinstance(only, str) else text_of(value)


def messages_in(value: Any) -> list[Any]:
    """The messages of the inputs or outputs of a run, in any of the nestings in use."""
    if isinstance(value, list):
        return [message for entry in value for message in messages_in(entry)]
    if not isinstance(value, Mapping):
        return []
    if is_message(value) and not isinstance(value.get("message"), Mapping):
        return [value]
    return messages_in([value[name] for name in NESTED if value.get(name) is not None])
