"""The scope that a question asks about, where no model chose: that in which most of the steps most like it stand.

A model names scopes in words of its own, which a question hardly says. What it says of the steps of a scope, summaries
and what they answer in other words, tells more: by that the steps are found that a question is like.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from stitch.core import IntentFilter, MemorySnippet, Selection

_HITS = 10
"""So many of the steps most like a question have a vote."""
_WITHOUT_MODEL = "local"
"""How the name of a labeler begins that asks no model."""


def is_local(labeled_by: str | None) -> bool:
    """Whether a labeler that asks no model made the labels of a step."""
    return labeled_by is not None and labeled_by.startswith(_WITHOUT_MODEL)


def scope_of_hits(snippets: Sequence[MemorySnippet]) -> Selection | None:
    """The scope that most of the first snippets carry; None unless a model or a person named the scopes of most."""
    first = snippets[:_HITS]
    by_model = (each for each in first if each.labeled_by and not is_local(each.labeled_by))
    named = [each.intent.scope for each in by_model if each.intent.scope]
    if 2 * len(named) <= len(first):
        return None
    ((scope, count),) = Counter(named).most_common(1)
    reason = f"likely scope {scope!r}: {count} of the {len(first)} steps most like the question are in it"
    return Selection(IntentFilter(scopes=(scope,)), (reason,), likely=True)
