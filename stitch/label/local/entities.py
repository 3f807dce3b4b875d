"""Key entity types (§2.2.3): which classes of things matter in a step, never the things themselves.

Neutral classes come from the shape of values; further ones are induced from what a question asks for, from phrases
that say what a value is, and from the keys of tool calls and results. Their number is bounded.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from stitch.core.intent import LabelKind, LabelMerge
from stitch.core.snippets import EntityMention, EntityTypeSummary, StepLabels
from stitch.label.curation import Vocabulary
from stitch.label.local.reading import Reading
from stitch.label.local.run_labels import kinds_in_run
from stitch.label.local.turns import Turn
from stitch.text.forms import SentenceForm
from stitch.text.languages import is_foreign
from stitch.text.values import MAX_MENTIONS, MAX_VALUE_CHARS, VALUE_CLASSES, counted, slot_name, slots
from stitch.text.words import FUNCTION_WORDS, is_verb, singular, whole_words, word_set

ENTITY_TYPES_A_STEP = 8
_MAX_VALUES_KEPT = 24
_MAX_INDUCED = 256
_ANSWER_STEMS, _SHORT_ANSWER_STEMS = 40, 12

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
_ASKED = whole_words(
    r"""(?:what|which)(?:'s| is| are| was| were| will be| would be)? (?:the |your |my |its |their |a |an )?
    (?P<what>(?:[a-z][a-z-]+ ){0,3}?(?:(?:of|for) (?:the )?)?[a-z][a-z-]+)
    (?= (?:is|are|was|were|do|does|did|will|would|should|can|could|to|for|in|at|on|you|i|we|they|has|have|like)\b
    |\s*[?.,;]|$)
    |how many (?P<many>[a-z][a-z-]+(?: [a-z][a-z-]+)?)
    |(?:tell me|know|need|have|provide|give me|share|confirm|specify|check|get|find out) (?:the |your |its |their )
    (?P<told>[a-z][a-z-]+(?: (?:of |for )?[a-z][a-z-]+)?)(?=\s*[?.,;]|$| of\b| for\b| and\b)"""
)
_SHAPES = {
    "time": "time day date", "date": "date day time", "day": "day date time", "price": "price quantity number",
    "rating": "rating number quantity", "quantity": "quantity number", "number": "number quantity phone identifier",
    "phone": "phone number", "email": "email", "url": "url", "percentage": "percentage number",
}  # fmt: skip
"""Of what shapes the values of a class may be: "Boston" answers no question after a time."""
_NOT_ASKED = word_set(
    "kind type sort thing way one else problem matter idea help lot time day more anything something first second third"
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
        self._asked: list[str] = []
        self._asked_now: list[str] = []
        self._asked_by = ""

    def type(self, reading: Reading) -> Kinds:
        """The entity types of a step, with the values it names."""
        foreign = is_foreign(reading.language)
        asked = self._asked_now = [] if foreign else _asked_types(reading)
        slotted = [] if foreign else [(_neutral(slot.name), slot.value) for slot in slots(reading.text, reading.found)]
        told = [*_keyed(reading), *slotted]
        answered = self._asked if self._asked_by and self._asked_by != reading.role and not asked else []
        of_answer = answered[:3] if len(reading.stems) <= _ANSWER_STEMS else []
        shapes = _shapes(reading, named=[value for _, value in slotted])
        types = dict.fromkeys((*asked, *[kind for kind, _ in told], *of_answer, *shapes))
        mentions = dict.fromkeys((*[pair for pair in told if pair[1]], *_named(reading, answered)))
        admitted = self.vocabulary.admit(filter(None, types))[:ENTITY_TYPES_A_STEP]
        kept = tuple(
            EntityMention(entity_type=kind, value=value[:MAX_VALUE_CHARS])
            for kind, value in list(mentions)[:MAX_MENTIONS]
        )
        return Kinds(admitted, kept)

    def of_run(self, reading: Reading, turn: Turn) -> Kinds:
        """The entity types of a step of a run, with the values it names: what programs hand on, amounts and dates."""
        english = not is_foreign(reading.language)
        asked = self._asked_now = _asked_types(reading) if english and not reading.skimmed else []
        types, mentions = kinds_in_run(reading.step, turn, values=reading.found)
        return Kinds(self.vocabulary.admit([*types, *asked])[:ENTITY_TYPES_A_STEP], tuple(mentions))

    def take(self, reading: Reading, types: Sequence[str], mentions: Iterable[EntityMention]) -> None:
        """Take in what a step speaks of, right after `type` has read it."""
        self.vocabulary.count(types)
        self._remember(mentions)
        asked = self._asked_now
        if asked:
            self._asked, self._asked_by = asked, reading.role
        elif self._asked_by and self._asked_by != reading.role:
            self._asked, self._asked_by = [], ""

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
            "asked": self._asked,
            "asked_by": self._asked_by,
        }

    @classmethod
    def load(cls, data: Mapping[str, Any]) -> EntityTyper:
        """Continue from what `save` returned."""
        typer = cls()
        typer.vocabulary.restore(data["vocabulary"])
        typer._values = {kind: dict.fromkeys(values, 1) for kind, values in data["values"].items()}
        typer._asked, typer._asked_by = list(data["asked"]), data["asked_by"]
        return typer


def _keyed(reading: Reading) -> list[tuple[str, str]]:
    """What stands in calls and results, with the type that its key names."""
    return [(kind, value) for key, value in reading.data.pairs if (kind := _key_type(key))]


def _shapes(reading: Reading, *, named: Container[str]) -> list[str]:
    """The types of the values of a step; "2 stops" are stops: what is counted says more than that something is."""
    return [
        found.entity_type
        for found in reading.found
        if found.entity_type != "number" and not (found.entity_type == "quantity" and found.value in named)
    ]


def _named(reading: Reading, answered: Sequence[str]) -> list[tuple[str, str]]:
    """The values of a step with their types; the only one of a short answer is also of the type that was asked for."""
    pairs = [(found.entity_type, found.value) for found in reading.found]
    if answered and len(pairs) == 1 and len(reading.stems) <= _SHORT_ANSWER_STEMS:
        [(kind, value)] = pairs
        if kind in _SHAPES.get(answered[0], kind):
            pairs.append((answered[0], value))
    return pairs


def _asked_types(reading: Reading) -> list[str]:
    """The types of what the questions and requests of a step ask for."""
    if not reading.forms or reading.data.results or reading.data.calls:
        return []
    asked: dict[str, None] = {}
    for (start, end), form in zip(reading.spans, reading.forms, strict=True):
        if form not in (SentenceForm.QUESTION, SentenceForm.REQUEST):
            continue
        part = reading.folded[start:end]
        for match in _ASKED.finditer(part):
            asked_for = next(filter(None, match.groups()), "")
            name = "" if asked_for.startswith("about ") else slot_name(asked_for)
            if not name or set(name.split()) & _NOT_ASKED:
                continue
            if match["many"] or not is_verb(name.split()[-1], base=True):
                asked[_neutral(counted(name) if match["many"] else name)] = None
        asked.update(dict.fromkeys(_asked_by_word(part)))
    return list(asked)[:4]


def _asked_by_word(part: str) -> list[str]:
    """The types that words of a question ask for: "how much", "when"."""
    found = {match.lastgroup for match in _ASKED_BY.finditer(part)}
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
