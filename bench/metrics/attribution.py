"""Gold items that stand in a context together with what ties them to the question: needs no model.

`answer_in_context` counts an item wherever it stands, so that a bare name earns as much as one of which a reader can
tell whose it is, what was done with it and when. Here an item counts if a shown step has it and one of these beside it:

- the step is gold evidence that says the item, and most of its opening sentence is shown: it says what the speaker does
  ("I cannot accept the second reason"), and the step's role says who; or
- what the question names (places, people, "day 2") stands in the step, in its scope, or in the step before, shown too.

An item that none of this could tie, because its evidence does not say it and the question names nothing, is left out.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from stitch.bench.metrics.containment import contains_normalized, normalize
from stitch.bench.metrics.scores import Score, Unscored
from stitch.text.sentences import sentences
from stitch.text.values import find_mentions

_ENDS = re.compile(r"\n(?=<step |</memory>)")
_STEP = re.compile(r"<step (\d+)([^>]*)>(.*)", re.DOTALL)
_SCOPE = re.compile(r' about (?:"(?P<quoted>[^"]*)"|(?P<plain>[^"]+?))(?= superseded | because |$)')
_NUMBERED = re.compile(r"\b[^\W\d_]+ \d{1,2}\b")
_NAMES = frozenset(("name", "place", "person", "organization"))
_MOST = 0.5
"""So much of an opening sentence says what it says."""

NOTHING_TIES = Unscored("nothing in the question or its evidence ties an item to it")


class Frame(NamedTuple):
    """An evidence step that says a gold item, and how it opens."""

    position: int
    item: str
    """Normalized."""
    opening: str
    """Normalized."""


class _Shown(NamedTuple):
    position: int
    scope: str
    text: str


def frames_of(items: Iterable[str], evidence: Iterable[tuple[int, str]]) -> Iterator[Frame]:
    """The frames of gold items, from positions and texts of evidence steps.

    Args:
        items: Normalized.
        evidence: Positions and texts of steps.
    """
    known = [(position, normalize(text), normalize(next(iter(sentences(text)), ""))) for position, text in evidence]
    for item in items:
        yield from (
            Frame(position, item, opening) for position, text, opening in known if contains_normalized(text, item)
        )


def tied_items(question: str, context: str, *, items: Sequence[str], frames: Sequence[Frame]) -> Score:
    """The share of gold items that stand in the context tied to the question.

    Args:
        question: As it was asked.
        context: As `stitch.retrieve.fit_context` renders it.
        items: Normalized.
        frames: As `frames_of` gives them.
    """
    shown, named = {step.position: step for step in _shown(context)}, _named(question)
    scores = []
    for item in items:
        own = [frame for frame in frames if frame.item == item]
        if own or named:
            scores.append(_by_frame(own, shown) or _by_name(item, named, shown))
    return sum(scores) / len(scores) if scores else NOTHING_TIES


def said_in_context(context: str) -> str:
    """What the steps of a context say, with their scopes: no number of a step is taken for an answer."""
    found = list(_steps(context))
    if not found:
        return context
    return "\n".join(
        html.unescape(f"{_scope(attributes) or ''} {text}") for _, attributes, text in (step.groups() for step in found)
    )


def _steps(context: str) -> Iterator[re.Match[str]]:
    """The number, the attributes and the text of each step; a step ends where the next begins, or the context ends."""
    return filter(None, map(_STEP.match, _ENDS.split(context)))


def _scope(told: str) -> str | None:
    """The scope that the line of a step tells; None where it is that of the line above."""
    found = _SCOPE.search(told)
    return found and (found["quoted"] or found["plain"] or "")


def _by_frame(frames: Iterable[Frame], shown: dict[int, _Shown]) -> bool:
    for frame in frames:
        step = shown.get(frame.position)
        if step is not None and contains_normalized(step.text, frame.item):
            words = frame.opening.split()
            if sum(contains_normalized(step.text, word) for word in words) >= _MOST * len(words):
                return True
    return False


def _by_name(item: str, named: Sequence[str], shown: dict[int, _Shown]) -> bool:
    if not named:
        return False
    for step in shown.values():
        if contains_normalized(step.text, item):
            before = shown.get(step.position - 1)
            beside = " ".join((step.scope, step.text, before.text if before else ""))
            if all(contains_normalized(beside, name) for name in named):
                return True
    return False


def _named(question: str) -> list[str]:
    """What a question names, normalized; a name inside a longer one is the longer one."""
    said = [normalize(own.value) for own in find_mentions(question) if own.entity_type in _NAMES]
    said += _NUMBERED.findall(normalize(question))
    found = dict.fromkeys(filter(None, said))
    return [name for name in found if not any(name != other and name in other for other in found)]


def _shown(context: str) -> Iterator[_Shown]:
    """The steps of a context; a header that says no scope has that of the step above."""
    scope = ""
    for found in _steps(context):
        if (told := _scope(found.group(2))) is not None:
            scope = normalize(html.unescape(told))
        yield _Shown(int(found.group(1)), scope, normalize(html.unescape(found.group(3))))
