"""What a window's prompt tells of scopes, of the steps before, of sessions and times."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stitch.core import Step
from stitch.label.local import LocalLabeler
from stitch.label.model import WindowedLabeler
from stitch.label.model.gists import Gist
from stitch.label.model.quoting import quote_window
from stitch.label.model.session import ALIKE_SCOPES, RECENT_SCOPES
from stitch.lm import LanguageModel
from stitch.testing.model import ScriptedCompletion, fields_of


def test_a_gist_tells_what_opened_a_scope_what_was_offered_in_it_and_what_was_last() -> None:
    gist = Gist()
    gist.note("Ann asks for hotels.", ["ask"], position=0)
    for place, name in enumerate(("Ribeira House", "Zephyr Mill", "Tram Inn"), start=1):
        gist.note(f"The agent offers the {name}.", ["propose option"], position=place)
    gist.note("Ann asks what breakfast costs.", ["ask price"], position=4)
    assert gist.text(limit=240) == (
        "Ann asks for hotels. 1) The agent offers the Ribeira House. 2) The agent offers the Zephyr Mill. "
        "3) The agent offers the Tram Inn. Ann asks what breakfast costs."
    )
    assert gist.text(limit=60) == "Ann asks for hotels. Ann asks what breakfast costs."
    assert gist.text(limit=40) == "Ann asks what breakfast costs."


@pytest.mark.parametrize(
    ("event", "proposes"),
    [("propose option", True), ("suggest", True), ("list options", True), ("make proposal", True),
     ("list files", False), ("accept offer", False), ("reject proposal", False), ("compare options", False)],
)  # fmt: skip
def test_only_what_puts_something_up_for_choice_is_a_proposal(event: str, proposes: bool) -> None:
    gist = Gist()
    gist.note("x", [event], position=0)
    assert bool(gist.offers) is proposes


@given(st.lists(st.tuples(st.text(max_size=300), st.booleans()), max_size=30), st.integers(20, 400))
def test_a_gist_is_bounded_in_what_it_shows_and_in_what_it_keeps(said: list[tuple[str, bool]], limit: int) -> None:
    gist = Gist()
    for place, (summary, offers) in enumerate(said):
        gist.note(summary, ["suggests" if offers else "tells"], position=place)
    assert len(gist.text(limit=limit)) <= limit
    assert sum(map(len, (*gist.offers, gist.opened, gist.last))) < 1_200


def by_scope(scopes: dict[int, str]) -> ScriptedCompletion:
    """Gives each step the scope of its number, which its text ends with."""

    def script(system: str, user: str) -> Any:
        steps = [json.loads(line) for line in fields_of(user)["steps"].split("\n")]
        return {"readings": [{"n": step["n"], "scope": scopes[int(step["text"].split()[-1])], "events": ["tell"],
                              "entities": [], "summary": f"{step['text']}."} for step in steps]}  # fmt: skip

    return ScriptedCompletion(script)


def prompts(scopes: dict[int, str], texts: dict[int, str]) -> list[dict[str, str]]:
    engine = by_scope(scopes)
    session = WindowedLabeler(LanguageModel("m", completion=engine), fallback=LocalLabeler(), window_steps=1).begin("t")
    for n, text in texts.items():
        session.label([Step(id=str(n), role="user", content=f"{text} {n}")])
    return [fields_of(user) for _, user in engine.prompts]


def test_a_scope_that_scrolled_away_is_shown_when_a_step_speaks_of_it() -> None:
    number = RECENT_SCOPES + ALIKE_SCOPES + 20
    scopes = {n: f"task {n}" for n in range(number)} | {3: "leaking boiler", number: "leaking boiler"}
    texts = dict.fromkeys(range(number), "Something else") | {3: "The boiler leaks", number: "About that boiler again"}
    shown = prompts(scopes, texts)
    assert "leaking boiler" not in shown[number - 1]["known_scopes"]
    assert shown[number]["known_scopes"].splitlines()[0] == "4. leaking boiler: The boiler leaks 3."
    assert all(len(each["known_scopes"].splitlines()) <= RECENT_SCOPES + ALIKE_SCOPES for each in shown)


def test_scopes_are_numbered_by_first_mention_and_the_current_one_is_marked() -> None:
    scopes = {0: "hotel", 1: "museum", 2: "tram", 3: "museum", 4: "hotel"}
    shown = prompts(scopes, dict.fromkeys(scopes, "Step"))[4]
    assert shown["known_scopes"].splitlines() == [
        "1. hotel: Step 0.", "> 2. museum: Step 1. Step 3.", "3. tram: Step 2."
    ]  # fmt: skip
    earlier = [json.loads(line) for line in shown["earlier_steps"].splitlines()]
    assert [(one["n"], one["scope"], one["text"]) for one in earlier] == [
        (-4, 1, "Step 0."), (-3, 2, "Step 1."), (-2, 3, "Step 2."), (-1, 2, "Step 3.")
    ]  # fmt: skip


@pytest.mark.parametrize("number", ["1", "1.", "scope 1", "> 1.", "#1"])
def test_a_reply_may_name_a_scope_by_its_number(number: str) -> None:
    scopes = {0: "hotel", 1: "museum", 2: number, 3: "tram", 4: "3", 5: "77"}
    session = WindowedLabeler(LanguageModel("m", completion=by_scope(scopes)), fallback=LocalLabeler()).begin("t")
    first = session.label([Step(id=str(n), role="user", content=f"Step {n}") for n in range(2)])
    later = session.label([Step(id=str(n), role="user", content=f"Step {n}") for n in range(2, 6)])
    assert [made.intent.scope for made in (*first, *later)] == ["hotel", "museum", "hotel", "tram", "tram", "tram"]


def test_sessions_and_hours_are_told_where_they_change() -> None:
    steps = [
        Step(id="1", role="user", content="a", session="s1", timestamp=1_700_000_000),
        Step(id="2", role="user", content="b", session="s1", timestamp=1_700_000_060),
        Step(id="3", role="user", content="c", session="s2", timestamp=1_700_090_000),
        Step(id="4", role="user", content="d", timestamp="1:56 pm on 8 May, 2023"),
        Step(id="5", role="user", content="e"),
        Step(id="6", role="user", content="f", timestamp=1e300),
    ]
    told = [json.loads(line) for line in quote_window(steps, session="s0").split("\n")]
    assert [(each.get("session"), each.get("time")) for each in told] == [
        ("s1", "2023-11-14 22:13"), (None, None), ("s2", "2023-11-15 23:13"), (None, "1:56 pm on 8 May, 2023"),
        (None, None), (None, None),
    ]  # fmt: skip
    assert "session" not in json.loads(quote_window(steps[:1], session="s1"))


def test_the_inventory_of_a_models_labels_has_the_models_own_summaries() -> None:
    engine = by_scope({0: "hotel", 1: "museum"})
    session = WindowedLabeler(LanguageModel("m", completion=engine), fallback=LocalLabeler()).begin("t")
    session.label([Step(id=str(n), role="user", content=f"Step {n}") for n in range(2)])
    assert {scope.name: scope.summary for scope in session.inventory().scopes} == {
        "hotel": "Step 0.", "museum": "Step 1."
    }  # fmt: skip
    again = WindowedLabeler(LanguageModel("m", completion=engine), fallback=LocalLabeler()).begin("t", session.save())
    assert again.inventory() == session.inventory()
    assert again.save() == session.save()
