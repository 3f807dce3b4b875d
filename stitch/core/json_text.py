"""Values out of JSON that strangers wrote."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any


def read_json(text: str | bytes) -> Any:
    """The value of a text of JSON.

    Raises:
        ValueError: It is none, or nested so deeply that the interpreter would end in a `RecursionError`, which whoever
            reads what may be no JSON would not expect.
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def json_lines(given: Iterable[str | bytes] | str | bytes) -> Iterable[str | bytes]:
    """The lines of JSON that somebody gives one by one, or as the whole text of their file."""
    if isinstance(given, str):
        return given.split("\n")
    return given.split(b"\n") if isinstance(given, bytes) else given
