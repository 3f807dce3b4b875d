"""Features: what speaks for a candidate beside label density. Their weighted sum makes the order (`order.WEIGHTED`).

Each is a number of a candidate, about 0 to 1, and asks about its surroundings in its own trajectory alone, but for what
a user says again or anew in another talk. Weights are in `weights.json`, which `python -m stitch.bench.fit ranking`
makes; what each brings on sets that were left out is told in `bench/results/ranking.md`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import compress
from typing import TYPE_CHECKING

import numpy as np

from stitch.core import MemorySnippet, Origin
from stitch.core.ranking import GOAL
from stitch.retrieve.candidates import SHORT_CHARS, Pool
from stitch.retrieve.goals import goal, kind, late, only_asks
from stitch.retrieve.nearness import near
from stitch.retrieve.speakers import USERS, asks_of_own_matters, called_roles, named_speakers
from stitch.text.dates import day_of
from stitch.text.words import FUNCTION_WORDS
from stitch.text.words import words as words_of

if TYPE_CHECKING:
    from stitch.retrieve.candidates import Column

Feature = Callable[[Pool], "Column | None"]
"""One number a candidate, more for better, in whatever order they come; None if the question gives no cause."""

_LEAST_COSINE, _LEAST_LEXICAL = 0.3, 0.1
"""Best scores below these tell little: the others are compared with these instead."""
_READ_CHARS = 1_000
_REPEATS = 2.0
"""So many times as much loses what asks and says no word but those of the question, and what is said again."""


def meaning(pool: Pool) -> Column | None:
    """Cosine of question and step beside the best one's: the same thing said in other words."""
    return _beside_best([one.cosine for one in pool.candidates], least=_LEAST_COSINE)


def words(pool: Pool) -> Column | None:
    """BM25 of question and step beside the best one's: names, numbers and rare words."""
    return _beside_best([one.lexical for one in pool.candidates], least=_LEAST_LEXICAL)


def _beside_best(scores: Sequence[float], *, least: float) -> Column | None:
    """Scores beside the best one; where even that is low, beside a least one, for then none tells much."""
    column = np.maximum(scores, 0.0)
    return column / max(column.max(), least) if column.any() else None


def beside(pool: Pool) -> Column | None:
    """Lead in similarity of the step before or after: an answer repeats little of its question."""
    column, similarities = np.zeros(len(pool.candidates)), pool.similarities
    for place in compress(range(len(column)), pool.follows):
        if pool.snippets[place].session != pool.snippets[place - 1].session:
            continue
        lead = similarities[place - 1] - similarities[place]
        column[place] = max(column[place], lead)
        column[place - 1] = max(column[place - 1], -lead)
    return column


def speaker(pool: Pool) -> Column | None:
    """Whether the question names who said it; of the asker's own matters, a user among long replies."""
    folded, called = pool.question.folded, pool.selection.speaker
    own_matters = asks_of_own_matters(folded)
    found: dict[frozenset[str], frozenset[str]] = {}
    column, told = np.zeros(len(pool.candidates)), False
    for own, roles in zip(pool.trajectories, pool.roles, strict=True):
        if roles not in found:
            found[roles] = (called_roles(called, roles) if called else None) or named_speakers(folded, roles)
        if speakers := found[roles]:
            column[own], told = [one.role in speakers for one in pool.snippets[own]], True
        elif own_matters and (said := _own_matters(pool.snippets[own])) is not None:
            column[own], told = said, True
    return column if told else None


def _own_matters(snippets: Sequence[MemorySnippet]) -> Column | None:
    """A short reply may well be what an agent did for the user, and what tools returned is about them, too."""
    by_user = np.array([one.role.casefold() in USERS for one in snippets])
    lengths = [len(one.text) for one, mine in zip(snippets, by_user, strict=True) if not mine]
    if not by_user.any() or not lengths or any(one.origin is Origin.TOOL for one in snippets):
        return None
    return 2.0 * max(0.0, 1.0 - SHORT_CHARS / max(float(np.median(lengths)), 1.0)) * by_user


def time(pool: Pool) -> Column | None:
    """Whether it happened when the question says."""
    spans = pool.question.spans
    if not spans:
        return None
    days = [day_of(one.happened) for one in pool.snippets]
    return np.array([0.0 if day is None else max(span.share(day) for span in spans) for day in days])


def asking(pool: Pool) -> Column | None:
    """A loss of what is short and does nothing but ask, in talks: the answer stands in another step.

    What asks the very question, as in an earlier talk, loses what it is alike for, and so does what somebody says again
    in a later talk, word for word: it comes from the last of them.
    """
    if pool.running.all():
        return None
    asked = FUNCTION_WORDS.union(words_of(pool.request.query))
    losses = np.array([_asks(one, asked) for one in pool.snippets])
    if len(pool.trajectories) > 1:
        losses[_said_again(pool.snippets)] = _REPEATS
    return -losses * ~pool.in_runs


def _said_again(snippets: Sequence[MemorySnippet]) -> list[bool]:
    """Marks of those that the same speaker says again in a later talk."""
    last = {(one.role, one.text): one.trajectory for one in sorted(snippets, key=lambda one: one.recorded)}
    return [last[one.role, one.text] != one.trajectory for one in snippets]


def _asks(one: MemorySnippet, asked: frozenset[str]) -> float:
    if not only_asks(one):
        return 0.0
    said = words_of(one.text)
    return _REPEATS if asked.issuperset(said) and not FUNCTION_WORDS.issuperset(said) else 1.0


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
    return np.array([float(_stands(one)) for one in pool.snippets])


def _stands(one: MemorySnippet) -> bool:
    if one.origin in (Origin.TOOL, Origin.DOCUMENT) or _ASSISTANTS.intersection(one.role.casefold().split()):
        return False
    said = _plain(one.text)
    return _INSTRUCTS.search(said) is not None or _PREFERS.search(said) is not None


def _plain(text: str) -> str:
    return text[:_READ_CHARS].replace("’", "'")


FEATURES: Mapping[str, Feature] = {
    "meaning": meaning,
    "words": words,
    "beside": beside,
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
