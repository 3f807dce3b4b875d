"""From the bytes of a file to its lines, and from a line to its JSON value."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

import orjson

from stitch.sources.limits import Lines
from stitch.sources.parts import printed
from stitch.sources.records import GENERIC_FORM

NO_JSON = object()
OPENING = (b"{", b"[")
_PACKED = ((b"PK\x03\x04", "a zip archive"), (b"\x28\xb5\x2f\xfd", "a Zstandard archive"))
_BINARY = ((b"PAR1", "a Parquet file"), (b"SQLite format 3", "an SQLite database"), (b"%PDF", "a PDF"),
           (b"\x89PNG", "an image"), (b"\xff\xd8\xff", "an image"))  # fmt: skip
_WIDE = ((b"\xff\xfe\x00\x00", "utf-32"), (b"\x00\x00\xfe\xff", "utf-32"), (b"\xff\xfe", "utf-16"),
         (b"\xfe\xff", "utf-16"))  # fmt: skip


def parse(raw: bytes) -> Any:
    """The JSON value of a line, or a mark that there is none; what Python writes beyond JSON is taken as text."""
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError:
        pass
    if raw.lstrip()[:2] in (b"{'", b"['") or raw.lstrip()[:3] in (b"[{'", b"{ '"):
        return NO_JSON if (value := printed(raw)) is None else value
    if b"NaN" not in raw and b"Infinity" not in raw and b"\\ud" not in raw and b"\\uD" not in raw:
        return NO_JSON
    try:
        value = json.loads(raw, parse_constant=str)
        return orjson.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return NO_JSON


READ_AS = "read_as"
"""Field of a message whose bytes are no UTF-8, with what they were taken for."""
_WINDOWS = "windows-1252"


def decoded(raw: bytes) -> str:
    """A line of a text; one that is no UTF-8 is taken for one of Western Windows, or ISO 8859-1."""
    return raw.decode(_WINDOWS, "replace") if read_as(raw) else raw.decode("utf-8")


def read_as(raw: bytes) -> dict[str, str]:
    """The field of a message that says so of a line; none if it is UTF-8."""
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return {READ_AS: _WINDOWS}
    return {}


def why_unparsable(raw: bytes) -> str:
    """The reason a line is no JSON."""
    for mark, what in _PACKED:
        if raw.startswith(mark):
            return f"not a text but {what}; unpack it, and name the folder or the files in it"
    for mark, what in _BINARY:
        if raw.startswith(mark):
            return f"not a text but {what}; write it as JSON lines first, {GENERIC_FORM}"
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as error:
        return f"invalid UTF-8 at byte {error.start}"
    try:
        orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        return f"malformed JSON: {error.msg} (column {error.colno})"
    return "malformed JSON"


def numbered_lines(file: Lines) -> Iterator[tuple[int, bytes]]:
    """The lines of a file that are not blank, as UTF-8."""
    for number, line in enumerate(_lines_of(file), start=1):
        line = line.lstrip(b"\x1e")  # the mark of a JSON text sequence
        if line.strip():
            yield number, line


def _lines_of(file: Lines) -> Iterable[bytes]:
    """The lines of a file as UTF-8, whatever it is written in, and however its lines end."""
    first = file.readline()
    wide = _wide_encoding(first)
    if wide is not None:
        text = (first + file.rest()).decode(wide, "replace")
        return (line.encode("utf-8", "replace") for line in text.splitlines(keepends=True))
    first = first.removeprefix(b"\xef\xbb\xbf")
    lines = chain([first], file)
    if b"\r" in first.rstrip(b"\r\n") and first[:1] in OPENING and parse(first) is NO_JSON:
        return (part for line in lines for part in line.split(b"\r"))  # as files of old Macs end their lines
    return lines


def _wide_encoding(first: bytes) -> str | None:
    """The encoding of a file whose characters have two or four bytes, by its mark or its opening bracket."""
    marked = next((encoding for mark, encoding in _WIDE if first.startswith(mark)), None)
    if marked is None and first[1:2] == b"\x00" and first[:1] in OPENING:
        return "utf-16-le"
    if marked is None and first[:1] == b"\x00" and first[1:2] in OPENING:
        return "utf-16-be"
    return marked
