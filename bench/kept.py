"""Replies of models that a run has paid for, in a file of its folder: whatever ends the run, nothing is paid twice.

With a file of requests, nothing is asked at all: what would be asked is written down, to be answered by a batch of a
provider or by hand, and taken in as if it had been asked.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from stitch.bench.records import append_line, mend
from stitch.errors import InputError, ReplyError
from stitch.lm.batch import BatchFormat, BatchRequest, DeferredCompletion, read_reply, write_request
from stitch.lm.replies import KeptReplies

FOLDER = "kept"
"""Inside of a run folder."""


def replies_of(folder: Path) -> KeptReplies:
    """The replies that the run in a folder has paid for."""
    return KeptReplies(folder / FOLDER / "replies.jsonl")


class Taken(NamedTuple):
    """Counts of replies that were made elsewhere and taken in."""

    new: int = 0
    known: int = 0
    """How many say what was taken in before."""
    wrong: tuple[str, ...] = ()
    """The problem of each of the other lines."""


def take_in(folder: Path, lines: Iterable[bytes]) -> Taken:
    """Keep replies to what the run in a folder has asked, one a line, neutral or as OpenAI's batches return it.

    A reply that says otherwise than one before takes its place, as long as nothing was made of that.
    """
    kept, asked = replies_of(folder), _asked_from(folder)
    new, known, wrong = 0, 0, []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            name, reply = read_reply(line)
        except ReplyError as error:
            wrong.append(f"line {number}: {error}")
            continue
        if name not in asked:
            wrong.append(f"line {number}: nothing was asked from here by the id {name[:64]!r}")
        elif kept.get(bytes.fromhex(name)) == reply:
            known += 1
        else:
            kept.keep(bytes.fromhex(name), reply)
            new += 1
    return Taken(new, known, tuple(wrong))


def _asked_from(folder: Path) -> set[str]:
    """The ids of all requests that the run in a folder has asked; one that was torn is none."""
    file = _asked_file(folder)
    return set(file.read_text().splitlines()) if file.exists() else set()


def _asked_file(folder: Path) -> Path:
    return folder / FOLDER / "asked"


class RequestFile(DeferredCompletion):
    """A file of what a run asks, to be answered elsewhere: one request a line, each once, until `clear`."""

    def __init__(self, file: Path, *, folder: Path, form: BatchFormat = "neutral") -> None:
        super().__init__(self._write)
        self.file, self._folder, self._form = file, folder, form
        self._seen: set[str] = set()
        self._noted: set[str] = set()
        self._lock = threading.Lock()
        try:
            file.open("ab").close()
        except OSError as error:
            raise InputError(
                f"{str(file)!r} cannot be written: {str(error.strerror).lower()}", hint="name another with --batch"
            ) from error

    @property
    def asked(self) -> int:
        """Number of requests in it."""
        return len(self._seen)

    def clear(self) -> None:
        """Throw away what it holds, and go on where the run was."""
        self.file.write_bytes(b"")
        mend(_asked_file(self._folder))
        self._noted = _asked_from(self._folder)

    def _write(self, request: BatchRequest) -> None:
        with self._lock:
            if request.id in self._seen:
                return
            self._seen.add(request.id)
            if request.id not in self._noted:
                self._noted.add(request.id)
                _asked_file(self._folder).parent.mkdir(parents=True, exist_ok=True)
                append_line(_asked_file(self._folder), request.id.encode())
            append_line(self.file, write_request(request, form=self._form))
