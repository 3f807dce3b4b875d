"""Decisions: the last word on a matter, and steps that decide in so many words though no label says so."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

from stitch.core import Label, LabelKind, MemorySnippet
from stitch.retrieve.rank.hinted import in_time
from stitch.retrieve.rank.pool import Pool
from stitch.text.languages import content_stems

DECIDE = Label(LabelKind.EVENT_TYPE, "decide")
_DECIDES = re.compile(
    r"\b(?:(?:i|we)(?:'ll| will| shall)? (?:take|choose|chose|pick|picked|decided?|settle on|book|(?:go|went) with)"
    r"|(?:i|we)(?:'ve| have) (?:decided|chosen|settled|picked)"
    r"|(?:let's|let us) (?:settle on|go with|take|choose|do|book)"
    r"|(?:my|our|the) (?:(?:final|new|last) )?(?:choice|decision|pick) (?:is|will be)"
    r"|(?:change|changed|changing) (?:my|our) minds?"
    r"|instead of|(?:is|it's) (?:settled|decided)|(?:revise|replace|cross out|forget|undo|drop)\b[^.?!]{0,60}"
    r"\b(?:decision|choice|pick(?:ed)?|booking|one|chosen|before))\b",
    re.IGNORECASE,
)
"""How a decision, or its revision, is put by whoever makes it."""
_OF_DECIDING = "settle settled end ended decide decided decision choose chose chosen choice pick final last"
"""What every decision may say, whatever the matter."""
_READ_CHARS = 1_000
_ACTS = frozenset(("decide", "accept", "accept offer", "affirm", "confirm", "book"))
"""Acts by which something is settled."""


def decides(pool: Pool) -> Sequence[float] | None:
    """What the label *decide* would add, of steps whose words decide and that lack it: few decisions are labeled so."""
    deciding = frozenset([pool.vocabulary.canonical_label(DECIDE)]) & pool.labels
    if not deciding:
        return None
    return [
        pool.density_of(one.matched | deciding) - one.density
        if not deciding <= one.matched and says_decision(one.snippet)
        else 0.0
        for one in pool.candidates
    ]


def decision(pool: Pool) -> Sequence[float] | None:
    """Whether it is a decision on the matter, where the last or the first one is asked for, and whether it is that one.

    A choice is often revised, and the words of the question are those of every decision on it: the one that stands is
    the last. What is said of another matter (another day, another meal) settles nothing here.
    """
    if not pool.hints.decision:
        return None
    asked = frozenset(content_stems(pool.hints.text)) - frozenset(content_stems(_OF_DECIDING))
    about = {
        # As it was said, too: "the third hotel" says what "Briareus Inn" does not.
        number: asked.intersection(content_stems(_said_of(one.snippet)))
        for number, one in enumerate(pool.candidates)
        if _ACTS.intersection(one.snippet.intent.event_types) or says_decision(one.snippet)
    }
    said = Counter(term for own in about.values() for term in own)
    told = {n: math.fsum(math.log((len(about) + 1) / said[term]) for term in own) for n, own in about.items()}
    best = max(told.values(), default=0.0)
    least = pool.constants.on_the_matter * best
    on_it = [number for number in pool.once(in_time) if best and told.get(number, 0.0) >= least]
    gains = [0.0] * len(pool.candidates)
    for number in on_it:
        gains[number] = pool.constants.decision / 2
    for number in on_it[-1:] if pool.hints.order > 0 else on_it[:1]:
        gains[number] = pool.constants.decision
    return gains


def says_decision(snippet: MemorySnippet) -> bool:
    """Whether a step makes or revises a decision in so many words, whatever its labels."""
    return _DECIDES.search(snippet.text[:_READ_CHARS]) is not None


def _said_of(snippet: MemorySnippet) -> str:
    return " ".join((snippet.text[:_READ_CHARS], snippet.resolved[:_READ_CHARS], snippet.intent.scope or ""))
