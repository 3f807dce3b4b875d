"""What is read out of single phrases: a file of `phrases` for each thing that is read."""

import json
import re
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doubles.golden import compare_phrases
from stitch.text.dates import Span, day_meant, day_of, find_moments, read_timestamp, seconds_of, spans_of
from stitch.text.identifiers import FINDER, FORMS, handles, identifiers
from stitch.text.kinds import kinds_of, singular_stem
from stitch.text.languages import language_of
from stitch.text.markers import Quoted, escape_unseen, harmless, harmless_json, seen
from stitch.text.sentences import form_by_mark, sentence_form
from stitch.text.values import find_mentions
from stitch.text.words import number, singular, words

ASKED = date(2023, 5, 10).toordinal()
"""A Wednesday."""


def time(_: str, text: str) -> str:
    moment, day = read_timestamp(text), day_of(text)
    return f"{moment.isoformat() if moment else 'no timestamp'}, {date.fromordinal(day) if day else 'no day'}"


def days(span: Span) -> str:
    first, last = (date.fromordinal(day) for day in (span.first, span.last))
    held = ", which has today" if span.share(ASKED) else ""
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
    "numbers": lambda _, said: str(number(said)),
    "days": lambda said, text: day_meant(text, said=said) or "",
}


@pytest.mark.parametrize("kind", READ)
def test_what_is_read_of_each_phrase_is_what_was_looked_at(kind: str) -> None:
    compare_phrases(Path(__file__).parent / "phrases" / f"{kind}.txt", READ[kind])


def test_times_of_one_source_are_compared_without_the_zone_of_the_machine() -> None:
    assert seconds_of("02:15") == 8_100
    assert seconds_of("02:15:30") == 8_130
    assert seconds_of("1970-01-02T00:00:01") == seconds_of("1970-01-02T00:00:01Z") == 86_401
    assert (day_of(0.0), day_of(None), day_of(1e30)) == (date(1970, 1, 1).toordinal(), None, None)
    assert (seconds_of(12.5), seconds_of("Friday"), seconds_of(None)) == (12.5, None, None)


@given(st.text(alphabet="0123456789:/- apm.thMarchJun", max_size=40))
def test_any_text_may_name_a_moment(text: str) -> None:
    assert all(moment.strip() == moment != "" for moment in find_moments(text))


def test_relative_times_say_nothing_where_nobody_knows_when_it_is_asked() -> None:
    assert spans_of("What did I plant two weeks ago, and what last Saturday?", asked=None) == []
    assert spans_of("What did I plant in March?", asked=None)


@given(st.text(alphabet="0123456789 /-adgosyMarchlstweek", max_size=40), st.none() | st.integers(1, 3_000_000))
def test_any_text_may_name_a_time(text: str, asked: int | None) -> None:
    assert isinstance(day_of(text), int | None)
    for span in spans_of(text, asked=asked):
        assert 0.0 <= span.share(730_000) <= 1.0


WRITTEN = """
Word word WORD Error KeyError aTimeout foo_bar __init__ camelCase HTTPServer 7 12 123 1234 a1 R-2026 #41 # @ /
// . .. ~ - : , ; ! ? ( ) () " ' [ ] { } = | < > ` _ é http https:// ann example org main py etc e.g
"""
PARTS = st.sampled_from(WRITTEN.split()) | st.sampled_from([" ", "  ", "\n", "\t"])


@given(parts=st.lists(PARTS | st.characters(max_codepoint=0x2FF), max_size=24))
def test_plain_words_that_are_passed_over_hold_no_identifier(parts):
    text = "".join(parts)
    assert [match.span() for match in FINDER.finditer(text) if match.lastgroup is not None] == [
        match.span() for match in re.finditer(FORMS, text, re.VERBOSE)
    ]


def test_what_nobody_sees_is_left_out_and_each_line_break_is_one() -> None:
    assert seen("a\r\nb\rc\u2028d\u200be\u200c\u200df\u200cg\x00h\u00e9") == "a\nb\nc\nd" + "ef\u200cgh\u00e9"
    assert seen("a\tb\nc") == "a\tb\nc"
    assert seen("a\rb\x01") == "a\nb"


def test_what_nobody_sees_may_be_written_as_an_escape() -> None:
    assert escape_unseen("a\u200b\x85\x01\n\t", escape=lambda sign: f"<{ord(sign)}>") == "a<8203><133><1>\n\t"
    assert escape_unseen("a\x01", escape=lambda sign: "?") == "a?"
    assert harmless_json('"\u200b\U000e0041\x01"') == '"\\u200b\\udb40\\udc41\\u0001"'


def test_lists_are_made_harmless_and_what_is_quoted_or_no_text_stays() -> None:
    assert harmless(("<s>", [3, "x", Quoted("<memory>")])) == ["&lt;s>", [3, "x", "<memory>"]]
    quoted = harmless(Quoted("<memory>"))
    assert (quoted, type(quoted)) == ("<memory>", str)
    assert harmless(None) is None
