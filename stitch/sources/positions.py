"""Positions of reading in sources: kept in a file beside the journal, so that the next process goes on there."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import orjson

from stitch.core import Position
from stitch.core.files import private
from stitch.errors import InputError

FOLLOWED_FILE = "follow.json"
"""Where a memory keeps how far files that are followed were read."""
UNFINISHED_FILE = "unfinished.json"
"""Where it keeps how far files were read whose reading was interrupted."""


def cannot_write(path: Path, error: OSError) -> InputError:
    """The error of a file of the memory that cannot be written."""
    return InputError(f"cannot write {str(path)!r}: {str(error.strerror).lower()}",
                      hint="free some space or make the folder writable; the same command goes on")  # fmt: skip


class Positions:
    """The committed positions of the sources of a tenant, by the names of the sources.

    Without a file they last as long as this object. Names of sources are written down as `clean` gives them, without
    secrets.

    Raises:
        InputError: The file cannot be read.
    """

    def __init__(self, path: Path | None = None, *, tenant: str = "default", clean: Callable[[str], str] = str) -> None:
        self._path = path
        self._tenant = tenant
        self._clean = clean
        self._all: dict[str, dict[str, Position]] = {}
        if path is not None and path.is_file():
            self._all = _read(path)

    def of(self, source: str) -> Position | None:
        """The position that was committed of a source; None if there is none."""
        return self._all.get(self._tenant, {}).get(self._key(source))

    def keep(self, positions: Mapping[str, Position]) -> None:
        """Write down positions by source, whole or not at all; nothing if they are what stands there.

        Raises:
            InputError: They cannot be written.
        """
        known = self._all.setdefault(self._tenant, {})
        found = {self._key(name): at for name, at in positions.items()}
        changed = {name: at for name, at in found.items() if known.get(name) != at}
        if changed:
            if self._path is not None and self._path.is_file():  # another process may have written of others meanwhile
                self._all = _read(self._path)
            self._all.setdefault(self._tenant, {}).update(orjson.loads(orjson.dumps(changed)))
            self._write()

    def forget(self) -> None:
        """Forget all positions of the tenant: its sources are read from their beginnings again.

        Raises:
            InputError: This cannot be written down.
        """
        if self._all.pop(self._tenant, None):
            self._write()

    def _key(self, source: str) -> str:
        """Files are known by their whole path: the next process may be started in another folder."""
        return self._clean(os.path.abspath(source))

    def _write(self) -> None:
        if self._path is None:
            return
        beside = self._path.with_suffix(f".{os.getpid()}.new")
        try:
            with open(beside, "wb", opener=private) as file:
                file.write(orjson.dumps(self._all))
            os.replace(beside, self._path)
        except OSError as error:
            raise cannot_write(self._path, error) from error


def _read(path: Path) -> dict[str, dict[str, Any]]:
    try:
        found = orjson.loads(path.read_bytes())
        if not isinstance(found, dict) or not all(isinstance(positions, dict) for positions in found.values()):
            raise ValueError("it holds no positions")
    except (ValueError, OSError) as error:
        message = f"cannot read {str(path)!r}: {str(error).lower()}"
        raise InputError(message, hint="remove it, then files are read anew") from error
    return found
