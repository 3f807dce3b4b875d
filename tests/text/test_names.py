"""Names in a text: which words with capitals are some, and how the text brings them up."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import stitch.text.names
from stitch.text.names import (
    MAX_NAMES,
    NameMention,
    _Ending,
    _stands_alone,
    find_names,
    last_unit,
    name_key,
    straighten_quotes,
)


def names(text: str) -> list[str]:
    return [mention.text for mention in find_names(straighten_quotes(text))]


def only(text: str) -> NameMention:
    (mention,) = find_names(straighten_quotes(text))
    return mention


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("We booked Olympus Grill for dinner.", ["Olympus Grill"]),
        ("We met Dr. Lee and J. K. Rowling.", ["Dr. Lee", "J. K. Rowling"]),
        ("Then to the City of Leeds.", ["the City of Leeds"]),
        ("He read The Hobbit.", ["The Hobbit"]),
        ("He read the Hobbit.", ["the Hobbit"]),
        ("She knows Ann's dog.", ["Ann"]),
        ("Okay Ann, go", ["Ann"]),
        ("On Monday Ann came in May", ["Ann"]),
        ("So it was Ann Monday", ["Ann"]),
        ("It was Ann I think", ["Ann"]),
        ("I called Ann I'm sure", ["Ann"]),
        ("We saw Xi today", ["Xi"]),
        ("We play Good Years a lot.", ["Good Years"]),
        ("Good Years left.", ["Years"]),
        ("We saw The What there", []),
        ("We saw The Hill there", ["The Hill"]),
        ("Luckily Rome was open.", ["Rome"]),
        ("Visiting Rome was fun.", ["Rome"]),
        ("Visit Rome soon.", ["Rome"]),
        ("Livin' Large sold well", ["Large"]),
        ("We saw Visiting Rome", ["Visiting Rome"]),
        ("Breakfast was good. Nobody came. The Then.", []),
        ("Running is fun. Trains are late. Quickly is a word", []),
        ("Boss is a shop", ["Boss"]),
        ("Cars is a film", ["Cars"]),
        ("Ann is here. Ann left early.", []),
        ("Olympus. Nothing more.", []),
        ("- Delta sued them", ["Delta"]),
        ("well\nDelta sued them", ["Delta"]),
        ("Delta sued them", ["Delta"]),
        ("Delta sued them over the word delta", []),
        ("Delta sued them over deltas", ["Delta"]),
        ("We took Delta flights", []),
        ("We took the Delta flights", []),
        ("We saw Delta quickly", ["Delta"]),
        ("We saw Delta has left", ["Delta"]),
        ("We saw Delta wore it", ["Delta"]),
        ("We saw Delta landed", ["Delta"]),
        ("At the Good Food market", []),
        ("The Good Food market", []),
        ("We like Good Food markets", ["Good Food"]),
        ("We liked the Good Food Cooperative that sued", ["the Good Food Cooperative"]),
        ("The Food Cooperative sued them", ["The Food Cooperative"]),
        ("12 High Street and High Road", []),
        ("It is at 12 High, they say.", []),
        ("It is at 12b High, they say.", []),
        ("It is at 12 by High, they say.", ["High"]),
        ("We live at Broadway", []),
        ("It is located at Broadway", []),
        ("We like Italian and Greek food of French of Spanish", []),
        ("We like Italian Job", ["Italian Job"]),
        ("We are in Phase 2", []),
        ("We are in Phase Two 2", ["Phase Two"]),
        ("I like X and J now", []),
    ],
)
def test_words_with_capitals_are_a_name_unless_the_sentence_gave_them(text: str, said: list[str]) -> None:
    assert names(text) == said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("yes, olympus grill is a bistro", "olympus grill"),
        ("the nirala serves chinese", "the nirala"),
        ("it is called the nirala which is in the centre", "the nirala"),
        ("i recommend curry garden, it is cheap", "curry garden"),
        ("there's curry prince in the east", "curry prince"),
        ("there is golden wok that serves chinese", "golden wok"),
        ("i suggest trains", ""),
        ("it is called gladly.", ""),
        ("it is called trains.", ""),
        ("walking is a joy", ""),
        ("find is a verb", ""),
        ("the address is in town", ""),
        ("it is called this one.", ""),
        ("it is called salt and pepper.", "salt and pepper"),
    ],
)
def test_names_without_capitals_are_read_where_the_sentence_says_that_they_are_some(text: str, said: str) -> None:
    expected = (
        [NameMention(text.index(said), text.index(said) + len(said), said, True, True, False, False, False, True)]
        if said
        else []
    )
    assert find_names(text) == expected


def test_only_a_short_text_has_names_without_capitals() -> None:
    text = "it is called olympus grill. " + "no more of it " * 40
    assert names(text[:400]) == ["olympus grill"]
    assert names(text[:401]) == []
    assert names("it is called olympus grill, says Ann Miller") == ["Ann Miller"]


@pytest.mark.parametrize(
    ("text", "leads", "presented"),
    [
        ("How about Fox Run?", True, True),
        ("You could visit the Fox Run?", True, True),
        ("It was Fox Run", False, False),
        ("Fox Run closed", True, False),
        ("So Fox Run closed", False, False),
        ("Then Fox Run is a bistro", True, True),
        ("The menu of Fox Run is an issue", False, False),
    ],
)
def test_a_name_leads_where_it_opens_its_sentence_or_is_put_forward(text: str, leads: bool, presented: bool) -> None:
    assert (only(text).leads, only(text).presented) == (leads, presented)


@pytest.mark.parametrize(
    ("text", "placed"),
    [
        ("I flew to Rome.", True),
        ("I flew into the Rome.", True),
        ("I flew to Rome's airport.", False),
        ("I flew over Rome Airport.", True),
        ("I flew over Rome.", False),
    ],
)
def test_a_name_is_placed_where_something_is_or_goes(text: str, placed: bool) -> None:
    assert only(text).placed == placed


@pytest.mark.parametrize(
    ("text", "acts"),
    [
        ("Ann Miller left early.", True),
        ("Ann Miller (34) who later left early.", True),
        ("Ann Miller was early.", True),
        ("Ann Miller walks a lot", True),
        ("Ann Miller walk a lot", False),
        ("Ann Miller located there", False),
        ("Ann Miller asked by them", False),
        ("When did Ann Miller leave?", True),
        ("Who was Ann Miller?", True),
        ("We told Ann Miller", False),
        ("after Ann Miller left", False),
        ("Bob and Ann Miller left", False),
        ("In Rome City left", False),
        ("It was in Ann Miller left", False),
    ],
)
def test_a_name_acts_where_it_does_something_or_is_asked_what_it_does(text: str, acts: bool) -> None:
    found = [mention for mention in find_names(text) if mention.text != "Bob"]
    assert [mention.acts for mention in found] == [acts]


@pytest.mark.parametrize(
    ("text", "titled"),
    [
        ('She wrote "Blue Harbor" last year.', True),
        ("She wrote \u2018Blue Harbor\u2019 last year.", True),
        ("She wrote the album Blue Harbor last year.", True),
        ("She wrote Blue Harbor last year.", False),
        ("Blue Harbor", False),
    ],
)
def test_a_title_stands_in_quotation_marks_or_behind_its_kind(text: str, titled: bool) -> None:
    assert only(text).titled == titled


@pytest.mark.parametrize(
    ("text", "sure"),
    [
        ("Smith sued them.", False),
        ("Smith grew up there.", False),
        ("Adam grew up there.", False),
        ("Smith was born then.", False),
        ("Smith had his way.", False),
        ("Smith is a lawyer.", True),
        ("Rose is a lawyer.", True),
        ("They say Smith sued them.", True),
        ("Ann Smith sued them.", True),
        ("Luckily Smith sued them.", True),
    ],
)
def test_the_capital_of_a_word_that_opens_a_sentence_is_not_sure_to_be_that_of_a_name(text: str, sure: bool) -> None:
    assert only(text).sure == sure


@pytest.mark.parametrize(
    "text", ["Smith was late.", "Smith is late.", "Bo sued them.", "Ann sued them.", "Early left.", "Ringing rings."]
)
def test_a_word_that_opens_a_sentence_is_no_name_if_anything_would_do_so(text: str) -> None:
    assert names(text) == []


def test_two_names_of_which_one_thing_is_said_are_one() -> None:
    mention = only("Olympus Grill and Fox Run is a bistro")
    assert (mention.text, mention.start, mention.end, mention.presented) == ("Olympus Grill and Fox Run", 0, 25, True)
    assert names("We saw Olympus Grill and Fox Run there") == ["Olympus Grill", "Fox Run"]
    assert names("We saw Olympus Grill or Fox Run is a bistro") == ["Olympus Grill", "Fox Run"]


def test_so_many_names_are_read_and_no_more() -> None:
    text = " then ".join(f"of Fox R{'u' * n}n" for n in range(1, MAX_NAMES + 3))
    assert len(names(text)) == MAX_NAMES


@given(
    st.lists(st.sampled_from(["the ", "The", "  ", "\n", "Ann", " is a", "Bob Lee", ", ", "in", "'", "2"]), max_size=9)
)
def test_a_name_stands_where_it_says(parts: list[str]) -> None:
    text = " ".join(parts)
    for mention in find_names(text):
        assert " ".join(text[mention.start : mention.end].split()).lower() == mention.text.lower()


def test_the_article_of_a_name_may_stand_far_before_it() -> None:
    for text in ("We saw the Fox Run", "We saw the   Fox Run", "We saw the\nFox Run"):
        assert (only(text).text, only(text).start, only(text).end) == ("the Fox Run", 7, len(text))


def test_two_writings_of_a_name_have_one_key() -> None:
    assert name_key("The Fox Run") == name_key("fox run") == name_key("Fox Run.") == "fox run"
    assert (name_key("The"), name_key("J.K. Lee"), name_key("Fox The")) == ("the", "jk lee", "fox the")


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("back to Day 1, then phase #2", "phase 2"),
        ("issue 41", "issue 41"),
        ("day 2.5 and day 3%", ""),
        ("day 4 out of 7", ""),
        ("in May 4 or on the 5", ""),
        ("it costs 12", ""),
        ("days 12", "days 12"),
        ("no number", ""),
    ],
)
def test_the_last_numbered_unit_is_read(text: str, unit: str) -> None:
    assert last_unit(text) == unit


_UNIT = re.compile(r"\b([A-Za-z]{3,12}) ?#? ?(\d{1,4})\b(?![.,:]\d|[%/]| out of\b)")
UNITS = st.sampled_from(["day", "Phase", "issue", "the", "May", "runs", "extraordinarily", "1", "12", "12345", "#", " ",
                         "  ", "\n", ".", ".5", ":30", "%", "/", " out of", "x", "_", "é"])  # fmt: skip


@given(parts=st.lists(UNITS, max_size=12))
def test_the_last_unit_is_the_last_of_all_words_with_a_number_behind_that_are_no_date_and_no_deed(
    parts: list[str],
) -> None:
    text = "".join(parts)
    units = [f"{word.lower()} {number}" for word, number in _UNIT.findall(text)]
    units = [unit for unit in units if unit.split()[0] not in ("the", "may", "runs")]
    assert last_unit(text) == (units[-1] if units else "")


ENDINGS = [each for each in vars(stitch.text.names).values() if isinstance(each, _Ending)]


@pytest.mark.parametrize("ending", ENDINGS, ids=lambda ending: ending.pattern.pattern[:30])
@given(data=st.data(), words=st.lists(st.sampled_from(["the", "a", "who", "one", "it", "x"]), max_size=3))
def test_a_text_that_ends_in_a_certain_way_ends_with_one_of_its_last_words(
    ending: _Ending, data: st.DataObject, words: list[str]
) -> None:
    text = " ".join([*words, data.draw(st.from_regex(ending.pattern))]).rstrip()
    if ending.pattern.search(text):
        assert ending.of(text)


@given(
    text=st.text(st.sampled_from("ab&_ -.é\n"), max_size=16),
    part=st.text(st.sampled_from("ab&"), min_size=1, max_size=3),
)
def test_a_part_stands_alone_where_words_begin_and_end(text: str, part: str) -> None:
    assert _stands_alone(text, part) == (re.search(rf"\b{re.escape(part)}\b", text) is not None)


@given(st.from_regex(stitch.text.names._TYPED_NAME))
def test_a_text_with_a_name_without_capitals_has_one_of_the_signs_by_which_it_is_known(text: str) -> None:
    if stitch.text.names._TYPED_NAME.search(text):
        assert any(sign in text for sign in stitch.text.names._TYPED_SIGNS) or (
            stitch.text.names._SAYS_WHAT_AFTER.search(text)
        )


@pytest.mark.parametrize("verb", ["Visit", "Visiting", "Luckily", "Saw"])
@pytest.mark.parametrize(
    ("before", "opens"),
    [("", True), ("It rained. ", True), ("It rained\n", True), ("- ", True), ("of this: ", True), ("so we ", False),
     ("so we,\tonce, ", False)],
)  # fmt: skip
def test_what_only_opens_a_sentence_is_no_part_of_a_name(verb: str, before: str, opens: bool) -> None:
    assert names(f"{before}{verb} Rome") == ["Rome" if opens else f"{verb} Rome"]
