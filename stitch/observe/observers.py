"""Observers of a memory: log records, a trace, and the fan-out that keeps them apart from the work."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import orjson

from stitch.core import (
    InputRejected,
    LabelsMerged,
    MemoryEvent,
    Observer,
    Searched,
    StepCorrected,
    StepsAccepted,
    StepsErased,
    StepsFailed,
    StepsRestored,
    StepsRetired,
    StepsStored,
    StoreAway,
    StoreBack,
)
from stitch.core.files import private
from stitch.errors import SettingsError, system_reason

_log = logging.getLogger(__name__)

_LINES = {
    StepsAccepted: "accepted {steps} {of}",
    StepsStored: "stored {steps} {of}, labeled by {0.made_by}",
    StepsFailed: "failed {steps} {of}: {0.reason}",
    StepsRetired: "retired {steps} {of}",
    StepsRestored: "put back {steps} {of}, by {0.by}",
    StepCorrected: "corrected step {0.step!r} {of}, by {0.by}",
    StepsErased: "erased {0.steps} steps of {0.trajectories} trajectories of {0.tenant!r}",
    StoreAway: "the store is away, steps wait for it: {0.reason}",
    StoreBack: "the store is back after {0.away_s:.1f} s, {0.waiting} steps that wait are put now",
    InputRejected: "rejected {0.rejection.source} line {0.rejection.line} of {0.tenant!r}: {0.rejection.reason}",
    LabelsMerged: "merged {0.merge.kind.value} {0.merge.alias!r} into {0.merge.into!r} {of}",
    Searched: "searched {of}: {hits} hits in {0.milliseconds:.1f} ms",
}
_WARNINGS = (StepsFailed, InputRejected, StoreAway, StoreBack)
_LEVELS = {**dict.fromkeys(_WARNINGS, logging.WARNING), LabelsMerged: logging.INFO}


class Observers:
    """Tells each of several observers, in order. What one of them raises reaches neither the others nor the caller.

    The first failure of an observer is logged, further ones are not: a full disk would fill the log as well.
    """

    def __init__(self, observers: Iterable[Observer] = ()) -> None:
        self._observers = tuple(observers)
        self._failed: set[int] = set()

    def heeds(self, kind: type[MemoryEvent]) -> bool:
        """Whether anybody looks at events of a kind: to make one takes longer than to ask."""
        return any(not isinstance(own, LogObserver) or own.heeds(kind) for own in self._observers)

    def notice(self, event: MemoryEvent) -> None:
        """Tell every observer of an event."""
        for index, observer in enumerate(self._observers):
            try:
                observer.notice(event)
            except Exception:  # noqa: BLE001 whoever watches must never break what is watched
                if index not in self._failed:
                    self._failed.add(index)
                    _log.warning("observer %s failed; further failures are not logged", observer, exc_info=True)


class LogObserver:
    """Writes a line for each event, with the event itself as the record's `event`.

    Failures and rejections are warnings, as is a store that goes or comes back; merges of labels are information, all
    else is for debugging. No line quotes what was said in a step or asked in a search.

    Args:
        logger: The logger `stitch.events` if None. Nothing is configured here: who runs the program decides what shows.
    """

    def __init__(self, logger: logging.Logger | None = None) -> None:
        self._logger = logger or logging.getLogger("stitch.events")

    def heeds(self, kind: type[MemoryEvent]) -> bool:
        """Whether the level of a kind of events is wanted."""
        return self._logger.isEnabledFor(_LEVELS.get(kind, logging.DEBUG))

    def notice(self, event: MemoryEvent) -> None:
        """Write the line of an event, if its level is wanted."""
        if self.heeds(type(event)):
            self._logger.log(_LEVELS.get(type(event), logging.DEBUG), "%s", _line(event), extra={"event": event})


def _line(event: MemoryEvent) -> str:
    names: Any = getattr(event, "steps", ())
    tenant = repr(getattr(event, "tenant", ""))
    trajectory = getattr(event, "trajectory", None)
    of = f"all of {tenant}" if trajectory is None else f"of {trajectory!r} of {tenant}"
    steps = "" if isinstance(names, int) else f"step {names[0]!r}" if len(names) == 1 else f"{len(names)} steps"
    return _LINES[type(event)].format(event, of=of, steps=steps, hits=len(getattr(event, "hits", ())))


class TraceObserver(AbstractContextManager["TraceObserver"]):
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
        try:
            self._file = open(self.path, "ab", buffering=0, opener=private)  # noqa: SIM115 open as long as the observer is
        except OSError as error:
            cause = system_reason(error)
            raise SettingsError(f"trace {str(path)!r} cannot be written: {cause}", hint="name another file") from error

    def notice(self, event: MemoryEvent) -> None:
        """Write the line of an event."""
        fields = {"event": type(event).__name__, "at": self._clock(), **event.model_dump(mode="json")}
        self._file.write(orjson.dumps(fields, option=orjson.OPT_APPEND_NEWLINE))

    def close(self) -> None:
        """Let go of the file; closing twice is harmless."""
        self._file.close()

    def __exit__(self, *ended: object) -> None:
        self.close()
