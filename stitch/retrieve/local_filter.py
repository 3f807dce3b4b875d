"""The choice of the filter F_q without a model: a label is chosen only if the question licenses it (Appendix D).

A question licenses a scope by its whole name ("of the bank import") or by the unit with which its name begins ("for
day 1"), and classes of values by what it asks for ("what did it cost"). Labels chosen so never decide: they are
evidence beside similarity.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stitch.core import IntentFilter, LabelInventory, LabelKind, LabelVocabulary, SearchRequest, Selection
from stitch.core.text_cache import register_cache, text_cache
from stitch.retrieve.question import read_request
from stitch.text.words import FUNCTION_WORDS, stem, words

_MOST_SCOPES = 12
"""If more scopes are called by what a question says, it does not tell them apart."""


class LocalFilterSelector:
    """Chooses labels by what a question and the label inventory share, without a model."""

    def __init__(self) -> None:
        self._last = _Names(LabelInventory())
        """Of the last inventory, for most questions find what was there before."""
        register_cache(self)

    def forget_trajectory(self, trajectory: str, *, tenant: str) -> None:
        """Forget the names of scopes."""
        self._last = _Names(LabelInventory())

    def select(self, request: SearchRequest, inventory: LabelInventory) -> Selection:
        """Return the labels that the question licenses; an empty filter if it licenses none."""
        question = read_request(request)
        if self._last.inventory is not inventory:
            self._last = _Names(inventory)
        scopes = dict(self._last.called(question.folded.split()))
        if len(scopes) > _MOST_SCOPES:
            scopes = {}
        entity_types = dict.fromkeys(
            filter(inventory.entity_types.__contains__, map(self._last.of_class, sorted(question.classes)))
        )
        reasons = (
            *(f"scope {name!r}: the question names {said!r}" for name, said in scopes.items()),
            *(f"likely entity type {name!r}: what is asked for may be of this class" for name in entity_types),
        )
        return Selection(IntentFilter(scopes=tuple(scopes), entity_types=tuple(entity_types)), reasons)


class _Names:
    """The names of scopes in an inventory, by their stems, and how it calls the classes of values."""

    def __init__(self, inventory: LabelInventory) -> None:
        self.inventory = inventory
        self._classes = LabelVocabulary(each for each in inventory.merges if each.kind is LabelKind.ENTITY_TYPE)
        self._scopes: dict[tuple[str, ...], list[tuple[int, str]]] = {}
        """With the number of each, for those that are called together come in the order of the inventory."""
        for number, scope in enumerate(dict.fromkeys(scope.name for scope in inventory.scopes)):
            if stems := _told_name(scope):
                self._scopes.setdefault(stems, []).append((number, scope))
        self._lengths = frozenset(map(len, self._scopes))

    def of_class(self, name: str) -> str:
        """The entity type as which a class of values is read."""
        return self._classes.canonical(LabelKind.ENTITY_TYPE, name)

    def called(self, said: Sequence[str]) -> Iterator[tuple[str, str]]:
        """The scopes whose whole name stands among the words of a question, each with what it says."""
        stemmed = tuple(map(stem, said))
        for place in range(len(stemmed)):
            ends = [place + length for length in self._lengths if place + length <= len(stemmed)]
            found = [(*one, end) for end in ends for one in self._scopes.get(stemmed[place:end], ())]
            for _, scope, end in sorted(found):
                yield scope, " ".join(said[place:end])


@text_cache(maxsize=16_384)
def _told_name(scope: str) -> tuple[str, ...]:
    """The stems of the name of a scope, where they tell it: several words, not all of which are function words.

    Of a name that begins with a unit, those of that unit: "day 1" of "day 1 itinerary".
    """
    said = words(scope)
    if len(said) > 1 and said[0].isalpha() and said[1].isdigit():
        said = said[:2]
    return tuple(map(stem, said)) if len(said) > 1 and not FUNCTION_WORDS.issuperset(said) else ()
