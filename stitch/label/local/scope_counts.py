"""What a scope counts of its steps, within bounds, and how it is kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from stitch.label.local.evidence import Rival, Scope
from stitch.label.local.reading import Reading


def counted(scope: Scope, reading: Reading) -> tuple[tuple[dict[str, int], Iterable[str]], ...]:
    """What a scope counts of a step."""
    return (
        (scope.terms, reading.stems),
        (scope.values, reading.values),
        (scope.asked, sorted(reading.asking)),
        (scope.told, sorted(reading.telling)),
        (scope.pointed, sorted(reading.pointed)),
        (scope.kinds, dict.fromkeys(reading.values.values())),
        (scope.calls, [call.name for call in reading.data.calls]),
    )


def saved(scope: Scope) -> dict[str, Any]:
    """A scope as JSON values."""
    values: dict[str, Any] = orjson.loads(orjson.dumps(scope, default=list))  # many times faster than `asdict`
    return values


def restored(values: Mapping[str, Any]) -> Scope:
    """What `saved` gave."""
    rivals = {number: Rival(*rival) for number, rival in values["rivals"].items()}
    return Scope(**{**values, "rivals": rivals})


def bounded(counts: dict[str, int], most: int) -> dict[str, int]:
    """`counts`, or its most frequent half once it has grown to twice the bound."""
    if len(counts) <= 2 * most:
        return counts
    return dict(sorted(counts.items(), key=lambda item: -item[1])[:most])


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
