"""What is read out of single phrases: a file of `phrases` for each thing that is read."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

from doubles.golden import compare_phrases
from stitch.text.dates import Span, day_meant, day_of, find_moments, read_timestamp, spans_of
from stitch.text.forms import form_by_mark, sentence_form
from stitch.text.identifiers import handles, identifiers
from stitch.text.kinds import kinds_of, singular_stem
from stitch.text.languages import language_of
from stitch.text.markers import harmless, harmless_json
from stitch.text.numbers import number, ordinal
from stitch.text.values import find_mentions
from stitch.text.words import singular, words

ASKED = date(2023, 5, 10).toordinal()
"""A Wednesday."""


def time(_: str, text: str) -> str:
    moment, day = read_timestamp(text), day_of(text)
    return f"{moment.isoformat() if moment else 'no timestamp'}, {date.fromordinal(day) if day else 'no day'}"


def days(span: Span) -> str:
    first, last = (date.fromordinal(day) for day in (span.first, span.last))
    held = ", which has today" if span.holds(ASKED) else ""
    return f"{first} to {last}{' of any year' if span.any_year else ''}{held}"


def kinds(_: str, term: str) -> str:
    weights = sorted((-weight, kind) for kind, weight in kinds_of(term).items())
    return f"{singular_stem(term)}: {', '.join(f'{kind} {-weight}' for weight, kind in weights)}"


def markers(_: str, text: str) -> str:
    assert json.loads(harmless_json(json.dumps(text, ensure_ascii=False))) == text
    assert (harmless(text) == text) == (harmless_json(text) == text)
    return "as it is" if harmless(text) == text else harmless(text)


READ: dict[str, Callable[[str, str], str]] = {
    "identifiers": lambda _, text: "; ".join(
        f"{each.kind} {each.value} as {' or '.join(handles(each))}" for each in identifiers(text)
    ),
    "markers": markers,
    "words": lambda _, text: " ".join(words(text)),
    "singular": lambda _, word: singular(word),
    "values": lambda _, text: ", ".join(f"{each.entity_type} {each.value!r}" for each in find_mentions(text)),
    "languages": lambda before, text: language_of(text, before or None) or "",
    "forms": lambda by, text: (form_by_mark(text) if by == "mark" else sentence_form(text)).value,
    "times": time,
    "moments": lambda _, text: ", ".join(find_moments(text)),
    "spans": lambda _, question: ", ".join(map(days, spans_of(question, asked=ASKED))),
    "kinds": kinds,
    "numbers": lambda _, said: f"{number(said)}, counting {ordinal(said)}",
    "days": lambda said, text: day_meant(text, said=said) or "",
}


@pytest.mark.parametrize("kind", READ)
def test_what_is_read_of_each_phrase_is_what_was_looked_at(kind: str) -> None:
    compare_phrases(Path(__file__).parent / "phrases" / f"{kind}.txt", READ[kind])
