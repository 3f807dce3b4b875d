"""Labels of steps that are not English: no word of grammar is a label, and resuming gives the same labels."""

from __future__ import annotations

import pytest

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


def test_a_short_answer_is_read_in_the_language_around_it():
    steps, _ = labeled((*GERMAN, "Gut und fertig"))
    session = LocalLabeler().begin("t")
    session.label(steps[:-1])
    alone = LocalLabeler().begin("t").label(steps[-1:])
    assert session.label(steps[-1:])[0].intent != alone[0].intent


def test_chinese_scopes_are_named_by_things_and_not_by_clauses():
    _, labels = labeled(("我想给女儿订一张去成都的机票，八月五日早上。", "好的，机票1200元。"))
    scope = labels[0].intent.scope or ""
    assert len(scope) < 12
    assert "机票" in scope
