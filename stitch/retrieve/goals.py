"""Features of scopes, and of the goals of runs: which is asked about, what kind of step, and where in it.

"Which error did the second run give?" is answered by a result that has none of these words; its call has them. "Why?"
is answered by what explains and by what a user said, "what did she want?" by what opens a goal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from stitch.core import FilterMaker, LabelKind, MemorySnippet
from stitch.retrieve.candidates import Pool
from stitch.retrieve.kinds import GOAL_OPENED, Kind, changes, failed, is_local
from stitch.retrieve.speakers import USERS
from stitch.text.dates import day_of
from stitch.text.languages import language_of, stem_in, words_in

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stitch.retrieve.candidates import Column

_VOTERS = 10
"""The first hits, which say which scope is asked about."""
_LEADING = 0.3
"""What the scope counts in which most of the first hits stand, if a model named it, beside one that is named."""
_NEARLY, _ABOUT, _NEWEST = 0.7, 0.5, 1.5
"""Statements with this share of the best similarity are about as near, or with that where they say half of the words of
a question of now; the newest of them counts so much."""
_READ_CHARS = 2_000
_LONG_GOAL = 8
"""Steps between the first and the last of a goal whose end tells more than its beginning."""
_RARE = 2.0
"""The inverse document frequency, as a natural logarithm, from which a class counts in full: one step in seven."""
_ASKING_CHARS = 120
"""Longer steps that end with a question tell something, too."""
_ASKS = ("?", "？", "؟")


def only_asks(one: MemorySnippet) -> bool:
    """Whether a short step does nothing but ask."""
    return len(one.text) < _ASKING_CHARS and one.text.rstrip().endswith(_ASKS)


def goal(pool: Pool) -> Column | None:
    """Whether its scope is the one asked about: by its name, by identifiers said in it, by its step most alike.

    The name that a scope has without a model is a guess, and counts nothing.
    """
    worth, named = _worth_of_goals(pool), dict[str, float]()
    if pool.selection.made_by is FilterMaker.WORDS:
        if led := _leading_scope(pool):
            named[led] = _LEADING
        for scope in pool.selection.intent_filter.scopes:
            named[pool.vocabulary.canonical(LabelKind.SCOPE, scope)] = 1.0
    if not (worth or named):
        return None
    column = np.zeros(len(pool.candidates))
    if worth:
        for number in np.flatnonzero(~pool.running).tolist():
            column[pool.trajectories[number]] = worth.get((number, ""), 0.0)
    for own, places in pool.members.items():
        guessed = is_local(pool.snippets[places[0]].labeled_by)
        column[places] += worth.get(own, 0.0) + (0.0 if guessed else named.get(own[1], 0.0))
    return column


def _worth_of_goals(pool: Pool) -> dict[tuple[int, str], float]:
    """Score each goal of a run as the one asked about, by trajectory and name; empty where a task is given.

    Beside runs a talk is one goal without a name, or any step of a run would stand before all of its.
    """
    goals = {} if pool.of_runs.task else _goals_of_runs(pool)
    if goals:
        talks = np.flatnonzero(~pool.running).tolist()
        goals |= {(number, ""): np.flatnonzero(pool.owners == number).tolist() for number in talks}
    alike = {own: float(pool.similarities[places].max()) for own, places in goals.items()}
    best = max(alike.values(), default=0.0)
    return {own: _named(pool, places) + alike[own] / best for own, places in goals.items()} if best > 0 else {}


def _goals_of_runs(pool: Pool) -> dict[tuple[int, str], list[int]]:
    if not pool.running.any():
        return {}
    return {own: places for own, places in pool.members.items() if pool.running[own[0]]}


def _leading_scope(pool: Pool) -> str:
    """The scope with most of the votes of the steps most alike, if a model named it; empty if none has half of them.

    A model names scopes in words of its own, which a question hardly says; what it says of their steps tells more.
    """
    ordered = np.argsort(-pool.similarities, kind="stable")[:_VOTERS].tolist()
    voters = {rank: place for rank, place in enumerate(ordered, start=1) if _named_by_model(pool.snippets[place])}
    if 2 * len(voters) <= len(ordered):
        return ""
    votes: dict[str, float] = {}
    for rank, place in voters.items():
        votes[pool.scopes[place]] = votes.get(pool.scopes[place], 0.0) + 1 / rank
    leading = max(votes, key=votes.__getitem__, default="")
    return leading if 2 * votes[leading] > sum(votes.values()) else ""


def _named_by_model(one: MemorySnippet) -> bool:
    """Whether a model or a person named its scope."""
    return bool(one.intent.scope and one.labeled_by) and not is_local(one.labeled_by)


def leading_goals(pool: Pool, *, most: int) -> set[tuple[str, str]]:
    """The trajectories and names of the goals of runs that the question may be about."""
    worth = _worth_of_goals(pool)
    named = {(pool.snippets[pool.members[own][0]].trajectory, own[1]): value for own, value in worth.items() if own[1]}
    return set(sorted(named, key=lambda goal: (-named[goal], goal))[:most])


def _named(pool: Pool, places: Sequence[int]) -> float:
    """The share of the identifiers of the question that a goal says."""
    asked = pool.of_runs.identifiers
    texts = [pool.snippets[place].text.lower() for place in places] if asked else []
    return sum(any(name in text for text in texts) for name in asked) / max(1, len(asked))


def kind(pool: Pool) -> Column | None:
    """Whether it is what is asked for: a price where a price is, a call, what came of it, the opening of a task.

    A class of values that many candidates of a talk carry tells less.
    """
    classes = pool.question.classes
    if not classes and not pool.running.any():
        return None
    column = np.zeros(len(pool.candidates))
    if classes:
        column[:] = [not classes.isdisjoint(one.intent.entity_types) for one in pool.snippets]
        rare = np.log((np.bincount(pool.owners) + 1) / np.maximum(1, np.bincount(pool.owners, column)))
        shares = (1.0 if pool.question.clause else 0.5) * pool.strengths * np.minimum(1.0, rare / _RARE)
        column *= shares[pool.owners]
    places = np.flatnonzero(pool.in_runs)
    column[places] = _kinds_of_runs(pool, places.tolist())
    return column


def _kinds_of_runs(pool: Pool, places: Sequence[int]) -> Column:
    """Bonuses of steps of runs: those that open a goal, and those of the kind that is asked for."""
    read = pool.of_runs
    opened = _openings(pool) if read.task or read.requests or read.error else frozenset()
    openings: Column = np.array([2.5 * (place in opened) for place in places])
    if read.task:
        return openings
    gains = np.array([_worth_of_step(pool, place, opened=opened) for place in places])
    return gains + openings if read.requests else gains


def _openings(pool: Pool) -> frozenset[int]:
    """The places of what opens goals: as labels tell, or else the first words of a user among their first steps."""
    found: set[int] = set()
    for own in _goals_of_runs(pool).values():
        labeled = [n for n in own if GOAL_OPENED.value in pool.snippets[n].intent.event_types]
        found.update(labeled or [n for n in own[:3] if pool.kinds[n] is Kind.USER][:1])
    return frozenset(found)


def _worth_of_step(pool: Pool, place: int, *, opened: frozenset[int]) -> float:
    """Bonus of a step that failed or changed something, where that is asked for."""
    one, read, told = pool.snippets[place], pool.of_runs, 0.0
    if read.error and pool.kinds[place] is not Kind.SETUP and place not in opened and failed(one):
        told += 0.7
    if read.calls and (call := _call_of(pool, place)) is not None and changes(pool.snippets[call]):
        told += 1.0 if call == place else 0.7
    return told


def _call_of(pool: Pool, place: int) -> int | None:
    """The place of a call itself, or of the call that a result answers."""
    while pool.kinds[place] is Kind.RESULT and pool.follows[place]:
        place -= 1
    return place if pool.kinds[place] is Kind.CALL else None


def late(pool: Pool) -> Column | None:
    """Recency of a step among what bears on the question, where the last or first is asked for; of runs in its goal.

    Of a question of now ("Where do I work?"), how late a user said it among what is about as near: recall never tells
    whether the newest of two statements stands first, so that no fit of weights brings this.
    """
    order, stands = pool.question.order, pool.question.stands
    of_runs = pool.running.any() and not pool.of_runs.task
    if not (order or stands or of_runs):
        return None
    column = (order * _places_in_scopes(pool) + _recency(pool)) / 2
    if stands:
        for own in _told_together(pool):
            column[own] = np.maximum(column[own], _latest(pool, own))
    if pool.running.any():
        column[pool.in_runs] = _late_in_goals(pool)[pool.in_runs] if of_runs else 0.0
    return column


def _recency(pool: Pool) -> Column:
    """The place in time of those about as near as the nearest: 1 for the last, or for the first where that is asked."""
    column, order = np.zeros(len(pool.candidates)), pool.question.order
    near = pool.similarities >= _NEARLY * pool.similarities.max(initial=0.0)
    for own in _told_together(pool) if order else ():
        places = _by_day(pool.snippets, own[near[own]].tolist())
        column[places[::order]] = np.arange(1, len(places) + 1) / max(1, len(places))
    return column


def _told_together(pool: Pool) -> list[NDArray[np.int64]]:
    """Places that are compared in time: those of all talks with the user, and those of each other trajectory."""
    owners = pool.owners.copy()
    for number, (roles, runs) in enumerate(zip(pool.roles, pool.running.tolist(), strict=True)):
        if not runs and any(role.casefold() in USERS for role in roles):
            owners[pool.trajectories[number]] = len(pool.roles)
    return [np.flatnonzero(owners == own) for own in np.unique(owners)]


def _by_day(snippets: Sequence[MemorySnippet], places: Sequence[int]) -> list[int]:
    """Places in the order of the days on which they happened, if all tell it: what is older may be added later.

    Else, and on one day, they stand in the order in which the memory took them.
    """
    days = {place: day_of(snippets[place].happened) for place in places}
    told = all(days.values())
    return sorted(days, key=lambda place: ((days[place] or 0) * told, snippets[place].recorded))


def _late_in_goals(pool: Pool) -> Column:
    ends = np.zeros(len(pool.candidates))
    for places in pool.members.values():
        ends[places] = 0.5 * min(1.0, max(0, len(places) - 2) / _LONG_GOAL)
    column: Column = (1.5 * pool.question.order + ends) * _places_in_scopes(pool)
    return column + _newest(pool) if pool.of_runs.identifiers and pool.question.order > 0 else column


def _places_in_scopes(pool: Pool) -> Column:
    """The place of each in its scope, from 0 for the first to 1 for the last; 0 without one."""
    column = np.zeros(len(pool.candidates))
    for places in pool.members.values():
        column[_by_day(pool.snippets, places)] = np.arange(len(places)) / max(1, len(places) - 1)
    return column


def _latest(pool: Pool, own: NDArray[np.int64]) -> Column:
    """Recency of what users say of themselves: it holds until they say otherwise, and the newest is true.

    Where anything of it says a word of the question, only what says one counts. Where the question says "now", so does
    what says half of its words, and in a talk without a user whoever speaks may say it.
    """
    similarities, snippets = pool.similarities[own], [pool.snippets[place] for place in own]
    now = pool.question.order > 0
    column, shares = np.zeros(len(similarities)), similarities / (similarities.max() or 1.0)
    by_user = np.array([one.role.casefold() in USERS for one in snippets])
    telling = (by_user if by_user.any() or not now else ~by_user) & (shares >= (_ABOUT if now else _NEARLY))
    asked, language = pool.question.clue_stems, language_of(pool.question.text)
    said = np.zeros(len(column), dtype=int)
    for place in np.flatnonzero(telling).tolist():
        words = words_in(snippets[place].text[:_READ_CHARS])
        said[place] = len(asked.intersection(stem_in(word, language) for word in words))
    alike = by_user & (shares >= _NEARLY) & (said >= min(1, said.max(initial=0)))
    if now and asked:
        alike |= telling & (2 * said >= len(asked))
    near = [place for place in _by_day(snippets, np.flatnonzero(alike).tolist()) if not only_asks(snippets[place])]
    column[near] = np.linspace(0.0, _NEWEST, len(near)) if len(near) > 1 else 0.0
    return column


def _newest(pool: Pool) -> Column:
    """Recency of the goals that have the identifiers whose state is asked for."""
    column = np.zeros(len(pool.candidates))
    named: dict[int, list[list[int]]] = {}
    for (own, _), places in _goals_of_runs(pool).items():
        if _named(pool, places):
            named.setdefault(own, []).append(places)
    for goals in named.values():
        for place, places in enumerate(sorted(goals), start=1):
            column[places] = place / len(goals)
    return column
