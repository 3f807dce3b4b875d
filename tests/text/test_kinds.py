"""Which kinds of things a noun names."""

from stitch.text.kinds import kinds_of
from stitch.text.words import stem


def test_a_noun_is_of_the_kinds_above_it_in_all_its_forms():
    for word in ("chickpea", "chickpeas"):
        assert stem("legume") in kinds_of(word)
    assert stem("poultry") in kinds_of("duck")
    assert stem("vegetable") in kinds_of("sweet potato")


def test_what_is_no_noun_has_no_kinds():
    for text in ("", "xyzzyq", "a\tb", "#0001", "\n", "zzzz"):
        assert kinds_of(text) == {}


def test_the_first_second_and_third_meaning_count_less_and_less():
    kinds = kinds_of("duck")
    assert kinds[stem("bird")] > kinds[stem("score")] > kinds[stem("meat")] > 0.5
    assert max(kinds.values()) < 1


def test_no_kind_is_what_everything_is():
    assert not {stem(word) for word in ("entity", "object", "thing", "whole")} & set(kinds_of("duck"))
