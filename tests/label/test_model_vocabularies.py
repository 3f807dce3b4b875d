"""Names that a model uses, and what a window's prompt tells of scopes, of the steps before, of sessions and times."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stitch.console.printing import cost_lines
from stitch.core import ContextualIntent, LabelKind, Step, StepLabels
from stitch.label.local import LocalLabeler
from stitch.label.model.gists import Gist
from stitch.label.model.matching import choose_names, clean_name_of
from stitch.label.model.quoting import quote_window
from stitch.label.model.session import ALIKE_SCOPES, RECENT_SCOPES
from stitch.label.model.vocabularies import Vocabularies
from stitch.label.model.windowed import WindowedLabeler
from stitch.lifecycle.folder import LEDGER_FILE
from stitch.lm import LanguageModel, Ledger, Purpose
from stitch.server.operations.costs import read_costs
from stitch.testing.model import ScriptedCompletion, fields_of

EVENT, ENTITY, SCOPE = LabelKind.EVENT_TYPE, LabelKind.ENTITY_TYPE, LabelKind.SCOPE


class EchoModel:
    """A model that gives what it is told, and remembers what it was shown."""

    def __init__(self, *, renames: Any = ()) -> None:
        self.renames = renames
        self.windows: list[dict[str, str]] = []
        self.model = LanguageModel("m", completion=ScriptedCompletion(self._reply))

    def _reply(self, system: str, user: str) -> Any:
        fields = fields_of(user)
        self.windows.append(fields)
        steps = [json.loads(line) for line in fields["steps"].splitlines()]
        readings = [{"n": one["n"], **json.loads(one["text"]), "summary": "s"} for one in steps]
        renames = self.renames if len(self.windows) == 2 else []
        return {"readings": readings, "renames": renames}


def steps(*told: tuple[str, str]) -> list[Step]:
    """Steps whose text is what the model says of them."""
    return [
        Step(id=str(n), role="user", content=json.dumps({"scope": scope, "events": [event], "entities": ["price"]}))
        for n, (scope, event) in enumerate(told)
    ]


def session_of(told: EchoModel, *, window_steps: int = 10) -> Any:
    return WindowedLabeler(told.model, fallback=LocalLabeler(), window_steps=window_steps).begin("t")


def test_names_are_shown_with_counts_and_slips_are_not_shown() -> None:
    names = Vocabularies(made_by="m")
    for position in range(100):
        act = "ask price" if position % 2 else "give price"
        names.count(ContextualIntent(event_types=(act,)), position=position)
    names.count(ContextualIntent(event_types=tuple(f"slip {n}" for n in range(20))), position=3)
    names.count(ContextualIntent(event_types=("say goodbye",)), position=99)
    assert names.shown(EVENT, position=100) == "ask price (50), give price (50), say goodbye (1)"
    assert names.shown(ENTITY, position=100) == ""


def test_a_window_shows_counts_and_a_reply_that_repeats_them_names_the_same() -> None:
    told = EchoModel()
    labels = session_of(told).label(steps(*[("trip", "ask price")] * 10, *[("trip", "ask price (10)")] * 10))
    assert told.windows[1]["known_events"] == "ask price (10)"
    assert {made.intent.event_types for made in labels} == {("ask price",)}


def test_a_reply_may_say_which_names_mean_the_same() -> None:
    told = EchoModel(renames=["query cost = ask price", "hotel stay = hotel for day 1", "unknown = ask price",
                         "cost = price", "ask price = nobody said"])  # fmt: skip
    session = session_of(told)
    first = [("hotel for day 1", "ask price")] * 6 + [("hotel stay", "query cost")] * 4
    labels = session.label(steps(*first, *[("hotel stay", "query cost")] * 10))
    assert labels[9].intent.event_types == ("query cost",)  # what was labeled stays as it was
    assert labels[10].intent == ContextualIntent(
        scope="hotel for day 1", event_types=("ask price",), entity_types=("price",)
    )
    inventory = session.inventory()
    assert {(merge.kind, merge.alias, merge.into, merge.made_by) for merge in inventory.merges} == {
        (EVENT, "query cost", "ask price", "m windowed-3"), (SCOPE, "hotel stay", "hotel for day 1", "m windowed-3")
    }  # fmt: skip
    assert [(scope.name, scope.steps) for scope in inventory.scopes] == [("hotel for day 1", 20)]
    assert inventory.event_types == {"ask price": 20}
    assert told.model.ledger.total().calls == 2
    again = WindowedLabeler(told.model, fallback=LocalLabeler()).begin("t", session.save())
    assert again.inventory() == inventory


@pytest.mark.parametrize("form", ["trip = hotel in Porto", "trip -> hotel in Porto"])
def test_a_reply_may_rename_a_scope(form: str) -> None:
    told = EchoModel(renames=[form, "nonsense", "nowhere = somewhere", "trip = trip"])
    session = session_of(told)
    labels = session.label(steps(*[("trip", "ask")] * 10, *[("trip", "ask")] * 5, *[("museum", "ask")] * 5))
    assert [made.intent.scope for made in labels[9:16]] == ["trip", *["hotel in Porto"] * 5, "museum"]
    assert [scope.name for scope in session.inventory().scopes] == ["hotel in Porto", "museum"]
    assert session.inventory().vocabulary().canonical(SCOPE, "trip") == "hotel in Porto"


def test_renames_of_another_form_spoil_nothing() -> None:
    told = EchoModel(renames={"trip": 1})
    labels = session_of(told).label(steps(*[("trip", "ask")] * 20))
    assert {made.made_by for made in labels} == {"m windowed-3"}


def test_what_a_person_named_is_neither_renamed_nor_merged() -> None:
    told = EchoModel(renames=["trip = hotel in Porto", "ask = demand"])
    session = session_of(told)
    given = StepLabels(intent=ContextualIntent(scope="trip", event_types=("ask",)), made_by="ann")
    session.replay(steps(("trip", "ask")), [given])
    labels = session.label(steps(*[("trip", "ask")] * 10, *[("trip", "demand")] * 10))
    assert {made.intent.scope for made in labels} == {"trip"}
    assert session.inventory().merges == ()


_CODE = [
    ("fix __init__.py", "fix __init__.py"), (" `rename load_rows` ", "rename load_rows"), ("Ask_Price", "Ask Price"),
    (".gitignore", ".gitignore"), ("C#", "C#"), ("parse() / run", "parse() / run"), ("pytest -q", "pytest -q"),
    ("- hotel", "hotel"), ("**Day 1**", "Day 1"), ('"fix x".', "fix x"), ("ask price (12)", "ask price"), ("...", ""),
]  # fmt: skip


@pytest.mark.parametrize(("said", "name"), _CODE)
def test_a_name_loses_what_stands_around_it_and_keeps_what_belongs_to_code(said: str, name: str) -> None:
    assert clean_name_of(said) == name


def test_new_acts_are_in_small_letters_but_for_names_of_code() -> None:
    made = choose_names(["Ask Price", "Edit README.md", "call parseConfig"], [], most=3, room=True)
    assert made == ["ask price", "edit README.md", "call parseConfig"]


def test_what_was_left_out_of_references_is_in_the_ledger_with_the_reason() -> None:
    def reply(system: str, user: str) -> Any:
        found = [{"phrase": "it", "means": "Ribeira House"}, {"phrase": "there", "means": "Never Said Inn"},
                 {"phrase": "nowhere", "means": "Ribeira House"}, {"phrase": "here", "means": "Is it"},
                 {"phrase": "", "means": "x"}]  # fmt: skip
        return {"readings": [{"n": n, "scope": "s", "events": [], "entities": [], "references": found if n == 2 else []}
                             for n in (1, 2)]}  # fmt: skip

    model = LanguageModel("m", completion=ScriptedCompletion(reply))
    said = ("The Ribeira House is open.", "Is it open there? Is it here?")
    labels = WindowedLabeler(model, fallback=LocalLabeler()).begin("t").label([
        Step(id=str(n), role="user", content=text) for n, text in enumerate(said)
    ])  # fmt: skip
    assert [said[1][each.start : each.end] for each in labels[1].references] == ["it", "it"]  # at each of its places
    assert model.ledger.total().rejected == {
        "the name was not said earlier": 1, "the phrase does not stand in the step": 1,
        "the step says the name itself": 1, "no phrase, or no name": 1,
    }  # fmt: skip
    assert model.ledger.total().calls == 1


def test_the_ledger_tells_people_what_was_left_out(tmp_path: Path) -> None:
    model = LanguageModel(
        "m", completion=ScriptedCompletion(lambda system, user: ""), ledger=Ledger(tmp_path / LEDGER_FILE)
    )
    model.note_use(Purpose("references", "t", 1), rejected={"the name was not said earlier": 2})
    model.note_use(Purpose("references", "t", 2), rejected={"the name was not said earlier": 1})
    spending = read_costs(tmp_path, tenant="")
    assert "references of replies left out: 3, the name was not said earlier" in list(cost_lines(spending))


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
