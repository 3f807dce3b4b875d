"""Conversations that are handed over again as they grow: what is new of a list of messages, and what was edited."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Mapping, Sequence
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
            first = place_of(given, known) if start is None else start
            there = {place: each for place, each in enumerate(given, start=first) if place in known}
            changed = {place: each for place, each in there.items() if not each.agrees(known[place])}
            _check(changed, known, edited=edited, trajectory=trajectory)
            steps = [_marked(each, place) for place, each in enumerate(given, start=first) if place not in known]
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
                for place in range(first, first + len(given))
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
        from stitch.lifecycle.correct import correct

        correct(self._ingestor, tenant=self._tenant, trajectory=trajectory, step=str(known.id), at=time.time(),
                by="source", text=step.content, labels={}, references=None)  # fmt: skip


def place_of(given: Sequence[Given], known: Mapping[int, Known]) -> int:
    """The place in a conversation at which the first of these messages stands.

    They are a conversation from its beginning (0) if they say what is stored, as far as both go, or most of it: then
    the rest was edited. Otherwise they go on: after what is stored, or overlapping its end, as the window of an agent
    does that forgets the oldest messages.
    """
    end = max(known, default=-1) + 1
    if not given or not end:
        return end if not given else 0

    def agreeing(first: int) -> list[bool]:
        both = range(first, min(end, first + len(given)))
        return [given[place - first].agrees(known[place]) for place in both if place in known]

    from_beginning = agreeing(0)
    if all(from_beginning):
        return 0
    for first in range(max(1, end - len(given)), end):
        found = agreeing(first)
        if found and all(found):
            return first
    if from_beginning[0] or 2 * sum(from_beginning) > len(from_beginning):
        return 0
    return end


def digest_of(step: Step) -> str:
    """A digest of who says what and calls which tools."""
    calls = [(call.name, call.arguments) for call in step.tool_calls]
    try:
        said = orjson.dumps([step.role, step.content, calls], option=orjson.OPT_SORT_KEYS, default=str)
    except orjson.JSONEncodeError as error:
        raise InputError(f"a message of {step.role!r} cannot be written as JSON: {error}") from None
    return hashlib.blake2b(said, digest_size=_DIGEST_BYTES).hexdigest()


def _known(entry: Entry) -> tuple[int, Known] | None:
    """The place of a stored step in its conversation; None if it was not handed over as a message."""
    mark = entry.step.metadata.get(MARK)
    place, _, digest = mark.partition("-") if isinstance(mark, str) else ("", "", "")
    if not place.isdecimal() or not digest:
        return None
    digests = frozenset({digest, digest_of(entry.step)})
    return int(place), Known(entry.step, entry.id != mark, digests)


def _marked(given: Given, place: int) -> Step:
    mark = f"{place}-{given.digest}"
    metadata = {**given.step.metadata, MARK: mark}
    return given.step.model_copy(update={"id": given.step.id or mark, "metadata": metadata})


def _check_options(start: int | None, edited: str) -> None:
    if edited not in ("refuse", "keep", "revise"):
        raise InputError(f"edited {edited!r} is not understood", hint="one of refuse, keep, revise")
    if start is not None and start < 0:
        raise InputError(f"start {start} is before the first message", hint="the first message is number 0")


def _check(changed: Mapping[int, Given], known: Mapping[int, Known], *, edited: Edited, trajectory: str) -> None:
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
