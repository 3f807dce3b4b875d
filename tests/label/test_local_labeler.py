"""The labeler without a model: what goldens of conversations do not show."""

from collections.abc import Sequence

import pytest

from contracts.labeler import LabelerContract
from stitch.bench.fit.replies import fit_replies
from stitch.core import LabelKind, Step, StepLabels, ToolCall
from stitch.core.intent import SETUP_SCOPE, goal_of
from stitch.label.local import LocalLabeler
from stitch.label.local.naming import topic_of, turned_to
from stitch.label.local.reading import read_step
from stitch.label.local.replies import fit, shipped_replies, vector
from stitch.label.local.scopes import ScopeTracker
from stitch.label.local.threads import JOIN_MARGIN


class TestLocalLabeler(LabelerContract):
    @pytest.fixture
    def labeler(self):
        return LocalLabeler()


def said(role: str, content: str, **fields: object) -> Step:
    return Step.model_validate({"role": role, "content": content, **fields})


def label(*steps: Step) -> list[StepLabels]:
    return LocalLabeler().begin("t").label(list(steps))


def scopes_of(labels: Sequence[StepLabels]) -> list[str]:
    return [each.intent.scope or "" for each in labels]


def test_sessions_and_parents_say_where_a_step_belongs() -> None:
    steps = [
        said("user", "Please find a hotel in Oslo.", session="a", id="1"),
        Step(role="assistant", content="", session="a", id="2", tool_calls=(ToolCall(name="find_hotel"),)),
        said("user", "Please write a poem about snow.", session="b", id="3"),
        Step(role="assistant", content="", session="b", id="4", tool_calls=(ToolCall(name="write_text"),)),
        Step(role="tool", content="The snow", session="b", id="5", tool_name="write_text"),
        Step(role="tool", content="Hotel Bo", session="a", id="6", tool_name="find_hotel"),
        said("assistant", "Here it is.", session="a", id="7", parent="5"),
    ]
    labels = label(*steps)
    assert len(set(scopes_of(labels)[2:5])) == 1 != len(set(scopes_of(labels)))
    assert scopes_of(labels)[6] == scopes_of(labels)[4]
    assert scopes_of(labels)[5] == scopes_of(labels)[1]


def test_plain_dialogues_never_become_runs() -> None:
    steps = [
        said("system", "Where do you want to go?"),
        said("user", "To Oslo."),
        said("assistant", "The STAR method is simple.\nAction: what you did\nResult: what came of it"),
        said("user", "```bash\nls\n```\nWhat does this do?"),
    ]
    session = LocalLabeler().begin("t")
    labels = session.label(steps)
    assert all(each.intent.scope != SETUP_SCOPE for each in labels)
    assert not session._runs.active


DESK = "Mara Voss writes that the lift in hall 3 stands still. It is FAC-2041."


@pytest.mark.parametrize(
    ("reported", "asked", "opens"),
    [
        ("FAC-1990 is with the electricians.", DESK, True),
        ("FAC-1990 is with the electricians.", DESK.replace("FAC-2041", "issue #2041"), True),
        ("FAC-1990 is with the electricians.", DESK.replace("FAC-2041", "the one in hall 3"), False),
        ("FAC-1990 is with the electricians.", "Mara Voss writes that FAC-1990 is urgent.", False),
        ("Which one do you mean, please?", "I mean FAC-2041 of Mara Voss.", False),
    ],
    ids=["another", "a number sign", "none", "the same", "asked for"],
)
def test_a_user_who_brings_another_ticket_unasked_opens_a_goal(reported: str, asked: str, opens: bool) -> None:
    told = [
        said("system", "You are an agent at a desk. You have tools to look things up and to change them."),
        said("user", "Ines Calder writes that the door of hall 1 is stuck. It is FAC-1990."),
        Step(role="assistant", content="", tool_calls=(ToolCall(name="get_ticket", arguments={"id": "FAC-1990"}),)),
        said("tool", "FAC-1990: the door of hall 1 is stuck; nobody has it", tool_name="get_ticket"),
        said("assistant", reported),
        said("user", asked),
    ]
    first, second = (goal_of(scopes_of(label(*told))[place]) for place in (1, 5))
    assert (first != second) == opens


@pytest.mark.parametrize("start", ["- " * 40 + "then", "~" * 80 + " day", "| " * 60 + "about"])
def test_signs_at_the_front_of_a_sentence_are_passed_over_at_once(start):
    reading = read_step(said("user", f"{start} nothing of it"))
    assert (topic_of(reading), turned_to(reading)) == ([], "")


def test_many_terms_and_values_are_bounded():
    session = LocalLabeler().begin("t")
    session.label([Step(role="user", content=" ".join(f"word{n}x{i} ${i}{n}.5" for i in range(60))) for n in range(20)])
    for scope in session.inventory().scopes:
        assert len(scope.terms) <= 40
        assert len(scope.values) <= 240


JOINING = {"join: always": JOIN_MARGIN}
"""Weights under which every scope that was weighed continues an earlier one."""
LOOKING = {"look: always": JOIN_MARGIN}
"""Weights under which every such scope does so at the first look, before it is left."""


def test_a_join_is_a_merge_that_the_inventory_records():
    session = LocalLabeler().begin("t")
    session._scopes = ScopeTracker(JOINING | {"new: always": 9.0})
    steps = ["I need a bus to Boston.", "I need a hotel.", "I need some music."]
    labels = session.label([Step(id=str(n), role="user", content=content) for n, content in enumerate(steps)])
    inventory = session.inventory()
    (merge,) = inventory.merges
    assert (merge.kind, merge.alias, merge.into) == (LabelKind.SCOPE, labels[1].intent.scope, labels[0].intent.scope)
    vocabulary = inventory.vocabulary()
    read_as = [vocabulary.canonical(LabelKind.SCOPE, label.intent.scope or "") for label in labels]
    assert read_as == ["bus to Boston", "bus to Boston", "music"]
    assert [(scope.name, scope.steps) for scope in inventory.scopes] == [("bus to Boston", 2), ("music", 1)]
    saved = LocalLabeler().begin("t", session.save())
    assert saved.inventory() == inventory


def test_after_a_look_the_talk_goes_on_in_the_earlier_scope():
    session = LocalLabeler().begin("t")
    session._scopes = ScopeTracker(LOOKING | {"new: request": 9.0})
    said = ["I need a bus to Boston.", "I need a hotel.", "The hotel is fine.", "The hotel is fine."]
    labels = session.label([Step(id=str(n), role="user", content=content) for n, content in enumerate(said)])
    assert labels[1].intent.scope == labels[2].intent.scope != labels[0].intent.scope == labels[3].intent.scope
    assert [(scope.name, scope.steps) for scope in session.inventory().scopes] == [("bus to Boston", 4)]


ANSWERED = [
    ("When do you want to leave?", "Next Tuesday in the morning.", "The one with the pool."),
    ("What kind of food would you like?", "Something Italian.", "At half past nine."),
    ("How many tickets do you need?", "Just two.", "In the city center."),
    ("Is there anything else I can help you with?", "No, that is all, thanks.", "From Berlin."),
]


@pytest.mark.parametrize(("said", "fits", "does_not"), ANSWERED)
def test_an_answer_follows_its_question_better_than_another_answer(said, fits, does_not):
    replies = shipped_replies()
    prompt = replies.hear(vector(said)).prompt
    assert fit(prompt, replies.hear(vector(fits)).answer) > fit(prompt, replies.hear(vector(does_not)).answer)


def test_replies_are_learned_from_talk_that_goes_on():
    talks = [["Who?", f"{name}.", "When?", f"At {hour}.", "Bye."] for name in ("Ann", "Bob") for hour in range(30)]
    replies = fit_replies({"talk": talks})
    assert fit(replies.hear(vector("When?")).prompt, replies.hear(vector("At 4.")).answer) > fit(
        replies.hear(vector("When?")).prompt, replies.hear(vector("Ann.")).answer
    )
    assert fit_replies({"talk": talks}).start == replies.start


@pytest.mark.parametrize(
    ("words", "flag", "acts"),
    [
        ("The kiln is cold until Monday.", "failure", ("failure", "report error")),
        ("", "failure", ("failure", "report error")),
        ("Error: the kiln is cold", "success", ("success", "report result")),
        ("", "success", ("empty", "report result")),
        ("Error: the kiln is cold", None, ("failure", "report error")),
        ("The kiln is cold until Monday.", None, ("success", "report result")),
    ],
)
def test_flags_decide_how_a_call_came_out_and_words_where_there_are_none(
    words: str, flag: str | None, acts: tuple[str, ...]
) -> None:
    call = said("assistant", "", tool_calls=(ToolCall(name="fire"),))
    result = said("tool", words, tool_name="fire", metadata={} if flag is None else {"outcome": flag})
    assert label(said("user", "Please fire the kiln."), call, result)[-1].intent.event_types == acts
