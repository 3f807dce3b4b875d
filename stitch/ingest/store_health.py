"""Health of the store: away or there, and when to try again."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from stitch.core import MemoryEvent, StoreAway, StoreBack
from stitch.errors import StoreUnavailableError

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 30.0
"""After how long a store that is away is tried again: at first, and at most; each pause is twice the one before."""


@dataclass(eq=False, kw_only=True)
class StoreHealth:
    """Health of the store, as seen by whoever puts into it. Being away is a state, reported once.

    While it is away, nobody but who looks whether it is back waits for it: `check` refuses at once.
    """

    notice: Callable[[MemoryEvent], None]
    waiting: Callable[[], int]
    """Counts the steps that wait for the store."""
    timer: Callable[[], float]

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._error: StoreUnavailableError | None = None
        self._since = 0.0
        self.pause_s = 0.0
        """After how many seconds to try again."""

    @property
    def reason(self) -> str:
        """The reason it cannot be reached; empty if it can."""
        error = self._error
        return "" if error is None else error.message

    def check(self) -> None:
        """Refuse while it is away.

        Raises:
            StoreUnavailableError: As it was when it went.
        """
        error = self._error
        if error is not None:
            raise StoreUnavailableError(error.message, hint=error.hint)

    def lose(self, error: StoreUnavailableError) -> None:
        """Take note that it could not be reached."""
        with self._lock:
            if self._error is not None:
                return
            self._error, self._since, self.pause_s = error, self.timer(), FIRST_PAUSE_S
        self.notice(StoreAway(reason=error.message))

    def next_pause(self) -> float:
        """The pause before the next try, in seconds; doubled each time it was in vain."""
        pause_s = self.pause_s
        self.pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
        return pause_s

    def regain(self) -> None:
        """Take note that it was reached."""
        with self._lock:
            if self._error is None:
                return
            away_s, self._error = self.timer() - self._since, None
        self.notice(StoreBack(away_s=round(away_s, 3), waiting=self.waiting()))
