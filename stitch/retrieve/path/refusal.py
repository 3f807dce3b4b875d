"""The error of a path query that cannot be read: it points at the character."""

from __future__ import annotations

import re

from stitch.errors import InputError

_HALF = re.compile("[\ud800-\udfff]")


class PathSyntaxError(InputError):
    """A path query cannot be read.

    Args:
        message: What is wrong, in one line.
        query: The query.
        position: The character at which it goes wrong, from 0.
        expected: What could have stood there.
    """

    def __init__(self, message: str, *, query: str, position: int, expected: tuple[str, ...] = ()) -> None:
        self.query, self.position, self.expected = query, position, expected
        found = repr(query[position : position + 12]) if position < len(query) else "the end"
        told = f": expected {_any_of(expected)}, found {found}" if expected else ""
        super().__init__(
            f"cannot read the path query at character {position + 1}: {message}{told}",
            hint=f"{_excerpt(query, position)}   (the README of stitch/retrieve/path teaches the language)",
        )


def _any_of(expected: tuple[str, ...]) -> str:
    return expected[0] if len(expected) == 1 else f"{', '.join(expected[:-1])} or {expected[-1]}"


def _excerpt(query: str, position: int) -> str:
    """The query around a character, with a mark before it; halves of characters, which no wire can carry, replaced."""
    query = query.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if _HALF.search(query) else query
    start, end = max(0, position - 30), position + 20
    return f"{'…' if start else ''}{query[start:position]}⟨here⟩{query[position:end]}{'…' if end < len(query) else ''}"
