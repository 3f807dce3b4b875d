"""Files of a memory: for its user alone, and never reached through a symbolic link that somebody has laid."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from stitch.core.progress import Progress
from stitch.errors import InputError, some_of

PRIVATE_FOLDER, PRIVATE_FILE = 0o700, 0o600
SPARE_BYTES = 128 << 20
"""What must be free where a memory is written: Qdrant's engine writes into mapped files, where a full disk kills the
process."""
_BLOCK_BYTES = 1 << 20
_NO_LINKS = getattr(os, "O_NOFOLLOW", 0)
_NO_WAITING = getattr(os, "O_NONBLOCK", 0)
_SPARSE_FROM = 1 << 30
_MOST_TIMES = 16
"""A file from that many bytes on that is so many times as long as what the disk holds of it is made to fill memory."""

_REFUSED = {
    "point elsewhere or are no files": "a memory and a backup hold plain files; remove these if you trust the rest",
    "have other names and would change there": "copy the folder (cp -r) and open the copy, which has no hard links",
    "would take more memory than what it holds": "a memory writes no such file; bring it back from a backup",
}


def private(path: str, flags: int) -> int:
    """An `opener` for the built-in `open`: a new file is the user's alone, a symbolic link is an error (`ELOOP`).

    Where the system knows no such modes or flags, it opens as ever.
    """
    return os.open(path, flags | _NO_LINKS, PRIVATE_FILE)


def read_short(path: Path, *, most_bytes: int) -> str:
    """The text of a short file, as `read_bounded`, which may be reached through no link.

    Raises:
        OSError: It is a link, no file, or larger.
        UnicodeDecodeError: It is no text.
    """
    return read_bounded(path, most_bytes=most_bytes, opener=private).decode()


def read_bounded(path: Path, *, most_bytes: int, opener: Callable[[str, int], int] = os.open) -> bytes:
    """The content of a file that anybody may have put there: a pipe does not stop it, nor does a file without end.

    Raises:
        OSError: It is no file, or larger.
    """
    with open(path, "rb", opener=lambda name, flags: opener(name, flags | _NO_WAITING)) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(f"{str(path)!r} is no file")
        data = file.read(most_bytes + 1)
    if len(data) > most_bytes:
        raise OSError(f"{str(path)!r} is larger than {most_bytes:,} bytes")
    return data


def sync(path: Path) -> None:
    """Flush a file or folder to disk, so that it survives a loss of power where the system can do so."""
    if sys.platform != "win32":  # there a folder cannot be synced, and need not be
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def replace_file(path: Path, content: bytes) -> None:
    """Put a whole file, for its user alone, in the place of one: after a loss of power, too, the one or the other."""
    fresh = path.with_name(f"{path.name}.new")
    try:
        with open(fresh, "wb", opener=private) as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)
    sync(path.parent)


def make_private_folder(folder: Path, *, parents: bool = False) -> None:
    """Make a folder that only its user can enter; one that is there stays as it is."""
    folder.mkdir(mode=PRIVATE_FOLDER, parents=parents, exist_ok=True)


def keep_others_from_writing(folder: Path) -> None:
    """Restrict writing in a folder to its user: whoever can write could put other files in place.

    Who may read it stays as it is, and so does a folder of somebody else.
    """
    if not hasattr(os, "getuid"):
        return
    about = folder.stat()
    if about.st_uid == os.getuid() and about.st_mode & 0o022:
        with suppress(OSError):  # some file systems know no such modes
            folder.chmod(stat.S_IMODE(about.st_mode) & ~0o022)


def copy_private(source: Path, to: Path) -> None:
    """Copy the content of a file into one that is the user's alone."""
    progress = Progress("bytes copied", of=source.stat().st_size)
    with source.open("rb") as read, open(to, "wb", opener=private) as written:
        while block := read.read(_BLOCK_BYTES):
            written.write(block)
            progress.advance(len(block))


def make_private(folder: Path) -> None:
    """Restrict reading of files that libraries have written into a folder to their user."""
    for path, about in _inside(folder):
        if about.st_mode & 0o077 and (stat.S_ISREG(about.st_mode) or stat.S_ISDIR(about.st_mode)):
            with suppress(OSError):  # a file that has just gone, or is another user's
                os.chmod(path, PRIVATE_FOLDER if stat.S_ISDIR(about.st_mode) else PRIVATE_FILE)


def refuse_links(folder: Path, *, written: bool = False) -> None:
    """Refuse a folder in which something points elsewhere: to open it would read or overwrite the user's other files.

    Args:
        folder: May itself be reached through a link.
        written: Whether its files will be written in place: then none may have a second name (a hard link) elsewhere.

    Raises:
        InputError: There are symbolic links in it, pipes, devices, or files that are nearly all holes; they are named.
    """
    found = dict[str, list[str]]()
    for path, about in _inside(folder):
        is_file, name = stat.S_ISREG(about.st_mode), os.path.relpath(path, folder)
        if not (is_file or stat.S_ISDIR(about.st_mode) or stat.S_ISSOCK(about.st_mode)):
            found.setdefault("point elsewhere or are no files", []).append(name)
        if written and is_file and about.st_nlink > 1:
            found.setdefault("have other names and would change there", []).append(name)
        if is_file and _is_hollow(about):
            found.setdefault("would take more memory than what it holds", []).append(name)
    for wrong, hint in _REFUSED.items():
        if names := found.get(wrong):
            raise InputError(f"{str(folder)!r} is not opened: {some_of(sorted(names))} in it {wrong}", hint=hint)


def _is_hollow(about: os.stat_result) -> bool:
    """Whether a file is much longer than what the disk holds of it, and too long to be read for nothing."""
    held: int | None = getattr(about, "st_blocks", None)  # which not every system tells
    return held is not None and about.st_size > _SPARSE_FROM and about.st_size > _MOST_TIMES * 512 * held


def _inside(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Paths of all that is in a folder and its subfolders; no link is followed."""
    waiting = [str(folder)]
    while waiting:
        try:
            entries = list(os.scandir(waiting.pop()))
        except (FileNotFoundError, NotADirectoryError):
            continue
        for entry in entries:
            with suppress(FileNotFoundError):
                about = entry.stat(follow_symlinks=False)
                yield entry.path, about
                if stat.S_ISDIR(about.st_mode):
                    waiting.append(entry.path)
