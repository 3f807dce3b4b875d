"""Features of scopes, and of the goals of runs: which is asked about, what kind of step, and where in it.

"Which error did the second run give?" is answered by a result that has none of these words; its call has them. "Why?"
is answered by what explains and by what a user said, "what did she want?" by what opens a goal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stitch.core import FilterMaker, LabelKind, MemorySnippet, goal_of
from stitch.retrieve.candidates import Pool, Trajectory
from stitch.retrieve.kinds import Kind, changes, failed, is_local
from stitch.retrieve.nearness import strength
from stitch.retrieve.run_question import RunQuestion
from stitch.retrieve.speakers import USERS

if TYPE_CHECKING:
    from stitch.retrieve.candidates import Column

_VOTERS = 10
"""The first hits, which say which scope is asked about."""
_LEADING = 0.3
"""What the scope counts in which most of the first hits stand, if a model named it, beside one that is named."""
_BEST_STEPS = 3
"""The steps of a goal that are most alike and say how alike it is."""
_NEARLY, _NEWEST = 0.9, 0.2
"""Statements with this share of the best similarity are about as near; the newest of them counts so much."""
_LONG_GOAL = 8
"""Steps between the first and the last of a goal whose end tells more than its beginning."""
_ASKING_CHARS = 120
"""Longer steps that end with a question tell something, too."""
_ASKS = ("?", "？", "؟")


def only_asks(one: MemorySnippet) -> bool:
    """Whether a short step does nothing but ask."""
    return len(one.text) < _ASKING_CHARS and one.text.rstrip().endswith(_ASKS)


def goal(pool: Pool) -> Column | None:
    """Whether its scope is the one asked about: by its name, by identifiers said in it, by its steps most alike."""
    worth = _worth_of_scopes(pool)
    if pool.selection.made_by is FilterMaker.WORDS:
        for scope in pool.selection.intent_filter.scopes:
            worth[None, pool.vocabulary.canonical(LabelKind.SCOPE, scope)] = 1.0
        if (led := _leading_scope(pool)) and (None, led) not in worth:
            worth[None, led] = _LEADING

    def of(own: Trajectory) -> Column:
        name = own.snippets[0].trajectory
        return np.array([worth.get((None, scope), 0.0) + worth.get((name, scope), 0.0) for scope in own.scopes])

    return pool.column(of) if worth else None


def _worth_of_scopes(pool: Pool) -> dict[tuple[str | None, str], float]:
    """How much each goal of a run is the one asked about, by trajectory and name; nothing where a task is given."""
    running = [] if pool.of_runs.task else [own for own in pool.trajectories if own.is_run]
    alike = {id(own): _alike(own) for own in running}
    best = max((number for own in alike.values() for number in own.values()), default=0.0)
    if best <= 0:
        return {}
    return {
        (own.snippets[0].trajectory, scope): share + alike[id(own)][scope] / best
        for own in running
        for scope, share in _named(own, pool).items()
    }


def _leading_scope(pool: Pool) -> str:
    """The scope with most of the votes of the steps most alike, if a model named it; empty if none has half of them.

    A model names scopes in words of its own, which a question hardly says; what it says of their steps tells more.
    """
    ordered = sorted(
        ((-one.similarity, one.snippet.trajectory, one.snippet.position, one.snippet) for one in pool.candidates),
        key=lambda each: each[:3],
    )[:_VOTERS]
    votes: dict[str, float] = {}
    voters = 0
    for place, (*_, one) in enumerate(ordered, start=1):
        if one.intent.scope and one.labeled_by and not is_local(one.labeled_by):
            name = goal_of(pool.vocabulary.canonical(LabelKind.SCOPE, one.intent.scope))
            votes[name] = votes.get(name, 0.0) + 1 / place
            voters += 1
    leading = max(votes, key=votes.__getitem__, default="")
    return leading if 2 * voters > len(ordered) and 2 * votes[leading] > sum(votes.values()) else ""


def leading_goals(pool: Pool, *, most: int) -> set[tuple[str | None, str]]:
    """The trajectories and names of the goals of runs that the question may be about."""
    worth = _worth_of_scopes(pool)
    return set(sorted(worth, key=lambda goal: (-worth[goal], goal))[:most])


def _alike(own: Trajectory) -> dict[str, float]:
    """How alike the best steps of each goal are."""
    return {
        scope: float(np.sort(own.similarities[places])[-_BEST_STEPS:].mean()) for scope, places in own.members.items()
    }


def _named(own: Trajectory, pool: Pool) -> dict[str, float]:
    """The share of the identifiers of the question that each goal says."""
    asked = pool.of_runs.identifiers
    if not asked:
        return dict.fromkeys(own.members, 0.0)
    texts = [one.text.lower() for one in own.snippets]
    return {
        scope: sum(any(name in texts[n] for n in places) for name in asked) / len(asked)
        for scope, places in own.members.items()
    }


def kind(pool: Pool) -> Column | None:
    """Whether it is what is asked for: a price where a price is, a call, what came of it, the opening of a task."""
    says_where = pool.question.clause or pool.selection.intent_filter.scopes

    def of(own: Trajectory) -> Column | None:
        if own.is_run:
            return _kind_of_run(own, pool)
        share = strength(own) * (1.0 if says_where else 0.5)
        if not (pool.question.classes and share):
            return None
        classes = pool.question.classes
        return np.array([share * (not classes.isdisjoint(one.intent.entity_types)) for one in own.snippets])

    return pool.column(of)


def _kind_of_run(own: Trajectory, pool: Pool) -> Column:
    """Of a task, earlier ones of its kind are looked for: what opened them."""
    read, worth = pool.of_runs, dict.fromkeys(Kind, 0.0)
    openings: Column = np.where(np.isin(np.arange(len(own.snippets)), list(own.openings)), 2.5, 0.0)
    if read.task:
        return openings
    worth[Kind.CALL] += 0.25 * read.action
    worth[Kind.AGENT] += 0.3 * read.action
    worth[Kind.USER] += 0.4 * read.cause - 0.25 * (read.action or read.result)
    worth[Kind.RESULT] += 0.4 * (read.result and not read.state)  # how a thing stands is told by what changed it
    gains = np.array([worth[kind] + _worth_of_step(own, place, read) for place, kind in enumerate(own.kinds)])
    return gains + openings if read.requests else gains


def _worth_of_step(own: Trajectory, place: int, read: RunQuestion) -> float:
    """What it counts to explain, to have failed, or to have changed something, where that is asked for."""
    one, told = own.snippets[place], 0.0
    if read.cause and "explain" in one.intent.event_types:
        told += 0.4
    if read.error and own.kinds[place] is not Kind.SETUP and place not in own.openings and failed(one):
        told += 0.7
    if read.calls and (call := _call_of(own, place)) is not None and changes(own.snippets[call]):
        told += 1.0 if call == place else 0.7
    return told


def _call_of(own: Trajectory, place: int) -> int | None:
    """The place of a call itself, or of the call that a result answers."""
    at = place
    while own.kinds[at] is Kind.RESULT and at and own.positions[at - 1] == own.positions[at] - 1:
        at -= 1
    return at if own.kinds[at] is Kind.CALL else None


def late(pool: Pool) -> Column | None:
    """How late in its scope it stands, where the last is asked for, or how early; in long runs the end tells more.

    Of a question of how things stand ("Where do I work?"), how late a user said it among what is about as near.
    """
    order = pool.question.order

    def of(own: Trajectory) -> Column | None:
        if own.is_run:
            return _late_in_goals(own, pool)
        if order:
            return order * _places_in_scopes(own)
        return _latest(own, pool) if pool.question.stands else None

    return pool.column(of)


def _late_in_goals(own: Trajectory, pool: Pool) -> Column | None:
    read = pool.of_runs
    if read.task:
        return None
    asked = 1.5 * float(np.sign(pool.question.order + read.last - read.first))
    ends = np.zeros(len(own.snippets))
    for places in own.members.values():
        ends[places] = 0.5 * min(1.0, max(0, len(places) - 2) / _LONG_GOAL)
    column: Column = (asked + ends) * _places_in_scopes(own)
    return column + _newest(own, pool) if read.identifiers and (read.state or read.last) else column


def _places_in_scopes(own: Trajectory) -> Column:
    """The place of each in its scope, from 0 for the first to 1 for the last; 0 without one."""
    column = np.zeros(len(own.snippets))
    for places in own.members.values():
        column[places] = np.linspace(0.0, 1.0, len(places)) if len(places) > 1 else 0.0
    return column


def _latest(own: Trajectory, pool: Pool) -> Column:
    """What somebody says of themselves holds until they say it otherwise; where words cannot tell, the newest does."""
    column, least = np.zeros(len(own.snippets)), _NEARLY * own.similarities.max()
    near = [
        place
        for place, one in enumerate(own.snippets)
        if own.similarities[place] >= least > 0 and one.role.casefold() in USERS and not only_asks(one)
    ]
    column[near] = np.linspace(0.0, _NEWEST, len(near)) if len(near) > 1 else 0.0
    return column


def _newest(own: Trajectory, pool: Pool) -> Column:
    """How late the goal of a step began, among those with the identifiers of which the question asks how they stand."""
    column = np.zeros(len(own.snippets))
    named = [scope for scope, share in _named(own, pool).items() if share]
    for place, scope in enumerate(sorted(named, key=lambda scope: own.members[scope][0]), start=1):
        column[own.members[scope]] = 1.2 * place / len(named)
    return column
