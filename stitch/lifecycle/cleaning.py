"""What other steps have from erased ones, taken out of their labels."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import orjson

from stitch.core import ContextualIntent, StepLabels
from stitch.journal.entries import Entry, encode_labels
from stitch.lifecycle.side_files import strings
from stitch.lifecycle.unsaid import Unsaid, fold
from stitch.text.languages import signs_in
from stitch.text.words import is_verb, stem

NO_SCOPE = "unnamed scope"
"""What a scope is called whose name consisted of erased words."""

_QUOTED_WORDS = 3
"""So many words in a row, which an erased step says and no other, are quoted from it."""

_FEW_SEQUENCES = 256
"""For more than so many it takes less time to cut a text into words than to look for each."""

_RUN = re.compile(r"[^\W_]+")
_COMPOUND = re.compile(r"(?<![^\W_])[^\W_]+(?:[.'’_-][^\W_]+)+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class ErasedWords:
    """What only erased steps say.

    Words are cut at everything that is no letter and no digit, and within names such as `johnZorblatt`, as labelers
    cut them; names such as `john_zorblatt` and `O'Hara` are words themselves, too. A word in another form (`zorblatts`)
    counts as the word, unless a step that remains says some form of it.
    Quotes are fragments, in small letters, that count as quoted whatever their words are.
    """

    def __init__(self, gone: str, left: Iterable[str], *, quotes: Iterable[bytes] = ()) -> None:
        texts = list(left)
        self._unsaid = Unsaid(split_names(gone), cut=split_names)
        self._sequences = set(_sequences(gone))
        for text in texts:
            self._unsaid.read(text)
            if self._sequences and self._has_sequence(fold(text)):
                self._sequences.difference_update(_sequences(text))
        self._quotes = tuple(quotes)

    def may_be_in(self, text: str) -> bool:
        """Whether a text may have or quote anything of the erased steps; False is certain, and costs little."""
        folded = fold(text)
        return self._unsaid.may_be_in(folded) or self._has_sequence(folded) or self._has_quote(text)

    def may_say(self, text: str) -> bool:
        """Whether a text may have a word that only erased steps say; False is certain, and costs little."""
        return self._unsaid.may_be_in(fold(text))

    def said_in(self, text: str) -> bool:
        """Whether a text has a word that only erased steps say."""
        return self.may_say(text) and any(map(self._is_erased, split_names(text)))

    def quoted_in(self, text: str) -> bool:
        """Whether a text has such a word, or several words in a row that only erased steps say so."""
        if self.said_in(text) or not self._sequences.isdisjoint(_sequences(text)):
            return True
        return self._has_quote(text)

    def named_in(self, value: str) -> bool:
        """Whether a label has such a word, other than a verb in its plain form, by which labelers name what is done."""
        return any(self._is_erased(word) and not is_verb(word, base=True) for word in split_names(value))

    def without(self, name: str) -> str:
        """A name without such words; empty if no word is left."""
        kept = " ".join(word for word in name.split() if not self.said_in(word))
        return kept if _RUN.search(kept) else ""

    def renamed(self, scope: str) -> str:
        """The name of a scope without such words."""
        return (self.without(scope) or NO_SCOPE) if self.said_in(scope) else scope

    def _is_erased(self, word: str) -> bool:
        return word in self._unsaid.words or stem(word) in self._unsaid.stems

    def _has_sequence(self, folded: str) -> bool:
        """Whether a text has all words of a sequence, in any order."""
        if len(self._sequences) > _FEW_SEQUENCES:
            return True
        return any(one in folded and two in folded and three in folded for one, two, three in self._sequences)

    def _has_quote(self, text: str) -> bool:
        return bool(self._quotes) and any(map(text.encode().lower().__contains__, self._quotes))


def given_by_hand(past: Sequence[StepLabels | None]) -> set[str]:
    """What a person called a step by correcting it."""
    values = [set() if made is None else {label.value for label in made.intent.labels()} for made in past]
    return set[str]().union(*values) - values[0]


class Cleaner:
    """Takes out of the labels of remaining steps all that they have from erased ones.

    Labels that a person gave count apart: others may have taken over those of erased steps (`by_hand`).
    """

    def __init__(
        self,
        left: Iterable[dict[str, Any]],
        gone: Sequence[Entry],
        *,
        by_hand: Iterable[str] = (),
        kept: Iterable[str] = (),
        quotes: Iterable[bytes] = (),
    ) -> None:
        self._ids = {entry.id for entry in gone}
        erased_text = "\n".join(_said(entry.step.model_dump(exclude_defaults=True)) for entry in gone)
        self.erased = ErasedWords("\n".join((erased_text, *by_hand)), chain(map(_said, left), kept), quotes=quotes)

    def clean(self, encoded: bytes) -> bytes | None:
        """The labels without it; None if they have nothing."""
        if _has_nothing_of(encoded, self.erased, self._ids):
            return None
        labels = StepLabels.model_validate_json(encoded)
        made = _without(labels, self.erased, self._ids)
        return None if made == labels else encode_labels(made, step="")


def _has_nothing_of(encoded: bytes, erased: ErasedWords, ids: set[str]) -> bool:
    """Whether labels have nothing from erased steps; False if that is not plain."""
    escaped = b"\\" in encoded
    text = "\n".join(strings(orjson.loads(encoded))) if escaped else encoded.decode()
    maybe = erased.may_be_in(text)
    if maybe and (escaped or erased.said_in(text)):
        return False
    if not maybe and b"antecedent" not in encoded:
        return True
    fields = orjson.loads(encoded)
    references = fields.get("references", ())
    quoting = (
        fields.get("context", ""),
        fields.get("summary", ""),
        *(each.get("replacement", "") for each in references),
        *fields.get("asks", ()),
    )
    return not (
        any(reference.get("antecedent") in ids for reference in references)
        or (maybe and any(map(erased.quoted_in, quoting)))
    )


def _without(labels: StepLabels, erased: ErasedWords, ids: set[str]) -> StepLabels:
    intent = labels.intent

    def kept(values: Iterable[str]) -> tuple[str, ...]:
        return tuple(value for value in values if not erased.named_in(value))

    return labels.model_copy(
        update={
            "context": "" if erased.quoted_in(labels.context) else labels.context,
            "summary": "" if erased.quoted_in(labels.summary) else labels.summary,
            "asks": tuple(each for each in labels.asks if not erased.quoted_in(each)),
            "references": tuple(
                each
                for each in labels.references
                if each.antecedent not in ids and not erased.quoted_in(each.replacement)
            ),
            "mentions": tuple(
                each for each in labels.mentions if not erased.said_in(each.value) and kept([each.entity_type])
            ),
            "intent": ContextualIntent(
                scope=None if intent.scope is None else erased.renamed(intent.scope),
                event_types=kept(intent.event_types),
                entity_types=kept(intent.entity_types),
                targets=kept(intent.targets),
            ),
        }
    )


def split_names(text: str) -> Iterator[str]:
    """The words of a text as labelers may cut them: names whole and in their parts, Chinese as signs and pairs."""
    text = text.replace("\u0130", "I")  # the Turkish capital is one letter in labels, and two when it is folded
    for run in _RUN.findall(text):
        yield run.casefold()
        if len(parts := _HUMP.split(run)) > 1:
            yield from (part.casefold() for part in parts)
    yield from (whole.casefold().replace("’", "'") for whole in _COMPOUND.findall(text))
    if not text.isascii():
        yield from signs_in(text)


def _sequences(text: str) -> Iterator[tuple[str, ...]]:
    words = [run.casefold() for run in _RUN.findall(text)]
    return zip(*(words[start:] for start in range(_QUOTED_WORDS)), strict=False)


def _said(step: dict[str, Any]) -> str:
    calls = " ".join(
        f"{call['name']} {json.dumps(call.get('arguments', {}), ensure_ascii=False)}"
        for call in step.get("tool_calls", ())
    )
    return f"{step['role']}\n{step.get('content', '')}\n{calls}\n{step.get('tool_name') or ''}"
