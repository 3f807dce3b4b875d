"""Stage II: more of what was chosen, one stretch after the other, while it lowers uncertainty.

Of the episodes of which something was chosen first, the rest of the steps that were chosen is looked at, then the steps
beside them. Each is judged together with all that was kept before, and kept if uncertainty falls by more than `least`:
`H(before) - H(with it) > least >= 0`. The paper's code judges each alone, and keeps what does not harm (§4.3).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from stitch.core import Decision
from stitch.errors import ModelError
from stitch.retrieve.themes.gate import Gate
from stitch.retrieve.themes.pieces import Told

Beside = Callable[[int], Sequence[int]]
"""The sentences that stand beside that of a number, in its episode."""


class Expanded(NamedTuple):
    """An order in which more stands of what was chosen first."""

    order: tuple[int, ...]
    decisions: tuple[Decision, ...]


def expand(
    order: Sequence[int],
    told: Told,
    *,
    question: str,
    gate: Gate,
    head_tokens: int,
    episodes: int,
    least: float,
    beside: Beside = lambda sentence: (),
    in_vain_at_most: int = 2,
) -> Expanded:
    """Put more of the first episodes behind what was chosen first, as far as it pays.

    Where a model that is asked does not answer, what was kept so far stays, and the decision says so.

    Args:
        order: What Stage I chose, by numbers of sentences.
        told: The sentences.
        question: What is asked.
        gate: Tells how uncertain the answer is.
        head_tokens: So much of the order stands before anything is put in.
        episodes: Of so many episodes at most more is looked at.
        least: By how much uncertainty has to fall; not below 0.
        beside: What stands beside a sentence; nothing by default.
        in_vain_at_most: After so many looks in a row that did not pay no more is looked at.
    """
    head = _head(order, told, head_tokens)
    kept, decisions = list(head), list[Decision]()
    figures = {"base": 1.0, "looked_at": 0.0, "added": 0.0}
    try:
        base = [told.sentences[each].text for each in head]
        before = gate.uncertainty(question, base)
        figures["base"], method = before.value, before.method
        in_vain = 0
        for name, offered, what in _offers(head, told, most=episodes, beside=beside):
            if before.value <= least or in_vain == in_vain_at_most:
                break
            more = _new(offered, kept, told, most_tokens=head_tokens)
            if not more:
                continue
            texts = [*base, " ".join(told.sentences[place].text for place in more)]
            after = gate.uncertainty(question, texts)
            gain = before.value - after.value
            looked = {"before": before.value, "after": after.value, "gain": gain, "kept": float(gain > least)}
            decisions.append(Decision("stage II", looked, f"{what} of episode {name}, by {after.method}"))
            in_vain += 1
            if gain > least:
                kept += more
                base, before, in_vain = texts, after, 0
    except ModelError as error:
        method = f"the model did not tell: {error}"
    there = set(kept)
    figures.update(looked_at=float(len(decisions)), added=float(len(kept) - len(head)))
    return Expanded(
        (*kept, *(each for each in order if each not in there)), (Decision("gate", figures, method), *decisions)
    )


def _offers(head: Sequence[int], told: Told, *, most: int, beside: Beside) -> Iterator[tuple[str, list[int], str]]:
    """Of each of the first episodes what could be shown beside, nearest first."""
    of_step: dict[str, list[int]] = {}
    for place in range(len(told.sentences)):
        of_step.setdefault(_step(told, place), []).append(place)
    for name, sentences in _episodes(head, told, most=most).items():
        rest = [place for step in dict.fromkeys(_step(told, each) for each in sentences) for place in of_step[step]]
        yield name, rest, "the rest of its steps"
        yield name, [place for each in sentences for place in beside(each)], "the steps beside"


def _new(offered: Sequence[int], kept: Sequence[int], told: Told, *, most_tokens: int) -> list[int]:
    """What of it is not kept yet; nothing if it is too much."""
    more = [place for place in dict.fromkeys(offered) if place not in set(kept)]
    return more if sum(told.sentences[place].tokens for place in more) <= most_tokens else []


def _head(order: Sequence[int], told: Told, tokens: int) -> list[int]:
    head = []
    for each in order:
        tokens -= told.sentences[each].tokens
        if tokens < 0:
            break
        head.append(each)
    return head


def _episodes(head: Sequence[int], told: Told, *, most: int) -> dict[str, list[int]]:
    """What was chosen, by episode, the first chosen first; a step without statement is an episode of its own."""
    found: dict[str, list[int]] = {}
    for each in head:
        said = told.statements[told.sentences.parts[each].of]
        found.setdefault(said.statement.episode if said.statement else said.step, []).append(each)
    return dict(list(found.items())[:most])


def _step(told: Told, sentence: int) -> str:
    return told.statements[told.sentences.parts[sentence].of].step
