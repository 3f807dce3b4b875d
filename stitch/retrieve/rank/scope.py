"""The scope in which the steps most like a question stand: what says where to look, where no model chose.

A model names scopes in words of its own, which a question hardly says. What it says of the steps of a scope, summaries
and what they answer in other words, tells more: by that the steps are found that a question is like.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from stitch.core import ContextualIntent, FilterMaker, LabelKind
from stitch.retrieve.rank.pool import Pool

_HITS = 10
"""So many of the steps most like a question have a vote: the first a whole one, the second half of one, and so on."""
_WITHOUT_MODEL = "local"
"""How the name of a labeler begins that asks no model."""


def is_local(labeled_by: str | None) -> bool:
    """Whether a labeler that asks no model made the labels of a step."""
    return labeled_by is not None and labeled_by.startswith(_WITHOUT_MODEL)


def scope(pool: Pool) -> Sequence[float] | None:
    """What it adds to stand in the scope that has most of the votes of the steps most like the question, if a model
    named their scopes; nothing if none has more than half of them.
    """
    if pool.selection.made_by is not FilterMaker.WORDS:
        return None
    ordered = sorted(pool.candidates, key=lambda one: (-one.similarity, one.snippet.trajectory, one.snippet.position))
    first = [one.snippet for one in ordered[:_HITS]]
    votes, voters = defaultdict[str | None, float](float), 0
    for place, each in enumerate(first, start=1):
        if each.intent.scope and each.labeled_by and not is_local(each.labeled_by):
            votes[_scope_of(each.intent, pool)] += 1 / place
            voters += 1
    leading = max(votes, key=lambda name: votes[name], default=None)
    if 2 * voters <= len(first) or 2 * votes[leading] <= sum(votes.values()):
        return None
    gain = pool.constants.scope_of_hits
    return [gain if _scope_of(one.snippet.intent, pool) == leading else 0.0 for one in pool.candidates]


def _scope_of(intent: ContextualIntent, pool: Pool) -> str | None:
    return intent.scope and pool.vocabulary.canonical(LabelKind.SCOPE, intent.scope)
