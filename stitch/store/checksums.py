"""What files were like when a store was closed, so that damage of files that have no checksums is found at opening."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from zlib import crc32

from stitch.core.files import private
from stitch.core.json_text import read_json

_PART_BYTES = 1 << 20

_MOST_BYTES = 32 * 2**20
"""Larger files are left to `check`, which compares every vector: to read them takes longer than to open a store."""


def write_checksums(note: Path, files: Iterable[Path]) -> None:
    """Write down what files are like; after a loss of power the note is whole, or not there."""
    folder = note.parent
    text = json.dumps({path.relative_to(folder).as_posix(): _checksum(path) for path in files if _is_small(path)})
    half_written = note.with_suffix(".new")
    with open(half_written, "w", opener=private) as stream:
        stream.write(f"{crc32(text.encode())}\n{text}")
    half_written.replace(note)


def changed_files(note: Path) -> set[Path]:
    """Which files are not as they were written down, the note itself included; without one nothing is said."""
    folder = note.parent
    try:
        checksum, _, text = note.read_text().partition("\n")
        if checksum != str(crc32(text.encode())):
            raise ValueError
        wanted = read_json(text)
    except FileNotFoundError:
        return set()
    except ValueError:
        return {note}
    return {path for name, was in wanted.items() if (path := folder / name) and _checksum(path) != was}


def _is_small(path: Path) -> bool:
    return path.is_file() and path.stat().st_size < _MOST_BYTES


def _checksum(path: Path) -> int:
    checksum = 0
    try:
        with open(path, "rb") as stream:
            while part := stream.read(_PART_BYTES):
                checksum = crc32(part, checksum)
    except FileNotFoundError:
        return -1
    return checksum
