"""Chat messages that a program holds in its hands: dictionaries and objects of any provider, read as files are."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Any
from uuid import UUID

from pydantic import BaseModel

from stitch.core import Receipt, Step
from stitch.errors import InputError, StepRejectedError
from stitch.sources.attachments import named_attachments
from stitch.sources.messages import make_step
from stitch.sources.recognizing import FileReading
from stitch.sources.records import marks_left, steps_of
from stitch.text.dates import day_of

_DEEPEST = 60
_ISO_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_LEAST = "a message says at least who speaks and what: {'role': 'user', 'content': 'hello'}"
_STEP_FIELDS = frozenset(Step.model_fields)


def steps_of_messages(messages: Iterable[object], *, tools: Mapping[str, str] | None = None) -> Iterator[Step]:
    """Yield the steps of messages in their order; a message that holds several results of tools gives several.

    Messages are of the OpenAI (chat and responses), Anthropic or Gemini kind, of a framework, or steps: mappings, or
    objects that can be written as such. Images, sounds and files are named in place (`attachments`). A message that
    says nothing is no step, and passed over: an agent has such among others.
    `tools` are the names of tools that were called before, by the id of the call.

    Raises:
        StepRejectedError: One is no message; says which, and why.
        InputError: This is no list of messages.
    """
    check_list_of_messages(messages)
    reading = FileReading("messages")
    reading.recognized = True  # what is no message of anybody and says of which kind it is, is an event
    reading.messages.tools.names.update(tools or {})
    for number, message in enumerate(messages):
        if isinstance(message, Step):
            for call in message.tool_calls:
                if call.id is not None:
                    reading.messages.tools.names[call.id] = call.name
            yield message
        else:
            yield from _steps_of(message, reading, where=f"messages[{number}]")
    yield from (step for _, step in marks_left(reading))


def check_list_of_messages(messages: object) -> None:
    """See that something may be a list of messages.

    Raises:
        InputError: It is one message, or nothing that could be gone through.
    """
    if isinstance(messages, Mapping | str | bytes) or not isinstance(messages, Iterable):
        kind = "one message" if isinstance(messages, Mapping) else type(messages).__name__
        raise InputError(f"a list of messages is expected, not {kind}", hint="put the message into a list: [message]")


def step_of(value: object) -> Step:
    """The step that a caller gives, as such or as a mapping of its fields.

    Raises:
        StepRejectedError: A field is wrong or not known.
        InputError: It is something else.
    """
    if isinstance(value, Step):
        return _on_a_day(value)
    if not isinstance(value, Mapping):
        raise InputError(
            f"a step is expected, not {type(value).__name__}",
            hint="give a stitch.Step, or a mapping such as {'role': 'user', 'content': 'hello'}",
        )
    unknown = [str(name) for name in value if name not in _STEP_FIELDS]
    if unknown or not isinstance(value.get("content", ""), str):
        wrong = f"a step has no field {unknown[0]!r}" if unknown else "the content of a step is a text"
        fields = f"its fields are {', '.join(Step.model_fields)}, and trajectory=NAME stands beside it"
        raise StepRejectedError(wrong, hint=f"{fields}; `add_messages` takes messages of any provider")
    try:
        return _on_a_day(make_step(dict(value)))
    except StepRejectedError as error:
        raise StepRejectedError(
            error.message, hint=error.hint or "a step is at least {'role': 'user', 'content': 'hello'}"
        ) from None


def _on_a_day(step: Step) -> Step:
    """The step, unless its time is a day as ISO 8601 writes it that is none: in a source's own words it may be any.

    Raises:
        StepRejectedError: No calendar has it.
    """
    stamp = step.timestamp
    if isinstance(stamp, str) and _ISO_DAY.match(stamp) and day_of(stamp) is None:
        raise StepRejectedError(f"no calendar has the time {stamp!r}", hint="write 2026-03-01T12:00, or Unix seconds")
    return step


def given_steps(given: Iterable[Step | Mapping[str, object]]) -> list[Step]:
    """Steps that are given, each as such or as a mapping of its fields.

    Raises:
        InputError: This is one step, or nothing that could be gone through.
    """
    _check_several(given)
    steps = list[Step]()
    for number, each in enumerate(given):
        try:
            steps.append(step_of(each))
        except StepRejectedError as error:
            raise StepRejectedError(f"steps[{number}]: {error.message}", hint=error.hint) from None
    return steps


def each_given(
    given: Iterable[Step | Mapping[str, object]], *, store: Callable[[list[Step]], list[Receipt | StepRejectedError]]
) -> list[Receipt | StepRejectedError]:
    """Store steps that are given; a mapping that is no step is handed back as its error, in its place.

    Raises:
        InputError: This is one step, or nothing that could be gone through; or one is neither.
    """
    _check_several(given)
    read: list[Step | StepRejectedError] = []
    for each in given:
        try:
            read.append(step_of(each))
        except StepRejectedError as error:
            read.append(error)
    results = iter(store([each for each in read if isinstance(each, Step)]))
    return [next(results) if isinstance(each, Step) else each for each in read]


def _check_several(given: object) -> None:
    if isinstance(given, Mapping | str | bytes | BaseModel) or not isinstance(given, Iterable):
        raise InputError(f"steps are expected, not {type(given).__name__}", hint="`add` takes one, `add_many` a list")


def _steps_of(message: object, reading: FileReading, *, where: str) -> Iterator[Step]:
    record = named_attachments(plain(message, where=where))
    if not isinstance(record, Mapping):
        raise StepRejectedError(f"{where} is no message but {type(message).__name__}", hint=_LEAST)
    try:
        for _, step in steps_of(record, reading):
            if isinstance(step, StepRejectedError):
                if not _is_empty(record):
                    raise StepRejectedError(f"{where}: {step.message}", hint=step.hint or _LEAST)
            else:
                yield step
    except StepRejectedError as error:
        if error.message.startswith(where):
            raise
        reason = error.message.split(" (")[0]
        raise StepRejectedError(f"{where}: {reason}", hint=_LEAST) from None


def _is_empty(message: Mapping[str, Any]) -> bool:
    """Whether a message has a role and says nothing."""
    content = message.get("content", message.get("parts"))
    if isinstance(content, str):
        content = content.strip()
    return isinstance(message.get("role"), str) and not content


def plain(value: object, *, where: str, depth: int = 0) -> Any:
    """A value of mappings, lists, texts, numbers and bytes alone; of an object, what it says of itself.

    Raises:
        StepRejectedError: It is nested too deeply, or nobody knows what it says.
    """
    if isinstance(value, Enum):
        return plain(value.value, where=where, depth=depth + 1)
    if value is None or isinstance(value, bool | int | float | str | bytes):
        return value
    if depth > _DEEPEST:
        raise StepRejectedError(f"{where} is nested more than {_DEEPEST} deep", hint="give messages as dictionaries")
    if isinstance(value, Mapping):
        return {str(key): plain(inner, where=where, depth=depth + 1) for key, inner in value.items()}
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    if isinstance(value, Sequence | Set):
        return [plain(inner, where=where, depth=depth + 1) for inner in value]
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, UUID | Decimal | PurePath):
        return str(value)
    return plain(_fields_of(value, where=where), where=where, depth=depth + 1)


def _fields_of(value: object, *, where: str) -> Mapping[str, Any]:
    """Fields of an object: by its own method, or by its fields; those without a value are left out."""
    if isinstance(value, type):
        raise StepRejectedError(
            f"{where} holds the class {value.__name__}, which says nothing", hint="give messages as dictionaries"
        )
    for name in ("model_dump", "to_dict", "dict"):
        method = getattr(value, name, None)
        if callable(method):
            fields = method()
            if isinstance(fields, Mapping):
                return _without_nulls(fields)
    if dataclasses.is_dataclass(value):
        return _without_nulls({each.name: getattr(value, each.name) for each in dataclasses.fields(value)})
    if isinstance(own := getattr(value, "__dict__", None), dict) and own:
        return _without_nulls({key: inner for key, inner in own.items() if not key.startswith("_")})
    raise StepRejectedError(
        f"{where} holds an object of the type {type(value).__name__}, which says nothing of itself",
        hint="give messages as dictionaries",
    )


def _without_nulls(fields: Mapping[Any, Any]) -> dict[str, Any]:
    """The fields that have a value; models of providers say of each that they do not use that it is null."""
    return {
        str(key): _without_nulls(inner) if isinstance(inner, Mapping) and key not in _KEPT_WHOLE else
        [_without_nulls(each) if isinstance(each, Mapping) else each for each in inner] if isinstance(inner, list) else
        inner
        for key, inner in fields.items()
        if inner is not None
    }  # fmt: skip


_KEPT_WHOLE = ("arguments", "args", "input", "metadata")
"""In these a null means something: they are what a tool is given."""
