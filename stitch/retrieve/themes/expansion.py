"""Stage II: more of what was chosen, one stretch after the other, while it lowers uncertainty.

Of the episodes of which something was chosen first, the rest of the steps that were chosen is looked at, then the steps
beside them. Each is judged together with all that was kept before, and kept if uncertainty falls by more than `least`:
`H(before) - H(with it) > least >= 0`. The paper's code judges each alone, and keeps what does not harm (§4.3).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from stitch.core import Decision
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
) -> Expanded:
    """Put more of the first episodes behind what was chosen first, as far as it pays.

    Args:
        order: What Stage I chose, by numbers of sentences.
        told: The sentences.
        question: What is asked.
        gate: Tells how uncertain the answer is.
        head_tokens: So much of the order stands before anything is put in.
        episodes: Of so many episodes at most more is looked at.
        least: By how much uncertainty has to fall; not below 0.
        beside: What stands beside a sentence; nothing by default.
    """
    head = _head(order, told, head_tokens)
    base = [told.sentences[each].text for each in head]
    before = gate.uncertainty(question, base)
    kept, decisions = list(head), list[Decision]()
    of_step: dict[str, list[int]] = {}
    for place in range(len(told.sentences)):
        of_step.setdefault(_step(told, place), []).append(place)
    for name, sentences in _episodes(head, told, most=episodes).items():
        rest = [place for step in dict.fromkeys(_step(told, each) for each in sentences) for place in of_step[step]]
        around = [place for each in sentences for place in beside(each)]
        for what, offered in (("the rest of its steps", rest), ("the steps beside", around)):
            more = _new(offered, kept, told, most_tokens=head_tokens)
            if not more:
                continue
            texts = [*base, " ".join(told.sentences[place].text for place in more)]
            after = gate.uncertainty(question, texts)
            gain = before.value - after.value
            figures = {"before": before.value, "after": after.value, "gain": gain, "kept": float(gain > least)}
            decisions.append(Decision("stage II", figures, f"{what} of episode {name}, by {after.method}"))
            if gain <= least:
                break
            kept += more
            base, before = texts, after
    there = set(kept)
    summed = {"base": before.value, "looked_at": float(len(decisions)), "added": float(len(kept) - len(head))}
    return Expanded(
        (*kept, *(each for each in order if each not in there)),
        (Decision("gate", summed, before.method), *decisions),
    )


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
        said = told.statements[told.sentences[each].of]
        found.setdefault(said.statement.episode if said.statement else said.step, []).append(each)
    return dict(list(found.items())[:most])


def _step(told: Told, sentence: int) -> str:
    return told.statements[told.sentences[sentence].of].step
