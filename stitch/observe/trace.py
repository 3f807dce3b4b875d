"""Events as a file of JSON lines."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import orjson

from stitch.core import MemoryEvent
from stitch.core.files import private
from stitch.errors import SettingsError


class TraceObserver:
    """Appends each event to a file as one line `{"event": its type, "at": Unix seconds, ...its fields}`.

    Each line is written at once and whole, so the file can be followed, and several threads may report. It tells what
    was asked: whoever may read it should be someone who may read the memory.

    Args:
        path: The file; it is made if it is not there. Its folder must exist.
        clock: Gives Unix seconds.

    Raises:
        SettingsError: The file cannot be opened.
    """

    def __init__(self, path: str | Path, *, clock: Callable[[], float] = time.time) -> None:
        self.path = Path(path)
        self._clock = clock
        self._lock = threading.Lock()
        try:
            self._file = open(self.path, "ab", buffering=0, opener=private)  # noqa: SIM115 open as long as the observer is
        except OSError as error:
            cause = (error.strerror or str(error)).lower()
            raise SettingsError(f"trace {str(path)!r} cannot be written: {cause}", hint="name another file") from error

    def notice(self, event: MemoryEvent) -> None:
        """Write the line of an event."""
        fields = {"event": type(event).__name__, "at": self._clock(), **event.model_dump(mode="json")}
        line = orjson.dumps(fields, option=orjson.OPT_APPEND_NEWLINE)
        with self._lock:
            self._file.write(line)

    def close(self) -> None:
        """Let go of the file; closing twice is harmless."""
        self._file.close()

    def __enter__(self) -> TraceObserver:
        return self

    def __exit__(self, *ended: object) -> None:
        self.close()
