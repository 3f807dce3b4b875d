"""Line headers of a context, the same for every lens: which step it is, who spoke, when and where.

`<step 12 Melanie on 27 Jun 2023 13:56 in conv-26>` says it in full. Most steps of a context are short, so that what
stands around one costs as much as what it says: but for who spoke, what a line shares with the line above is not said
again. The number is the step's place in its trajectory: `memory.steps("conv-26", start=12, stop=13)` reads it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date

from stitch.core import MemorySnippet
from stitch.core.text_cache import text_cache
from stitch.retrieve.context.quoting import clock, quote_attribute
from stitch.text.dates import MONTHS, day_of

_PLAIN_WORD = r"(?!(?:and|at|on|in|recorded|about|low|superseded|because)\b)[\w.:/@#-]+"
_PLAIN = re.compile(rf"(?!\d){_PLAIN_WORD}(?: {_PLAIN_WORD})*")
"""A name that needs no quotes: it cannot be taken for the number of a step, nor for what else is said of a line."""
_CLOCK = re.compile(r"(?<![\d:])(\d{1,2}):(\d\d)(?::\d\d(?:[.,]\d+)?)?(?: ?([ap])\.?m\b)?", re.IGNORECASE)
_MIDNIGHT = "00:00"
"""What a day is said with that is no more than a day."""


def standing(
    snippet: MemorySnippet, above: MemorySnippet | None, *, others: Sequence[int] = (), clocks: bool = True
) -> str:
    """The header of a line: step, speaker, time and place, as far as the line above does not tell.

    Who spoke is always told, for few readers look up; when, if it is known: the day, and on the same day the clock
    where another hour has begun. Where nobody knows when it happened, `recorded` tells when the memory took it in, in
    UTC.
    `others` are the places of further steps of its trajectory on which the line stands.
    """
    if elsewhere := above is None or above.trajectory != snippet.trajectory:
        above = None
    shown = f"{' '.join(map(str, (*others, snippet.position)))} {named(snippet.role)}"
    if snippet.happened is not None:
        before = above.happened if above is not None else None
        shown += _when(snippet.happened, before, day_is="on", clock_is="at" if clocks else None)
    else:
        taken = above.recorded if above is not None and above.happened is None else None
        shown += _recorded(snippet.recorded, taken, clocks=clocks)
    return f"{shown} in {named(snippet.trajectory)}" if elsewhere else shown


@text_cache(maxsize=4096)
def named(name: str) -> str:
    """A name as it stands in a line: in double quotes, unless it can be taken for nothing else."""
    quoted = quote_attribute(name)
    return quoted if _PLAIN.fullmatch(quoted) else f'"{quoted}"'


def _recorded(moment: float, before: float | None, *, clocks: bool) -> str:
    if day_of(clock(moment)) is None:
        return ""  # it is no moment
    return _when(moment, before, day_is="recorded", clock_is="recorded" if clocks else None)


def _when(moment: float | str, before: float | str | None, *, day_is: str, clock_is: str | None) -> str:
    """A moment, as far as the one before does not tell it; empty if that is the same, or in the same hour.

    Without `clock_is`, its day alone.
    """
    if moment == before:
        return ""
    day, time = _told(moment)
    if day is None:
        return f" {day_is} {named(clock(moment))}"
    day_before, time_before = (None, "") if before is None else _told(before)
    if clock_is is None:
        time = ""
    if day == day_before:
        return f" {clock_is} {time}" if time and time[:2] != time_before[:2] else ""
    said = date.fromordinal(day)
    written = f"{said.day} {MONTHS[said.month - 1].title()}"
    if day_before is None or date.fromordinal(day_before).year != said.year:
        written += f" {said.year}"
    return f" {day_is} {written} {time}".rstrip()


@text_cache(maxsize=4096)
def _told(moment: float | str) -> tuple[int | None, str]:
    """The day of a moment, counted as `date.toordinal` does, and its hour and minute, as far as it tells them."""
    written = clock(moment)
    day, found = day_of(written), _CLOCK.search(written)
    if found is None:
        return day, ""
    hour = int(found[1])
    if found[3]:
        hour = hour % 12 + 12 * (found[3] in "pP")
    time = f"{hour:02}:{found[2]}"
    return day, "" if time == _MIDNIGHT or hour > 23 else time
