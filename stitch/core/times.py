"""Times as a caller gives them."""

from __future__ import annotations

from datetime import date, datetime
from typing import TypeAlias

from pydantic.json_schema import SkipJsonSchema

from stitch.errors import InputError

Time: TypeAlias = float | str | SkipJsonSchema[datetime]
"""Unix seconds, a text, or a time of Python, which becomes one of these; JSON has none."""


def said_time(time: object) -> float | str:
    """A time that a source says; one of Python as ISO 8601 writes it.

    Raises:
        InputError: It is none.
    """
    if isinstance(time, date):
        return time.isoformat()
    if isinstance(time, bool) or not isinstance(time, float | str | int):
        raise InputError(f"{time!r} is no time", hint="write it as 2026-03-01T12:00, or give Unix seconds")
    return time


def moment_said(time: object) -> float | str:
    """A moment of the memory's own clock; one of Python in Unix seconds, in the zone of this machine if it has none.

    Raises:
        InputError: It is no time.
    """
    if not isinstance(time, datetime):
        return said_time(time)
    try:
        return time.timestamp()
    except (ValueError, OverflowError):  # it is at the end of all time
        raise InputError(f"{time} is no time that can be counted") from None
