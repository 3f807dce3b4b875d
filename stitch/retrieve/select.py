"""The choice of the filter F_q without a model: a label is chosen only if the question licenses it (Appendix D).

Two failures are the ones to avoid (Appendix D.2): labels that are typical of the memory but that nothing in the
question asks for, and labels of the wrong granularity, which admit half of the memory. So every label needs evidence
in the words of the question, evidence counts the more the fewer labels share it, and labels between which it cannot
tell are all left out.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from stitch.core import IntentFilter, LabelInventory, SearchRequest, Selection
from stitch.embed.lexical import words
from stitch.label.local.language import FUNCTION_WORDS, content_stems

_MARGIN = 0.75
"""Scopes with less than this share of the best one's evidence are not chosen."""
_MOST_SCOPES = 3
"""If more scopes than this are as good as the best one, the question does not tell them apart."""
_LONGEST_VALUE = 8
_REMEMBERED = 16

_ASKED_CLASSES: Mapping[str, tuple[str, ...]] = {
    "when": ("date", "time", "day"),
    "what time": ("time",),
    "where": ("place", "location", "city", "address"),
    "who": ("person", "name"),
    "whom": ("person", "name"),
    "how much": ("price", "cost", "amount"),
    "how many": ("quantity", "number", "count"),
    "how long": ("duration", "time"),
    "how far": ("distance",),
    "how old": ("age",),
}
"""Classes for which a form of question asks, whatever its words."""


class LocalFilterSelector:
    """Chooses labels by what a question and the label inventory share, without a model.

    Scopes: values of the scope that the question names, its typical words, its name. Key entity types: what the
    question asks for. Event types: operations that the question names.
    """

    def __init__(self) -> None:
        self._indexes: dict[int, tuple[LabelInventory, _Index]] = {}

    def select(self, request: SearchRequest, inventory: LabelInventory) -> Selection:
        """Return the labels that the question licenses; an empty filter if it licenses none."""
        index = self._index(inventory)
        question = _Question(request.query)
        scopes = _choose_scopes(question, index)
        entity_types = _choose_entity_types(question, index)
        event_types = _choose_event_types(question, index)
        return Selection(
            IntentFilter(scopes=tuple(scopes), event_types=tuple(event_types), entity_types=tuple(entity_types)),
            (
                *(f"scope {name!r}: {reason}" for name, reason in scopes.items()),
                *(f"event type {name!r}: {reason}" for name, reason in event_types.items()),
                *(f"entity type {name!r}: {reason}" for name, reason in entity_types.items()),
            ),
        )

    def _index(self, inventory: LabelInventory) -> _Index:
        # The inventory is kept beside its index, so that its identity is not given to another one.
        known = self._indexes.get(id(inventory))
        if known is None:
            while len(self._indexes) >= _REMEMBERED:
                del self._indexes[next(iter(self._indexes))]
            known = self._indexes[id(inventory)] = (inventory, _Index(inventory))
        return known[1]


class _Index:
    """An inventory, turned around: from words to labels."""

    def __init__(self, inventory: LabelInventory) -> None:
        self.scopes = tuple(dict.fromkeys(scope.name for scope in inventory.scopes))
        self.by_value: dict[str, set[str]] = defaultdict(set)
        self.by_term: dict[str, dict[str, float]] = defaultdict(dict)
        for scope in inventory.scopes:
            for value in scope.values:
                self.by_value[" ".join(words(value))].add(scope.name)
            strongest = max(scope.terms.values(), default=0.0) or 1.0
            for term, weight in scope.terms.items():
                self.by_term[term][scope.name] = max(weight / strongest, self.by_term[term].get(scope.name, 0.0))
            for term in content_stems(scope.name):
                self.by_term[term][scope.name] = 1.0
        self.by_value.pop("", None)
        self.entity_types = {name: content_stems(name) for name in inventory.entity_types}
        self.event_types = {name: content_stems(name) for name in inventory.event_types}


class _Question:
    """What a question names, and what it asks for."""

    def __init__(self, text: str) -> None:
        self.words = words(text)
        self.stems = tuple(dict.fromkeys(content_stems(text)))
        asked = _asked_part(text)
        self.asked = content_stems(asked)
        lowered = asked.lower()
        self.asked_classes = tuple(
            kind for form, kinds in _ASKED_CLASSES.items() if re.search(rf"\b{form}\b", lowered) for kind in kinds
        )

    def spans(self) -> Iterable[str]:
        """All word sequences, longest first."""
        for size in range(min(_LONGEST_VALUE, len(self.words)), 0, -1):
            for start in range(len(self.words) - size + 1):
                yield " ".join(self.words[start : start + size])


class _Evidence(NamedTuple):
    score: float
    clues: tuple[str, ...]


def _asked_part(text: str) -> str:
    """From the last question word on; the whole text if there is none."""
    found = list(re.finditer(r"\b(?:what|which|when|where|who|whom|whose|how|why)\b", text, re.IGNORECASE))
    return text[found[-1].start() :] if found else text


def _choose_scopes(question: _Question, index: _Index) -> dict[str, str]:
    number = len(index.scopes)
    if number < 2:
        return {}  # one scope tells nothing from nothing
    score: dict[str, float] = defaultdict(float)
    clues: dict[str, list[str]] = defaultdict(list)
    named: set[str] = set()
    for span in question.spans():
        holders = index.by_value.get(span)
        if holders and not any(span in longer for longer in named) and span not in FUNCTION_WORDS:
            named.add(span)
            for name in holders:
                score[name] += 2.0 * math.log(number / len(holders))
                clues[name].append(span)
    for term in question.stems:
        terms = index.by_term.get(term, {})
        for name, weight in terms.items():
            score[name] += weight * math.log(number / len(terms))
            clues[name].append(term)
    best = max(score.values(), default=0.0)
    chosen = [name for name in index.scopes if best > 0 and score.get(name, 0.0) >= _MARGIN * best]
    if len(chosen) > _MOST_SCOPES or len(chosen) == number:
        return {}
    return {name: "the question names " + ", ".join(map(repr, clues[name][:4])) for name in chosen}


def _choose_entity_types(question: _Question, index: _Index) -> dict[str, str]:
    asked = set(question.asked)
    chosen = {}
    for name, stems in index.entity_types.items():
        if stems and set(stems) <= asked:
            chosen[name] = "the question asks for it by name"
        elif name in question.asked_classes:
            chosen[name] = "the form of the question asks for it"
    return chosen


def _choose_event_types(question: _Question, index: _Index) -> dict[str, str]:
    named = set(question.stems)
    return {
        name: "the question names the operation"
        for name, stems in index.event_types.items()
        if stems and set(stems) <= named
    }
