"""Several observers as one, none of which can do harm."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from stitch.core import MemoryEvent, Observer

_log = logging.getLogger(__name__)


class Observers:
    """Tells each of several observers, in order. What one of them raises reaches neither the others nor the caller.

    The first failure of an observer is logged, further ones are not: a full disk would fill the log as well.
    """

    def __init__(self, observers: Iterable[Observer] = ()) -> None:
        self._observers = tuple(observers)
        self._failed: set[int] = set()

    def notice(self, event: MemoryEvent) -> None:
        """Tell every observer of an event."""
        for index, observer in enumerate(self._observers):
            try:
                observer.notice(event)
            except Exception:  # noqa: BLE001 whoever watches must never break what is watched
                if index not in self._failed:
                    self._failed.add(index)
                    _log.warning("observer %s failed; further failures are not logged", observer, exc_info=True)
