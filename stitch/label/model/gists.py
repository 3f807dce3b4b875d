"""What a prompt tells of a scope in a line: what was proposed in it, in order, and what was said in it last."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from stitch.label.model.quoting import shorten
from stitch.text.words import stems

_OFFERS = frozenset(stems("propose proposal suggest suggestion offer option recommend recommendation list"))
_MOST_OFFERS = 5
_LATEST = 2
_PART_CHARS = 110


@dataclass
class Gist:
    """The running gist of a scope, from the summaries of its steps: "the second one" counts what was offered."""

    offers: list[str] = field(default_factory=list)
    """What was proposed, in order; the first few, for these are what ordinals count."""
    last: list[str] = field(default_factory=list)
    """The summaries of the steps before, the latest last."""

    def note(self, summary: str, events: Iterable[str]) -> None:
        """Take in a step of the scope; one without a summary tells nothing."""
        summary = shorten(summary, limit=_PART_CHARS)
        if not summary:
            return
        if len(self.offers) < _MOST_OFFERS and _OFFERS.intersection(stems(" ".join(events))):
            self.offers.append(summary)
        self.last = [*self.last, summary][-_LATEST:]

    def text(self, *, limit: int) -> str:
        """The gist in at most so many characters: of a short one what was said last alone."""
        latest = self.last[-1] if self.last else ""
        if limit <= _PART_CHARS:
            return shorten(latest, limit=limit)
        offers = [offer for offer in self.offers if offer not in self.last]
        numbered = [f"{n}) {offer}" for n, offer in enumerate(self.offers, start=1)] if offers else []
        proposed = shorten(f"proposed: {' '.join(numbered)}", limit=limit - _PART_CHARS) if numbered else ""
        said = " ".join(self.last) if not proposed else latest
        return " ".join(filter(None, (proposed, shorten(said, limit=limit - len(proposed)))))
