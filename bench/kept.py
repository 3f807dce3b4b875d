"""Replies of models that a run has paid for, in a file of its folder: whatever ends the run, nothing is paid twice.

With a desk, nothing is asked at all: what would be asked is written down, to be answered by a batch of a provider or by
hand, and taken in as if it had been asked.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from stitch.bench.records import append_line, mend
from stitch.errors import InputError, ModelError, ReplyError
from stitch.label.model.batches import BatchFormat, SentWindow, read_window, write_window
from stitch.label.model.offline import WindowRequest
from stitch.lm.kept import KeptReplies
from stitch.lm.replies import digest_of, kept_as, pack_reply, prompt_of

if TYPE_CHECKING:
    from dspy import lm15

FOLDER = "kept"
"""Inside of a run folder."""


def replies_of(folder: Path) -> KeptReplies:
    """The replies that the run in a folder has paid for."""
    return KeptReplies(folder / FOLDER / "replies.jsonl")


class Taken(NamedTuple):
    """What came of replies that were made elsewhere."""

    new: int = 0
    known: int = 0
    """How many say what was taken in before."""
    wrong: tuple[str, ...] = ()
    """What is wrong with each of the other lines."""


def take_in(folder: Path, lines: Iterable[bytes]) -> Taken:
    """Keep replies to what the run in a folder has put on a desk, one a line, neutral or as OpenAI's batches return it.

    A reply that says otherwise than one before takes its place, as long as nothing was made of that.
    """
    kept, asked = replies_of(folder), set(_asked_from(folder))
    new, known, wrong = 0, 0, []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            name, reply = read_window(line)
        except ReplyError as error:
            wrong.append(f"line {number}: {error}")
            continue
        if name not in asked:
            wrong.append(f"line {number}: nothing was asked from here by the id {name[:64]!r}")
            continue
        request, usage = bytes.fromhex(name), (reply.prompt_tokens, reply.reply_tokens)
        packed = pack_reply(reply.text, reply.finish_reason, usage=usage)
        if kept.get(request) == packed:
            known += 1
            continue
        kept.keep(request, packed)
        new += 1
    return Taken(new, known, tuple(wrong))


def _asked_from(folder: Path) -> list[str]:
    """The ids of all requests that the run in a folder has put on a desk; one that was torn is none."""
    file = _asked_file(folder)
    return file.read_text().splitlines() if file.exists() else []


def _asked_file(folder: Path) -> Path:
    return folder / FOLDER / "asked"


class AwaitedError(ModelError):
    """What was asked is on the desk: its reply is made elsewhere."""


class Desk:
    """Takes down what is asked, in the place of a provider.

    Args:
        file: What is asked is written here, one request a line; what is there stays until `clear`.
        folder: Of the run, which keeps in mind what was asked: no other reply is taken in.
        form: Of a line.

    Raises:
        InputError: The file cannot be written.
    """

    def __init__(self, file: Path, *, folder: Path, form: BatchFormat = "neutral") -> None:
        self._folder, self._form = folder, form
        self._seen: set[bytes] = set()
        self._noted: set[str] = set()
        self._lock = threading.Lock()
        self.file = file
        try:
            file.open("ab").close()
        except OSError as error:
            raise InputError(
                f"{str(file)!r} cannot be written: {str(error.strerror).lower()}", hint="name another with --batch"
            ) from error

    @property
    def asked(self) -> int:
        """How many requests lie here."""
        return len(self._seen)

    def clear(self) -> None:
        """Throw away what the file holds, and go on where the run was."""
        self.file.write_bytes(b"")
        mend(_asked_file(self._folder))
        self._noted = set(_asked_from(self._folder))

    def complete(self, request: lm15.Request) -> lm15.Response:
        """Write down a request, once.

        Raises:
            AwaitedError: Always.
        """
        digest = kept_as(digest_of(request))
        with self._lock:
            if digest not in self._seen:
                self._seen.add(digest)
                self._note(digest.hex())
                append_line(self.file, self._line(digest, request))
        raise AwaitedError(f"a reply is awaited in {str(self.file)!r}", hint="hand it in with --replies")

    def _note(self, name: str) -> None:
        if name not in self._noted:
            self._noted.add(name)
            file = _asked_file(self._folder)
            file.parent.mkdir(parents=True, exist_ok=True)
            append_line(file, name.encode())

    def _line(self, digest: bytes, request: lm15.Request) -> bytes:
        schema = dict(request.config.response_format or {}).get("schema", {})
        window = SentWindow(digest.hex(), request.model, "", (), WindowRequest(*prompt_of(request), schema))
        line: dict[str, Any] = orjson.loads(write_window(window, form=self._form))
        config = request.config
        sampling = {"temperature": config.temperature, "top_p": config.top_p, "seed": config.seed,
                    "reasoning_effort": config.reasoning.effort if config.reasoning else None}  # fmt: skip
        line.get("body", line).update({name: value for name, value in sampling.items() if value is not None})
        for empty in ("trajectory", "steps"):
            line.pop(empty, None)
        return orjson.dumps(line)
