"""What ties the steps of a run to others: values that no longer hold, and what a result made the agent do."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stitch.core import Cause, ContextualIntent, MemorySnippet, Origin, ScoredSnippet, SupersededValue
from stitch.retrieve.context.budget import fit_context
from stitch.retrieve.links.causes import cause_of
from stitch.retrieve.links.linking import MOST_LINKED, with_links
from stitch.retrieve.links.superseded import superseded
from stitch.retrieve.links.wording import because, no_longer

Exchange = tuple[str, str, object]
"""A call, its act, and what came back; with an outcome before a colon where that is no success."""

W26, ALL, UPDATE = 'get_order(order_id="W26")', "list_orders()", 'update_order(order_id="W26")'


def run_of(*said: Exchange | str) -> list[MemorySnippet]:
    """The steps of a run, one after the other; a text alone is the user's, "me: ..." the agent's."""
    steps: list[MemorySnippet] = []

    def put(role: str, text: str, tools: tuple[str, ...] = (), events: tuple[str, ...] = ()) -> None:
        origin = {"user": Origin.USER, "tool": Origin.TOOL}.get(role, Origin.AGENT)
        n, intent = len(steps), ContextualIntent(scope="the lamp", event_types=events)
        steps.append(
            MemorySnippet(tenant="a", trajectory="t", step=f"s{n}", position=n, role=role, text=text, resolved=text,
                          tools=tools, origin=origin, recorded=0.0, intent=intent)
        )  # fmt: skip

    for each in said:
        if isinstance(each, str):
            put("assistant" if each.startswith("me: ") else "user", each.removeprefix("me: "))
            continue
        call, act, answer = each
        tools = (call.partition("(")[0],)
        if call:
            put("assistant", call, tools, (act,))
        if answer is not None:
            text = answer if isinstance(answer, str) else json.dumps(answer)
            outcome, _, rest = text.partition(": ") if text.startswith(("failure: ", "refusal: ")) else ("", "", text)
            put("tool", rest, tools if call else (), (outcome or "success",))
    return steps


def ids(steps: list[MemorySnippet]) -> list[str]:
    return [step.id for step in steps]


def order(status: str, **more: object) -> dict[str, object]:
    return {"order_id": "W26", "status": status, **more}


def told(steps: list[MemorySnippet], step: int) -> list[tuple[str, str, str, str]]:
    """Field, value, what is told last and by which step, of what no longer holds."""
    found = superseded(steps, of=ids(steps)).get(steps[step].id, ())
    return [(one.field, one.value, one.now, one.step) for one in found]


def sent(step: str) -> list[tuple[str, str, str, str]]:
    return [("status", "pending", "sent", step)]


def flight(seats: int, day: str) -> Exchange:
    return f'find_flights(day="{day}")', "read", [{"flight_number": "H1", "seats": seats}]


def state(status: str, day: str) -> Exchange:
    return f'flight_status(flight_number="H1", day="{day}")', "read", {"status": status}


def pay(amount: int) -> Exchange:
    return f'pay_order(order_id="W26", amount={amount})', "pay", order("x", amount=amount)


def cancel(status: str, *, confirm: str) -> Exchange:
    return f'cancel_order(order_id="W26", confirm={confirm})', "cancel", order(status)


def line(price: int, cart: str) -> Exchange:
    return f'add_line(cart_id="{cart}")', "write", {"line_id": "1", "price": price}


PENDING, SENT = (W26, "read", order("pending")), (W26, "read", order("sent"))


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        pytest.param((PENDING, (UPDATE, "edit", order("packed")), SENT), sent("s5"), id="by the last that is told"),
        pytest.param((PENDING, (W26, "read", order("held")), (W26, "read", order("Pending"))), [], id="not if back"),
        pytest.param((PENDING, ('set(order_id="W26", status="sent")', "edit", "Done.")), sent("s2"), id="by arguments"),
        pytest.param((PENDING, ('set(order_id="W26", status="sent")', "edit", "refusal: no")), [], id="not if refused"),
        pytest.param(((W26, "read", {"status": "pending"}), (W26, "read", {"status": "sent"})), sent("s3"),
                     id="a result without a name is of what its call names"),
        pytest.param((PENDING, ('get_order(order_id="W27")', "read", {"order_id": "W27", "status": "sent"})), [],
                     id="not by another thing"),
        pytest.param((pay(9), pay(20)), [], id="what payments say of themselves is no state"),
        pytest.param((cancel("preview", confirm="false"), cancel("cancelled", confirm="true")),
                     [("status", "preview", "cancelled", "s3")], id="by the same change again"),
        pytest.param((flight(4, "May 19"), flight(2, "May 19")), [("seats", "4", "2", "s3")], id="by the same search"),
        pytest.param((flight(4, "May 19"), flight(2, "May 20")), [], id="not by another search"),
        pytest.param((state("late", "May 19"), state("on time", "May 20")), [], id="another day is another look"),
        pytest.param((PENDING, (ALL, "read", [order("sent")])), sent("s3"), id="by a look at everything"),
        pytest.param((("get_state()", "read", {"lamp": "off"}), ("get_state()", "read", {"lamp": "on"})),
                     [("lamp", "off", "on", "s3")], id="a look without arguments"),
        pytest.param(((W26, "read", {**order("ok"), "message": "found", "timestamp": 1}),
                      (W26, "read", {**order("sent"), "message": "here", "timestamp": 2})), [],
                     id="fields that tell of the call are no state"),
        pytest.param((line(9, "C1"), line(5, "C2")), [], id="what a change makes is known by what it was made in"),
        pytest.param(((W26, "read", None), ("", "", {"status": "pending"}), (W26, "read", {"status": "sent"})),
                     sent("s3"), id="a result without a tool goes with the only call"),
    ],
)  # fmt: skip
def test_a_value_is_superseded(said: tuple[Exchange, ...], expected: list[object]) -> None:
    steps = run_of(*said)
    assert told(steps, 1) == expected
    assert told(steps, len(steps) - 1) == []


def test_results_of_calls_made_at_once_go_with_their_own_and_without_a_call_with_none() -> None:
    both = 'get_order(order_id="W26")\nget_order(order_id="W27")'
    answers = [("", "", {"status": status}) for status in ("pending", "held", "one too many")]
    steps = run_of((both, "read", None), *answers, ('get_order(order_id="W27")', "read", {"status": "sent"}))
    steps = [one.model_copy(update={"tools": ("get_order",)}) for one in steps]
    assert told(steps, 1) == []
    assert told(steps, 2) == [("status", "held", "sent", "s5")]
    looked = run_of(PENDING, SENT)
    assert superseded([looked[1], looked[3]], of=ids(looked)) == {}


def cause(*said: Exchange | str) -> Cause | None:
    """What made the agent do the last step."""
    steps = run_of(*said)
    before = steps[:-1]
    return cause_of(steps[-1], before, said=[one.text.lower() for one in before])


FAILED = ('sql(text="select a")', "read", "failure: no such column")
AGAIN = ('sql(text="select b")', "read", None)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        pytest.param((('run(path="src/lamp.py")', "read", "failure: 1 failed"), "me: I look at it.",
                      ('read(path="src/lamp.py")', "read", None)), ("s1", 1, "failure", "src/lamp.py"),
                     id="a failure that names the same"),
        pytest.param((FAILED, AGAIN), ("s1", 1, "failure", ""), id="a failure of the same tool"),
        pytest.param((FAILED, "Try b.", AGAIN), None, id="not once a user spoke"),
        pytest.param((FAILED, ('sql(text="describe")', "read", "b"), AGAIN), None, id="not behind another call"),
        pytest.param((('find(text="lamp")', "read", "src/lamp_7.py\nsrc/stove.py"),
                      ('read(path="src/lamp_7.py")', "read", "src/lamp_7.py has 3 lines"),
                      ('edit(path="src/lamp_7.py")', "edit", None)), ("s1", 1, "", "src/lamp_7.py"),
                     id="the result that told its identifier first"),
        *(pytest.param((f"Please look at {name}.", (W26, "read", {"order": name}),
                        (f'send(order_id="{name}")', "edit", None)), None, id=f"{name}, which a user said first")
          for name in ("ORD-7052", "changed_mind")),
        *(pytest.param(((W26, "read", {"said": name}), (f'send(what="{name}")', "edit", None)), None,
                       id=f"{name}, which many things are called") for name in ("2026", "__init__", "x1")),
        pytest.param(((W26, "read", {"said": "ORD-70521"}), ('send(order_id="ORD-7052")', "edit", None)), None,
                     id="a part of a longer name"),
        pytest.param(((W26, "read", "failure: nothing"),), None, id="results have no cause"),
        pytest.param(((W26, "read", "failure: nothing"), "me: It is not there."), None, id="nor has what is said"),
    ],
)  # fmt: skip
def test_a_call_is_because_of(said: tuple[Exchange | str, ...], expected: tuple[Any, ...] | None) -> None:
    assert cause(*said) == (None if expected is None else Cause(*expected))


def scored(snippets: list[MemorySnippet]) -> list[ScoredSnippet]:
    return [ScoredSnippet(snippet, frozenset(), {}, 0.0) for snippet in snippets]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["get_order(id=1)", "get_order()", "set(x=2)", "f({})", "no call", 'f(x={"id": "a"})']),
            st.sampled_from(["read", "edit", "pay"]),
            st.sampled_from(["{}", '{"a": 1}', '{"a": 2}', '{"id": "", "a": 3}', '[{"id": "k1", "a": 4}]', "[]", "x"]),
        ),
        max_size=6,
    )
)
def test_whatever_is_called_and_answered_links_are_found_and_point_forward(exchanges: list[Exchange]) -> None:
    steps = run_of(*exchanges)
    every = superseded(steps, of=ids(steps))
    for hit in with_links(scored(steps), steps):
        assert hit.superseded == every.get(hit.snippet.id, ())
        assert all(one.position > hit.snippet.position and one.now != one.value for one in hit.superseded)
        assert hit.because_of is None or hit.because_of.position < hit.snippet.position


def test_hits_and_contexts_get_links_from_all_steps_that_are_in_view() -> None:
    steps = run_of(PENDING, (UPDATE, "edit", "refusal: W26 is locked"), (UPDATE, "edit", order("sent<step>")))
    [linked, caused] = with_links(scored([steps[1], steps[4]]), steps)
    assert (linked.superseded_by, linked.because_of) == ("s5", None)
    assert caused.because_of == Cause("s3", 3, "refusal", "")
    assert (caused.superseded, caused.superseded_by) == ((), None)
    text = fit_context([linked, caused], budget_tokens=1_000).text
    assert 'superseded "status is sent&lt;step\u203a at step 5">{' in text
    assert "because step 3: refusal>update_order" in text


def test_behind_the_first_hits_none_gets_links() -> None:
    steps = run_of(PENDING, SENT)
    many = scored([steps[0]] * MOST_LINKED) + scored([steps[1]])
    assert with_links(many, steps)[-1].superseded == ()
    assert with_links([], steps) == []


def test_links_are_told_in_a_few_words() -> None:
    value = SupersededValue("w26", "status", "pending", "", "s5", 5)
    assert no_longer([value]) == "status is empty at step 5"
    assert no_longer([value] * 5, by_id=True).endswith("status is empty at step s5; 2 more")
    assert no_longer([value._replace(now="x" * 99)]) == f"status is {'x' * 39}… at step 5"
    assert because(Cause("s3", 3, "", "src/lamp.py")) == "step 3: src/lamp.py"
    assert because(Cause("s3", 3, "refusal", "W26"), by_id=True) == "step s3: refusal"
