"""Steps of files that grow, for as long as they grow: `stitch ingest --follow`."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import orjson

from stitch.core import Rejection, SourcedStep
from stitch.errors import InputError
from stitch.sources import FollowedFile, expand_paths

POLL_S = 0.2
"""How often files are looked at."""
OFFSETS_FILE = "follow.json"
"""Where a memory keeps how far files were read."""


class Offsets:
    """How far the files of a tenant were read, in a file beside the journal.

    It is written after what it says is accepted. If the process dies between the two, some lines are read again, and
    are known word for word.

    Args:
        path: The file; it is made when there is something to keep.
        tenant: Whose memory the steps go to.
    """

    def __init__(self, path: Path, *, tenant: str) -> None:
        self._path = path
        self._tenant = tenant
        self._all: dict[str, dict[str, Any]] = {}
        if path.is_file():
            try:
                self._all = orjson.loads(path.read_bytes())
            except (orjson.JSONDecodeError, OSError) as error:
                message = f"cannot read {str(path)!r}: {str(error).lower()}"
                raise InputError(message, hint="remove it, then files are read anew") from error

    def of(self, file: str) -> Mapping[str, Any] | None:
        """What was kept of a file."""
        return self._all.get(self._tenant, {}).get(os.path.abspath(file))

    def keep(self, files: Mapping[str, FollowedFile]) -> None:
        """Write down how far files are read, whole or not at all; nothing if it is what stands there."""
        known = self._all.setdefault(self._tenant, {})
        now = {os.path.abspath(name): file.save() for name, file in files.items()}
        if all(known.get(name) == saved for name, saved in now.items()):
            return
        known.update(orjson.loads(orjson.dumps(now)))
        beside = self._path.with_suffix(".new")
        try:
            beside.write_bytes(orjson.dumps(self._all))
            os.replace(beside, self._path)
        except OSError as error:
            raise InputError(
                f"cannot write {str(self._path)!r}: {str(error.strerror).lower()}",
                hint="free some space or make the folder writable; the same command goes on",
            ) from error


def follow(
    paths: Sequence[str],
    *,
    offsets: Offsets,
    trajectory: str | None = None,
    wait: Callable[[float], None] = time.sleep,
) -> Iterator[SourcedStep | Rejection | None]:
    """Yield the steps that are appended to files, and None each time there are no more just now; never ends by itself.

    Args:
        paths: Files, which need not be there yet, and folders, in which new files may appear.
        offsets: Says where an earlier process stopped, and is told how far this one has come. What was yielded before a
            None has to be accepted before the next step is asked for.
        trajectory: The trajectory of steps that name none; the file's name by default.
        wait: Waits so many seconds; whatever it raises ends the reading.
    """
    files: dict[str, FollowedFile] = {}
    missing: set[str] = set()
    try:
        while True:
            for name in _files_now(paths, missing):
                if name not in files:
                    files[name] = FollowedFile(name, trajectory=trajectory, saved=offsets.of(name))
                yield from files[name].read()
            yield None
            offsets.keep(files)
            wait(POLL_S)
    finally:
        for file in files.values():
            file.close()


def _files_now(paths: Sequence[str], missing: set[str]) -> list[str]:
    """The files that paths mean now; says once of each that is not there that it is waited for."""
    names: list[str] = []
    for path in paths:
        if path == "-":
            raise InputError("standard input cannot be followed", hint="`-` without --follow reads it as it comes")
        if Path(path).is_dir():
            names += expand_paths([path], empty=True)
            continue
        names.append(path)
        if not Path(path).exists() and path not in missing:
            missing.add(path)
            if not Path(path).resolve().parent.is_dir():
                raise InputError(f"no such folder: {str(Path(path).parent)!r}", hint="check the path")
            click.echo(f"stitch: waiting for {path}", err=True)
    return names
