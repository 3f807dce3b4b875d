"""Replies in a file: what was paid for is not paid for again, whatever ended the process."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import threading
from collections import Counter
from pathlib import Path

from stitch.core.files import private
from stitch.core.json_text import read_json
from stitch.errors import InputError


class KeptReplies:
    """Replies by the digests of their requests, each a line of a file; safe for threads and processes side by side.

    Args:
        file: Made with the first reply; a last line that was torn is left out, and written over.

    Raises:
        InputError: A line is damaged.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        self._lock = threading.Lock()
        self._replies: dict[bytes, bytes] = {}
        if not file.exists():
            return
        content = file.read_bytes()
        whole = content.rfind(b"\n") + 1
        if whole != len(content):
            os.truncate(file, whole)
        for number, line in enumerate(content[:whole].splitlines(), start=1):
            try:
                told = read_json(line)
                self._replies[base64.b64decode(told["id"])] = base64.b64decode(told["reply"])
            except (ValueError, KeyError, TypeError) as error:
                raise InputError(
                    f"{file}:{number} is damaged", hint="delete the line; its reply is asked for again"
                ) from error

    def get(self, request: bytes) -> bytes | None:
        """The reply to a request; None if there is none."""
        with self._lock:
            return self._replies.get(request)

    def keep(self, request: bytes, reply: bytes) -> None:
        """Keep a reply; when this returns, it survives the death of the process."""
        line = json.dumps({"id": base64.b64encode(request).decode(), "reply": base64.b64encode(reply).decode()})
        with self._lock:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            with open(self.file, "ab", opener=private) as lines:
                lines.write(line.encode() + b"\n")
            self._replies[request] = reply


class Repeatable:
    """Keeps the first, second, ... reply to the same request apart: whoever asks twice wants two answers.

    Args:
        kept: Where they are kept.
    """

    def __init__(self, kept: KeptReplies) -> None:
        self._kept = kept
        self._lock = threading.Lock()
        self._asked: Counter[bytes] = Counter()
        self._own = threading.local()

    def get(self, request: bytes) -> bytes | None:
        """The reply to a request that has been asked so often before."""
        with self._lock:
            self._asked[request] += 1
            turn = self._asked[request]
        self._own.digest = hashlib.blake2b(request + turn.to_bytes(4, "big"), digest_size=16).digest()
        return self._kept.get(self._own.digest)

    def keep(self, request: bytes, reply: bytes) -> None:
        """Keep the reply to what this thread asked for last."""
        self._kept.keep(getattr(self._own, "digest", request), reply)
