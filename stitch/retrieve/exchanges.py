"""A question and its answer, or a call and its result, taken as one where a fact is asked of something that is named.

"Is the Blue Door Inn well reviewed?" names the thing and "Reviewers have settled at 4.0." tells the fact: neither says
both, and the answer may have no class that anybody knows.
"""

from __future__ import annotations

from collections.abc import Sequence

from stitch.core import MemorySnippet, ScoredSnippet
from stitch.core.ranking import ranking_key
from stitch.embed.lexical import words
from stitch.retrieve.question import Question

_ASKING_CHARS = 400
"""At the end of a step, in which somebody who asks does so."""
_NAMED = 1.0
"""What it counts beside the labels that an exchange names the thing: as much as a label."""


def join_exchanges(question: Question, hits: Sequence[ScoredSnippet]) -> list[ScoredSnippet]:
    """The hits ranked anew: both steps of an exchange that names what the question is about stand side by side.

    They get the labels of both, the greater density of the two and one more for the name, and the greater similarity.
    Everything else stays as it is, and so do all hits if the question asks no fact of something it names.
    """
    if not question.subjects:
        return list(hits)
    joined = list(hits)
    numbers = {(hit.snippet.trajectory, hit.snippet.position): number for number, hit in enumerate(hits)}
    for (trajectory, position), number in numbers.items():
        answer = numbers.get((trajectory, position + 1))
        if answer is None:
            continue
        both = hits[number], hits[answer]
        if not _belong_together(*(hit.snippet for hit in both)) or not any(_names(question, hit) for hit in both):
            continue
        for own in (number, answer):
            joined[own] = joined[own]._replace(
                density=max(joined[own].density, max(hit.density for hit in both) + _NAMED),
                matched=joined[own].matched.union(*(hit.matched for hit in both)),
                similarity=max(joined[own].similarity, *(hit.similarity for hit in both)),
            )
    return sorted(joined, key=ranking_key)


def _belong_together(first: MemorySnippet, second: MemorySnippet) -> bool:
    """Whether the second of two steps, one right after the other, answers the first."""
    if first.role == second.role or first.session != second.session:
        return False
    return "?" in first.text[-_ASKING_CHARS:] or not set(first.tools).isdisjoint(second.tools)


def _names(question: Question, hit: ScoredSnippet) -> bool:
    folded = hit.snippet.resolved.lower()
    # To fold all words of a text takes far longer than to see that one of the name is not in it.
    likely = [name for name in question.subjects if all(word in folded for word in name.split())]
    said = f" {' '.join(words(hit.snippet.resolved))} " if likely else ""
    return any(f" {name} " in said for name in likely)
