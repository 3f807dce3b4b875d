"""A file that a command is told to write: for its user alone, and there when all of it is written."""

from __future__ import annotations

import errno
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from stitch.errors import InputError, system_reason


@contextmanager
def written_privately(out: Path) -> Iterator[BinaryIO]:
    """Yield a file that gets the name `out` at the end: as private as the memory of which it tells (mode 0600).

    Raises:
        InputError: It cannot be written there, or there is the folder of a memory, whose files are its own.
        OSError: The disk is full.
    """
    from stitch.lifecycle.folder import JOURNAL_FILE

    if any((folder / JOURNAL_FILE).is_file() for folder in out.resolve().parents):
        raise InputError(
            f"cannot write {str(out)!r}: it lies in the folder of a memory, where an erasure takes out what it names",
            hint="name another with --out",
        )
    partial: Path | None = None
    try:
        if out.exists() and not out.is_file():  # a device or a pipe, such as /dev/stdout, keeps its name
            with out.open("wb") as file:
                yield file
            return
        descriptor, made = tempfile.mkstemp(prefix=f".{out.name}.", suffix=".partial", dir=out.parent)
        partial = Path(made)
        with open(descriptor, "wb") as file:
            yield file
        partial.replace(out)  # a file that was not written to its end must not look whole
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise
        reason = system_reason(error)
        raise InputError(f"cannot write {str(out)!r}: {reason}", hint="name another file") from error
    finally:
        if partial is not None:
            partial.unlink(missing_ok=True)
