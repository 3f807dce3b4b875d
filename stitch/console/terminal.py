"""Output without control characters: stored texts may hold some by which a terminal is steered.

A file or another program gets every sign as it is, for what it reads must be what is stored.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO, cast

_STEERING = re.compile(
    r"(?P<color>\x1b\[(?:[0124]|[39][0-7])m)|[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]"
)
"""Controls but tabs and line breaks, what turns the direction of writing, and the colors in which commands print."""
_SHOWN = "\ufffd"


def without_steering(text: str) -> str:
    """A text with a mark in place of each sign that moves, hides or rewrites what a terminal shows; colors stay."""
    return _STEERING.sub(lambda sign: sign["color"] or _SHOWN, text)


class _Shown:
    """A stream to a terminal, on which nothing is written that steers it."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        return self._stream.write(without_steering(text))

    def writelines(self, lines: list[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def terminal_unsteered() -> Iterator[None]:
    """Write to standard output and standard error, where they are terminals, without what steers one."""
    before = sys.stdout, sys.stderr
    if sys.stdout.isatty():
        sys.stdout = cast(TextIO, _Shown(sys.stdout))
    if sys.stderr.isatty():
        sys.stderr = cast(TextIO, _Shown(sys.stderr))
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def for_drawing(stream: TextIO) -> TextIO:
    """The stream itself, for what moves the cursor and says nothing that is stored, such as progress."""
    return stream._stream if isinstance(stream, _Shown) else stream
