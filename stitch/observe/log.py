"""Events as records of the standard library's logging."""

from __future__ import annotations

import logging
from typing import Any

from stitch.core import (
    InputRejected,
    LabelsMerged,
    MemoryEvent,
    Searched,
    StepCorrected,
    StepsAccepted,
    StepsErased,
    StepsFailed,
    StepsRetired,
    StepsStored,
    StoreAway,
    StoreBack,
)

_LINES = {
    StepsAccepted: "accepted {steps} {of}",
    StepsStored: "stored {steps} {of}, labeled by {0.made_by}",
    StepsFailed: "failed {steps} {of}: {0.reason}",
    StepsRetired: "retired {steps} {of}",
    StepCorrected: "corrected step {0.step!r} {of}, by {0.by}",
    StepsErased: "erased {0.steps} steps of {0.trajectories} trajectories of {0.tenant!r}",
    StoreAway: "the store is away, steps wait for it: {0.reason}",
    StoreBack: "the store is back after {0.away_s:.1f} s, {0.waiting} steps that wait are put now",
    InputRejected: "rejected {0.rejection.source} line {0.rejection.line} of {0.tenant!r}: {0.rejection.reason}",
    LabelsMerged: "merged {0.merge.kind.value} {0.merge.alias!r} into {0.merge.into!r} {of}",
    Searched: "searched {of}: {hits} hits in {0.milliseconds:.1f} ms",
}


class LogObserver:
    """Writes a line for each event, with the event itself as the record's `event`.

    Failures and rejections are warnings, as is a store that goes or comes back; merges of labels are information, all
    else is for debugging. No line quotes what was said in a step or asked in a search.

    Args:
        logger: The logger `stitch.events` if None. Nothing is configured here: who runs the program decides what shows.
    """

    def __init__(self, logger: logging.Logger | None = None) -> None:
        self._logger = logger or logging.getLogger("stitch.events")

    def notice(self, event: MemoryEvent) -> None:
        """Write the line of an event, if its level is wanted."""
        level = _level(event)
        if self._logger.isEnabledFor(level):
            self._logger.log(level, "%s", _line(event), extra={"event": event})


def _level(event: MemoryEvent) -> int:
    if isinstance(event, StepsFailed | InputRejected | StoreAway | StoreBack):
        return logging.WARNING
    return logging.INFO if isinstance(event, LabelsMerged) else logging.DEBUG


def _line(event: MemoryEvent) -> str:
    names: Any = getattr(event, "steps", ())
    tenant = repr(getattr(event, "tenant", ""))
    trajectory = getattr(event, "trajectory", None)
    of = f"all of {tenant}" if trajectory is None else f"of {trajectory!r} of {tenant}"
    steps = "" if isinstance(names, int) else f"step {names[0]!r}" if len(names) == 1 else f"{len(names)} steps"
    return _LINES[type(event)].format(event, of=of, steps=steps, hits=len(getattr(event, "hits", ())))
