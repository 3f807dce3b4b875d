"""Conversations that are handed over again as they grow: what is new of a list of messages, and what was edited."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, takewhile
from threading import Lock
from typing import TYPE_CHECKING, Literal, NamedTuple
from weakref import WeakValueDictionary

import orjson

from stitch.core import Receipt, Step
from stitch.errors import InputError, StepRejectedError
from stitch.retrieve.context.recalled import step_without_recalled
from stitch.sources.given import steps_of_messages

if TYPE_CHECKING:
    from _thread import LockType

    from stitch.ingest import Ingestor
    from stitch.journal import Entry

Edited = Literal["refuse", "keep", "revise"]
"""The treatment of a message that says something else than when it was stored."""

MARK = "stitch_message"
"""Under this name the metadata of a step say which message it was: its place among the steps of its conversation, and a
digest of what it said, as `3-5f1d8c0b2a47`. The same is its id, unless it brings one."""
_BESIDE = "beside"
"""In place of the number of an instruction that is no part of what was said."""
Place = int | str
"""The place of a message in its conversation, or the mark of an instruction beside it."""

_DIGEST_BYTES = 6
_EXCERPT_CHARS = 60


class Known(NamedTuple):
    """A message that is stored."""

    step: Step
    own_id: bool
    digests: frozenset[str]
    """Of what it said when it was stored, and of what it says now, if it was corrected."""


class Given(NamedTuple):
    """A message that is handed over."""

    step: Step
    clean: Step
    """The same without secrets, as it is stored."""
    digest: str

    def agrees(self, known: Known) -> bool:
        """Whether it is the stored one: it says the same, and if both bring an id, these are equal."""
        if known.own_id and self.clean.id is not None and self.clean.id != known.step.id:
            return False
        return self.digest in known.digests


class Chats:
    """Takes in conversations, message by message, each once.

    Args:
        ingestor: Where steps go.
        tenant: Whose they are.
    """

    def __init__(self, ingestor: Ingestor, *, tenant: str) -> None:
        self._ingestor, self._tenant = ingestor, tenant
        self._doors: WeakValueDictionary[str, LockType] = WeakValueDictionary()

    def add(
        self,
        messages: Iterable[object],
        *,
        trajectory: str,
        start: int | None = None,
        edited: Edited = "refuse",
        wait: bool = True,
        again: bool = False,
    ) -> list[Receipt]:
        """Store what is new of a conversation; see `Memory.add_messages`."""
        _check_options(start, edited)
        with self._doors.setdefault(trajectory, Lock()):
            entries = list(self._ingestor.journal.entries(self._tenant, trajectory))
            given = self._given(messages, trajectory=trajectory, entries=entries)
            known = dict(filter(None, map(_known, entries)))
            places = places_of(given, known) if start is None else range(start, start + len(given))
            there = {place: each for place, each in zip(places, given, strict=True) if place in known}
            changed = _changed(there, known, lenient=start is None and edited == "refuse")
            _check(changed, known, edited=edited, trajectory=trajectory)
            new = ((place, each) for place, each in zip(places, given, strict=True) if place not in known)
            steps = [_marked(each, place) for place, each in new]
            added = iter(
                self._ingestor.add_many(steps, tenant=self._tenant, trajectory=trajectory, wait=wait, again=again)
                if steps
                else ()
            )
            if edited == "revise":
                for place, each in changed.items():
                    self._revise(known[place].step, each.step, trajectory=trajectory)
            receipts = {entry.id: entry for entry in entries}
            return [
                receipts[str(known[place].step.id)]._replace(repeated=True).receipt() if place in there else next(added)
                for place in places
            ]

    def _given(self, messages: Iterable[object], *, trajectory: str, entries: Sequence[Entry]) -> list[Given]:
        tools = {call.id: call.name for entry in entries for call in entry.step.tool_calls if call.id is not None}
        steps = [step_without_recalled(step) for step in steps_of_messages(messages, tools=tools)]
        told: Sequence[Step] = steps
        if self._ingestor.secrets.redacts:  # a digest of a secret would help to guess it
            told, _ = self._ingestor.secrets.steps(steps, tenant=self._tenant, trajectory=trajectory)
        return [Given(step, clean, digest_of(clean)) for step, clean in zip(steps, told, strict=True)]

    def _revise(self, known: Step, step: Step, *, trajectory: str) -> None:
        """Replace the text of a stored message; its history keeps the earlier text."""
        from stitch.lifecycle.correct import Changes, correct

        correct(self._ingestor, Changes(text=step.content), tenant=self._tenant, trajectory=trajectory,
                step=str(known.id), at=time.time(), by="source")  # fmt: skip


def places_of(given: Sequence[Given], known: Mapping[Place, Known]) -> list[Place]:
    """The places of messages in their conversation.

    Instructions in front stand where those of the conversation do, whatever was forgotten behind them. Where it has
    none, as for a summary of what was forgotten, they stand beside it.
    """
    end = max((place for place in known if isinstance(place, int)), default=-1) + 1
    begin = len(list(takewhile(lambda place: place in known and _instructs(known[place].step), range(end))))
    in_front = list(takewhile(lambda each: _instructs(each.clean), given))
    places = [at if at < begin or not end else f"{_BESIDE}-{each.digest}" for at, each in enumerate(in_front)]
    first = begin if end else len(in_front)
    return [*places, *_places_of_talk(given[len(in_front) :], known, begin=first, end=end)]


def _places_of_talk(said: Sequence[Given], known: Mapping[Place, Known], *, begin: int, end: int) -> Iterable[int]:
    """The places of messages behind the instructions, which end before `begin`.

    They are the conversation from its beginning if they say what is stored, as far as both go, or most of it: then the
    rest was edited. Otherwise they go on: after what is stored, or overlapping its end, as the window of an agent does
    that forgets the oldest messages, or those behind the first.
    """

    def agreeing(first: int, told: Sequence[Given]) -> list[bool]:
        return [each.agrees(known[place]) for place, each in enumerate(told, start=first) if place in known]

    from_beginning = agreeing(begin, said)
    if all(from_beginning):
        return range(begin, begin + len(said))
    kept = len(list(takewhile(bool, from_beginning)))
    for head in dict.fromkeys((0, kept)):
        for first in range(max(begin, end - len(said)) + head, end):
            found = agreeing(first, said[head:])
            if found and all(found):
                return chain(range(begin, begin + head), range(first, first + len(said) - head))
    first = begin if kept or 2 * sum(from_beginning) > len(from_beginning) else end
    return range(first, first + len(said))


def _instructs(step: Step) -> bool:
    """Whether a step is an instruction of the program, and not said in the conversation."""
    return step.role in ("system", "developer")


def digest_of(step: Step) -> str:
    """A digest of who says what and calls which tools."""
    calls = [(call.name, call.arguments) for call in step.tool_calls]
    try:
        said = orjson.dumps([step.role, step.content, calls], option=orjson.OPT_SORT_KEYS, default=str)
    except orjson.JSONEncodeError as error:
        raise InputError(f"a message of {step.role!r} cannot be written as JSON: {error}") from None
    return hashlib.blake2b(said, digest_size=_DIGEST_BYTES).hexdigest()


def _known(entry: Entry) -> tuple[Place, Known] | None:
    """The place of a stored step in its conversation; None if it was not handed over as a message."""
    mark = str(entry.step.metadata.get(MARK))
    place, _, digest = mark.partition("-")
    if not (place.isdecimal() or place == _BESIDE) or not digest:
        return None
    digests = frozenset({digest, digest_of(entry.step)})
    return int(place) if place.isdecimal() else mark, Known(entry.step, entry.id != mark, digests)


def _marked(given: Given, place: Place) -> Step:
    mark = f"{place}-{given.digest}" if isinstance(place, int) else place
    metadata = {**given.step.metadata, MARK: mark}
    return given.step.model_copy(update={"id": given.step.id or mark, "metadata": metadata})


def _check_options(start: int | None, edited: str) -> None:
    if edited not in ("refuse", "keep", "revise"):
        raise InputError(f"edited {edited!r} is not understood", hint="one of refuse, keep, revise")
    if start is not None and start < 0:
        raise InputError(f"start {start} is before the first message", hint="the first message is number 0")


def _changed(there: Mapping[Place, Given], known: Mapping[Place, Known], *, lenient: bool) -> dict[Place, Given]:
    """The messages that say something else than those stored; if `lenient`, but for instructions, as with the time."""
    return {
        place: each
        for place, each in there.items()
        if not each.agrees(known[place]) and not (lenient and _instructs(each.clean) and _instructs(known[place].step))
    }


def _check(changed: Mapping[Place, Given], known: Mapping[Place, Known], *, edited: Edited, trajectory: str) -> None:
    """Refuse messages that say something else than those stored, unless they may; words alone can be corrected.

    Raises:
        StepRejectedError: Says which message, and what it said and says.
    """

    def fixed(step: Step) -> object:
        return step.role, step.tool_calls

    refused = [
        place
        for place, each in changed.items()
        if edited == "refuse" or (edited == "revise" and fixed(known[place].step) != fixed(each.clean))
    ]
    if not refused:
        return
    place, more = refused[0], f", and so do {len(refused) - 1} others" if len(refused) > 1 else ""
    was, now = (f"{text[:_EXCERPT_CHARS]!r}{'…' if len(text) > _EXCERPT_CHARS else ''}"
                for text in (_said(known[place].step), _said(changed[place].clean)))  # fmt: skip
    raise StepRejectedError(
        f"message {place} of trajectory {trajectory!r} says something else than when it was stored{more}: "
        f"it was {was}, and is {now}; nothing was stored",
        hint="edited='revise' corrects what is stored and keeps its history, edited='keep' leaves it as it is; if these"
        " messages come after those that are stored, say so: start=N",
    )


def _said(step: Step) -> str:
    """A step in one line: who says what, or calls what."""
    calls = " ".join(f"{call.name}({', '.join(call.arguments)})" for call in step.tool_calls)
    return " ".join(f"{step.role}: {step.content} {calls}".split())
