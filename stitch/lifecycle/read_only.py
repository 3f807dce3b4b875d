"""Memories where nothing can be written, as on a disk that is read-only or full: they are read from a private copy."""

from __future__ import annotations

import logging
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from stitch.core.files import SPARE_BYTES, copy_private, make_private_folder, refuse_links
from stitch.errors import StoreError, system_errors
from stitch.lifecycle.folder import JOURNAL_FILE, owner_note, working_folder
from stitch.store.owner import is_held

_log = logging.getLogger(__name__)


def cannot_be_written(folder: Path) -> bool:
    """Whether there is a memory in a folder, and this process may only read it, or the disk is full."""
    journal = folder / JOURNAL_FILE
    if not journal.is_file():
        return False
    if not (os.access(folder, os.W_OK) and os.access(journal, os.W_OK)):
        return True
    return shutil.disk_usage(folder).free < SPARE_BYTES and not is_held(owner_note(str(folder), folder))


@contextmanager
def copy_to_read(folder: Path) -> Iterator[Path]:
    """A copy of a memory for its user alone, under the system's folder for temporary files; removed in the end.

    Neither the engine nor SQLite opens files that it may not write. What a killed process leaves of a copy, the next
    one removes.

    Raises:
        InputError: There are symbolic links in the folder.
        StoreError: It cannot be copied.
    """
    refuse_links(folder)
    cannot = f"the memory {str(folder)!r} cannot be copied to be read"
    with (
        system_errors(StoreError, cannot, hint="name a folder with room for it: TMPDIR=DIR"),
        working_folder(own_temporary_folder()) as working,
    ):
        copy = working / "memory"
        shutil.copytree(
            folder, copy, copy_function=lambda each, to: copy_private(Path(each), Path(to)), ignore=_sockets
        )
        for inside in (copy, *copy.rglob("*")):
            inside.chmod(0o700 if inside.is_dir() else 0o600)
        _log.warning("%r cannot be written: it is open for reading, from a copy in %s", str(folder), copy)
        yield copy


def _sockets(folder: str, names: list[str]) -> list[str]:
    """Sockets in a folder, of an owner or of one that was killed: they cannot be copied."""
    return [name for name in names if stat.S_ISSOCK(os.lstat(os.path.join(folder, name)).st_mode)]


def own_temporary_folder() -> Path:
    """A folder for copies that belongs to this user, among the temporary files of all."""
    user = os.getuid() if hasattr(os, "getuid") else 0
    own = Path(tempfile.gettempdir()) / f"stitch-{user}"
    make_private_folder(own)
    about = own.lstat()
    others = hasattr(os, "getuid") and (about.st_uid != user or about.st_mode & 0o077)
    if others or not stat.S_ISDIR(about.st_mode):
        raise StoreError(
            f"{str(own)!r} is not this user's alone: no copy of a memory is put there",
            hint="remove it, or name another folder: TMPDIR=DIR",
        )
    return own
