"""Amounts, dates, weekdays and times in other languages than English, as each of them writes them."""

from __future__ import annotations

import pytest

from stitch.text.foreign import mentions_in
from stitch.text.foreign_phrases import foreign_form
from stitch.text.forms import SentenceForm
from stitch.text.languages import content_words, stem_in

SAID = [
    ("fr", "il faut 3 150,50 € pour tout", "price", "3 150,50 €"),
    ("ru", "вышло 12 400 рублей", "price", "12 400 рублей"),
    ("pl", "kosztuje 7 350 zł", "price", "7 350 zł"),
    ("cs", "ve středu", "day", "středu"),
    ("pl", "w niedzielę rano", "day", "niedzielę"),
    ("ru", "приду в субботу", "day", "субботу"),
    ("pt", "pode ser na sexta, de manhã", "day", "sexta"),
    ("sv", "vi ses klockan 16", "time", "klockan 16"),
    ("hi", "शाम 7 बजे", "time", "7 बजे"),
    ("hu", "március 9 jó lenne", "date", "március 9"),
    ("ar", "السعر 260 دينارا", "price", "260 دينارا"),
    ("ar", "نسافر 11 أيلول", "date", "11 أيلول"),
    ("zh", "下午四点见", "time", "下午四点"),
    ("zh", "十月二十一日", "date", "十月二十一日"),
    ("zh", "要五千六百元", "price", "五千六百元"),
    ("ja", "七時半に出ます", "time", "七時半"),
    ("ja", "二万円です", "price", "二万円"),
    ("ko", "전부 4만 5천 원이에요", "price", "4만 5천 원"),
    ("ko", "저녁 여덟 시에 봐요", "time", "여덟 시"),
    ("id", "harganya Rp 85.000", "price", "Rp 85.000"),
]


@pytest.mark.parametrize(("language", "text", "kind", "value"), SAID)
def test_a_value_has_its_class(language, text, kind, value):
    assert (kind, value) in [(mention.entity_type, mention.value) for mention in mentions_in(text, language)]


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("ja", "三時間かかります"),
        ("ko", "두 시간 걸려요"),
        ("zh", "有一点累"),
        ("pt", "é a segunda vez"),
        ("ru", "среди друзей"),
        ("ja", "一時的な問題"),
    ],
)
def test_a_word_that_looks_like_a_time_or_a_day_is_none(language, text):
    assert mentions_in(text, language) == ()


@pytest.mark.parametrize(("language", "text"), [("ja", "何色がありますか。"), ("zh", "你明天有空吗")])
def test_a_question_without_a_mark_is_told_by_its_last_sign(language, text):
    assert foreign_form(text, language) is SentenceForm.QUESTION


def test_korean_nouns_have_one_stem_whatever_their_part_in_the_sentence():
    forms = ("냉장고", "냉장고가", "냉장고는", "냉장고에서도", "냉장고를")
    assert {stem_in(word, "ko") for word in forms} == {"냉장고"}
    assert stem_in("나이", "ko") == "나이"


def test_what_is_elided_before_a_word_is_no_part_of_it():
    said = content_words("Il n'y a pas d'horloge dans l'entrée, c'est dommage pour l'école de mon frère.")
    assert {"horloge", "entrée", "école"} <= set(said)
