"""Features: what speaks for a candidate beside label density. Their weighted sum makes the order (`order.WEIGHTED`).

Each is a number of a candidate, about 0 to 1, and asks about its surroundings in its own trajectory alone. Weights are
in `weights.json`, which `python -m stitch.bench.fit ranking` makes; what each brings on sets that were left out is told
in `bench/results/ranking.md`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from stitch.core import FilterMaker, LabelKind, MemorySnippet, Origin, goal_of
from stitch.core.ranking import GOAL
from stitch.retrieve.candidates import Pool, Trajectory
from stitch.retrieve.kinds import Kind, changes, failed, is_local
from stitch.retrieve.nearness import near, strength
from stitch.retrieve.speakers import REPLIES, USERS, asks_of_own_matters, called_roles, named_speakers
from stitch.text.dates import day_of

if TYPE_CHECKING:
    from stitch.retrieve.candidates import Column

Feature = Callable[[Pool], "Column | None"]
"""One number a candidate, more for better, in whatever order they come; None if the question gives no cause."""

_SHORT_CHARS = 180
"""Replies above this length say more of a question's words than whom they answer."""
_ASKING_CHARS = 120
"""Longer steps that end with a question tell something, too."""
_STRETCH_HITS, _STRETCH_STEPS, _STRETCH_RANK = 10, 4.0, 5.0
"""The first hits of a trajectory lend to places around them; at four steps a third, at rank five a half is left."""
_LEADING = 0.3
"""What the scope counts in which most of the first hits stand, if a model named it, beside one that is named."""
_BEST_STEPS = 3
"""The steps of a goal that are most alike and say how alike it is."""
_LONG_GOAL = 8
"""Steps between the first and the last of a goal whose end tells more than its beginning."""
_READ_CHARS = 1_000


def meaning(pool: Pool) -> Column | None:
    """Cosine of question and step beside the best one's: the same thing said in other words."""
    cosines = np.array([one.cosine for one in pool.candidates])
    best = cosines.max(initial=0.0)
    return cosines / best if best > 0 else None


def words(pool: Pool) -> Column | None:
    """BM25 of question and step beside the best one's: names, numbers and rare words."""
    scores = np.array([one.lexical for one in pool.candidates])
    best = scores.max(initial=0.0)
    return scores / best if best > 0 else None


def beside(pool: Pool) -> Column | None:
    """How much more alike the step before or after is: an answer repeats little of its question."""

    def of(own: Trajectory) -> Column:
        gains = np.zeros(len(own.snippets))
        for place in range(1, len(gains)):
            one, before = own.snippets[place], own.snippets[place - 1]
            if one.position == before.position + 1 and one.session == before.session:
                lead = own.similarities[place - 1] - own.similarities[place]
                gains[place] = max(gains[place], lead)
                gains[place - 1] = max(gains[place - 1], -lead)
        return gains

    return pool.column(of)


def stretch(pool: Pool) -> Column | None:
    """How close it stands to other steps that are alike: where the matter was talked about, in few words each."""

    def of(own: Trajectory) -> Column:
        share = 1.0 if own.is_run else strength(own)
        order = np.argsort(-own.similarities, kind="stable")[:_STRETCH_HITS]
        apart = np.abs(own.positions[:, None] - own.positions[order])
        lent = np.exp(-apart / _STRETCH_STEPS) / (_STRETCH_RANK + np.arange(len(order)))
        lent[order, np.arange(len(order))] = 0.0
        total: Column = share * lent.sum(axis=1)
        return total

    return pool.column(of)


def goal(pool: Pool) -> Column | None:
    """Whether its scope is the one asked about: by its name, by identifiers said in it, by its steps most alike."""
    if pool.selection.made_by is not FilterMaker.WORDS:
        called, led = frozenset[str](), ""
    else:
        names = pool.selection.intent_filter.scopes
        called = frozenset(pool.vocabulary.canonical(LabelKind.SCOPE, name) for name in names)
        led = _leading_scope(pool)
    running = [] if pool.of_runs.task else [own for own in pool.trajectories if own.is_run]
    best = max((alike for own in running for alike in _alike(own).values()), default=0.0)

    def of(own: Trajectory) -> Column:
        column = np.array([(scope in called) + _LEADING * bool(scope and scope == led) for scope in own.scopes], float)
        if own in running and best > 0:
            alike, shares = _alike(own), _named(own, pool)
            for scope, places in own.members.items():
                column[places] += shares[scope] + alike[scope] / best
        return column

    return pool.column(of) if called or led or best > 0 else None


def _leading_scope(pool: Pool) -> str:
    """The scope with most of the votes of the steps most alike, if a model named it; empty if none has half of them.

    A model names scopes in words of its own, which a question hardly says; what it says of their steps tells more.
    """
    ordered = sorted(
        ((-one.similarity, one.snippet.trajectory, one.snippet.position, one.snippet) for one in pool.candidates),
        key=lambda each: each[:3],
    )[:_STRETCH_HITS]
    votes: dict[str, float] = {}
    voters = 0
    for place, (*_, one) in enumerate(ordered, start=1):
        if one.intent.scope and one.labeled_by and not is_local(one.labeled_by):
            name = goal_of(pool.vocabulary.canonical(LabelKind.SCOPE, one.intent.scope))
            votes[name] = votes.get(name, 0.0) + 1 / place
            voters += 1
    leading = max(votes, key=votes.__getitem__, default="")
    return leading if 2 * voters > len(ordered) and 2 * votes[leading] > sum(votes.values()) else ""


def leading_goals(pool: Pool, *, most: int) -> set[tuple[str, str]]:
    """The trajectories and names of the goals of runs that the question may be about."""
    found = [
        (_named(own, pool)[scope] + alike, own.snippets[0].trajectory, scope)
        for own in pool.trajectories
        if own.is_run
        for scope, alike in _alike(own).items()
    ]
    return {(trajectory, scope) for _, trajectory, scope in sorted(found, reverse=True)[:most]}


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
    openings = 2.5 * np.isin(np.arange(len(own.snippets)), list(own.openings))
    if read.task:
        return openings
    worth[Kind.CALL] += 0.25 * read.action
    worth[Kind.AGENT] += 0.3 * read.action
    worth[Kind.USER] += 0.4 * read.cause - 0.25 * (read.action or read.result)
    worth[Kind.RESULT] += 0.4 * (read.result and not read.state)  # how a thing stands is told by what changed it
    gains = np.array([worth[kind] for kind in own.kinds]) + (openings if read.requests else 0.0)
    for place, one in enumerate(own.snippets):
        if read.cause and "explain" in one.intent.event_types:
            gains[place] += 0.4
        if read.error and own.kinds[place] is not Kind.SETUP and place not in own.openings and failed(one):
            gains[place] += 0.7
        if read.calls:
            call = _call_of(own, place)
            gains[place] += (call is not None and changes(own.snippets[call])) * (1.0 if call == place else 0.7)
    return gains


def _call_of(own: Trajectory, place: int) -> int | None:
    """The place of a call itself, or of the call that a result answers."""
    at = place
    while own.kinds[at] is Kind.RESULT and at and own.positions[at - 1] == own.positions[at] - 1:
        at -= 1
    return at if own.kinds[at] is Kind.CALL else None


def late(pool: Pool) -> Column | None:
    """How late in its scope it stands, where the last is asked for, or how early; in long runs the end tells more."""
    order, read = pool.question.order, pool.of_runs

    def of(own: Trajectory) -> Column | None:
        asked, column = float(order), np.zeros(len(own.snippets))
        if own.is_run:
            if read.task:
                return None
            asked = 1.5 * float(np.sign(order + read.last - read.first))
        elif not order:
            return None
        for places in own.members.values():
            end = 0.5 * min(1.0, max(0, len(places) - 2) / _LONG_GOAL) if own.is_run else 0.0
            column[places] = (asked + end) * np.linspace(0.0, 1.0, len(places))
        if own.is_run and read.identifiers and (read.state or read.last):
            column += _newest(own, pool)
        return column

    return pool.column(of)


def _newest(own: Trajectory, pool: Pool) -> Column:
    """How late the goal of a step began, among those with the identifiers of which the question asks how they stand."""
    column = np.zeros(len(own.snippets))
    named = [scope for scope, share in _named(own, pool).items() if share]
    for place, scope in enumerate(sorted(named, key=lambda scope: own.members[scope][0]), start=1):
        column[own.members[scope]] = 1.2 * place / len(named)
    return column


def speaker(pool: Pool) -> Column | None:
    """Whether the question names who said it; of the asker's own matters, a user among long replies."""
    folded, called = pool.question.folded, pool.selection.speaker

    def of(own: Trajectory) -> Column | None:
        roles = {one.role for one in own.snippets}
        speakers = (called and called_roles(called, roles)) or named_speakers(folded, roles)
        if speakers:
            return np.array([float(one.role in speakers) for one in own.snippets])
        return _own_matters(own) if asks_of_own_matters(folded) else None

    return pool.column(of)


def _own_matters(own: Trajectory) -> Column | None:
    """A short reply may well be what an agent did for the user, and what tools returned is about them, too."""
    by_user = np.array([one.role.casefold() in USERS for one in own.snippets])
    lengths = [len(one.text) for one, mine in zip(own.snippets, by_user, strict=True) if not mine]
    if not by_user.any() or not lengths or any(one.origin is Origin.TOOL for one in own.snippets):
        return None
    return 2.0 * max(0.0, 1.0 - _SHORT_CHARS / max(float(np.median(lengths)), 1.0)) * by_user


_THAT_DAY = re.compile(
    r"\b(?:today|tonight|this (?:morning|afternoon|evening)|just (?:got|came|returned|finished|had|bought|received"
    r"|started|attended|planted|made|took|went)|heute|hoy|aujourd['’]hui|hoje|oggi|vandaag|dzisiaj|bugün)\b|今日|今天",
    re.IGNORECASE,
)
"""Ways to tell what happened on the very day."""


def time(pool: Pool) -> Column | None:
    """Whether it happened when the question says; more if it tells what happened on that very day."""
    spans = pool.question.spans
    if not spans:
        return None

    def of(one: MemorySnippet) -> float:
        day = day_of(one.happened)
        share = 0.0 if day is None else max(span.share(day) for span in spans)
        told = share > 0 and one.role.casefold() not in REPLIES and _THAT_DAY.search(one.text) is not None
        return (2 * share + told) / 3

    return np.array([of(one.snippet) for one in pool.candidates])


_ASKS = ("?", "？", "؟")
_OF_ASKING = frozenset(("ask", "asks", "asked", "asking", "question", "questions"))


def asking(pool: Pool) -> Column | None:
    """A loss of what is short and does nothing but ask, in talks: the answer stands in another step."""
    if not _OF_ASKING.isdisjoint(pool.question.folded.split()):
        return None

    def of(own: Trajectory) -> Column | None:
        if own.is_run:
            return None
        return np.array([-float(len(o.text) < _ASKING_CHARS and o.text.rstrip().endswith(_ASKS)) for o in own.snippets])

    return pool.column(of)


_ASSISTANTS = frozenset(("assistant", "agent", "ai", "bot", "model", "llm", "system", "developer"))
"""Who repeats what he was told to do, or is told it beforehand; anybody else may be meant."""
_ASKS_FOR_HELP = re.compile(
    r"\bhow (?:should|can|could|do|would|might) (?:i|we|one)\b|\bhow to\b|\b(?:can|could|would|will) you\b"
    r"|\b(?:what|which|where|who|when)\b[^.?!]{0,60}\b(?:should|could|can|would) (?:i|we)\b|\bshould (?:i|we)\b"
    r"|\b(?:any|some|more|a few|your) (?:\w+ ){0,2}(?:tips?|ideas?|advice|suggestions?|recommendations?)\b"
    r"|\bwhat(?:'s| is| are| would be) (?:some|the best|a good|the different ways|good)\b"
    r"|\b(?:recommend|suggest|advise)\b|\bhelp (?:me|us)\b"
    r"|\bplease (?:explain|show|write|give|make|create|list|draft|tell|help|find|check|plan)\b"
    r"|\b(?:i'm|i am|we're|we are) (?:planning|trying|thinking|looking|going|working)\b"
    r"|\b(?:i|we) (?:want|need|would like|'d like) to\b|\b(?:i'd|we'd) like to\b|\blet's\b|\bdo you think\b",
    re.IGNORECASE,
)
_INSTRUCTS = re.compile(
    r"(?:^|[.!?:;\n,]\s{0,3}|\b(?:please|and|but|so|also|to)\s{1,3})"
    r"(?:always|never|from now on|going forward|whenever)\b"
    r"|\bwhen(?:ever)? (?:i|we) (?:ask|mention|talk|say|request|discuss|want|need)\b"
    r"|\b(?:remember|make sure|be sure) (?:to always|to never|you always|you never)\b",
    re.IGNORECASE,
)
_PREFERS = re.compile(
    r"\b(?:i|we)(?:'d| would| do)? (?:(?:really|generally|usually|personally|much|strongly|also|always|definitely) )*"
    r"(?:prefer|rather|favou?r)\b"
    r"|\bmy (?:\w+ )?(?:favou?rite|preferences?|preferred)\b",
    re.IGNORECASE,
)


def standing(pool: Pool) -> Column | None:
    """Whether somebody said in it how things shall be done, or what they like, where help or advice is asked for."""
    if not _ASKS_FOR_HELP.search(_plain(pool.request.query)):
        return None
    return np.array([_standing(one.snippet) for one in pool.candidates])


def _standing(one: MemorySnippet) -> float:
    if one.origin in (Origin.TOOL, Origin.DOCUMENT) or _ASSISTANTS.intersection(one.role.casefold().split()):
        return 0.0
    said = _plain(one.text)
    return 1.0 if _INSTRUCTS.search(said) else 0.4 if _PREFERS.search(said) else 0.0


def _plain(text: str) -> str:
    return text[:_READ_CHARS].replace("’", "'")


FEATURES: Mapping[str, Feature] = {
    "meaning": meaning,
    "words": words,
    "beside": beside,
    "stretch": stretch,
    "near": near,
    GOAL: goal,
    "kind": kind,
    "late": late,
    "speaker": speaker,
    "time": time,
    "asking": asking,
    "standing": standing,
}
"""All features, by the names of their parts of a score."""
