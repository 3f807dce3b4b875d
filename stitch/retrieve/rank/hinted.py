"""Who spoke, when, and in which order: each adds a little to the score of the steps that a question speaks for.

So little that a step whose words are much nearer to the question stays before one that merely fits the date.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from statistics import median

from stitch.core import MemorySnippet, Origin
from stitch.retrieve.question.hints import (
    REPLIES,
    USERS,
    asks_how_things_stand,
    asks_of_own_matters,
    called_roles,
    named_speakers,
    names_who_asks,
)
from stitch.retrieve.rank.pool import Pool
from stitch.text.dates import day_of

SPEAKER = "speaker"
"""The part of a score that says so."""


def speaker(pool: Pool) -> Sequence[float] | None:
    """Whether the question names who said it, or asks of the user's own matters among long replies."""
    roles, called = {one.snippet.role for one in pool.candidates}, pool.selection.speaker
    speakers = (called and called_roles(called, roles)) or named_speakers(pool.hints.text, roles)
    if speakers:
        return [pool.constants.speaker * (one.snippet.role in speakers) for one in pool.candidates]
    return _own_matters(pool) if asks_of_own_matters(pool.hints.text) else None


def _own_matters(pool: Pool) -> Sequence[float] | None:
    """That the user said it, where replies are long: these say more of a question's words, and nothing of who asks.

    A short reply may well be what an agent did for the user, and what tools returned is about their matters too.
    """
    snippets = [one.snippet for one in pool.candidates]
    by_user = [snippet.role.casefold() in USERS for snippet in snippets]
    replies = [len(snippet.text) for snippet, own in zip(snippets, by_user, strict=True) if not own]
    if not any(by_user) or not replies or any(snippet.origin is Origin.TOOL for snippet in snippets):
        return None
    worth = pool.constants.own_matters * max(0.0, 1.0 - pool.constants.short_chars / max(median(replies), 1.0))
    return [worth * own for own in by_user] if worth else None


_ASKS = ("?", "？", "؟")
_OF_ASKING = frozenset(("ask", "asks", "asked", "asking", "question", "questions"))


def asking(pool: Pool) -> Sequence[float] | None:
    """That it is short and does nothing but ask, as a loss, unless it is asked who asked."""
    if not _OF_ASKING.isdisjoint(pool.hints.text.split()):
        return None
    asks = [_only_asks(one.snippet.text, pool) for one in pool.candidates]
    return [-pool.constants.asking if only_asks else 0.0 for only_asks in asks] if any(asks) else None


def _only_asks(text: str, pool: Pool) -> bool:
    return len(text) < pool.constants.asking_chars and text.rstrip().endswith(_ASKS)


_THAT_DAY = re.compile(
    r"\b(?:today|tonight|this (?:morning|afternoon|evening)|just (?:got|came|returned|finished|had|bought|received"
    r"|started|attended|planted|made|took|went)|heute|hoy|aujourd['’]hui|hoje|oggi|vandaag|dzisiaj|bugün)\b|今日|今天",
    re.IGNORECASE,
)
"""How somebody tells what happened on the day on which they tell it."""


def time(pool: Pool) -> Sequence[float] | None:
    """Whether it happened when the question says; more, if it tells what happened on that very day.

    Who asks what they did on a day asks for what was told of it, and not for all else that was said on it.
    """
    if not pool.hints.spans:
        return None
    return [_in_time(one.snippet, pool) for one in pool.candidates]


def _in_time(snippet: MemorySnippet, pool: Pool) -> float:
    day = day_of(snippet.happened)
    share = 0.0 if day is None else max(span.share(day) for span in pool.hints.spans)
    if not share:
        return 0.0
    told = snippet.role.casefold() not in REPLIES and _THAT_DAY.search(snippet.text) is not None
    return share * pool.constants.time + (pool.constants.on_the_day if told else 0.0)


def clock(pool: Pool) -> Sequence[float] | None:
    """How late it happened among those of its density, where the last is asked for; how early, for the first."""
    if not pool.hints.order:
        return None
    equals: dict[float, list[int]] = {}
    for number in pool.once(in_time):
        equals.setdefault(pool.candidates[number].density, []).append(number)
    gains = [0.0] * len(pool.candidates)
    for numbers in equals.values():
        for place, number in enumerate(numbers if pool.hints.order > 0 else reversed(numbers)):
            gains[number] = pool.constants.clock * place / max(1, len(numbers) - 1)
    return gains


def latest(pool: Pool) -> Sequence[float] | None:
    """How late a user said it among the statements nearest to a question of how things stand.

    What somebody says of themselves holds until they say it otherwise; where words cannot tell which of two holds, both
    come, the newest first.
    """
    if not asks_how_things_stand(pool.hints):
        return None
    best = max((one.similarity for one in pool.candidates), default=0.0)
    least = pool.constants.latest_near if names_who_asks(pool.hints.text) else pool.constants.latest_nearer
    near = [number for number in pool.once(in_time) if _states(pool.candidates[number].snippet, pool)
            and pool.candidates[number].similarity >= least * best]  # fmt: skip
    gains = [0.0] * len(pool.candidates)
    for place, number in enumerate(near):
        gains[number] = pool.constants.latest * best * place / max(1, len(near) - 1)
    return gains


def _states(snippet: MemorySnippet, pool: Pool) -> bool:
    """Whether a user says something, and does not only ask."""
    return snippet.role.casefold() in USERS and not _only_asks(snippet.text, pool)


def in_time(pool: Pool) -> list[int]:
    """The numbers of the candidates in the order in which they happened."""

    def when(number: int) -> tuple[int, str, int, str]:
        snippet = pool.candidates[number].snippet
        return day_of(snippet.happened) or 0, snippet.trajectory, snippet.position, snippet.step

    return sorted(range(len(pool.candidates)), key=when)
