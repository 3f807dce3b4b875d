"""Files of JSON written anew in place, whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from stitch.core.files import private
from stitch.errors import JournalError

_NEW, _KEPT = ".new", ".kept"


def rewrite(path: Path, lines: Sequence[bytes]) -> None:
    """Let a file hold these lines and nothing else.

    It stays the same file, for whoever has it open and appends to it, and so its old bytes are overwritten. What it is
    to hold stands complete beside it before that; if it is interrupted, `finish_rewriting` goes on.

    Raises:
        JournalError: It cannot be written; it is as it was, or `finish_rewriting` goes on.
    """
    data, kept = b"".join(lines), _beside(path, _KEPT)
    try:
        fresh = _beside(path, _NEW)
        with open(fresh, "wb", opener=private) as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(kept)
        _overwrite(path, data)
        kept.unlink()
    except OSError as error:
        raise JournalError(f"{str(path)!r} cannot be rewritten: {(error.strerror or str(error)).lower()}") from error


def finish_rewriting(folder: Path) -> None:
    """Finish what an interrupted `rewrite` has left in a folder, before anybody appends to its files.

    Raises:
        JournalError: A file cannot be written.
    """
    for kept in sorted(folder.glob(f"*.json*{_KEPT}")):
        path = kept.with_name(kept.name.removesuffix(_KEPT))
        try:
            if path.exists():
                _overwrite(path, kept.read_bytes())
                kept.unlink()
            else:  # somebody has moved it away
                kept.replace(path)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise JournalError(f"{str(path)!r} cannot be rewritten: {reason}") from error


def remove_drafts(folder: Path) -> None:
    """Remove what was written beside files of a folder and never took their place; for whoever opens it."""
    for fresh in folder.glob(f"*.json*{_NEW}"):
        fresh.unlink(missing_ok=True)


def _beside(path: Path, ending: str) -> Path:
    return path.with_name(path.name + ending)


def _overwrite(path: Path, data: bytes) -> None:
    with open(path, "r+b", opener=private) as file:
        file.write(data)
        file.flush()
        os.ftruncate(file.fileno(), len(data))
        os.fsync(file.fileno())
