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
_ZONE = re.compile(r" ?(?:Z|UTC|([+-]\d\d):?(\d\d))\b")
_UTC = "Z"
_MIDNIGHT = "00:00"
"""What a day is said with that is no more than a day."""


def standing(
    snippet: MemorySnippet, above: MemorySnippet | None, *, others: Sequence[int] = (), clocks: bool = True
) -> str:
    """The header of a line: step, speaker, time and place, as far as the line above does not tell.

    Who spoke is always told, for few readers look up; when, if it is known: the day, and on the same day the clock
    where another hour has begun, with its zone where that is neither UTC nor the zone of the line above. Where nobody
    knows when it happened, `recorded` tells when the memory took it in, in UTC.
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
    day, time, zone = _told(moment)
    if day is None:
        return f" {day_is} {named(clock(moment))}"
    day_before, time_before, zone_before = (None, "", "") if before is None else _told(before)
    if clock_is is None:
        time = zone = zone_before = ""
    same_hour = time[:2] == time_before[:2] and zone == zone_before
    if zone != zone_before and (zone_before or zone != _UTC):
        time += zone
    if day == day_before:
        return f" {clock_is} {time}" if time and not same_hour else ""
    said = date.fromordinal(day)
    written = f"{said.day} {MONTHS[said.month - 1].title()}"
    if day_before is None or date.fromordinal(day_before).year != said.year:
        written += f" {said.year}"
    return f" {day_is} {written} {time}".rstrip()


@text_cache(maxsize=4096)
def _told(moment: float | str) -> tuple[int | None, str, str]:
    """The day of a moment, counted as `date.toordinal` does, its hour and minute, and its zone ("Z", "+02:00"), as far
    as it tells them.
    """
    written = clock(moment)
    day, found = day_of(written), _CLOCK.search(written)
    if found is None:
        return day, "", ""
    hour = int(found[1])
    if found[3]:
        hour = hour % 12 + 12 * (found[3] in "pP")
    time = f"{hour:02}:{found[2]}"
    if time == _MIDNIGHT or hour > 23:
        return day, "", ""
    return day, time, _zone(written[found.end() :]) if isinstance(moment, str) else _UTC


def _zone(rest: str) -> str:
    """The zone that what stands behind a time begins with; empty if it has none."""
    zone = _ZONE.match(rest)
    if zone is None:
        return ""
    return f"{zone[1]}:{zone[2]}" if zone[1] and int(zone[1] + zone[2]) else _UTC
