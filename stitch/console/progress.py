"""Progress bars with the time left."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from stitch.console.terminal import for_drawing
from stitch.core.progress import watched

if TYPE_CHECKING:
    from rich.progress import Progress

_EVERY_S = 0.05
"""A terminal shows no more changes than that."""


@contextmanager
def progress_drawn(what: str = "") -> Iterator[None]:
    """Draw on standard error, if that is a terminal, how far the work in this context is; gone when it is done.

    Work tells it by `stitch.core.progress`. With `-q` standard error is no terminal.

    Args:
        what: What is begun, shown until the work says itself what it does.
    """
    stream = for_drawing(sys.stderr)
    if not stream.isatty():
        yield
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[counted]}"))
    bar = Progress(
        *columns, TimeElapsedColumn(), TextColumn("{task.fields[left]}"), console=Console(file=stream), transient=True,
        redirect_stdout=False, redirect_stderr=False,
    )  # fmt: skip
    with bar, watched(_Drawn(bar, what)):
        yield


class _Drawn:
    """Progress that is told, as one bar; work that is begun anew is timed anew."""

    def __init__(self, bar: Progress, what: str) -> None:
        self._bar = bar
        self._task = bar.add_task(what, total=None, counted="", left="")
        self._what, self._done = what, 0
        self._of: int | None = -1  # as no work says it
        self._shown_at = 0.0

    def __call__(self, what: str, done: int, of: int | None) -> None:
        now = time.monotonic()
        if of != self._of or done < self._done:
            self._bar.reset(self._task, total=of, description=what)
        elif now - self._shown_at < _EVERY_S and done != of and what == self._what:
            return
        self._what, self._done, self._of, self._shown_at = what, done, of, now
        self._bar.update(self._task, description=what, completed=done)
        counted, seconds = f"{done or ''}" if of is None else f"{done} of {of}", self._bar.tasks[0].time_remaining
        self._bar.update(self._task, counted=counted, left=f"{_clock(seconds)} left" if seconds else "")


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"
