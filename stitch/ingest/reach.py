"""Whether the store can be reached."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from stitch.core import MemoryEvent, StoreAway, StoreBack
from stitch.errors import StoreUnavailableError


class StoreReach:
    """Whether the store can be reached, as whoever puts into it finds. Being away is a state, told once.

    While it is away, nobody but who looks whether it is back waits for it: `check` refuses at once.
    """

    def __init__(
        self,
        *,
        notice: Callable[[MemoryEvent], None],
        lost: Callable[[], None],
        waiting: Callable[[], int],
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        self._notice, self._lost, self._waiting, self._timer = notice, lost, waiting, timer
        self._lock = threading.Lock()
        self._error: StoreUnavailableError | None = None
        self._since = 0.0
        self.losses = 0
        """How often it went."""

    @property
    def reason(self) -> str:
        """Why it cannot be reached; empty if it can."""
        error = self._error
        return "" if error is None else error.message

    @property
    def away_s(self) -> float:
        """For how many seconds it has been away; 0 if it is not."""
        return 0.0 if self._error is None else self._timer() - self._since

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
            self._error, self._since = error, self._timer()
            self.losses += 1
        self._notice(StoreAway(reason=error.message))
        self._lost()

    def regain(self) -> None:
        """Take note that it was reached."""
        with self._lock:
            if self._error is None:
                return
            away_s, self._error = self._timer() - self._since, None
        self._notice(StoreBack(away_s=round(away_s, 3), waiting=self._waiting()))
