"""Replies as middling models write them: what of each is kept, and how many steps are asked for again.

Three steps are to be labeled. The first request gets the reply of the table; what is asked for again gets an answer by
rules, whose scope is "opening".
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from stitch.api.spending import read_spending
from stitch.core import Step
from stitch.label.local import LocalLabeler
from stitch.label.model import WindowedLabeler
from stitch.lifecycle.folder import LEDGER_FILE
from stitch.lm import LanguageModel, Ledger
from stitch.testing.model import ScriptedCompletion, fields_of

THREE: list[dict[str, Any]] = [
    {"n": 1, "scope": "hotel in Porto", "events": ["ask price"], "entities": ["price"], "references": [],
     "summary": "The user asks what the Ribeira House costs."},
    {"n": 2, "scope": "hotel in Porto", "events": ["give answer"], "entities": ["price"],
     "references": [{"phrase": "It", "means": "Ribeira House"}], "summary": "The Ribeira House costs $90."},
    {"n": 3, "scope": "museum tickets", "events": ["request booking"], "entities": [], "summary": "Tickets, please."},
]  # fmt: skip
STEPS = [
    Step(id="1", role="user", content="What does the Ribeira House cost?"),
    Step(id="2", role="assistant", content="It costs $90 a night."),
    Step(id="3", role="user", content="Now the museum: get me two tickets."),
]


def reply(*readings: Any, **more: Any) -> str:
    return json.dumps({"readings": list(readings) or THREE, **more})


def changed(which: int, /, **values: Any) -> str:
    return reply(*[{**reading, **(values if reading["n"] == which else {})} for reading in THREE])


def without(n: int, *names: str) -> str:
    return reply(*[
        {name: value for name, value in reading.items() if reading["n"] != n or name not in names} for reading in THREE
    ])  # fmt: skip


ALL = (1, 2, 3)


class Case(NamedTuple):
    said: str
    kept: tuple[int, ...] = ALL
    finish_reason: str = "stop"


CASES: dict[str, Case] = {
    "as asked": Case(reply()),
    "fenced": Case(f"```json\n{reply()}\n```"),
    "fenced without a language": Case(f"```\n{reply()}\n```"),
    "a preamble": Case(f"Here are the readings you asked for:\n\n{reply()}"),
    "talk behind it": Case(f"{reply()}\n\nLet me know if I should label more steps!"),
    "braces in the preamble": Case(f"I label {{scope}} and {{events}} as told.\n{reply()}"),
    "an example in the preamble": Case('The form is {"readings": []}, so:\n' + reply()),
    "thoughts": Case(f"<think>The user wants {{labels}}. Step 2 answers.</think>{reply()}"),
    "thoughts with JSON in them": Case(f'<think>{{"readings": [{{"n": 1}}]}} is wrong</think>\n{reply()}'),
    "the end of thoughts alone": Case(f'First {{"a": 1}} and so on.</think>{reply()}'),
    "thinking": Case(f"<thinking>step by step</thinking>\n{reply()}"),
    "a list alone": Case(json.dumps(THREE)),
    "a fenced list": Case(f"```json\n{json.dumps(THREE)}\n```"),
    "another name": Case(json.dumps({"labels": THREE})),
    "more fields": Case(reply(confidence=0.8, reasoning="I looked at each step.")),
    "counted from 0": Case(reply(*[{**one, "n": one["n"] - 1} for one in THREE])),
    "no numbers": Case(reply(*[{name: v for name, v in one.items() if name != "n"} for one in THREE])),
    "numbers as text": Case(reply(*[{**one, "n": str(one["n"])} for one in THREE])),
    "another order": Case(reply(*reversed(THREE))),
    "a surplus step": Case(reply(*THREE, {**THREE[2], "n": 4, "scope": "invented"})),
    "a step twice": Case(reply(*THREE, {**THREE[0], "scope": "invented"})),
    "a number that is none of them": Case(changed(2, n=17), (1, 3)),
    "a step is missing at the end": Case(reply(*THREE[:2]), (1, 2)),
    "a step is missing in the middle": Case(reply(THREE[0], THREE[2]), (1, 3)),
    "a step is missing at the beginning": Case(reply(*THREE[1:]), (2, 3)),
    "a null among the readings": Case(reply(THREE[0], None, THREE[2]), (1, 3)),
    "a text among the readings": Case(reply(THREE[0], "see above", THREE[2]), (1, 3)),
    "null for a list": Case(changed(3, events=None, entities=None, references=None)),
    "text for a list": Case(changed(3, events="request booking", entities="")),
    "null in a list": Case(changed(3, events=["request booking", None])),
    "no references, no summary": Case(without(3, "references", "summary")),
    "null for a summary": Case(changed(3, summary=None)),
    "null for a later scope": Case(changed(2, scope=None)),
    "a list for a scope": Case(changed(3, scope=["museum tickets"])),
    "a sentence for a later scope": Case(
        changed(2, scope="The assistant answers the question of the user about the price of the house in Porto.")
    ),
    "a gist copied with its scope": Case(changed(2, scope="hotel in Porto: The user asks what the house costs.")),
    "references as a mapping": Case(changed(2, references={"It": "Ribeira House"})),
    "a reference without its meaning": Case(changed(2, references=[{"phrase": "It"}, {"phrase": "It", "means": None}])),
    "a reference that is a text": Case(changed(2, references=["It = Ribeira House"])),
    "no events": Case(without(3, "events"), (1, 2)),
    "no first scope": Case(changed(1, scope=""), (2, 3)),
    "cut in the last reading": Case(reply()[:-30], (1, 2), "length"),
    "cut in the second reading": Case(reply()[: reply().index("hotel in Porto", 60)], (1,), "length"),
    "cut at once": Case('{"readings": [', (), "length"),
    "torn, though it says it is whole": Case(reply()[:-30], (1, 2)),
    "cut behind the last reading": Case(reply()[:-2], ALL, "length"),
    "empty": Case("", ()),
    "a refusal": Case("I am sorry, I cannot label these steps.", ()),
    "another language around it": Case(f"Gern, hier sind die Angaben: {reply()} Viel Erfolg!"),
    "in another language": Case(changed(3, scope="Museumskarten", events=["Buchung erbitten"])),
    "ends of lines inside of texts": Case(reply().replace("Tickets, please", "Tickets,\nplease")),
    "an empty list": Case(json.dumps({"readings": []}), ()),
    "a text for the readings": Case(json.dumps({"readings": "none"}), ()),
    "Python's quotes and names": Case(repr({"readings": [{**THREE[0], "sure": True}, *THREE[1:]]})),
    "commas behind last items": Case(reply().replace("}]}", "},]}").replace('"price"]', '"price",]')),
    "notes in it": Case(reply().replace('"events"', '// what is done\n"events"').replace("[{", "[ /* three */ {")),
    "typographic quotes": Case(reply().replace('"n"', "“n”").replace('"scope"', "“scope”")),
    "quotes in a text": Case(reply().replace("Tickets, please", 'The user says "two tickets", please')),
    "names without quotes": Case(reply().replace('"n":', "n:").replace('"scope":', "scope:")),
    "a line each": Case("\n".join(json.dumps(one) for one in THREE), ()),
    "inside of another object": Case(json.dumps({"result": {"readings": THREE}})),
    "inside of a list": Case(json.dumps([{"readings": THREE}])),
    "JSON as a text": Case(json.dumps({"readings": json.dumps(THREE)})),
    "thoughts without an end": Case(f"<think>I go through the steps. Step 1 asks.\n\n{reply()}"),
    "the marks of channels": Case(f"<|channel|>analysis<|message|>labels<|end|><|channel|>final<|message|>{reply()}"),
    "inside of marks": Case(f"<readings>{reply()}</readings>"),
    "a draft before": Case(reply().replace("hotel in Porto", "draft") + f"\n\nBetter:\n{reply()} I am sure."),
    "an object for a scope": Case(changed(1, scope={"name": "hotel in Porto", "new": True})),
    "objects for events": Case(changed(1, events=[{"name": "ask price"}])),
    "a number at a known scope": Case(changed(2, scope="1. hotel in Porto")),
    "a mark before a new scope": Case(changed(1, scope="new: hotel in Porto")),
    "the same scope": Case(changed(2, scope="(same as above)")),
    "none for an event": Case(changed(3, events=["none"])),
    "numbers with a word": Case(reply(*[{**one, "n": f"Step {one['n']}."} for one in THREE])),
    "numbers of the log": Case(reply(*[{**one, "n": one["n"] + 117} for one in THREE])),
    "two steps in one": Case(reply({**THREE[0], "n": "1-2"}, THREE[2]), (1, 3)),
    "one object for a list": Case(json.dumps(THREE[0]), ()),
    "under names that are nothing": Case(json.dumps({"a": {"b": {"c": THREE}}})),
    "other names of fields": Case(json.dumps({"readings": [{"step": 1, "goal": "hotel in Porto"}]}), ()),
    "numbers that are none": Case(reply({**THREE[0], "n": None}, {**THREE[1], "n": True}, THREE[2]), (3,)),
    "null": Case("null", ()),
    "a table": Case("| n | scope | events |\n|---|---|---|\n| 1 | hotel | ask price |", ()),
}


class Middling(ScriptedCompletion):
    """Gives its reply to the first request, and a plain one, by rules, to what is asked for again."""

    def __init__(self, case: Case) -> None:
        super().__init__(self._answer)
        self.case = case
        self.asked: list[int] = []

    def _answer(self, system: str, user: str) -> Any:
        count = len(fields_of(user)["steps"].split("\n"))
        self.asked.append(count)
        self.finish_reason = "stop"
        if len(self.asked) == 1:
            self.finish_reason = self.case.finish_reason
            return self.case.said
        return {"readings": [{"n": n + 1, "scope": "asked again", "events": ["answer"], "entities": []}
                             for n in range(count)]}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_can_be_used_is_kept_and_only_the_rest_is_asked_for_again(name: str, tmp_path: Path) -> None:
    case, ledger = CASES[name], Ledger(tmp_path / LEDGER_FILE)
    middling = Middling(case)
    model = LanguageModel("m", completion=middling, ledger=ledger)
    labels = WindowedLabeler(model, fallback=LocalLabeler()).begin("t").label(STEPS)
    spending = read_spending(tmp_path, tenant="")
    assert (spending.steps, spending.total.calls) == (3, ledger.total().calls)
    assert [made.made_by for made in labels] == ["m windowed-3"] * 3
    kept = tuple(n for n, made in enumerate(labels, start=1) if made.intent.scope != "asked again")
    assert kept == case.kept
    if 1 in kept:
        assert labels[0].intent.scope == "hotel in Porto"
        assert labels[0].intent.event_types == ("ask price",)
    assert all(made.intent.event_types != ("none",) for made in labels)
    if {1, 2} <= set(kept):
        assert labels[1].intent.scope == "hotel in Porto"
    if kept:  # what is kept is not asked for again
        assert sum(middling.asked[1:]) == 3 - len(kept)
    assert "invented" not in {made.intent.scope for made in labels}


def test_references_of_a_reply_are_kept_in_each_form_that_says_them() -> None:
    forms: dict[str, Any] = {
        "lists": [["It", "Ribeira House"]],
        "one a mapping": [{"It": "Ribeira House"}],
    }
    cases = {name: Case(changed(2, references=form)) for name, form in forms.items()}
    cases |= {
        name: CASES[name]
        for name in ("as asked", "references as a mapping", "a reference that is a text", "a list alone")
    }
    for name, case in cases.items():
        model = LanguageModel("m", completion=Middling(case))
        second = WindowedLabeler(model, fallback=LocalLabeler()).begin("t").label(STEPS)[1]
        assert [reference.replacement for reference in second.references] == ["Ribeira House"], name


@pytest.mark.parametrize(
    ("name", "unusable"), [("as asked", 0), ("cut at once", 1), ("empty", 1), ("an empty list", 1),
                           ("cut in the last reading", 1), ("no first scope", 0), ("a text for the readings", 1)]
)  # fmt: skip
def test_the_ledger_counts_each_step_once_and_says_which_replies_were_of_no_use(name: str, unusable: int) -> None:
    model = LanguageModel("m", completion=Middling(CASES[name]))
    WindowedLabeler(model, fallback=LocalLabeler()).begin("t").label(STEPS)
    assert model.ledger.total().unusable == unusable
