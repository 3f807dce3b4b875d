"""What a model is shown to choose labels from, and what of its choice is taken."""

from typing import Any

from stitch.core import EntityTypeSummary, IntentFilter, LabelInventory, ScopeSummary, SearchRequest, Selection
from stitch.lm import LanguageModel
from stitch.retrieve.model_filter import SHOWN_NAMES, SHOWN_SCOPES, ModelFilterSelector
from stitch.retrieve.speakers import called_roles
from stitch.testing.model import ScriptedCompletion, fields_of


def scope(name: str, **about: Any) -> ScopeSummary:
    return ScopeSummary(name=name, trajectory="t", spans=((0, 1),), steps=2, **about)


def choose(known: LabelInventory, **chosen: Any) -> tuple[Selection, dict[str, str]]:
    reply = {"scopes": [], "event_types": [], "entity_types": [], "why": "because", **chosen}
    engine = ScriptedCompletion(lambda system, user: reply)
    selector = ModelFilterSelector(LanguageModel("m", completion=engine))
    selection = selector.select(SearchRequest(query="Which zorblatts cost most?", tenant="a"), known)
    ((_, prompt),) = engine.prompts
    return selection, fields_of(prompt)


def test_scopes_that_have_a_word_of_the_question_are_shown_before_all_others() -> None:
    telling = (
        scope("zorblatt day", summary="a long talk"),
        scope("day 1", summary="about zorblatts"),
        scope("day 2", values={"zorblatt inn": 1}),
        scope("day 3", terms={"zorblatt": 1.0}),
    )
    others = [scope(f"other {number}") for number in range(SHOWN_SCOPES + 5)]
    _, shown = choose(LabelInventory(scopes=(*telling, *others), steps=9))
    assert shown["known_scopes"].splitlines() == [
        "zorblatt day (2): a long talk", "day 1 (2): about zorblatts", "day 2 (2)", "day 3 (2)",
        *(f"{each.name} (2)" for each in others[-(SHOWN_SCOPES - 4) :]),
    ]  # fmt: skip


def test_the_most_frequent_names_are_shown_and_only_known_ones_are_taken() -> None:
    events = {f"event {number:03}": 2 + number % 2 for number in range(SHOWN_NAMES + 2)}
    entities = {name.replace("event", "type"): EntityTypeSummary(steps=count) for name, count in events.items()}
    known = LabelInventory(scopes=(scope("day 1"),), event_types=events, entity_types=entities, steps=9)
    in_order = sorted(events, key=lambda name: (-events[name], name))[:SHOWN_NAMES]
    selection, shown = choose(
        known,
        scopes=["Day 1", "day 7"],
        event_types=["Event 003 (3)", "event 003", "nothing"],
        entity_types=["type 001"],
    )
    counted = ", ".join(f"{name} ({events[name]})" for name in in_order)
    assert shown["known_event_types"] == counted
    assert shown["known_entity_types"] == counted.replace("event", "type")
    assert selection.intent_filter == IntentFilter(
        scopes=("day 1",), event_types=("event 003",), entity_types=("type 001",)
    )
    assert selection.reasons == ("because",)


def test_whose_words_are_asked_for_is_told() -> None:
    known = LabelInventory(scopes=(scope("day 1"),), steps=9)
    assert choose(known, speaker="the pro side")[0].speaker == "the pro side"
    assert choose(known)[0].speaker == ""
    assert called_roles("the pro side", {"pro-side-debater", "con-side-debater"}) == {"pro-side-debater"}
    assert called_roles("debater", {"pro-side-debater", "con-side-debater"}) == frozenset()
    assert called_roles("", {"user", "assistant"}) == called_roles("nobody here", {"user", "assistant"}) == frozenset()
