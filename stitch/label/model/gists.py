"""The gist of a scope in a line of a prompt: what opened it, what was proposed in it in order, and what was last."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from stitch.label.model.quoting import cut_at_sentence
from stitch.text.words import stems

_PROPOSING = frozenset(stems("propose suggest offer recommend proposal suggestion recommendation"))
_GIVING = frozenset(stems("make give present list name show bring"))
_PROPOSALS = frozenset(stems("proposal suggestion offer recommendation option alternative"))
_MOST_OFFERS = 5
_PART_CHARS = 160


@dataclass
class Gist:
    """The running gist of a scope, from the summaries of its steps: "the second one" counts what was offered."""

    opened: str = ""
    offers: list[str] = field(default_factory=list)
    """Proposals in order; the first few, for these are what ordinals count."""
    last: str = ""
    used: int = 0
    """The position of its last step."""

    def note(self, summary: str, events: Iterable[str], *, position: int) -> None:
        """Take in a step of the scope; one without a summary tells nothing."""
        self.used = position
        summary = cut_at_sentence(summary, limit=_PART_CHARS)
        if not summary:
            return
        self.opened = self.opened or summary
        self.last = summary
        if len(self.offers) < _MOST_OFFERS and any(map(_proposes, events)):
            self.offers.append(summary)

    def text(self, *, limit: int) -> str:
        """The gist in at most so many characters: what was last, then what opened it and what was proposed in it."""
        last = cut_at_sentence(self.last, limit=limit)
        offers = self.offers if len(self.offers) > 1 else []
        parts = [self.opened] if self.opened not in (*offers, self.last) else []
        parts += [f"{n}) {offer}" for n, offer in enumerate(offers, start=1)]
        end = [] if last in offers and len(" ".join(parts)) <= limit else [last]
        while parts and len(" ".join([*parts, *end])) > limit:
            parts.pop()
            end = [last]
        return " ".join([*parts, *end])


def _proposes(event: str) -> bool:
    """Whether an act puts something up for choice: to list options does, to list files, or to accept an offer, not."""
    first, *rest = stems(event) or [""]
    return first in _PROPOSING or (first in _GIVING and not _PROPOSALS.isdisjoint(rest))
