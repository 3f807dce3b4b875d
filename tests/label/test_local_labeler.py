"""The labeler without a model: what goldens of conversations do not show."""

from collections.abc import Sequence

import pytest

from contracts.labeler import LabelerContract
from stitch.core import LabelKind, Step, StepLabels, ToolCall
from stitch.core.intent import SETUP_SCOPE
from stitch.label.local import LocalLabeler


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


def test_a_result_goes_with_its_call_and_a_step_with_its_parent() -> None:
    steps = [
        said("user", "Please find a hotel in Oslo.", session="a", id="1"),
        Step(role="assistant", content="", session="a", id="2", tool_calls=(ToolCall(name="find_hotel"),)),
        said("user", "Please write a poem about snow.", session="b", id="3"),
        Step(role="assistant", content="", session="b", id="4", tool_calls=(ToolCall(name="write_text"),)),
        Step(role="tool", content="The snow", session="b", id="5", tool_name="write_text"),
        Step(role="tool", content="Hotel Bo", session="a", id="6", tool_name="find_hotel"),
        said("assistant", "Here it is.", session="a", id="7", parent="5"),
    ]
    scopes = scopes_of(label(*steps))
    assert scopes[5] == scopes[1] != scopes[3] == scopes[4]
    assert scopes[6] == scopes[4]


def asked(words: str, tool: str, **arguments: str) -> list[Step]:
    """What a user asks for, the call that is made of it, and the result."""
    call = said("assistant", "", tool_calls=(ToolCall(name=tool, arguments=arguments),))
    return [said("user", words), call, said("tool", '{"done": "yes"}', tool_name=tool), said("assistant", "Done.")]


def read_scopes(steps: Sequence[Step]) -> list[str]:
    """The scopes of steps, as they read when all are labeled."""
    session = LocalLabeler().begin("t")
    labels, names = session.label(steps), session.inventory().vocabulary()
    return [names.canonical(LabelKind.SCOPE, each) for each in scopes_of(labels)]


TABLE = asked("I need a table for four at the Blue Heron on Friday.", "reserve_table", name="Blue Heron")
SKY = asked("Lovely. Will I need an umbrella that evening?", "weather", city="Porto")
FIVE = asked("Make it five people, my sister comes as well.", "reserve_table", name="Blue Heron")
PRICE = asked("And what would it cost me then?", "get_price", persons="4")


def test_words_go_to_the_scope_of_the_call_that_they_ask_for() -> None:
    hello, thanks = said("assistant", "Hello, how can I help?"), said("user", "Thanks, that is all.")
    scopes = read_scopes([hello, *TABLE, *SKY, *FIVE, thanks, said("assistant", "Goodbye!")])
    table, sky = scopes[1], scopes[5]
    assert scopes[1:] == [*[table] * 4, *[sky] * 4, *[table] * 6]
    assert table != sky


def test_words_that_wait_for_a_call_read_as_what_they_follow() -> None:
    assert len(set(read_scopes([*TABLE, SKY[0]]))) == 1


@pytest.mark.parametrize(
    ("first", "scopes"),
    [
        (TABLE, 2),
        ([TABLE[0], *asked("Find it.", "find_table", city="Porto")[1:3], *TABLE[1:]], 1),
        (asked(TABLE[0].content, "reserve_table", query="Blue Heron, 4"), 1),
    ],
    ids=["one in each turn", "two in one turn", "given a query"],
)
def test_another_tool_tells_another_scope_unless_tools_serve_the_same_matter(first: list[Step], scopes: int) -> None:
    assert len(set(read_scopes([*first, *PRICE]))) == scopes


def test_tools_that_hand_on_one_order_serve_one_matter() -> None:
    where = asked("Where is my order W8812?", "get_order", order="W8812")
    refund = asked("Please send the money back to my Mastercard.", "change_refund", order="W8812", card="2231")
    lamps = asked("Another thing: do you have standing lamps?", "list_lamps", room="living room")
    again = asked("And when will the bulbs of the old order come?", "get_order", order="W8812")
    scopes = read_scopes([*where, *refund, *lamps, *again])
    assert len(set(scopes[:8])) == 1
    assert scopes[8] not in scopes[:8]
    assert scopes[12:] == scopes[:4]


def test_who_is_called_system_and_talks_is_no_prompt() -> None:
    labels = label(said("user", "I want to go to Oslo."), said("system", "When do you want to go?"))
    assert SETUP_SCOPE not in scopes_of(labels)


def test_talk_of_several_people_under_one_role_is_read_as_such() -> None:
    lines = ("how much was it in the end?", "210, with the delivery", "the plumber was here, he changed the valve")
    acts = [each.intent.event_types[0] for each in label(*(said("user", line) for line in ("Hello.", *lines)))]
    assert acts[1:] == ["ask", "answer", "inform"]


def test_of_a_file_in_a_message_its_name_alone_is_read() -> None:
    for name in ("", " roof.png"):
        mark = f"[image{name}: image/png, 15008 bytes, sha256 ec6c8e8700df0333]"
        (made,) = label(said("user", f"Is the roof of the old barn safe?\n{mark}"))
        told = f"{made.intent.scope} {[each.value for each in made.mentions]}"
        assert not any(word in told for word in ("sha256", "bytes", "image/", "ec6c"))
        assert "barn" in told


def test_a_scope_that_somebody_named_keeps_its_name() -> None:
    talk = [said("ann", "the roof again"), said("bob", "the gutter of the roof leaks")]
    made = label(*talk)
    intent = made[0].intent.model_copy(update={"scope": "the old house"})
    session = LocalLabeler().begin("t")
    session.replay(talk, [each.model_copy(update={"intent": intent, "made_by": "ann"}) for each in made])
    more = session.label([said("ann", "is the gutter fixed?"), said("bob", "the gutter holds")] * 4)
    assert set(scopes_of(more)) == {"the old house"}


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("I need paint for the garden fence. Which paint will the garden fence need?", "garden fence"),
        ("The import breaks:\n```\nconst mongoose = load(schema)\n```\nPlease mend the bank import.", "bank import"),
        ("uh the the uh remote control, uh, needs a remote control case", "remote control"),
        ("My marathon on Sunday: what shall I eat before a marathon in March?", "marathon"),
    ],
    ids=["what recurs", "no code", "no interjection", "no date"],
)
def test_a_name_is_what_is_asked_about(words: str, name: str) -> None:
    scope = scopes_of(label(said("user", words)))[0] or ""
    assert name in scope
    assert not {"mongoose", "uh", "sunday", "march"} & set(scope.lower().split())


def test_a_name_changes_only_for_a_clearly_better_one() -> None:
    talk = [
        said("user", "Which insurance pays for the broken window?"),
        said("assistant", "The insurance of the house."),
    ]
    session = LocalLabeler().begin("t")
    session.label(talk * 30)
    assert len(session.inventory().merges) <= 1


def test_many_terms_and_values_are_bounded() -> None:
    session = LocalLabeler().begin("t")
    session.label([Step(role="user", content=" ".join(f"word{n}x{i} ${i}{n}.5" for i in range(60))) for n in range(20)])
    for scope in session.inventory().scopes:
        assert len(scope.terms) <= 40
        assert len(scope.values) <= 240


@pytest.mark.parametrize(
    ("words", "flag", "acts"),
    [
        ("The kiln is cold until Monday.", "failure", ("report error", "failure")),
        ("", "failure", ("report error", "failure")),
        ("Error: the kiln is cold", "success", ("report result", "success")),
        ("", "success", ("report result", "empty")),
        ("Error: the kiln is cold", None, ("report error", "failure")),
        ("The kiln is cold until Monday.", None, ("report result", "success")),
    ],
)
def test_flags_decide_how_a_call_came_out_and_words_where_there_are_none(
    words: str, flag: str | None, acts: tuple[str, ...]
) -> None:
    call = said("assistant", "", tool_calls=(ToolCall(name="fire"),))
    result = said("tool", words, tool_name="fire", metadata={} if flag is None else {"outcome": flag})
    assert label(said("user", "Please fire the kiln."), call, result)[-1].intent.event_types == acts


def test_entity_types_are_neutral_classes_with_values() -> None:
    result = said("tool", '{"departure_city": "Boston", "total": 12, "user_id": "ann_2"}', tool_name="get")
    call = Step(role="assistant", content="", tool_calls=(ToolCall(name="get"),))
    labels = label(said("user", "How much is the ferry from Boston?"), call, result)
    assert labels[0].intent.entity_types[0] == "price"
    assert [(each.entity_type, each.value) for each in labels[2].mentions] == [
        ("place", "Boston"), ("price", "12"), ("identifier", "ann_2"),
    ]  # fmt: skip


def test_friends_at_one_table_share_a_scope_whoever_speaks() -> None:
    talk = [
        said("Ann", "The plumber comes on Tuesday at nine, the pipe in the cellar leaks."),
        said("Bob", "Who lets him in?"),
        said("Cleo", "I am at home then, I show him the cellar."),
        said("Ann", "He needs the key of the cellar."),
        said("Cleo", "Shall we have dinner at Rossi's on Saturday?"),
        said("Ann", "Yes, a table for five."),
        said("Bob", "I come to the dinner later, at half past eight."),
        said("Cleo", "Then we order dinner without you."),
    ]
    plumber, dinner = read_scopes(talk)[:4], read_scopes(talk)[4:]
    assert len(set(plumber)) == 1 == len(set(dinner))
    assert plumber[0] != dinner[0]
