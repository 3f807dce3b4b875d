"""Labels of steps that are not English: no word of grammar is a label, and resuming gives the same labels."""

from __future__ import annotations

import pytest

from stitch import open_memory
from stitch.core import Step
from stitch.label.local import LocalLabeler
from stitch.text.languages import function_words

GERMAN = (
    "Hallo, wir möchten im Mai ein paar Tage nach Gent, und ich suche noch ein Zimmer für zwei.",
    "Für die Tage am 14. Mai gibt es ein Zimmer für 212 € pro Nacht, aber ohne Frühstück.",
    "Übrigens, die Spülmaschine ist kaputt und ich weiß nicht, was das kostet.",
    "Die Pumpe ist wohl hin, das kostet mit Einbau etwa 90 €.",
    "Zurück zu Gent: ist das Zimmer in der Nähe vom Bahnhof?",
    "Ja, es sind fünf Minuten.",
)
ITALIAN = (
    "Ciao, vorrei prenotare una stanza a Genova per il 3 giugno, siamo in due con il cane.",
    "C'è una stanza vicino al porto per 80 euro, ma senza la colazione.",
    "A proposito, la lavatrice non va e non so chi la può riparare.",
    "Può essere la pompa, con il lavoro sono circa 120 euro.",
    "Tornando alla stanza, il cane paga?",
    "No, il cane non paga.",
)


def labeled(texts):
    steps = [Step(role=("user", "assistant")[i % 2], content=text, id=str(i)) for i, text in enumerate(texts)]
    return steps, LocalLabeler().begin("t").label(steps)


@pytest.mark.parametrize(("language", "texts"), [("de", GERMAN), ("it", ITALIAN)])
def test_no_label_is_a_word_of_grammar(language, texts):
    _, labels = labeled(texts)
    light = function_words(language)
    for each in labels:
        assert not set((each.intent.scope or "").split()) <= light
        assert not set(each.intent.entity_types) & light


@pytest.mark.parametrize(("texts", "types"), [(GERMAN, {"price", "date"}), (ITALIAN, {"price"})])
def test_amounts_and_dates_have_their_types(texts, types):
    _, labels = labeled(texts)
    assert types <= set(labels[1].intent.entity_types)


def test_a_question_is_told_by_its_mark():
    _, labels = labeled(GERMAN)
    assert "ask" in labels[4].intent.event_types


@pytest.mark.parametrize("texts", [GERMAN, ITALIAN])
@pytest.mark.parametrize("cut", [1, 3, 5])
def test_a_session_that_was_saved_goes_on_as_one_that_was_not(texts, cut):
    steps, whole = labeled(texts)
    labeler = LocalLabeler()
    session = labeler.begin("t")
    first = session.label(steps[:cut])
    rest = labeler.begin("t", session.save()).label(steps[cut:])
    assert [*first, *rest] == whole


def test_a_short_answer_is_read_in_the_language_around_it():
    steps, _ = labeled((*GERMAN, "Gut und fertig"))
    session = LocalLabeler().begin("t")
    session.label(steps[:-1])
    alone = LocalLabeler().begin("t").label(steps[-1:])
    assert session.label(steps[-1:])[0].intent != alone[0].intent


TWO_GOALS = {
    "es": (
        "Hola, quiero alquilar una furgoneta para la mudanza.",
        "De acuerdo, la furgoneta cuesta 70 € al día.",
        "Por cierto, necesito un dentista para el niño.",
        "El dentista de la plaza atiende los lunes.",
        "Volviendo a la mudanza, ¿cuántas cajas hacen falta?",
    ),
    "fr": (
        "Bonjour, je voudrais louer un appartement à Lille.",
        "D'accord, l'appartement coûte 700 € par mois.",
        "Au fait, il me faut un plombier pour la fuite.",
        "Le plombier passe demain matin.",
        "Revenons à l'appartement : y a-t-il un balcon ?",
    ),
    "pl": (
        "Dzień dobry, szukam mieszkania w Krakowie.",
        "Dobrze, mieszkanie kosztuje 2500 zł.",
        "Przy okazji, potrzebuję mechanika do samochodu.",
        "Mechanik ma czas w piątek.",
        "Wracając do mieszkania, czy jest balkon?",
    ),
    "zh": (
        "你好，我想租一套公寓。",
        "好的，公寓每月3000元。",
        "对了，帮我找一位牙医。",
        "牙医周五有空。",
        "回到公寓，有阳台吗？",
    ),
    "it": (
        "Buongiorno, vorrei un tavolo in trattoria per venerdì.",
        "La trattoria ha un tavolo per quattro persone.",
        "Cambiamo argomento: il rubinetto in cucina perde acqua.",
        "Basta cambiare la guarnizione del rubinetto.",
        "Torniamo alla trattoria: hanno anche piatti vegetariani?",
    ),
    "nl": (
        "Goedemorgen, ik zoek een oppas voor onze kat.",
        "De oppas komt elke dag langs voor de kat.",
        "Heel iets anders: de verwarming op zolder lekt.",
        "De verwarming heeft een nieuwe kraan nodig.",
        "Terug naar de oppas: krijgt zij een sleutel?",
    ),
    "ru": (
        "Добрый день, ищу гитару для сына, ему десять лет.",
        "Такая гитара стоит около шести тысяч.",
        "Другой вопрос: соседи залили нам потолок на кухне.",
        "Потолок пусть сначала осмотрит комиссия.",
        "Вернёмся к гитаре: нужен ли чехол?",
    ),
    "sv": (
        "Hej, jag söker en kurs i keramik på kvällstid.",
        "Det finns en kurs i keramik på tisdagar.",
        "En helt annan sak: mopeden startar inte när det är kallt.",
        "Mopeden behöver nog ett nytt tändstift.",
        "När det gäller keramik undrar jag om lera ingår i kursen.",
    ),
    "ja": (
        "引っ越しの見積もりをお願いしたいです。",
        "引っ越しの見積もりは無料です。",
        "話は変わりますが、犬が足を痛めました。",
        "犬は安静にしてください。",
        "引っ越しの件ですが、日曜日でも大丈夫でしょうか。",
    ),
}
GOES_BACK_UNMARKED = {
    "zh": (*TWO_GOALS["zh"][:4], "公寓楼下好像正在修路，每天晚上都特别吵。"),
    "ja": (
        *TWO_GOALS["ja"][:4],
        "引っ越しの荷物が思ったより多くて、トラックがもう一台必要かもしれません。",
    ),
    "fr": (*TWO_GOALS["fr"][:4], "Et pour l'appartement, mon cousin Hugo prêtera sa camionnette dimanche."),
}
COURTEOUS = {"hola", "quiero", "bonjour", "voudrais", "dzień", "dobry", "szukam", "你好"}


@pytest.mark.parametrize("texts", TWO_GOALS.values(), ids=TWO_GOALS)
def test_a_mark_opens_a_scope_and_another_comes_back_to_the_first(texts):
    _, labels = labeled(texts)
    scopes = [each.intent.scope for each in labels]
    assert scopes[0] == scopes[1] == scopes[4]
    assert scopes[2] == scopes[3] != scopes[0]
    assert not {word for scope in scopes for word in (scope or "").split()} & COURTEOUS


def scopes_of(texts):
    return [each.intent.scope for each in labeled(texts)[1]]


@pytest.mark.parametrize("texts", GOES_BACK_UNMARKED.values(), ids=GOES_BACK_UNMARKED)
def test_words_that_no_scope_knows_do_not_keep_a_step_from_going_back(texts):
    scopes = scopes_of(texts)
    assert scopes[4] == scopes[0] != scopes[3]


def test_an_assistant_answers_where_it_is_asked_though_another_scope_knows_its_words():
    scopes = scopes_of((*TWO_GOALS["es"][:3], "Para el niño, pide cita en la plaza y aparca allí la furgoneta."))
    assert scopes[3] == scopes[2] != scopes[0]


def test_who_is_asked_answers_in_place_though_another_scope_knows_the_words():
    asked = (*TWO_GOALS["es"][:3], "¿Qué día le viene bien al niño?", "El lunes, después de devolver la furgoneta.")
    scopes = scopes_of(asked)
    assert scopes[4] == scopes[2] != scopes[0]


def test_who_comes_back_to_what_no_scope_knows_comes_back_to_the_last():
    scopes = scopes_of((*TWO_GOALS["nl"][:4], "Nog even over het weekend: mogen wij haar ook bellen?"))
    assert scopes[4] == scopes[0] != scopes[3]


@pytest.mark.parametrize(
    ("said", "goes_back"),
    [
        ("Apropos Garten: der Rasenmäher springt seit gestern nicht mehr an.", False),
        ("Apropos Zimmer: gibt es in Gent auch eines mit Küche?", True),
    ],
)
def test_speaking_of_a_thing_goes_back_where_it_is_known_and_opens_a_scope_where_it_is_not(said, goes_back):
    scopes = scopes_of((*GERMAN[:4], said))
    assert scopes[4] != scopes[3]
    assert (scopes[4] == scopes[0]) is goes_back


def test_chinese_scopes_are_named_by_things_and_not_by_clauses():
    scopes = scopes_of(("我想给女儿订一张去成都的机票，八月五日早上。", "好的，机票1200元。"))
    assert len(scopes[0] or "") < 12
    assert "机票" in (scopes[0] or "")


def test_a_step_goes_back_to_the_scope_that_knows_its_words():
    texts = (*TWO_GOALS["es"][:4], "¿La furgoneta de la mudanza tiene seguro?")
    _, labels = labeled(texts)
    assert labels[4].intent.scope == labels[0].intent.scope


def test_a_request_is_told_from_what_is_said():
    _, labels = labeled(TWO_GOALS["fr"])
    assert "request" in labels[0].intent.event_types
    assert "ask" in labels[4].intent.event_types


def test_a_question_in_another_language_looks_for_the_class_it_asks_for(tmp_path):
    with open_memory(tmp_path / "m") as memory:
        steps = [{"role": ("user", "assistant")[i % 2], "content": text} for i, text in enumerate(TWO_GOALS["es"])]
        memory.add_many(steps, trajectory="t")
        asked = memory.search("¿Cuánto cuesta alquilar la furgoneta?", trajectory="t")
    assert list(asked.intent_filter.entity_types) == ["price"]
    assert asked.hits[0].snippet.position == 1
