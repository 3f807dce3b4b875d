"""The steps of files, folders and streams as a memory takes them in: committed when they are accepted."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from stitch.core import Rejection, SourcedStep, StepSource
from stitch.errors import InputError
from stitch.ingest.redact import redact_path
from stitch.ingest.streaming import batches
from stitch.sources import (
    FILES_FILE,
    FOLLOWED_FILE,
    UNFINISHED_FILE,
    FileNames,
    FileSource,
    FolderSource,
    FollowedFile,
    Positions,
    StandardInput,
)

if TYPE_CHECKING:
    from stitch.memory import Memory

KAFKA = "kafka://"
"""URL of a topic, which never ends."""
POLL_S = 0.2
"""Seconds between two looks at sources."""
COMMIT_ITEMS = 4096
"""After so many steps a position is committed, also while more come."""


def drain(source: StepSource) -> Iterator[SourcedStep | Rejection | None]:
    """Yield what a source has now, and None where what came is to be stored.

    What was yielded before a None has to be accepted before the next item is asked for: then it is committed.

    Raises:
        InputError: The source cannot be read, or not to its end; a None comes before.
    """
    read = 0
    try:
        for batch in source.read():
            yield from batch
            read += len(batch)
            if read >= COMMIT_ITEMS:
                yield None
                source.commit(source.snapshot())
                read = 0
    except InputError:
        yield None
        raise
    yield None
    if read:
        source.commit(source.snapshot())


def follow_sources(
    sources: Sequence[StepSource], *, wait: Callable[[float], None] = time.sleep
) -> Iterator[SourcedStep | Rejection | None]:
    """Yield what comes from sources, as `drain` does, again and again, until `wait` raises; then they are closed."""
    try:
        while True:
            for source in sources:
                yield from drain(source)
            wait(POLL_S)
    finally:
        for source in sources:
            source.close()


def followed_sources(
    paths: Sequence[str],
    *,
    positions: Positions,
    names: FileNames,
    tenant: str,
    trajectory: str | None = None,
    tell_lag: Callable[[str, str, Mapping[int, int]], None] | None = None,
) -> list[StepSource]:
    """The sources of files, folders and topics that grow; says of each file that is not there yet that it is awaited.

    Steps that name no trajectory are of the given one, or of that of their file. `tell_lag` is told of topics how far
    they are behind.

    Raises:
        InputError: One of them cannot be followed.
    """

    def open_file(name: str) -> FollowedFile:
        return FollowedFile(name, trajectory=trajectory or names.of(name, grows=True), positions=positions)

    sources: list[StepSource] = []
    for path in paths:
        if path.startswith(KAFKA):
            from stitch.cluster.kafka import KafkaTopic

            sources.append(KafkaTopic(path, tenant=tenant, trajectory=trajectory, tell=tell_lag))
            continue
        if Path(path).is_dir():
            sources.append(FolderSource(path, open_file=open_file, positions=positions))
            continue
        _check_file(path)
        sources.append(open_file(path))
    return sources


def are_followed(paths: Sequence[str], *, asked: bool) -> bool:
    """Whether sources are read without an end: because somebody asks for it, or one is a topic."""
    return asked or any(path.startswith(KAFKA) for path in paths)


def _check_file(path: str) -> None:
    """Say that a file which is not there is waited for.

    Raises:
        InputError: It cannot be followed.
    """
    if path == "-":
        raise InputError("standard input cannot be followed", hint="`-` without --follow reads it as it comes")
    if Path(path).exists():
        return
    if not Path(path).resolve().parent.is_dir():
        raise InputError(f"no such folder: {str(Path(path).parent)!r}", hint="check the path")
    click.echo(f"stitch: waiting for {path}", err=True)


def read_input(
    paths: Sequence[str], *, follow: bool, memory: Memory, trajectory: str | None
) -> Iterator[SourcedStep | Rejection | None]:
    """Yield the steps of files, folders and standard input (`-`), as `drain` does, from where the memory has them.

    Raises:
        InputError: One of them cannot be read, and it is the only one; or it cannot be followed.
    """
    names = FileNames(memory.folder / FILES_FILE, tenant=memory.tenant, clean=redact_path)
    if follow:
        positions = Positions(memory.folder / FOLLOWED_FILE, tenant=memory.tenant, clean=redact_path)
        followed = followed_sources(
            paths,
            positions=positions,
            names=names,
            tenant=memory.tenant,
            trajectory=trajectory,
            tell_lag=memory.note_lag,
        )
        yield from follow_sources(followed)
        return
    positions = Positions(memory.folder / UNFINISHED_FILE, tenant=memory.tenant, clean=redact_path)

    def open_file(path: str) -> FileSource:
        return FileSource(path, trajectory=trajectory or names.of(path), positions=positions)

    for path in paths:
        if path == "-":
            # It may be a stream that goes on for hours: no step of it waits for the next.
            for batch in batches(StandardInput(trajectory=trajectory)):
                yield from batch
                yield None
        elif Path(path).is_dir():
            yield from drain(FolderSource(path, open_file=open_file, positions=positions))
        else:
            yield from _drained(open_file(path), alone=len(paths) == 1)
    positions.forget()  # nothing is unfinished


def _drained(source: StepSource, *, alone: bool) -> Iterator[SourcedStep | Rejection | None]:
    """The items of a file; of several files, one that breaks off is rejected, and the others are read."""
    try:
        yield from drain(source)
    except InputError as error:
        if alone:
            raise
        yield Rejection(source=source.name, line=0, reason=error.message)
