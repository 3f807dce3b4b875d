"""The language of a text, its words, and what is read of texts that are not English."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stitch.text.foreign import mentions_in
from stitch.text.foreign_phrases import (
    asked_classes,
    courteous_words,
    foreign_form,
    languages,
    leaves,
    phrases_of,
    resumes,
    without_phrases,
)
from stitch.text.forms import SentenceForm
from stitch.text.languages import (
    content_stems,
    content_words,
    function_words,
    language_of,
    phrases_in,
    stem_in,
    surely_carrying,
    words_in,
)

SAID = {
    "de": "Der Zug fährt um acht, und wir müssen noch die Karten für den Abend holen.",
    "en": "The train leaves at eight, and we still have to pick up the tickets for the evening.",
    "es": "El tren sale a las ocho y todavía tenemos que recoger las entradas para la noche.",
    "fr": "Le train part à huit heures et nous devons encore prendre les billets pour la soirée.",
    "it": "Il treno parte alle otto e dobbiamo ancora ritirare i biglietti per la serata.",
    "ja": "電車は八時に出ますので、切符を取りに行かなければなりません。",
    "nl": "De trein vertrekt om acht uur en we moeten nog de kaartjes voor de avond ophalen.",
    "pl": "Pociąg odjeżdża o ósmej, a my musimy jeszcze odebrać bilety na wieczór, bo już późno.",
    "pt": "O trem sai às oito e nós ainda temos que pegar os ingressos para a noite.",
    "ru": "Поезд уходит в восемь, и нам ещё нужно забрать билеты на вечер.",
    "sv": "Tåget går klockan åtta och vi måste fortfarande hämta biljetterna till kvällen.",
    "tr": "Tren sekizde kalkıyor ve akşam için biletleri daha almamız gerekiyor, ama çok geç değil.",
    "zh": "火车八点开，我们还要去拿晚上的票。",
}


@pytest.mark.parametrize("language", SAID)
def test_a_sentence_tells_its_language(language):
    assert language_of(SAID[language]) == language


@pytest.mark.parametrize(
    "text", ["", "OK", "R-2026-0071", "count | sum\n164 | 187432.55", "Bern 1848", "def f(x): pass"]
)
def test_what_has_no_function_words_tells_none(text):
    assert language_of(text) is None


def test_names_from_elsewhere_leave_an_english_sentence_english():
    assert language_of("I want to go to the Musée des Arts Forains and then to La Cantina de la Abuela") == "en"


@pytest.mark.parametrize("language", ["de", "es", "fr", "it", "pt", "nl", "pl", "sv", "tr", "ru", "zh", "ja"])
def test_no_function_word_of_its_language_is_a_content_word(language):
    assert not set(content_words(SAID[language])) & function_words(language)


_SAID_BY_ANYBODY = sorted({word for text in SAID.values() for word in words_in(text)} | {"xylophone", "7", "b", "i"})


_ASCII = st.characters(max_codepoint=127)


@given(
    st.lists(st.sampled_from([word for word in _SAID_BY_ANYBODY if word.isascii()]), max_size=12).map(" ".join)
    | st.text(_ASCII, max_size=60)
)
def test_a_word_that_surely_carries_matter_does_so_in_the_language_of_the_text(text):
    assert surely_carrying(words_in(text)) <= len(content_words(text))


def test_what_surely_carries_matter_is_told_without_the_language():
    assert surely_carrying(words_in("The xylophone has 88 keys of rosewood")) == 4
    assert surely_carrying(words_in("the of and und der les")) == 0


def test_inflected_words_of_a_language_have_one_stem():
    assert stem_in("reservas", "es") == stem_in("reserva", "es")
    assert stem_in("häuser", "de") == stem_in("häusern", "de")
    assert set(content_stems("Las reservas que tenemos para el hotel")) & set(
        content_stems("¿Tienes la reserva de los hoteles para mí?")
    )


def test_english_keeps_its_own_stems():
    assert stem_in("reservations", "en") == stem_in("reservations", None) == "reserv"


def test_words_without_spaces_are_cut_into_pairs_of_signs():
    assert words_in("14日订酒店 Hotel") == ["14", "日订", "订酒", "酒店", "hotel"]
    assert words_in("酒") == ["酒"]


@given(st.text(max_size=200))
def test_any_text_can_be_read(text):
    language = language_of(text)
    assert all(word in text.lower().replace("’", "'") for word in words_in(text))
    assert all(text[m.start : m.end].strip() == m.value for m in mentions_in(text, language))


@pytest.mark.parametrize(
    ("language", "text", "kind", "value"),
    [
        ("de", "Das kostet 212 €, am 14. Mai um 14:30 Uhr.", "price", "212 €"),
        ("de", "Das kostet 212 €, am 14. Mai um 14:30 Uhr.", "date", "14. Mai"),
        ("de", "Wir kommen am Donnerstag um 9 Uhr.", "day", "Donnerstag"),
        ("de", "Wir kommen am Donnerstag um 9 Uhr.", "time", "9 Uhr"),
        ("es", "Son 1.250,50 euros el 3 de octubre.", "price", "1.250,50 euros"),
        ("es", "Son 1.250,50 euros el 3 de octubre.", "date", "3 de octubre"),
        ("es", "Quedamos el miércoles.", "day", "miércoles"),
        ("fr", "Le 3 février à 14h30, 45 €.", "date", "3 février"),
        ("fr", "Le 3 février à 14h30, 45 €.", "time", "14h30"),
        ("pt", "No dia 7 de setembro por R$ 300.", "price", "R$ 300"),
        ("pt", "No dia 7 de setembro por R$ 300.", "date", "7 de setembro"),
        ("it", "Il 12 giugno, 80 euro a notte", "date", "12 giugno"),
        ("it", "Ci vediamo sabato.", "day", "sabato"),
        ("zh", "5月14日下午3点，一共300元", "date", "5月14日"),
        ("zh", "5月14日下午3点，一共300元", "time", "3点"),
        ("zh", "5月14日下午3点，一共300元", "price", "300元"),
        ("zh", "星期三见", "day", "星期三"),
        ("pl", "12 czerwca, 300 zł", "date", "12 czerwca"),
    ],
)
def test_amounts_dates_and_weekdays_are_told_by_their_form(language, text, kind, value):
    assert (kind, value) in [(mention.entity_type, mention.value) for mention in mentions_in(text, language)]


def test_nouns_with_capitals_are_no_names_in_german():
    assert not mentions_in("Die Waschmaschine steht im Keller, das Haus ist alt.", "de")


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("de", "zurück zur reise: welcher zug war das?"),
        ("es", "volviendo a la boda, ¿cuántos somos?"),
        ("fr", "revenons au voyage"),
        ("it", "tornando alla caldaia, quanto costa?"),
        ("pt", "voltando ao aluguel, quanto ficou?"),
        ("zh", "回到旅行的事"),
        ("nl", "terug naar de reis"),
    ],
)
def test_marks_of_coming_back_are_known(language, text):
    assert resumes(text, language)
    assert not resumes(text, "en")


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("de", "übrigens, der motor klappert"),
        ("es", "oye, y otra cosa"),
        ("fr", "au fait, tu viens ?"),
        ("it", "a proposito, hai chiamato?"),
        ("pt", "outra coisa: o carro"),
        ("zh", "对了，明天几点？"),
    ],
)
def test_marks_of_leaving_a_subject_are_known(language, text):
    assert leaves(text, language)


def test_short_names_of_months_that_are_other_words_are_no_dates():
    for language, text in (("es", "3 ene"), ("it", "3 gen"), ("xx", "3 juin")):
        assert not [mention for mention in mentions_in(text, language) if mention.entity_type == "date"]
    assert [mention.value for mention in mentions_in("212 \u20ac, 3 juin", "xx")] == ["212 \u20ac"]


def test_values_of_a_text_are_told_by_place_and_none_twice():
    text = "ann@example.org zahlt am Montag, 14. Mai um 14:30 Uhr 212 \u20ac."
    mentions = mentions_in(text, "de")
    assert [text[mention.start : mention.end] for mention in mentions] == [mention.value for mention in mentions] == [
        "ann@example.org", "Montag", "14. Mai", "14:30", "212 \u20ac",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("de", "Was kostet das Fahrrad?"),
        ("es", "¿Dónde está mañana?"),
        ("fr", "Où est garé l'été dernier le vélo ?"),
        ("pl", "Gdzie są żółte łódki?"),
        ("pt", "Você já não vem amanhã, João?"),
        ("ru", "Где лежат ключи?"),
        ("tr", "Merhaba, kütüphaneyi arıyorum."),
        ("uk", "Де лежать її ключі?"),
    ],
)
def test_a_short_sentence_tells_its_language_by_its_letters_too(language, text):
    assert language_of(text) == language


@pytest.mark.parametrize("text", ["Müller & Söhne", "Café Zoë", "José García", "Łódź", "Fine."])
def test_a_name_with_foreign_letters_tells_no_language(text):
    assert language_of(text) is None


def test_what_was_said_before_goes_on_unless_another_language_is_told_clearly():
    claro = "Claro. Para quando é?"
    assert language_of(claro, "pt") == "pt"
    assert language_of("OK", "pt") == "pt"
    assert language_of(SAID["en"], "pt") == "en"
    assert language_of(SAID["de"], "pt") == "de"


@pytest.mark.parametrize(
    ("language", "sentence", "form"),
    [
        ("de", "ich suche eine wohnung", SentenceForm.REQUEST),
        ("de", "danke, das war alles", SentenceForm.THANKS),
        ("es", "necesito un taxi para las ocho", SentenceForm.REQUEST),
        ("es", "¡hola!", SentenceForm.GREETING),
        ("es", "¿a qué hora sale?", SentenceForm.QUESTION),
        ("fr", "oui, c'est noté", SentenceForm.AGREEMENT),
        ("fr", "au revoir", SentenceForm.FAREWELL),
        ("it", "no, troppo caro", SentenceForm.REFUSAL),
        ("it", "la stanza è piccola", SentenceForm.STATEMENT),
        ("ja", "部屋を探しています。", SentenceForm.REQUEST),
        ("nl", "goedemorgen", SentenceForm.GREETING),
        ("pl", "dziękuję bardzo", SentenceForm.THANKS),
        ("pt", "gostaria de um quarto", SentenceForm.REQUEST),
        ("ru", "мне нужна комната", SentenceForm.REQUEST),
        ("sv", "kan du boka ett rum?", SentenceForm.REQUEST),
        ("tr", "evet, oldu", SentenceForm.AGREEMENT),
        ("zh", "帮我订一个房间", SentenceForm.REQUEST),
        ("zh", "好的，几点出发？", SentenceForm.QUESTION),
        ("ar", "هل الغرفة كبيرة؟", SentenceForm.QUESTION),
        ("el", "πού είναι το δωμάτιο;", SentenceForm.QUESTION),
        ("fr", "il est parti ;", SentenceForm.STATEMENT),
        ("hi", "मुझे कमरा चाहिए", SentenceForm.REQUEST),
        ("ko", "방을 찾고 있어요", SentenceForm.REQUEST),
        ("et", "kus tuba on?", SentenceForm.QUESTION),
        ("et", "aitäh", SentenceForm.STATEMENT),
    ],
)
def test_what_kind_of_move_a_sentence_is(language, sentence, form):
    assert foreign_form(sentence, language) is form


@given(st.text(max_size=80), st.sampled_from([*languages(), "et"]))
def test_any_sentence_of_any_language_is_some_move(sentence, language):
    assert foreign_form(sentence.lower(), language) in SentenceForm


def test_courtesies_and_marks_name_no_subject():
    assert without_phrases("hola, quiero un piso, por favor", "es").split() == [",", "un", "piso,"]
    assert without_phrases("übrigens, der keller; zurück zum haus", "de").split() == [",", "der", "keller;", "haus"]
    assert without_phrases("tere, tuba", "et") == "tere, tuba"


def test_all_phrases_of_a_language_are_known_and_lists_of_words():
    assert len(languages()) == 27
    for language in languages():
        assert phrases_of(language) is not None
        assert all(word.isalpha() for word in courteous_words(language))
    assert phrases_of("et") is None
    assert {"hola", "gracias", "muchas"} & set(courteous_words("es")) == {"hola"}


def test_chinese_and_japanese_are_cut_at_their_words_of_grammar():
    assert phrases_in("我想安排去上海的会议", "zh") == ["安排", "上海", "会议"]
    assert phrases_in("大阪への出張を計画したい", "ja") == ["大阪", "出張", "計画"]
    assert phrases_in("ein Haus", "de") == ["ein", "haus"]
    assert content_words("我们的酒店在上海吗") == ["酒店", "上海"]
    assert "計画" in content_words("出張を計画したい")
    assert "たい" not in content_words("出張を計画したい")


def test_words_of_a_language_without_stemmer_share_their_first_letters():
    assert stem_in("remontu", "pl") == stem_in("remontem", "pl") == "remon"
    assert stem_in("nhà", "vi") == "nhà"


def test_the_turkish_capital_i_is_a_letter():
    assert words_in("İzmir'de İş") == ["izmir'de", "iş"]


def test_vowels_and_accents_beside_letters_are_parts_of_a_word():
    assert words_in("जयपुर की यात्रा") == ["जयपुर", "की", "यात्रा"]
    assert words_in("cafe\u0301 noir") == ["cafe\u0301", "noir"]


@pytest.mark.parametrize(
    ("language", "question", "classes"),
    [
        ("de", "um wie viel uhr fährt der bus?", ("time",)),
        ("es", "¿cuánto cuesta la entrada?", ("price",)),
        ("fr", "quel jour part le bateau ?", ("date", "day")),
        ("ja", "会議はいつですか？", ("date", "time", "day")),
        ("nl", "wat kosten de kaartjes en hoe laat begint het?", ("time", "price")),
        ("zh", "票多少钱？", ("price",)),
        ("it", "chi viene con noi?", ()),
        ("et", "mis see maksab?", ()),
    ],
)
def test_a_question_asks_for_classes_of_values(language, question, classes):
    assert asked_classes(question, language) == classes
