"""Health of the store: away or there, and when to try again."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from stitch.core import MemoryEvent, StoreAway, StoreBack
from stitch.errors import StoreUnavailableError

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 30.0
"""After how long a store that is away is tried again: at first, and at most; each pause is twice the one before."""


class StoreHealth:
    """Health of the store, as seen by whoever puts into it. Being away is a state, reported once.

    While it is away, nobody but who looks whether it is back waits for it: `check` refuses at once.
    """

    def __init__(
        self,
        *,
        notice: Callable[[MemoryEvent], None],
        waiting: Callable[[], int],
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        self._notice, self._waiting, self._timer = notice, waiting, timer
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
            self._error, self._since, self.pause_s = error, self._timer(), FIRST_PAUSE_S
        self._notice(StoreAway(reason=error.message))

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
            away_s, self._error = self._timer() - self._since, None
        self._notice(StoreBack(away_s=round(away_s, 3), waiting=self._waiting()))
