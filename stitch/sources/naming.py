"""Trajectories of steps that name none: that of the file's name, and no two files share one."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import orjson

from stitch.core.files import private
from stitch.errors import InputError
from stitch.sources.paths import people_beside, stem_of
from stitch.sources.positions import cannot_write

_BLOCK_BYTES = 1 << 20
FILES_FILE = "files.jsonl"
"""Where a memory keeps which of its trajectories bears the name of which file."""


class FileNames:
    """The trajectories of files, by their paths; a file keeps its name as long as it keeps its place.

    A file of the same name in another folder is another trajectory, named after its folder too. One that was moved or
    copied as it was keeps its name, and so does a copy of it as it was or will be: its steps are known.
    A path is written down as `clean` gives it, without secrets; trajectories are named after that.
    """

    def __init__(self, path: Path, *, tenant: str, clean: Callable[[str], str] = str) -> None:
        self._path = path
        self._tenant = tenant
        self._clean = clean
        self._names: dict[str, str] = {}
        self._files: dict[str, tuple[str, list[int]]] = {}
        """The file that bears a name, with its size and time when it was given."""
        for where, name, state in _read(path, tenant=tenant):
            self._names[where] = name
            self._files[name] = where, state

    def of(self, file: str, *, grows: bool = False) -> str:
        """The trajectory of a file.

        Of one that is followed, being as another one now does not make it a copy.

        Raises:
            InputError: A new name cannot be written down.
        """
        path = os.path.abspath(file)
        path = os.path.dirname(path) if people_beside(path) else path  # a day of what its folder holds
        where = self._clean(path)
        if where not in self._names:
            state = state_of(path)
            name = next(name for name in _candidates(where) if self._is_free(name, path, state, grows=grows))
            self._write(where, name, state)
            self._names[where] = name
            self._files[name] = where, state
        return self._names[where]

    def _is_free(self, name: str, path: str, state: list[int], *, grows: bool) -> bool:
        if name not in self._files:
            return True
        other, known = self._files[name]
        if not os.path.exists(other):
            return state == known and bool(state)
        return not grows and _is_copy(other, path)

    def _write(self, where: str, name: str, state: list[int]) -> None:
        line = {"tenant": self._tenant, "file": where, "trajectory": name, "state": state}
        try:
            with open(self._path, "ab", opener=private) as file:
                file.write(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))
        except OSError as error:
            raise cannot_write(self._path, error) from error


def state_of(path: str) -> list[int]:
    """Fingerprint of a file: its size and the time of its last change; empty if it is not there."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return []
    return [found.st_size, found.st_mtime_ns]


def _read(path: Path, *, tenant: str) -> Iterator[tuple[str, str, list[int]]]:
    """The files and their names; a line that was cut off, as by a full disk, says nothing."""
    try:
        lines = path.read_bytes().splitlines() if path.is_file() else []
    except OSError as error:
        raise InputError(f"cannot read {str(path)!r}: {str(error.strerror).lower()}", hint="check the file") from error
    for line in lines:
        try:
            found = orjson.loads(line)
            if found["tenant"] == tenant:
                yield str(found["file"]), str(found["trajectory"]), list(found["state"])
        except (ValueError, KeyError, TypeError):
            continue


def _candidates(where: str) -> Iterator[str]:
    """Names for a file: its own, then with more and more of the folders that it is in, then numbered."""
    stem, folders = stem_of(where), Path(where).parts[1:-1]
    for count in range(len(folders) + 1):
        yield "/".join((*folders[len(folders) - count :], stem))
    whole, number = "/".join((*folders, Path(where).name)), 1
    while True:
        yield whole if number == 1 else f"{whole}-{number}"
        number += 1


def _is_copy(one: str, other: str) -> bool:
    """Whether two files hold the same, or one begins with the other: then it was copied while it grew.

    One line alone is no beginning: many logs open with the same instructions.
    """
    try:
        shorter, longer = sorted((one, other), key=os.path.getsize)
        with open(shorter, "rb") as begins, open(longer, "rb") as whole:
            lines = 0
            while part := begins.read(_BLOCK_BYTES):
                if whole.read(len(part)) != part:
                    return False
                lines += part.count(b"\n")
            return lines > 1 or not whole.read(1)
    except OSError:
        return False
