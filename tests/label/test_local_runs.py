"""Labels of agents' runs: goals, deeds, outcomes."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from stitch.core import Step, StepLabels, ToolCall
from stitch.core.intent import GOAL_OPENED, SETUP_SCOPE, goal_of
from stitch.label.local import LocalLabeler

PROMPT = "You are an agent at a desk. You have tools to look things up and to change them. Follow the policy."


def says(role: str, content: str, **fields: object) -> Step:
    return Step.model_validate({"role": role, "content": content, **fields})


def calls(name: str, content: str = "", **arguments: object) -> Step:
    return Step(role="assistant", content=content, tool_calls=(ToolCall(name=name, arguments=arguments),))


def answers(name: str, content: str) -> Step:
    return Step(role="tool", content=content, tool_name=name)


def label(steps: Sequence[Step], *, trajectory: str = "t") -> list[StepLabels]:
    return LocalLabeler().begin(trajectory).label(list(steps))


def scopes(labels: Sequence[StepLabels]) -> list[str]:
    return [each.intent.scope or "" for each in labels]


def goals(labels: Sequence[StepLabels]) -> list[str]:
    return [goal_of(scope) for scope in scopes(labels)]


def ticket(customer: str, wish: str, order: str) -> list[Step]:
    return [
        says("system", PROMPT),
        says("user", wish),
        says("assistant", "Gladly. What is your customer number?"),
        says("user", f"It is {customer}."),
        calls("fetch_customer", customer_id=customer),
        answers("fetch_customer", f'{{"customer_id": "{customer}", "orders": ["{order}"]}}'),
        says("assistant", f"I see the order {order}. Is it this one?"),
        says("user", "Yes, please."),
        calls("amend_order", order_id=order),
        answers("amend_order", f'{{"order_id": "{order}", "status": "amended"}}'),
        says("assistant", f"The order {order} has been changed."),
        says("user", "Thank you, that is all."),
    ]


LAMP = ticket("ann_k_11", "Hi! I'd like to exchange the lamp that came broken.", "W-5512A")
CHAIR = ticket("bo_r_42", "I need to return two garden chairs, please.", "W-7720C")


def test_prompts_share_one_scope_and_each_statement_opens_a_goal() -> None:
    labels = label([*LAMP, *CHAIR])
    assert scopes(labels)[0] == scopes(labels)[12] == SETUP_SCOPE
    assert set(scopes(labels)[1:12]) == {"exchange the lamp that came broken"}
    assert set(scopes(labels)[13:]) == {"return two garden chairs"}
    assert labels[1].intent.event_types == labels[13].intent.event_types == (GOAL_OPENED,)
    assert labels[0].intent.event_types == ("instruct",)


def test_goals_worked_on_in_turn_are_told_apart_by_what_travels_through_calls() -> None:
    woven = [*LAMP[:6], *CHAIR[:8], *LAMP[6:10], *CHAIR[8:12], *LAMP[10:]]
    labels = label(woven)
    lamp, chair = "exchange the lamp that came broken", "return two garden chairs"
    expected = [SETUP_SCOPE, *[lamp] * 5, SETUP_SCOPE, *[chair] * 7, *[lamp] * 4, *[chair] * 4, *[lamp] * 2]
    assert scopes(labels) == expected


def test_a_question_after_the_result_of_the_last_opens_a_goal_without_any_prompt() -> None:
    steps = [
        says("user", "How many rooms are free in May?"),
        calls("query_db", query="SELECT count(*) FROM rooms WHERE month = 5"),
        answers("query_db", "[(12,)]"),
        says("user", "Which guest stayed longest?"),
        calls("query_db", query="SHOW TABLES"),
        answers("query_db", "[('guests',)]"),
        calls("query_db", query="SELECT name FROM guests ORDER BY nights DESC"),
        answers("query_db", "[]"),
    ]
    session = LocalLabeler().begin("t")
    labels = session.label(steps)
    vocabulary = session.inventory().vocabulary()
    names = [vocabulary.canonical("scope", scope) for scope in scopes(labels)]  # type: ignore[arg-type]
    assert names == ["rooms"] * 3 + ["guest stayed longest"] * 5
    assert [each.intent.event_types[0] for each in labels[1:]] == [
        "run", "success", GOAL_OPENED, "read", "success", "run", "empty",
    ]  # fmt: skip


def repair(run: str) -> list[Step]:
    statement = (
        "<issue>\nConsider this issue of our repository:\n"
        f"Parser drops the last row of {run}\nThe bug shows with any file.\n"
        "</issue>\nFix the source code and run the tests."
    )
    return [
        says("system", "You can use a shell to work on a repository. Use the tools that you are given."),
        says("user", statement),
        calls("run_shell", command=f"grep -rn rows {run}/"),
        answers("run_shell", f"{run}/rows.py:3:def rows(text):"),
        calls("run_shell", command=f"cat {run}/rows.py"),
        answers("run_shell", "def rows(text):\n    return text.split()[:-1]"),
        calls("run_shell", command="cat > try.py <<'EOF'\nprint(1)\nEOF\npython try.py"),
        answers("run_shell", "Traceback (most recent call last):\nValueError: too few"),
        calls("run_shell", command=f"sed -i 's/:-1//' {run}/rows.py"),
        answers("run_shell", ""),
        calls("run_shell", command="python try.py"),
        answers("run_shell", "1"),
        calls("run_shell", command="rm try.py"),
        answers("run_shell", ""),
        calls("finish", answer="done"),
    ]


def test_work_on_code_is_one_goal() -> None:
    labels = label(repair("reader"))
    assert scopes(labels) == [SETUP_SCOPE, *["Parser drops the last row of reader"] * 14]
    assert labels[7].intent.event_types == ("failure", "report error")
    assert labels[6].intent.event_types == ("write", "run", "run shell")


def test_sessions_and_parents_say_where_a_step_belongs() -> None:
    steps = [
        says("user", "Please find a hotel in Oslo.", session="a", id="1"),
        Step(role="assistant", content="", session="a", id="2", tool_calls=(ToolCall(name="find_hotel"),)),
        says("user", "Please write a poem about snow.", session="b", id="3"),
        Step(role="assistant", content="", session="b", id="4", tool_calls=(ToolCall(name="write_text"),)),
        Step(role="tool", content="The snow", session="b", id="5", tool_name="write_text"),
        Step(role="tool", content="Hotel Bo", session="a", id="6", tool_name="find_hotel"),
        says("assistant", "Here it is.", session="a", id="7", parent="5"),
    ]
    labels = label(steps)
    assert len(set(scopes(labels)[2:5])) == 1 != len(set(scopes(labels)))
    assert scopes(labels)[6] == scopes(labels)[4]
    assert scopes(labels)[5] == scopes(labels)[1]


def test_plain_dialogues_never_become_runs() -> None:
    steps = [
        says("system", "Where do you want to go?"),
        says("user", "To Oslo."),
        says("assistant", "The STAR method is simple.\nAction: what you did\nResult: what came of it"),
        says("user", "```bash\nls\n```\nWhat does this do?"),
    ]
    session = LocalLabeler().begin("t")
    labels = session.label(steps)
    assert all(each.intent.scope != SETUP_SCOPE for each in labels)
    assert not session._runs.active


@pytest.mark.parametrize("cut", [3, 9, 17, 22])
def test_a_run_goes_on_from_what_was_saved_as_if_nothing_had_happened(cut: int) -> None:
    steps = [*LAMP[:6], *CHAIR[:8], *repair("reader")[:9], *LAMP[6:]]
    whole = LocalLabeler().begin("t")
    labels = whole.label(steps)
    first = LocalLabeler().begin("t")
    begun = first.label(steps[:cut])
    second = LocalLabeler().begin("t", first.save())
    assert begun + second.label(steps[cut:]) == labels
    assert second.save() == whole.save()
    replayed = LocalLabeler().begin("t")
    replayed.replay(steps[:cut], labels[:cut])
    assert replayed.label(steps[cut:]) == labels[cut:]
    assert replayed.save() == whole.save()


def test_a_goal_that_somebody_renamed_goes_on_under_its_name() -> None:
    made = label(LAMP)
    intent = made[1].intent.model_copy(update={"scope": "the broken lamp"})
    given = [made[0], *(each.model_copy(update={"intent": intent, "made_by": "ann"}) for each in made[1:8])]
    session = LocalLabeler().begin("t")
    session.replay(LAMP[:8], given)
    assert set(scopes(session.label(LAMP[8:]))) == {"the broken lamp"}


DESK = "Mara Voss writes that the lift in hall 3 stands still. It is FAC-2041."


@pytest.mark.parametrize(
    ("reported", "said", "opens"),
    [
        ("FAC-1990 is with the electricians.", DESK, True),
        ("FAC-1990 is with the electricians.", DESK.replace("FAC-2041", "issue #2041"), True),
        ("FAC-1990 is with the electricians.", DESK.replace("FAC-2041", "the one in hall 3"), False),
        ("FAC-1990 is with the electricians.", "Mara Voss writes that FAC-1990 is urgent.", False),
        ("Which one do you mean, please?", "I mean FAC-2041 of Mara Voss.", False),
    ],
    ids=["another", "a number sign", "none", "the same", "asked for"],
)
def test_a_user_who_brings_another_ticket_unasked_opens_a_goal(reported: str, said: str, opens: bool) -> None:
    told = [
        says("system", PROMPT),
        says("user", "Ines Calder writes that the door of hall 1 is stuck. It is FAC-1990."),
        calls("get_ticket", id="FAC-1990"),
        answers("get_ticket", "FAC-1990: the door of hall 1 is stuck; nobody has it"),
        says("assistant", reported),
        says("user", said),
    ]
    first, second = (goals(label(told))[place] for place in (1, 5))
    assert (first != second) == opens
