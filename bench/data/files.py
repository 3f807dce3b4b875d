"""Reading JSON and JSON lines, gzip or plain, with errors (`InputError`) that name file and line."""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from stitch.errors import InputError

_GZIP = b"\x1f\x8b"


def read_bytes(path: Path) -> bytes:
    """The content of a file, unpacked if it is gzip."""
    try:
        content = path.read_bytes()
        return gzip.decompress(content) if content.startswith(_GZIP) else content
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"cannot read {str(path)!r}: {error}", hint="check the path given with --data") from error


def read_json(path: Path) -> Any:
    """The value in a JSON file."""
    try:
        return orjson.loads(read_bytes(path))
    except orjson.JSONDecodeError as error:
        raise InputError(f"{str(path)!r} is no JSON: {error}") from error


def read_records(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of a JSON-lines file, each with its place (`FILE:LINE`), blank lines left out."""
    return parse_records(read_bytes(path), name=str(path))


def parse_records(content: bytes, *, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """As `read_records`, of content that was read already."""
    for number, line in enumerate(content.splitlines(), start=1):
        if not line.strip():
            continue
        where = f"{name}:{number}"
        try:
            record = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise InputError(f"{where} is no JSON: {error}") from error
        if not isinstance(record, dict):
            raise InputError(f"{where} is no object but {type(record).__name__}")
        yield where, record


def required(record: Mapping[str, Any], field: str, where: str) -> Any:
    """The value of a field that has to be there."""
    try:
        return record[field]
    except KeyError:
        raise InputError(f"{where} has no field {field!r}") from None


def digest_of(paths: Iterable[Path]) -> str:
    """SHA-256 over the unpacked contents of files, in the order given."""
    total = hashlib.sha256()
    for path in paths:
        total.update(hashlib.sha256(read_bytes(path)).digest())
    return total.hexdigest()


def set_name(path: Path) -> str:
    """The name of a data set: that of its file or folder, without endings."""
    name = path.resolve().name
    for ending in (".gz", ".jsonl", ".json"):
        name = name.removesuffix(ending)
    return name
