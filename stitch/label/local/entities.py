"""Key entity types (§2.2.3): which classes of things matter in a step, with the values it names.

Sixteen neutral classes, told by the shape of a value, by the words before it, and by the key of an argument or result.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from stitch.core.snippets import EntityMention, EntityTypeSummary, StepLabels
from stitch.label.local.reading import INSTRUCTIONS, NOTICE, WORDS, StepFeatures
from stitch.text.languages import is_foreign
from stitch.text.sentences import SentenceForm
from stitch.text.values import MAX_MENTIONS, MAX_VALUE_CHARS
from stitch.text.words import singular, whole_words

TYPES = (
    "price", "quantity", "date", "time", "place", "person", "organization", "name", "identifier", "path", "url",
    "contact", "code name", "exception", "rating", "status", "reason",
)  # fmt: skip
"""*contact* is an address, a mail address or a telephone number; *code name* a function, class or variable."""
ENTITY_TYPES_A_STEP = 8
_MOST_VALUES = 24

_OF_SHAPES = {
    "price": "price", "rating": "rating", "date": "date", "day": "date", "time": "time", "place": "place",
    "person": "person", "organization": "organization", "name": "name", "quantity": "quantity",
    "percentage": "quantity", "identifier": "identifier", "key": "identifier", "file": "path", "path": "path",
    "function": "code name", "error": "exception", "exception": "exception", "url": "url", "email": "contact",
    "phone": "contact", "address": "contact",
}  # fmt: skip
_KEYS = {
    "price": "price cost fee fare charge expense amount total balance budget rent salary refund deposit subtotal",
    "quantity": "quantity count number size party guests seats people passengers qty percentage weight duration stock",
    "date": "date day month year weekday birthday deadline eta",
    "time": "time hour minute timestamp at",
    "place": "place location city country address1 area region destination origin venue street town airport station"
    " state",
    "person": "person customer user passenger author owner contact_name host member guest doctor patient employee",
    "organization": "company organization airline bank carrier vendor brand merchant store",
    "name": "name title label product item",
    "identifier": "id ids identifier key code sku uuid token pin reference hash ticket order reservation",
    "path": "path file filename folder directory",
    "url": "url link website uri href",
    "contact": "email phone address telephone zip",
    "rating": "rating score review stars rank",
    "status": "status state stage outcome",
    "reason": "reason cause why message error",
}  # fmt: skip
_KEY_TYPE = {word: kind for kind, told in _KEYS.items() for word in told.split()}
_ASKED_BY = whole_words(
    """(?P<price>how much|price|prices|cost|costs|expensive|fare|fee)|(?P<rating>rating|rated|ratings|reviews?|stars)
    |(?P<date>what day|which day|what date|which date)|(?P<time>when|what time)|(?P<place>where)|(?P<person>whom?)
    |(?P<quantity>how many|how long|how far|how often)|(?P<reason>why|how come|what for)"""
)


class Kinds(NamedTuple):
    """Entity types and mentions of a step."""

    types: tuple[str, ...]
    mentions: tuple[EntityMention, ...]


def kinds_of(reading: StepFeatures) -> Kinds:
    """The entity types of a step, those asked for first, with the values it names."""
    if reading.kind in (INSTRUCTIONS, NOTICE):
        return Kinds((), ())
    named = [(kind, value) for key, value in reading.pairs if value and (kind := type_of_key(key))]
    keyed = {value for _, value in named}
    named += [(_OF_SHAPES[each.entity_type], each.value) for each in reading.mentions if each.entity_type in _OF_SHAPES]
    known = keyed | {value for _, value in named}
    named += [(_kind_of_identifier(each.kind), each.value) for each in reading.identifiers if each.value not in known]
    pairs = [(kind, value) for kind, value in dict.fromkeys(named) if kind]
    types = dict.fromkeys([*_asked(reading), *(kind for kind, _ in pairs)])
    mentions = [EntityMention(entity_type=kind, value=value[:MAX_VALUE_CHARS]) for kind, value in pairs[:MAX_MENTIONS]]
    return Kinds(tuple(types)[:ENTITY_TYPES_A_STEP], tuple(mentions))


def type_of_key(key: str) -> str:
    """The class of the values under a key in words, by its last telling word; empty if it tells none."""
    for part in reversed(key.split(" ")[-3:]):
        if kind := _KEY_TYPE.get(part) or _KEY_TYPE.get(singular(part)):
            return kind
    return ""


def _kind_of_identifier(kind: str) -> str:
    return "code name" if kind == "name" else _OF_SHAPES.get(kind, "")


def _asked(reading: StepFeatures) -> list[str]:
    """The classes for which words of questions and requests ask: "how much", "when"."""
    if reading.kind != WORDS or is_foreign(reading.language):
        return []
    asking = (SentenceForm.QUESTION, SentenceForm.REQUEST)
    found = {
        match.lastgroup
        for (start, end), form in zip(reading.spans, reading.forms, strict=True)
        if form in asking
        for match in _ASKED_BY.finditer(reading.lowered, start, end)
    }
    return [kind for kind in _ASKED_BY.groupindex if kind in found]


class EntityValues:
    """The entity types of one trajectory with their latest values."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._values: dict[str, dict[str, int]] = {}

    def take(self, types: Iterable[str], mentions: Iterable[EntityMention]) -> None:
        """Take in what a step speaks of."""
        for kind in types:
            self._counts[kind] = self._counts.get(kind, 0) + 1
        for mention in mentions:
            values = self._values.setdefault(mention.entity_type, {})
            folded = mention.value.lower()
            values.pop(folded, None)
            values[folded] = 1
            if len(values) > _MOST_VALUES:
                del values[next(iter(values))]

    def correct(self, before: StepLabels, after: StepLabels) -> None:
        """Take in that an earlier step has other labels."""
        for kind in before.intent.entity_types:
            if (left := self._counts.get(kind, 0) - 1) > 0:
                self._counts[kind] = left
            else:
                self._counts.pop(kind, None)
        for mention in set(before.mentions) - set(after.mentions):
            self._values.get(mention.entity_type, {}).pop(mention.value.lower(), None)
        self.take(after.intent.entity_types, after.mentions)

    def summaries(self) -> dict[str, EntityTypeSummary]:
        """Summaries of the entity types, the most frequent first."""
        ranked = sorted(self._counts.items(), key=lambda item: (-item[1], item[0]))
        return {
            kind: EntityTypeSummary(steps=steps, values=tuple(self._values.get(kind, ()))) for kind, steps in ranked
        }

    def save(self) -> dict[str, Any]:
        """Everything remembered, as JSON values."""
        return {"counts": self._counts, "values": {kind: list(values) for kind, values in self._values.items()}}

    @classmethod
    def load(cls, data: Mapping[str, Any]) -> EntityValues:
        """Continue from what `save` returned."""
        values = cls()
        values._counts = dict(data["counts"])
        values._values = {kind: dict.fromkeys(own, 1) for kind, own in data["values"].items()}
        return values
