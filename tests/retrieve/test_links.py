"""What ties the steps of a run to others: values that no longer hold, and what a result made the agent do."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stitch.core import Cause, ContextualIntent, MemorySnippet, Origin, ScoredSnippet, SupersededValue
from stitch.retrieve.context.budget import PieceCounter, fit_context
from stitch.retrieve.links.causes import cause_of
from stitch.retrieve.links.linking import MOST_LINKED, with_links
from stitch.retrieve.links.superseded import superseded
from stitch.retrieve.links.wording import because, no_longer

LOOKS, CHANGES, PAYS = ("read",), ("edit",), ("pay",)


class Run:
    """Steps of a run, one after the other."""

    def __init__(self, goal: str = "the lamp") -> None:
        self.steps: list[MemorySnippet] = []
        self.goal = goal

    def says(self, role: str, text: str, *, tools: tuple[str, ...] = (), events: tuple[str, ...] = ()) -> MemorySnippet:
        origin = {"user": Origin.USER, "tool": Origin.TOOL}.get(role, Origin.AGENT)
        position = len(self.steps)
        self.steps.append(
            MemorySnippet(
                tenant="a", trajectory="t", step=f"s{position}", position=position, role=role, text=text,
                resolved=text, tools=tools, origin=origin, recorded=0.0,
                intent=ContextualIntent(scope=self.goal, event_types=events),
            )
        )  # fmt: skip
        return self.steps[-1]

    def calls(self, tool: str, arguments: dict[str, Any], *, act: tuple[str, ...] = LOOKS) -> MemorySnippet:
        written = ", ".join(f"{name}={json.dumps(value)}" for name, value in arguments.items())
        return self.says("assistant", f"{tool}({written})", tools=(tool,), events=act)

    def gets(self, tool: str, result: object, *, outcome: str = "success") -> MemorySnippet:
        text = result if isinstance(result, str) else json.dumps(result)
        return self.says("tool", text, tools=(tool,), events=(outcome,))

    def looks(self, result: object, *, tool: str = "get_order", **arguments: Any) -> MemorySnippet:
        self.calls(tool, arguments or {"order_id": "W26"})
        return self.gets(tool, result)

    def changes(
        self, result: object, *, tool: str = "update_order", act: tuple[str, ...] = CHANGES, outcome: str = "success",
        **arguments: Any,
    ) -> MemorySnippet:  # fmt: skip
        self.calls(tool, arguments or {"order_id": "W26"}, act=act)
        return self.gets(tool, result, outcome=outcome)

    def told(self, snippet: MemorySnippet) -> list[tuple[str, str, str, str]]:
        """Field, value, what is told last and by which step, of what no longer holds."""
        found = superseded(self.steps).get(snippet.id, ())
        return [(one.field, one.value, one.now, one.step) for one in found]

    def cause(self, snippet: MemorySnippet) -> Cause | None:
        before = self.steps[: snippet.position]
        return cause_of(snippet, before, said=[one.text.lower() for one in before])


def order(status: str, **more: object) -> dict[str, object]:
    return {"order_id": "W26", "status": status, **more}


def test_a_value_is_superseded_by_the_last_one_that_is_told_of_the_same_thing() -> None:
    run = Run()
    first = run.looks(order("pending", total=9))
    second = run.changes(order("packed", total=9))
    third = run.looks(order("sent", total=9))

    assert run.told(first) == [("status", "pending", "sent", third.step)]
    assert run.told(second) == [("status", "packed", "sent", third.step)]
    assert run.told(third) == []


def test_a_value_that_came_back_still_holds() -> None:
    run = Run()
    first = run.looks(order("pending"))
    run.looks(order("held"))
    run.looks(order("Pending"))

    assert run.told(first) == []


def test_arguments_of_a_change_that_went_well_supersede_what_was_looked_at() -> None:
    run = Run()
    first = run.looks(order("pending"))
    run.changes("Done.", order_id="W26", status="sent")
    refused = Run()
    still = refused.looks(order("pending"))
    refused.changes("Error: not allowed", order_id="W26", status="sent", outcome="refusal")

    assert run.told(first) == [("status", "pending", "sent", "s2")]
    assert refused.told(still) == []


def test_a_result_without_a_name_is_told_of_what_its_call_names() -> None:
    run = Run()
    first = run.looks({"status": "pending"})
    run.looks({"status": "sent"})

    assert run.told(first) == [("status", "pending", "sent", "s3")]


def test_another_thing_supersedes_nothing() -> None:
    run = Run()
    first = run.looks(order("pending"))
    run.looks({"order_id": "W27", "status": "sent"}, order_id="W27")

    assert run.told(first) == []


def test_what_two_payments_say_of_themselves_is_no_state() -> None:
    run = Run()
    first = run.changes(order("x", amount=9), tool="pay_order", act=PAYS, order_id="W26", amount=9)
    run.changes(order("x", amount=20), tool="pay_order", act=PAYS, order_id="W26", amount=20)

    assert run.told(first) == []


def test_the_same_change_again_tells_how_a_thing_stands_now() -> None:
    run = Run()
    first = run.changes(order("preview"), tool="cancel_order", act=("cancel",), order_id="W26", confirm=False)
    run.changes(order("cancelled"), tool="cancel_order", act=("cancel",), order_id="W26", confirm=True)

    assert run.told(first) == [("status", "preview", "cancelled", "s3")]


@pytest.mark.parametrize(("day", "found"), [("May 20", []), ("May 19", [("seats", "4", "2", "s3")])])
def test_what_was_found_among_others_is_compared_with_the_same_search(day: str, found: list[object]) -> None:
    run = Run()
    first = run.looks([{"flight_number": "H1", "seats": 4}], tool="find_flights", day="May 19")
    run.looks([{"flight_number": "H1", "seats": 2}], tool="find_flights", day=day)

    assert run.told(first) == found


def test_a_look_at_another_day_is_another_look() -> None:
    run = Run()
    first = run.looks({"status": "late"}, tool="flight_status", flight_number="H1", day="May 19")
    run.looks({"status": "on time"}, tool="flight_status", flight_number="H1", day="May 20")

    assert run.told(first) == []


def test_a_look_at_everything_tells_of_each() -> None:
    run = Run()
    first = run.looks(order("pending"))
    run.calls("list_orders", {})
    run.gets("list_orders", [order("sent")])

    assert run.told(first) == [("status", "pending", "sent", "s3")]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["get_order(id=1)", "get_order()", "set(x=2)", "f({})", "no call", 'f(x={"id": "a"})']),
            st.sampled_from(["{}", '{"a": 1}', '{"a": 2}', '{"id": "", "a": 3}', '[{"id": "k1", "a": 4}]', "[]", "x"]),
            st.sampled_from([LOOKS, CHANGES, PAYS]),
        ),
        max_size=6,
    )
)
def test_whatever_is_called_and_answered_links_are_found_and_point_forward(
    exchanges: list[tuple[str, str, tuple[str, ...]]],
) -> None:
    run = Run()
    for call, answer, act in exchanges:
        run.says("assistant", call, tools=(call.partition("(")[0],), events=act)
        run.says("tool", answer, tools=(call.partition("(")[0],), events=("success",))
    every = superseded(run.steps)

    for hit in with_links(scored(run.steps), run.steps):
        assert hit.superseded == every.get(hit.snippet.id, ())
        assert all(one.position > hit.snippet.position and one.now != one.value for one in hit.superseded)
        assert hit.because_of is None or hit.because_of.position < hit.snippet.position


def test_a_look_without_arguments_is_compared_with_itself() -> None:
    run = Run()
    run.calls("get_state", {})
    first = run.gets("get_state", {"lamp": "off"})
    run.calls("get_state", {})
    run.gets("get_state", {"lamp": "on"})

    [linked] = with_links(scored([first]), run.steps)

    assert [(one.thing, one.field, one.now) for one in linked.superseded] == [("", "lamp", "on")]


@pytest.mark.parametrize(
    ("arguments", "thing"),
    [
        ({"order_id": "W26"}, "w26"),
        ({"order_id": "W26", "day": "May 19"}, "w26"),
        ({"day": "May 19"}, "w26"),
        ({}, "w26"),
    ],
)
def test_a_thing_is_called_by_its_names_and_not_by_how_it_was_looked_for(arguments: dict[str, str], thing: str) -> None:
    run = Run()
    for status in ("pending", "sent"):
        run.calls("find_order", arguments)
        run.gets("find_order", order(status))

    [told] = superseded(run.steps)[run.steps[1].id]
    assert (told.thing, told.now) == (thing, "sent")


def test_a_thing_in_another_is_called_by_both() -> None:
    run = Run()
    for price in (9, 5):
        run.changes({"line_id": "1", "price": price}, tool="set_line", cart_id="C1", act=("write",))

    assert [value.thing for value in superseded(run.steps)[run.steps[1].id]] == ["c1 / 1"]


def test_fields_that_tell_of_the_call_are_no_state() -> None:
    run = Run()
    first = run.looks({"order_id": "W26", "status": "ok", "message": "found", "timestamp": 1})
    run.looks({"order_id": "W26", "status": "sent", "message": "here", "timestamp": 2})

    assert run.told(first) == []


def test_what_a_change_makes_is_known_by_what_it_was_made_in() -> None:
    run = Run()
    first = run.changes({"line_id": "1", "price": 9}, tool="add_line", cart_id="C1", act=("write",))
    run.changes({"line_id": "1", "price": 5}, tool="add_line", cart_id="C2", act=("write",))

    assert run.told(first) == []


def test_a_result_whose_call_is_not_there_is_not_read() -> None:
    run = Run()
    run.looks(order("pending"))
    last = run.looks(order("sent"))
    without = [run.steps[1], last]

    assert superseded(without) == {}


def test_results_of_calls_made_at_once_go_with_their_own() -> None:
    run = Run()
    run.says("assistant", 'get_order(order_id="W26")\nget_order(order_id="W27")', tools=("get_order",), events=LOOKS)
    first = run.gets("get_order", {"status": "pending"})
    second = run.gets("get_order", {"status": "held"})
    run.gets("get_order", {"status": "one too many"})
    run.looks({"status": "sent"}, order_id="W27")

    assert run.told(first) == []
    assert run.told(second) == [("status", "held", "sent", "s5")]


def test_a_result_without_a_tool_goes_with_the_only_call() -> None:
    run = Run()
    run.says("assistant", 'get_order(order_id="W26")', events=("read", "call tool"))
    first = run.says("tool", '{"status": "pending"}', events=("success",))
    run.looks({"status": "sent"})

    assert run.told(first) == [("status", "pending", "sent", "s3")]


def test_of_many_steps_only_those_are_told_that_are_asked_about() -> None:
    run = Run()
    first, second = run.looks(order("pending")), run.looks(order("packed"))
    run.looks(order("sent"))
    run.looks({"order_id": "W99", "status": "lost"}, order_id="W99")

    assert list(superseded(run.steps, of={second.id})) == [second.id]
    assert superseded(run.steps, of={first.id})[first.id][0].now == "sent"
    assert superseded(run.steps, of=set()) == {}


def test_a_call_behind_a_failure_that_names_the_same_is_because_of_it() -> None:
    run = Run()
    run.calls("run_tests", {"path": "src/lamp.py"})
    failure = run.gets("run_tests", "1 failed", outcome="failure")
    run.says("assistant", "I look at it.")
    mend = run.calls("read_file", {"path": "src/lamp.py"})

    assert run.cause(mend) == Cause(failure.step, failure.position, "failure", "src/lamp.py")


def test_a_call_of_the_tool_that_failed_is_because_of_it_too() -> None:
    run = Run()
    run.calls("sql", {"text": "select a"})
    failure = run.gets("sql", "Error: no such column", outcome="failure")
    again = run.calls("sql", {"text": "select b"})

    assert run.cause(again) == Cause(failure.step, failure.position, "failure", "")


@pytest.mark.parametrize("between", ["a user", "another call"])
def test_a_failure_is_no_cause_once_something_else_came_after_it(between: str) -> None:
    run = Run()
    run.calls("sql", {"text": "select a"})
    run.gets("sql", "Error: no such column", outcome="failure")
    if between == "a user":
        run.says("user", "Try b.")
    else:
        run.calls("sql", {"text": "describe"})
        run.gets("sql", "b")
    again = run.calls("sql", {"text": "select b"})

    assert run.cause(again) is None


def test_a_call_is_because_of_the_result_that_told_its_identifier_first() -> None:
    run = Run()
    run.calls("find_file", {"text": "lamp"})
    told = run.gets("find_file", "src/lamp_7.py\nsrc/stove.py")
    run.calls("read_file", {"path": "src/lamp_7.py"})
    run.gets("read_file", "src/lamp_7.py has 3 lines")
    edit = run.calls("edit_file", {"path": "src/lamp_7.py"}, act=CHANGES)

    assert run.cause(edit) == Cause(told.step, told.position, "", "src/lamp_7.py")


@pytest.mark.parametrize("name", ["ORD-7052", "changed_mind"])
def test_what_a_user_said_first_is_no_result(name: str) -> None:
    run = Run()
    run.says("user", f"Please look at {name}.")
    run.looks({"order": name})

    assert run.cause(run.calls("send_order", {"order_id": name})) is None


@pytest.mark.parametrize("name", ["2026", "__init__", "x1"])
def test_names_that_many_things_have_tie_nothing(name: str) -> None:
    run = Run()
    run.looks({"said": name})

    assert run.cause(run.calls("send_order", {"what": name})) is None


def test_a_part_of_a_longer_name_is_not_that_name() -> None:
    run = Run()
    run.looks({"said": "ORD-70521"})

    assert run.cause(run.calls("send_order", {"order_id": "ORD-7052"})) is None


def test_only_calls_have_causes() -> None:
    run = Run()
    failure = run.looks("Error: nothing")

    assert run.cause(failure) is None
    assert run.cause(run.says("assistant", "It is not there.")) is None


def scored(snippets: list[MemorySnippet]) -> list[ScoredSnippet]:
    return [ScoredSnippet(snippet, frozenset(), {}, 0.0) for snippet in snippets]


def test_hits_get_their_links_from_all_steps_that_are_in_view() -> None:
    run = Run()
    first = run.looks(order("pending"))
    failure = run.changes("Error: W26 is locked", outcome="failure")
    again = run.calls("update_order", {"order_id": "W26"}, act=CHANGES)
    run.gets("update_order", order("sent"))
    elsewhere = Run("the stove")

    [linked, cause] = with_links(scored([first, again]), [*run.steps, *elsewhere.steps])

    assert linked.superseded_by == "s5"
    assert linked.because_of is None
    assert cause.because_of == Cause(failure.step, failure.position, "failure", "")
    assert cause.superseded == ()
    assert cause.superseded_by is None


def test_a_context_says_what_no_longer_holds_and_what_made_the_agent_do_it() -> None:
    run = Run()
    first = run.looks(order("pending"))
    run.changes("Error: W26 is locked", outcome="failure")
    again = run.calls("update_order", {"order_id": "W26"}, act=CHANGES)
    run.gets("update_order", order("sent<step>"))
    hits = with_links(scored([first, again]), run.steps)

    text = fit_context(hits, budget_tokens=1_000, counter=PieceCounter()).text

    assert 'superseded "status is sent&lt;step\u203a at step 5">{' in text
    assert "because step 3: failure>update_order" in text


def test_behind_the_first_hits_none_gets_links() -> None:
    run = Run()
    first = run.looks(order("pending"))
    run.looks(order("sent"))
    many = scored([run.steps[0]] * MOST_LINKED) + scored([first])

    assert with_links(many, run.steps)[-1].superseded == ()
    assert with_links([], run.steps) == []


def test_links_are_told_in_a_few_words() -> None:
    value = SupersededValue("w26", "status", "pending", "", "s5", 5)

    assert no_longer([value]) == "status is empty at step 5"
    assert no_longer([value] * 5, by_id=True).endswith("status is empty at step s5; 2 more")
    assert no_longer([value._replace(now="x" * 99)]) == f"status is {'x' * 39}… at step 5"
    assert because(Cause("s3", 3, "", "src/lamp.py")) == "step 3: src/lamp.py"
    assert because(Cause("s3", 3, "refusal", "W26"), by_id=True) == "step s3: refusal"
