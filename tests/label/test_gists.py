"""What a window's prompt tells of scopes, of the steps before, of sessions and times."""

from __future__ import annotations

import json
from typing import Any

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


def test_a_gist_counts_what_was_offered_and_ends_with_what_was_said_last() -> None:
    gist = Gist()
    gist.note("Ann asks for hotels.", ["ask"])
    for name in ("Ribeira House", "Zephyr Mill", "Tram Inn"):
        gist.note(f"The agent offers the {name}.", ["propose option"])
    gist.note("Ann asks what breakfast costs.", ["ask price"])
    assert gist.text(limit=240) == (
        "proposed: 1) The agent offers the Ribeira House. 2) The agent offers the Zephyr Mill. "
        "3) The agent offers the Tram Inn. Ann asks what breakfast costs."
    )
    assert gist.text(limit=100) == "Ann asks what breakfast costs."


@given(st.lists(st.tuples(st.text(max_size=300), st.booleans()), max_size=30), st.integers(20, 400))
def test_a_gist_is_bounded_in_what_it_shows_and_in_what_it_keeps(said: list[tuple[str, bool]], limit: int) -> None:
    gist = Gist()
    for summary, offers in said:
        gist.note(summary, ["suggests" if offers else "tells"])
    assert len(gist.text(limit=limit)) <= limit + 1
    assert sum(map(len, (*gist.offers, *gist.last))) < 1000


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
    assert shown[number]["known_scopes"].splitlines()[0] == "leaking boiler: The boiler leaks 3."
    assert all(len(each["known_scopes"].splitlines()) <= RECENT_SCOPES + ALIKE_SCOPES for each in shown)


def test_the_last_step_of_each_scope_that_was_open_lately_is_shown() -> None:
    scopes = {0: "hotel", 1: "hotel", 2: "museum", 3: "tram", 4: "tram", 5: "tram", 6: "tram", 7: "tram"}
    earlier = prompts(scopes, dict.fromkeys(scopes, "Step"))[7]["earlier_steps"].splitlines()
    assert [(json.loads(line)["scope"], json.loads(line)["text"]) for line in earlier] == [
        ("hotel", "Step 1"), ("museum", "Step 2"), ("tram", "Step 4"), ("tram", "Step 5"), ("tram", "Step 6"),
    ]  # fmt: skip


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
