"""What scopes and speakers lose with steps that are erased: places close up, words go that only these said."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from stitch.core.protocols import ErasedText
from stitch.label.local.evidence import Scope, Stream
from stitch.label.local.reading import Reading
from stitch.label.local.threads import merged


def close_up(scopes: Sequence[Scope], stream: Stream, gone: Sequence[int]) -> None:
    """Let the steps that remain follow each other.

    Args:
        scopes: All scopes, the steps taken out of them.
        stream: The trajectory.
        gone: The places of the steps, in order.
    """

    def moved(place: int) -> int:
        return place - bisect_left(gone, place)

    for scope in scopes:
        scope.spans = merged([[moved(first), moved(last)] for first, last in scope.spans])
        scope.speakers = {role: moved(place) for role, place in scope.speakers.items()}
        scope.rivals = {number: rival._replace(last=moved(rival.last)) for number, rival in scope.rivals.items()}
    stream.voices = {role: moved(place) for role, place in stream.voices.items()}
    stream.position = moved(stream.position)


def forget_speaker(stream: Stream, reading: Reading) -> None:
    """Take in that somebody has not said a step; who has said nothing else was never there."""
    turns = stream.turns.get(reading.role)
    if turns is None or reading.is_notice:
        return
    turns[0] -= 1
    if turns[0] <= 0:
        for known in (stream.turns, stream.voices, stream.spoke):
            known.pop(reading.role, None)
        if stream.opener == reading.role:
            stream.opener = next(iter(stream.turns), "")


def return_to(stream: Stream, reading: Reading, scope: Scope) -> None:
    """Take in that a step, of a scope, is the last one."""
    if not reading.is_notice:
        stream.current = stream.spoke[reading.role] = scope.number
        stream.last_role = reading.role
        stream.last_closed = reading.closes
        stream.last_called = bool(reading.data.calls)
        stream.last_answered_tool = reading.answers_tool
    stream.time_s = reading.time_s
    stream.session = reading.step.session


def scrub(scopes: Sequence[Scope], stream: Stream, erased: ErasedText) -> Iterator[dict[str, Any]]:
    """Remove words that only erased steps said from all but counts; yield these, to `drop` words from."""
    for scope in scopes:
        scope.recent = [unsaid_of(stems, erased) for stems in scope.recent]
        scope.addressed = unsaid_of(scope.addressed, erased)
        scope.last_role, scope.asker, scope.unit = (
            unsaid(text, erased) for text in (scope.last_role, scope.asker, scope.unit)
        )
        yield from (scope.terms, scope.values, scope.asked, scope.told, scope.kinds, scope.pointed)
        yield from (scope.speakers, scope.calls)
    yield from (stream.df, stream.turns, stream.voices, stream.spoke)


def drop(counts: dict[str, Any], erased: ErasedText) -> None:
    """Remove the keys that have words which only erased steps said."""
    for key in list(filter(erased.said_in, counts)):
        del counts[key]


def unsaid(text: str, erased: ErasedText) -> str:
    """A text; empty if it has words that only erased steps said."""
    return "" if erased.said_in(text) else text


def unsaid_of(texts: Iterable[str], erased: ErasedText) -> list[str]:
    """The texts that have no such word."""
    return [text for text in texts if not erased.said_in(text)]


def uncount(counts: dict[str, int], key: str) -> None:
    """Count a key once less; one that is not counted any more goes."""
    if (left := counts.get(key, 0) - 1) > 0:
        counts[key] = left
    else:
        counts.pop(key, None)


def without_place(span: list[int], position: int) -> list[list[int]]:
    """What is left of a stretch without one of its places."""
    first, last = span
    if not first <= position <= last:
        return [span]
    return [part for part in ([first, position - 1], [position + 1, last]) if part[0] <= part[1]]
