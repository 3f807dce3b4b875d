"""A question and its answer, or a call and its result, taken as one where a fact is asked of something that is named.

"Is the Blue Door Inn well reviewed?" names the thing and "Reviewers have settled at 4.0." tells the fact: neither says
both, and the answer may have no class that anybody knows. So both steps of an exchange that names the thing count as
naming it, and each takes on what the other has more in labels and in similarity: they stand side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from stitch.core import MemorySnippet
from stitch.retrieve.rank.pool import Candidate, Pool
from stitch.text.words import words


def named(pool: Pool) -> Sequence[float] | None:
    """Whether a step, or the other step of its exchange, names the thing of which a fact is asked."""
    if not pool.question.subjects:
        return None
    naming, partners = pool.once(_naming), pool.once(_partners)
    return [pool.constants.named if own or others else 0.0 for own, others in zip(naming, partners, strict=True)]


def exchange_labels(pool: Pool) -> Sequence[float] | None:
    """By how much the other step of an exchange that names the thing matches more labels."""
    return _more(pool, lambda one: one.density) if pool.labels else None


def exchange_similarity(pool: Pool) -> Sequence[float] | None:
    """By how much the other step of an exchange that names the thing is more alike."""
    return _more(pool, lambda one: one.similarity)


def _more(pool: Pool, has: Callable[[Candidate], float]) -> list[float] | None:
    if not pool.question.subjects:
        return None
    numbers = [has(one) for one in pool.candidates]
    return [
        max([own, *(numbers[other] for other in others)]) - own
        for own, others in zip(numbers, pool.once(_partners), strict=True)
    ]


def _naming(pool: Pool) -> list[bool]:
    subjects = [(name, name.split()) for name in pool.question.subjects]
    return [_names(subjects, one.snippet.resolved) for one in pool.candidates]


def _partners(pool: Pool) -> list[list[int]]:
    """For every candidate the numbers of the others that it makes an exchange with of which a step names the thing."""
    naming = pool.once(_naming)
    numbers = {(one.snippet.trajectory, one.snippet.position): number for number, one in enumerate(pool.candidates)}
    partners: list[list[int]] = [[] for _ in pool.candidates]
    for (trajectory, position), number in numbers.items():
        answer = numbers.get((trajectory, position + 1))
        if answer is None or not (naming[number] or naming[answer]):
            continue
        if _belong_together(pool.candidates[number].snippet, pool.candidates[answer].snippet):
            partners[number].append(answer)
            partners[answer].append(number)
    return partners


def _belong_together(first: MemorySnippet, second: MemorySnippet) -> bool:
    """Whether the second of two steps, one right after the other, replies to the first; not all who ask say "?"."""
    return first.role != second.role and first.session == second.session


def _names(subjects: Sequence[tuple[str, Sequence[str]]], text: str) -> bool:
    """Whether a text says one of these names, which come with their words."""
    folded = text.lower()
    said = ""
    for name, parts in subjects:
        for word in parts:  # to fold all words of a text takes far longer than to see that one of the name is not in it
            if word not in folded:
                break
        else:
            said = said or f" {' '.join(words(text))} "
            if f" {name} " in said:
                return True
    return False
