"""Commits of a file: one a line, or operations alone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from stitch.errors import InputError

_HINT = 'a line is {"message": "why", "operations": [{"op": "set", ..}, ..]}, or an operation by itself'


def read_commits(text: str) -> list[dict[str, Any]]:
    """The commits that a file says: lines of JSON, or one JSON value.

    Each is an object with `operations`, as in a history, or operations by themselves, which are one commit.

    Raises:
        InputError: It says neither; names the line.
    """
    said = _values(text)
    if len(said) == 1 and isinstance(said[0][1], list):
        said = [(1, each) for each in said[0][1]]
    if not said:
        raise InputError("the file holds no operations", hint=_HINT)
    commits: list[dict[str, Any]] = []
    operations: list[dict[str, Any]] = []
    for line, value in said:
        if not isinstance(value, Mapping) or not ("op" in value or "operations" in value):
            raise InputError(f"line {line} is neither a commit nor an operation", hint=_HINT)
        (operations if "op" in value else commits).append(dict(value))
    if operations and commits:
        raise InputError("the file mixes commits and operations", hint=_HINT)
    return commits or [{"operations": operations}]


def _values(text: str) -> list[tuple[int, Any]]:
    """The values of JSON with their lines: the whole, or one a line."""
    try:
        return [(1, json.loads(text))]
    except (ValueError, RecursionError):  # no JSON, a number of too many digits, or nested too deeply
        pass
    found = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            found.append((number, json.loads(line)))
        except (ValueError, RecursionError) as error:
            reason = f"{error.msg}, column {error.colno}" if isinstance(error, json.JSONDecodeError) else str(error)
            raise InputError(f"line {number} is no JSON: {reason.lower()}", hint=_HINT) from None
    return found
