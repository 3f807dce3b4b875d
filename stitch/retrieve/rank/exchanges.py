"""A question and its answer, or a call and its result, taken as one where a fact is asked of something that is named.

"Is the Blue Door Inn well reviewed?" names the thing and "Reviewers have settled at 4.0." tells the fact: neither says
both, and the answer may have no class that anybody knows. What names the thing at all is as good as what has the class.
"""

from __future__ import annotations

from collections.abc import Sequence

from stitch.core import MemorySnippet, ScoredSnippet
from stitch.core.ranking import ranking_key
from stitch.retrieve.question.reading import Question
from stitch.text.words import words

_NAMED = 1.0
"""What it counts beside the labels that a step or an exchange names the thing: as much as a label."""


def join_exchanges(question: Question, hits: Sequence[ScoredSnippet]) -> list[ScoredSnippet]:
    """The hits ranked anew: what names the thing that the question is about counts one label more.

    Both steps of an exchange that names it stand side by side, with the labels of both, the greater density of the two
    and the greater similarity. All stays as it is if the question asks no fact of something it names.
    """
    if not question.subjects:
        return list(hits)
    naming = [_names(question, hit) for hit in hits]
    joined = [
        hit._replace(density=hit.density + _NAMED) if names else hit for hit, names in zip(hits, naming, strict=True)
    ]
    numbers = {(hit.snippet.trajectory, hit.snippet.position): number for number, hit in enumerate(hits)}
    for (trajectory, position), number in numbers.items():
        answer = numbers.get((trajectory, position + 1))
        if answer is None or not (naming[number] or naming[answer]):
            continue
        both = hits[number], hits[answer]
        if not _belong_together(*(hit.snippet for hit in both)):
            continue
        for own in (number, answer):
            joined[own] = joined[own]._replace(
                density=max(joined[own].density, max(hit.density for hit in both) + _NAMED),
                matched=joined[own].matched.union(*(hit.matched for hit in both)),
                similarity=max(joined[own].similarity, *(hit.similarity for hit in both)),
            )
    return sorted(joined, key=ranking_key)


def _belong_together(first: MemorySnippet, second: MemorySnippet) -> bool:
    """Whether the second of two steps, one right after the other, replies to the first; not all who ask say "?"."""
    return first.role != second.role and first.session == second.session


def _names(question: Question, hit: ScoredSnippet) -> bool:
    folded = hit.snippet.resolved.lower()
    # To fold all words of a text takes far longer than to see that one of the name is not in it.
    likely = [name for name in question.subjects if all(word in folded for word in name.split())]
    said = f" {' '.join(words(hit.snippet.resolved))} " if likely else ""
    return any(f" {name} " in said for name in likely)
