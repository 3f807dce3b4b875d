"""Events as records of the standard library's logging."""

from __future__ import annotations

import logging

from stitch.core import (
    InputRejected,
    LabelsMerged,
    MemoryEvent,
    StepCorrected,
    StepsAccepted,
    StepsErased,
    StepsFailed,
    StepsRetired,
    StepsStored,
    StoreAway,
    StoreBack,
)


class LogObserver:
    """Writes a line for each event, with the event itself as the record's `event`.

    Failures and rejections are warnings, as is a store that goes or comes back; merges of labels are information, all
    else is for debugging. No line quotes what was said in a step or asked in a search.

    Args:
        logger: Where to; `stitch.events` if None. Nothing is configured here: who runs the program decides what is
            shown.
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
    if isinstance(event, InputRejected):
        where = event.rejection
        return f"rejected {where.source} line {where.line} of {event.tenant!r}: {where.reason}"
    if isinstance(event, StoreAway):
        return f"the store is away, steps wait for it: {event.reason}"
    if isinstance(event, StoreBack):
        return f"the store is back after {event.away_s:.1f} s, {event.waiting} steps that wait are put now"
    if isinstance(event, StepsErased):
        return f"erased {event.steps} steps of {event.trajectories} trajectories of {event.tenant!r}"
    of = f"of {event.trajectory!r} of {event.tenant!r}"
    if isinstance(event, StepCorrected):
        return f"corrected step {event.step!r} {of}, by {event.by}"
    if isinstance(event, StepsRetired):
        return f"retired {_steps(event.steps)} {of}"
    if isinstance(event, StepsAccepted):
        return f"accepted {_steps(event.steps)} {of}"
    if isinstance(event, StepsStored):
        return f"stored {_steps(event.steps)} {of}, labeled by {event.made_by}"
    if isinstance(event, StepsFailed):
        return f"failed {_steps(event.steps)} {of}: {event.reason}"
    if isinstance(event, LabelsMerged):
        merge = event.merge
        return f"merged {merge.kind.value} {merge.alias!r} into {merge.into!r} {of}"
    what = of if event.trajectory is not None else f"all of {event.tenant!r}"
    return f"searched {what}: {len(event.hits)} hits in {event.milliseconds:.1f} ms"


def _steps(steps: tuple[str, ...]) -> str:
    return f"step {steps[0]!r}" if len(steps) == 1 else f"{len(steps)} steps"
