"""Tables in which each row is what somebody says: values between commas, semicolons or tabs, under a header."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from typing import Any

_WHO = {"role", "speaker", "from", "sender", "author", "user", "username", "name", "participant", "agent", "who"}
_WHAT = {"content", "text", "message", "utterance", "value", "body", "msg"}
_NAMED = {"name": "speaker", "who": "speaker"}
_PAIRS = ({"prompt", "response"}, {"prompt", "completion"}, {"instruction", "output"}, {"input", "output"},
          {"query", "response"}, {"question", "response"})  # fmt: skip
_DELIMITERS = ",\t;"


def delimiter_of(header: str) -> str | None:
    """The sign between the columns, if a line is the header of a table that says who speaks and what; else None."""
    for delimiter in _DELIMITERS:
        names = {name.strip().strip('"').casefold() for name in header.split(delimiter)}
        if (names & _WHO and names & _WHAT) or any(pair <= names for pair in _PAIRS):
            return delimiter
    return None


def rows_of(lines: Iterable[tuple[int, bytes]], *, delimiter: str) -> Iterator[tuple[int, Any]]:
    """Yield the rows of a table as records, with the lines on which they begin."""
    at = 0

    def texts() -> Iterator[str]:
        nonlocal at
        for number, raw in lines:
            at = number
            yield raw.decode("utf-8", "replace")

    reader = csv.DictReader(texts(), delimiter=delimiter, restkey="more")
    names = [(name or "").strip() for name in reader.fieldnames or ()]
    known = {name: name.casefold() if name.casefold() in _WHO | _WHAT else name for name in names}
    if not {"role", "speaker"} & set(known.values()):
        known = {name: _NAMED.get(plain, plain) for name, plain in known.items()}
    reader.fieldnames = [known[name] for name in names]
    begins = at + 1
    try:
        for row in reader:
            yield begins, {key: value for key, value in row.items() if key and value not in (None, "")}
            begins = at + 1
    except csv.Error:
        yield begins, b""  # a cell beyond any bound: it is named, and nothing after it is read
