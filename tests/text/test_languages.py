"""The language of a text, its words and their stems."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stitch.text.languages import (
    content_stems,
    content_words,
    function_words,
    language_of,
    phrases_in,
    stem_in,
    words_in,
)
from stitch.text.words import plain_signs

SAID = json.loads((Path(__file__).parent / "said.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("language", ["de", "es", "fr", "it", "pt", "nl", "pl", "sv", "tr", "ru", "zh", "ja"])
def test_no_function_word_of_its_language_is_a_content_word(language):
    assert not set(content_words(SAID[language])) & function_words(language)


def test_inflected_words_of_a_language_have_one_stem():
    assert stem_in("reservas", "es") == stem_in("reserva", "es")
    assert stem_in("häuser", "de") == stem_in("häusern", "de")
    assert set(content_stems("Las reservas que tenemos para el hotel")) & set(
        content_stems("¿Tienes la reserva de los hoteles para mí?")
    )


@given(st.text(max_size=200))
def test_any_text_can_be_read(text):
    language_of(text)
    plain = plain_signs(text).lower().replace("’", "'")
    assert all(word in plain for word in words_in(text))


def test_chinese_and_japanese_are_cut_at_their_words_of_grammar():
    assert phrases_in("我想安排去上海的会议", "zh") == ["安排", "上海", "会议"]
    assert phrases_in("大阪への出張を計画したい", "ja") == ["大阪", "出張", "計画"]
    assert phrases_in("ein Haus", "de") == ["ein", "haus"]
    assert content_words("我们的酒店在上海吗") == ["酒店", "上海"]
    assert "計画" in content_words("出張を計画したい")
    assert "たい" not in content_words("出張を計画したい")


def test_vowels_and_accents_beside_letters_are_parts_of_a_word():
    assert words_in("जयपुर की यात्रा") == ["जयपुर", "की", "यात्रा"]
    assert words_in("cafe\u0301 noir") == ["caf\u00e9", "noir"]


def test_one_word_in_other_signs_is_one_word():
    assert words_in("ＡＢＣ１２３ ﾊﾟｽﾜｰﾄﾞ") == words_in("abc123 パスワード")
    assert words_in("رقم ١٢٣٤ कोड ५६७८") == ["رقم", "1234", "कोड", "5678"]
