"""The words that only erased steps say, and labels of other steps without them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import orjson

from stitch.core import ContextualIntent, StepLabels
from stitch.journal.entries import encode_labels
from stitch.text.languages import signs_in
from stitch.text.words import is_verb, stem

NO_SCOPE = "unnamed scope"
"""The name of a scope whose name consisted of erased words."""

_QUOTED_WORDS = 3
"""So many words in a row, which an erased step says and no other, are quoted from it."""
_SEAM = "\nꙮ\n"
"""Between texts that are cut into words at once: no words in a row reach over it."""

_RUN = re.compile(r"[^\W_]+")
_COMPOUND = re.compile(r"(?<![^\W_])[^\W_]+(?:[.'’_-][^\W_]+)+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_ESCAPE = re.compile(r"\\(?:u[0-9a-f]{4}|.)")


class ErasedWords:
    """Words, and words in a row, that erased steps say and no remaining text does.

    A word in another form (`zorblatts`) counts as the word, unless a remaining text says some form of it. Quotes are
    fragments, in small letters, that count as quoted whatever their words are.
    """

    def __init__(self, gone: Iterable[str], left: Iterable[str], *, quotes: Iterable[bytes] = ()) -> None:
        erased, remaining = _SEAM.join(gone), _SEAM.join(left)
        words, said = split_names(erased), split_names(remaining)
        self._words = words - said
        self._stems = set(map(stem, self._words)) - set(map(stem, said))
        self._sequences = set(_sequences(erased)).difference(_sequences(remaining))
        self._quotes = tuple(quotes)

    def has(self, word: str) -> bool:
        """Whether a word, in small letters, is erased."""
        return word in self._words or stem(word) in self._stems

    def said_in(self, text: str) -> bool:
        """Whether a text has an erased word."""
        return any(map(self.has, split_names(text)))

    def quoted_in(self, text: str) -> bool:
        """Whether a text has an erased word, several in a row that only erased steps say so, or a quote."""
        if self.said_in(text) or not self._sequences.isdisjoint(_sequences(text)):
            return True
        return any(map(text.encode().lower().__contains__, self._quotes))

    def named_in(self, value: str) -> bool:
        """Whether a label has an erased word, other than a verb in its plain form, which names what is done."""
        return any(self.has(word) and not is_verb(word, base=True) for word in split_names(value))

    def renamed(self, scope: str) -> str:
        """The name of a scope without erased words."""
        if not self.said_in(scope):
            return scope
        kept = " ".join(word for word in scope.split() if not self.said_in(word))
        return kept if _RUN.search(kept) else NO_SCOPE

    def marks_in(self, text: str) -> set[tuple[str, ...]]:
        """Parts, in small letters, that stand together in whatever part of a text has an erased word or quote."""
        found = {(word,) for word in split_names(text) if self.has(word)}
        return found.union(
            self._sequences.intersection(_sequences(text)),
            ((fold(quote.decode(errors="ignore")),) for quote in self._quotes),
        )


def cleaned(
    labeled: Iterable[tuple[int, bytes | None]], *, erased: ErasedWords, ids: Iterable[str]
) -> list[tuple[int, bytes]]:
    """Labels without what they have from erased steps, by the numbers of those that had something."""
    told = [(number, encoded, _unescaped(encoded)) for number, encoded in labeled if encoded]
    marks = erased.marks_in(_SEAM.join(text for *_, text in told))
    rarest = {max(parts, key=len) for parts in marks}
    antecedents = {f'"antecedent":{orjson.dumps(name).decode()}'.encode() for name in ids}
    gone, changed = frozenset(ids), []
    for number, encoded, text in told:
        folded = fold(text)
        marked = any(map(folded.__contains__, rarest)) and any(all(map(folded.__contains__, each)) for each in marks)
        if marked or any(map(encoded.__contains__, antecedents)):
            labels = StepLabels.model_validate_json(encoded)
            made = _without(labels, erased, gone)
            if made != labels:
                changed.append((number, encode_labels(made, step="")))
    return changed


def _without(labels: StepLabels, erased: ErasedWords, ids: frozenset[str]) -> StepLabels:
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


def spoken(step: dict[str, Any]) -> str:
    """The text of a step, given as JSON, that labelers read."""
    calls = _unescaped(orjson.dumps([[call["name"], call.get("arguments")] for call in step.get("tool_calls", ())]))
    return f"{step['role']}\n{step.get('content', '')}\n{calls}\n{step.get('tool_name') or ''}"


def _unescaped(data: bytes) -> str:
    """JSON in which what is escaped is no part of a word."""
    return _ESCAPE.sub(" ", data.decode())


def split_names(text: str) -> set[str]:
    """The words of a text, however they are cut: names whole and in their parts, Chinese as signs and pairs."""
    text = text.replace("\u0130", "I")  # the Turkish capital is one letter in labels, and two when it is folded
    runs = set(_RUN.findall(text))
    words = {run.casefold() for run in runs}
    words.update(part.casefold() for run in runs if not run.islower() for part in _HUMP.split(run))
    words.update(fold(whole) for whole in _COMPOUND.findall(text))
    return words if text.isascii() else words.union(signs_in(text))


def fold(text: str) -> str:
    """A text in small letters, with plain apostrophes."""
    return text.replace("\u0130", "I").casefold().replace("’", "'")


def strings(value: Any) -> list[str]:
    """All strings of a value of JSON, the names of its fields too."""
    if isinstance(value, dict):
        return [text for name, inner in value.items() for text in (name, *strings(inner))]
    if isinstance(value, list | tuple):
        return [text for inner in value for text in strings(inner)]
    return [value] if isinstance(value, str) else []


def _sequences(text: str) -> Iterator[tuple[str, ...]]:
    words = [run.casefold() for run in _RUN.findall(text)]
    return zip(*(words[start:] for start in range(_QUOTED_WORDS)), strict=False)
