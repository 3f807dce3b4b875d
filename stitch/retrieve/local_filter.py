"""The choice of the filter F_q without a model: a label is chosen only if the question licenses it (Appendix D).

A question licenses a scope by its whole name ("of the bank import") or by the unit with which its name begins ("for
day 1"), and classes of values by what it asks for ("what did it cost"). Labels chosen so never decide: they are
evidence beside similarity.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from stitch.core import IntentFilter, LabelInventory, LabelKind, LabelVocabulary, SearchRequest, Selection
from stitch.core.text_cache import register_cache, text_cache
from stitch.retrieve.question import Question, read_request
from stitch.text.words import FUNCTION_WORDS, stem, words

_MOST_SCOPES = 12
"""If more scopes are called by what a question says, it does not tell them apart."""


class _Known(NamedTuple):
    """An inventory prepared for matching."""

    inventory: LabelInventory
    names: Mapping[str, Mapping[tuple[str, ...], list[str]]]
    """Scopes by the stems of their names, and these by the first of them."""
    vocabulary: LabelVocabulary


_NO_NAMES: Mapping[tuple[str, ...], list[str]] = {}
_NOTHING = _Known(LabelInventory(), {}, LabelVocabulary())


class LocalFilterSelector:
    """Chooses labels by what a question and the label inventory share, without a model."""

    def __init__(self) -> None:
        self._last = _NOTHING
        """Of the last inventory: most questions find what was there before."""
        register_cache(self)

    def forget_trajectory(self, trajectory: str, *, tenant: str) -> None:
        """Forget the names of scopes."""
        self._last = _NOTHING

    def select(self, request: SearchRequest, inventory: LabelInventory) -> Selection:
        """Return the labels that the question licenses; an empty filter if it licenses none."""
        question = read_request(request)
        scopes = dict(self._called(question, inventory))
        if len(scopes) > _MOST_SCOPES:
            scopes = {}
        vocabulary = self._known(inventory).vocabulary
        classes = sorted(question.classes.intersection(inventory.entity_types))
        entity_types = dict.fromkeys(vocabulary.canonical(LabelKind.ENTITY_TYPE, name) for name in classes)
        reasons = (
            *(f"scope {name!r}: the question names {said!r}" for name, said in scopes.items()),
            *(f"likely entity type {name!r}: what is asked for may be of this class" for name in entity_types),
        )
        return Selection(
            IntentFilter(scopes=tuple(scopes), entity_types=tuple(entity_types)),
            reasons,
        )

    def _called(self, question: Question, inventory: LabelInventory) -> Iterator[tuple[str, str]]:
        """The scopes whose whole name stands in the question, each with what it says."""
        names, said = self._known(inventory).names, [stem(word) for word in question.folded.split()]
        for place, first in enumerate(said):
            for name, scopes in names.get(first, _NO_NAMES).items():
                if tuple(said[place : place + len(name)]) == name:
                    called = " ".join(question.folded.split()[place : place + len(name)])
                    yield from ((scope, called) for scope in scopes)

    def _known(self, inventory: LabelInventory) -> _Known:
        known = self._last
        if known.inventory is not inventory:
            names: dict[str, dict[tuple[str, ...], list[str]]] = {}
            for scope in {scope.name: None for scope in inventory.scopes}:
                if stems := _told_name(scope):
                    names.setdefault(stems[0], {}).setdefault(stems, []).append(scope)
            known = self._last = _Known(inventory, names, inventory.vocabulary())
        return known


@text_cache(maxsize=16_384)
def _told_name(scope: str) -> tuple[str, ...]:
    """The stems of the name of a scope, where they tell it: several words, not all of which are function words.

    Of a name that begins with a unit, those of that unit: "day 1" of "day 1 itinerary".
    """
    said = words(scope)
    if len(said) > 1 and said[0].isalpha() and said[1].isdigit():
        said = said[:2]
    return tuple(map(stem, said)) if len(said) > 1 and not FUNCTION_WORDS.issuperset(said) else ()
