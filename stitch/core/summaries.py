"""Canonical summaries (c_t), told from those that local labels have."""

from __future__ import annotations

from collections.abc import Iterable


def is_canonical(summary: str, *, role: str) -> bool:
    """Whether a summary is a canonical one of a model or a person: a local one is role, event types, scope, words."""
    head, scope, _ = f"{summary}: ".partition("): ")
    return bool(summary) and not (scope and " (" in head and head.startswith(f"{role}: "))


def head_of(role: str, *, events: Iterable[str], scope: str | None) -> str:
    """The beginning of a local summary: role, event types and scope, in words of our own."""
    return f"{role}: {' and '.join(events)} ({scope})"
