"""Summaries written as places of words in their steps, so that nothing is written twice."""

from __future__ import annotations

from collections.abc import Sequence


def place_of(summary: str, *, role: str, event_types: Sequence[str], scope: str | None, text: str) -> str | list[int]:
    """A summary as it is written beside a step, for `summary_at`.

    Of one as the local labeler makes them (role, event types, scope and words of the text) the begin and end of these
    words in the text, or nothing if it has none; any other as it is.
    """
    head = _head(role, event_types, scope)
    if summary == head:
        return []
    said = summary.removeprefix(f"{head}: ")
    if said == summary or (start := text.find(said)) < 0:
        return summary
    return [start, start + len(said)]


def summary_at(
    place: str | Sequence[int], *, role: str, event_types: Sequence[str], scope: str | None, text: str
) -> str:
    """The summary of which `place_of` gave this, beside the same step and labels."""
    if isinstance(place, str):
        return place
    head = _head(role, event_types, scope)
    return f"{head}: {text[place[0] : place[1]]}" if place else head


def is_canonical(summary: str, *, role: str) -> bool:
    """Whether a summary is a canonical one (c_t) of a model or a person, and not of the form `place_of` is told of."""
    head, scope, _ = f"{summary}: ".partition("): ")
    return bool(summary) and not (scope and " (" in head and head.startswith(f"{role}: "))


def _head(role: str, event_types: Sequence[str], scope: str | None) -> str:
    return f"{role}: {' and '.join(event_types)} ({scope})"
