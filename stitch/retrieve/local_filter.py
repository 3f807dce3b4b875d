"""The choice of the filter F_q without a model: a label is chosen only if the question licenses it (Appendix D).

A question licenses a scope by its whole name ("of the bank import") or by the unit with which its name begins ("for
day 1"), and classes of values by what it asks for ("what did it cost"). Labels chosen so never decide: they are
evidence beside similarity.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stitch.core import IntentFilter, LabelInventory, LabelKind, SearchRequest, Selection
from stitch.core.text_cache import register_cache, text_cache
from stitch.retrieve.question import read_request
from stitch.text.words import FUNCTION_WORDS, stem, words

_MOST_SCOPES = 12
"""If more scopes are called by what a question says, it does not tell them apart."""


class LocalFilterSelector:
    """Chooses labels by what a question and the label inventory share, without a model."""

    def __init__(self) -> None:
        self._last: tuple[LabelInventory, dict[str, list[tuple[tuple[str, ...], str]]]] = LabelInventory(), {}
        """The last inventory, for most questions find what was there before; and its scopes with the stems of their
        names, by the first of these."""
        register_cache(self)

    def forget_trajectory(self, trajectory: str, *, tenant: str) -> None:
        """Forget the names of scopes."""
        self._last = LabelInventory(), {}

    def select(self, request: SearchRequest, inventory: LabelInventory) -> Selection:
        """Return the labels that the question licenses; an empty filter if it licenses none."""
        question = read_request(request)
        scopes = dict(self._called(question.folded.split(), inventory))
        if len(scopes) > _MOST_SCOPES:
            scopes = {}
        entity_types = dict.fromkeys(
            inventory.vocabulary().canonical(LabelKind.ENTITY_TYPE, name)
            for name in sorted(question.classes.intersection(inventory.entity_types))
        )
        reasons = (
            *(f"scope {name!r}: the question names {said!r}" for name, said in scopes.items()),
            *(f"likely entity type {name!r}: what is asked for may be of this class" for name in entity_types),
        )
        return Selection(IntentFilter(scopes=tuple(scopes), entity_types=tuple(entity_types)), reasons)

    def _called(self, said: Sequence[str], inventory: LabelInventory) -> Iterator[tuple[str, str]]:
        """The scopes whose whole name stands among the words of a question, each with what it says."""
        if self._last[0] is not inventory:
            names: dict[str, list[tuple[tuple[str, ...], str]]] = {}
            for scope in dict.fromkeys(scope.name for scope in inventory.scopes):
                if stems := _told_name(scope):
                    names.setdefault(stems[0], []).append((stems, scope))
            self._last = inventory, names
        stemmed = tuple(map(stem, said))
        for place, first in enumerate(stemmed):
            for name, scope in self._last[1].get(first, ()):
                if stemmed[place : place + len(name)] == name:
                    yield scope, " ".join(said[place : place + len(name)])


@text_cache(maxsize=16_384)
def _told_name(scope: str) -> tuple[str, ...]:
    """The stems of the name of a scope, where they tell it: several words, not all of which are function words.

    Of a name that begins with a unit, those of that unit: "day 1" of "day 1 itinerary".
    """
    said = words(scope)
    if len(said) > 1 and said[0].isalpha() and said[1].isdigit():
        said = said[:2]
    return tuple(map(stem, said)) if len(said) > 1 and not FUNCTION_WORDS.issuperset(said) else ()
