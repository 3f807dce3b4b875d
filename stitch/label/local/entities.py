"""Key entity types (§2.2.3): which classes of things matter in a step, never the things themselves.

Neutral classes come from the shape of values, and from words that ask for one ("how much"); further ones are the keys
of tool calls and results. Their number is bounded.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from stitch.core.intent import LabelKind, LabelMerge
from stitch.core.snippets import EntityMention, EntityTypeSummary, StepLabels
from stitch.label.curation import Vocabulary
from stitch.label.local.reading import Reading
from stitch.label.local.run_labels import kinds_in_run
from stitch.label.local.turns import Turn
from stitch.text.forms import SentenceForm
from stitch.text.languages import is_foreign
from stitch.text.values import MAX_MENTIONS, MAX_VALUE_CHARS, VALUE_CLASSES
from stitch.text.words import FUNCTION_WORDS, singular, whole_words

ENTITY_TYPES_A_STEP = 8
_MAX_VALUES_KEPT = 24
_MAX_INDUCED = 256

_SYNONYMS = {
    "cost": "price", "fee": "price", "fare": "price", "charge": "price", "expense": "price", "amount": "quantity",
    "score": "rating", "review": "rating", "star": "rating", "phone number": "phone", "telephone number": "phone",
    "telephone": "phone", "contact number": "phone", "street address": "address", "website": "url", "link": "url",
    "email address": "email", "exception": "error", "filename": "file", "file name": "file", "path": "file",
    "ids": "identifier", "location": "place", "source": "citation", "reference": "citation", "id": "identifier",
}  # fmt: skip
_ASKED_BY = whole_words(
    """(?P<price>how much|price|cost|costs|expensive|fare|fee)
    |(?P<rating>rate|rating|rated|ratings|reviewed|reviews?|stars)|(?P<time>when|what time)|(?P<place>where)
    |(?P<person>whom?)|(?P<quantity>how many)"""
)


class Kinds(NamedTuple):
    """What a step speaks of."""

    types: list[str]
    """Canonical entity types, the most telling first."""
    mentions: tuple[EntityMention, ...]


class EntityTyper:
    """Finds the entity types of each step of one trajectory, at most `ENTITY_TYPES_A_STEP`."""

    def __init__(self) -> None:
        self.vocabulary = Vocabulary(LabelKind.ENTITY_TYPE, seed=VALUE_CLASSES, most=_MAX_INDUCED)
        self._values: dict[str, dict[str, int]] = {}

    def type(self, reading: Reading) -> Kinds:
        """The entity types of a step, with the values it names."""
        keyed = _keyed(reading)
        shapes = [found.entity_type for found in reading.found if found.entity_type != "number"]
        types = dict.fromkeys((*_asked_types(reading), *[kind for kind, _ in keyed], *shapes))
        named = [(found.entity_type, found.value) for found in reading.found]
        mentions = dict.fromkeys((*[pair for pair in keyed if pair[1]], *named))
        kept = tuple(
            EntityMention(entity_type=kind, value=value[:MAX_VALUE_CHARS])
            for kind, value in list(mentions)[:MAX_MENTIONS]
        )
        return Kinds(self.vocabulary.admit(types)[:ENTITY_TYPES_A_STEP], kept)

    def of_run(self, reading: Reading, turn: Turn) -> Kinds:
        """The entity types of a step of a run, with the values it names: what programs hand on, amounts and dates."""
        types, mentions = kinds_in_run(reading.step, turn, values=reading.found)
        return Kinds(self.vocabulary.admit([*types, *_asked_types(reading)])[:ENTITY_TYPES_A_STEP], tuple(mentions))

    def take(self, types: Sequence[str], mentions: Iterable[EntityMention]) -> None:
        """Take in what a step speaks of."""
        self.vocabulary.count(types)
        self._remember(mentions)

    def correct(self, before: StepLabels, after: StepLabels) -> None:
        """Take in that an earlier step has other labels."""
        self.vocabulary.recount(before.intent.entity_types, after.intent.entity_types)
        for mention in set(before.mentions) - set(after.mentions):
            self._values.get(mention.entity_type, {}).pop(mention.value.lower(), None)
        self._remember(after.mentions)

    def _remember(self, mentions: Iterable[EntityMention]) -> None:
        for mention in mentions:
            values = self._values.setdefault(mention.entity_type, {})
            folded = mention.value.lower()
            values.pop(folded, None)
            values[folded] = 1
            if len(values) > _MAX_VALUES_KEPT:
                del values[next(iter(values))]

    def curate(self, position: int) -> list[LabelMerge]:
        """Merge types that mean the same; return the new merges."""
        return self.vocabulary.curate(position)

    def summaries(self) -> dict[str, EntityTypeSummary]:
        """What is known of each canonical type."""
        values: dict[str, dict[str, int]] = {}
        canonical = {merge.alias: merge.into for merge in self.vocabulary.merges}
        for kind, kept in self._values.items():
            values.setdefault(canonical.get(kind, kind), {}).update(kept)
        return {
            kind: EntityTypeSummary(steps=count, values=tuple(values.get(kind, ())))
            for kind, count in self.vocabulary.canonical_counts().items()
        }

    def save(self) -> dict[str, Any]:
        """Everything remembered, as JSON values."""
        return {
            "vocabulary": self.vocabulary.save(),
            "values": {kind: list(values) for kind, values in self._values.items()},
        }

    @classmethod
    def load(cls, data: Mapping[str, Any]) -> EntityTyper:
        """Continue from what `save` returned."""
        typer = cls()
        typer.vocabulary.restore(data["vocabulary"])
        typer._values = {kind: dict.fromkeys(values, 1) for kind, values in data["values"].items()}
        return typer


def _keyed(reading: Reading) -> list[tuple[str, str]]:
    """What stands in calls and results, with the type that its key names."""
    return [(kind, value) for key, value in reading.data.pairs if (kind := _key_type(key))]


def _asked_types(reading: Reading) -> list[str]:
    """The classes for which words of questions and requests ask: "how much", "when"."""
    if reading.data.results or reading.data.calls or is_foreign(reading.language):
        return []
    asked = [
        reading.folded[start:end]
        for (start, end), form in zip(reading.spans, reading.forms, strict=True)
        if form in (SentenceForm.QUESTION, SentenceForm.REQUEST)
    ]
    found = {match.lastgroup for part in asked for match in _ASKED_BY.finditer(part)}
    return [kind for kind in _ASKED_BY.groupindex if kind in found]


def _neutral(name: str) -> str:
    return _SYNONYMS.get(name, name)


def _key_type(key: str) -> str:
    """The type that a key of a call or result names: the last words of a path, singular."""
    parts = [part for part in key.split(" ") if part and not part.isdigit()][-4:]
    if not parts or all(part in FUNCTION_WORDS for part in parts):
        return ""
    parts[-1] = singular(parts[-1])
    return _neutral(" ".join(parts))
