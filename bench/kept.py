"""Replies of models that a run has paid for, in a file of its folder: whatever ends the run, nothing is paid twice.

With a desk, nothing is asked at all: what would be asked is written down, to be answered by a batch of a provider or by
hand, and taken in as if it had been asked.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from stitch.bench.records import append_line
from stitch.errors import InputError, ModelError, ReplyError
from stitch.label.model.batches import BatchFormat, SentWindow, read_window, write_window
from stitch.label.model.offline import WindowRequest
from stitch.lm.kept import KeptReplies
from stitch.lm.replies import digest_of, pack_reply, prompt_of

if TYPE_CHECKING:
    from dspy import lm15

FOLDER = "kept"
"""Inside of a run folder."""


def replies_of(folder: Path) -> KeptReplies:
    """The replies that the run in a folder has paid for."""
    return KeptReplies(folder / FOLDER / "replies.jsonl")


def take_in(kept: KeptReplies, lines: Iterable[bytes]) -> tuple[int, list[str]]:
    """Keep replies that were made elsewhere, one a line, neutral or as a batch of OpenAI returns them.

    Returns:
        How many were kept, and what was wrong with each of the other lines.
    """
    count, wrong = 0, []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            name, reply = read_window(line)
            request = bytes.fromhex(name)
        except (ReplyError, ValueError) as error:
            wrong.append(f"line {number}: {error}")
            continue
        usage = (reply.prompt_tokens, reply.reply_tokens)
        kept.keep(request, pack_reply(reply.text, reply.finish_reason, usage=usage))
        count += 1
    return count, wrong


class AwaitedError(ModelError):
    """What was asked is on the desk: its reply is made elsewhere."""


class Desk:
    """Takes down what is asked, in the place of a provider.

    Args:
        file: What is asked is written here, one request a line; a file that is there is replaced.
        form: Of a line.

    Raises:
        InputError: The file cannot be written.
    """

    def __init__(self, file: Path, *, form: BatchFormat = "neutral") -> None:
        self._form = form
        self._seen: set[bytes] = set()
        self._lock = threading.Lock()
        self.file = file
        try:
            file.write_bytes(b"")
        except OSError as error:
            raise InputError(
                f"{str(file)!r} cannot be written: {str(error.strerror).lower()}", hint="name another with --batch"
            ) from error

    @property
    def asked(self) -> int:
        """How many requests lie here."""
        return len(self._seen)

    def complete(self, request: lm15.Request) -> lm15.Response:
        """Write down a request, once.

        Raises:
            AwaitedError: Always.
        """
        digest = digest_of(request)
        with self._lock:
            if digest not in self._seen:
                self._seen.add(digest)
                append_line(self.file, self._line(digest, request))
        raise AwaitedError(f"a reply is awaited in {str(self.file)!r}", hint="hand it in with --replies")

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
