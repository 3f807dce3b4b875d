"""Copies of a memory that are whole, and known to be: made while it runs, checked before they are used.

A backup is a folder with the journal, the lines beside it (ledger, rejects, traces) and a manifest with the size and
digest of each file. Of snippets, vectors and indexes there is no copy: they are made from the journal again.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import BaseModel, StrictInt

from stitch.core import tenant_name, trajectory_name
from stitch.core.files import make_private, make_private_folder, private, refuse_links, sync
from stitch.core.json_text import read_json
from stitch.errors import InputError, JournalError, StitchError, StoreMismatchError, some_of, system_errors
from stitch.journal import VERSION, Journal, copy_running
from stitch.lifecycle.export_schema import dump_step, parse_line
from stitch.lifecycle.tree_transfer import faults_of_trees

MANIFEST = "manifest.json"
JOURNAL_FILE = "journal.sqlite"

_OF_A_COPY = re.compile(
    r"journal\.sqlite(-wal|-shm|-journal)?|manifest\.json|owner\.json|journal\.id|store|reindex|.+\.jsonl"
)
"""What stands in the folder of a copy that is being made, or of a memory that is made from one."""
_IN_A_BACKUP = re.compile(r"journal\.sqlite|[^/\\]+\.jsonl")
_SHOWN_CHARS = 200


class _Manifest(BaseModel):
    """Manifest of a backup."""

    format: Literal["stitch backup"]
    schema_version: StrictInt
    made_at: float
    tenants: int
    steps: int
    files: dict[str, dict[str, int | str]]
    """Size in bytes and SHA-256 of each."""


class BackedUp(NamedTuple):
    """Contents of a backup."""

    folder: Path
    tenants: int
    steps: int
    megabytes: float


def back_up(
    journal: Journal | Path, *, to: str | os.PathLike[str], beside: Path, at: float, tenant: str | None = None
) -> BackedUp:
    """Make a backup of a tenant, or of all; when this returns, it is whole and on the disk.

    The journal is open, and others may go on using it, or it is the file of one that another process has open; never of
    one that this process has open: SQLite would lose its lock on it.

    Raises:
        InputError: There is something at `to`.
        JournalError: The journal is damaged, or the backup cannot be written; nothing is left at `to`.
    """
    folder = Path(to).absolute()  # "." has no name
    check_empty(folder)
    making = folder.with_name(f"{folder.name}.partial")
    remove_unfinished(making)
    try:
        with system_errors(JournalError, f"the backup {str(folder)!r} cannot be made"):
            make_private_folder(making, parents=True)
            copy = making / JOURNAL_FILE
            if isinstance(journal, Path):
                tenants, steps = copy_running(journal, to=copy, tenant=tenant)
            else:
                tenants, steps = journal.copy_to(copy, tenant=tenant)
            for lines in sorted(beside.glob("*.jsonl")):
                _copy_lines(lines, to=making / lines.name, tenant=tenant)
            files = {path.name: _described(path) for path in sorted(making.iterdir())}
            about = _Manifest(
                format="stitch backup", schema_version=VERSION, made_at=at, tenants=tenants, steps=steps, files=files
            )
            (making / MANIFEST).write_text(about.model_dump_json(indent=1) + "\n")
            make_private(making)
            for path in making.iterdir():
                sync(path)
            sync(making)
            put_at(making, folder)
    except BaseException:
        shutil.rmtree(making, ignore_errors=True)
        raise
    return BackedUp(folder, tenants, steps, round(sum(path.stat().st_size for path in folder.iterdir()) / 1e6, 1))


def check_backup(backup: str | os.PathLike[str]) -> list[Path]:
    """The files of a backup, all of them as they were when it was made.

    Raises:
        InputError: There is no backup, or one with symbolic links.
        StoreMismatchError: It was made by a later version of this library.
        JournalError: A file is missing or is not as it was.
    """
    folder = Path(backup)
    refuse_links(folder)
    try:
        about = _Manifest.model_validate_json((folder / MANIFEST).read_bytes())
    except OSError as error:
        raise InputError(f"no backup at {str(folder)!r}", hint="`stitch backup --to FOLDER` makes one") from error
    except ValueError as error:
        raise JournalError(f"the backup {str(folder)!r} is damaged: its {MANIFEST} cannot be read") from error
    if about.schema_version > VERSION:
        raise StoreMismatchError(
            f"the backup {str(folder)!r} is of journal version {about.schema_version}, this library reads {VERSION}",
            hint="open it with the version of stitch-memory that wrote it, or a later one",
        )
    wrong = ""
    if foreign := [name for name in about.files if not _IN_A_BACKUP.fullmatch(name)]:
        wrong = f"it names {some_of(sorted(foreign))}, which no backup has"  # what is made of it would believe them
    elif JOURNAL_FILE not in about.files:
        wrong = "it has no journal"
    elif changed := [name for name, file in about.files.items() if _described(folder / name) != file]:
        wrong = f"{changed[0]!r} is not as it was"
    if wrong:
        raise JournalError(
            f"the backup {str(folder)!r} is damaged: {wrong}",
            hint="use another backup, and none of which you do not know who made it",
        )
    return [folder / name for name in about.files]


def check_rows(journal: Journal) -> None:
    """Refuse a journal with rows that no memory writes: each step with all its past must be one that is accepted.

    Raises:
        JournalError: There is one; says where.
    """
    for tenant in journal.tenants():
        where = f"the tenant {tenant!r}"
        try:
            if tenant_name(tenant) != tenant:
                raise ValueError("its name is none that a memory keeps")
            for trajectory in journal.trajectories(tenant):
                where = f"trajectory {trajectory!r} of tenant {tenant!r}"
                if trajectory_name(trajectory) != trajectory:
                    raise ValueError("its name is none that a memory keeps")
                for number, kept in enumerate(journal.kept(tenant, trajectory)):
                    where = f"step {number + 1} of trajectory {trajectory!r} of tenant {tenant!r}"
                    parse_line(dump_step(kept))
                where = f"what was remembered of trajectory {trajectory!r} of tenant {tenant!r}"
                journal.checkpoint(tenant, trajectory)
            where = f"a tree of tenant {tenant!r}"
            if fault := next(faults_of_trees(journal, tenant=tenant), ""):
                raise ValueError(fault)
        except (ValueError, TypeError, AttributeError, KeyError, StitchError) as error:
            raise JournalError(
                f"{where} is none that a memory writes: {str(error).splitlines()[0]}",
                hint="do not use it if you do not know who made it; use another backup",
            ) from error


def check_empty(folder: Path) -> None:
    """Refuse a folder in which there is anything, and what can be the name of none.

    Raises:
        InputError: There is, or it can be none.
    """
    try:
        with suppress(FileNotFoundError):
            os.lstat(folder)
        empty = not folder.is_symlink() and (not folder.exists() or (folder.is_dir() and not any(folder.iterdir())))
    except (OSError, ValueError) as error:
        why = (getattr(error, "strerror", None) or str(error)).lower()
        shown = str(folder) if len(str(folder)) <= _SHOWN_CHARS else f"{str(folder)[:_SHOWN_CHARS]}…"
        raise InputError(f"{shown!r} can be no folder for a copy: {why}", hint="name another") from None
    if not empty:
        raise InputError(f"there is something at {str(folder)!r}", hint="name a folder that is empty or not there")


def remove_unfinished(making: Path) -> None:
    """Remove what an interrupted call has left of a copy.

    Raises:
        InputError: There is something else of that name.
    """
    refuse_links(making)
    if making.is_symlink() or (making.exists() and not making.is_dir()):
        raise InputError(f"there is something at {str(making)!r}", hint="move it away; the copy is made there")
    foreign = [path.name for path in making.glob("*") if not _OF_A_COPY.fullmatch(path.name)]
    if foreign:
        raise InputError(
            f"{str(making)!r} holds {some_of(sorted(foreign))}, which no copy has",
            hint="move it away; the copy is made there",
        )
    shutil.rmtree(making, ignore_errors=True)


def put_at(made: Path, folder: Path) -> None:
    """Give a complete folder its name, where there is nothing or an empty folder."""
    if folder.exists():
        folder.rmdir()
    made.rename(folder)
    sync(folder.parent)


def _copy_lines(lines: Path, *, to: Path, tenant: str | None) -> None:
    """Copy the whole lines of a file, of one tenant if it is named: those that name it."""
    with lines.open("rb") as source, open(to, "wb", opener=private) as target:
        for line in source:
            with suppress(ValueError):
                fields = None if tenant is None else read_json(line)
                of_tenant = tenant is None or (isinstance(fields, dict) and fields.get("tenant") == tenant)
                if line.endswith(b"\n") and of_tenant:
                    target.write(line)
    if tenant is not None and not to.stat().st_size:
        to.unlink()


def _described(path: Path) -> dict[str, int | str]:
    """The size and digest of a file; nothing if there is none."""
    if not path.is_file():
        return {}
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    return {"bytes": path.stat().st_size, "sha256": digest.hexdigest()}
