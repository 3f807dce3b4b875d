"""The verifier finds every kind of damage; questions follow from the plan; a writer that fails is replaced."""

import re
from collections.abc import Callable

import pytest

from stitch.bench.generate import (
    SIZES,
    GeneratedTrajectory,
    RealizationRequest,
    Size,
    Turn,
    VerificationError,
    generate,
    verify,
)
from stitch.bench.generate.environment import DebateWorld, TravelWorld
from stitch.bench.generate.refinement import Mention
from stitch.bench.generate.statistics import implicit_reference_share, statistics
from stitch.bench.generate.storyboard import KIND_OF_SLOT, Operation

TRIP = generate("travel", SIZES["S"], seed="verify")
DEBATE = generate("debate", SIZES["M"], seed="verify")

Damage = Callable[[Operation, Turn], Turn]


def damaged(
    trajectory: GeneratedTrajectory, wanted: Callable[[Operation, Turn], bool], damage: Damage
) -> GeneratedTrajectory:
    """The trajectory with its first wanted turn damaged."""
    turns = list(trajectory.turns)
    for place, turn in enumerate(turns):
        op = trajectory.storyboard.operations[turn.operation]
        if wanted(op, turn):
            turns[place] = damage(op, turn)
            return trajectory._replace(turns=tuple(turns))
    raise AssertionError("nothing to damage")


def said(text: str) -> Damage:
    return lambda _op, turn: turn._replace(text=text)


def replaced(pattern: str, by: str) -> Damage:
    def damage(_op: Operation, turn: Turn) -> Turn:
        assert re.search(pattern, turn.text)
        return turn._replace(text=re.sub(pattern, by, turn.text))

    return damage


def by(role: str, action: str, pattern: str = "") -> Callable[[Operation, Turn], bool]:
    return lambda op, turn: op.role == role and op.action == action and bool(re.search(pattern, turn.text))


def shift_ordinal(_op: Operation, turn: Turn) -> Turn:
    mention = turn.mentions[0]
    wrong = mention.text.replace("first", "fifth")
    return turn._replace(
        text=turn.text.replace(mention.text, wrong), mentions=(Mention(wrong, mention.object), *turn.mentions[1:])
    )


TRAVEL_DAMAGE = {
    "a wrong price": (by("travel_agent", "INQUIRE", r"\$"), replaced(r"\$\d+\.\d\d", "$1.00"), "state"),
    "a price nobody asked for": (by("travel_agent", "DECIDE"), said("It costs $12.00."), "was not asked for"),
    "another day": (by("user", "SET_DAY"), replaced(r"day \d", "day 9"), "name its day"),
    "an unnamed proposal": (
        by("user", "PROPOSE"),
        said("How about that one for lunch, dinner or breakfast?"),
        "name what it",
    ),
    "no slot": (
        by("user", "PROPOSE"),
        lambda op, turn: turn._replace(text=f"How about {op.objects[0]}?"),
        "what it is for",
    ),
    "another ordinal": (
        lambda op, turn: op.role == "user" and op.action == "INQUIRE" and "first" in turn.mentions[0].text,
        shift_ordinal,
        "misled by",
    ),
    "no reference": (by("user", "DECIDE"), said("Let's settle on it."), "lacks"),
    "another action": (by("user", "COMPARE"), said("Hello there."), "cannot be recognized"),
    "no question": (by("user", "INQUIRE"), said("Hello there."), "does not ask"),
    "another role": (by("user", "DECIDE"), lambda _op, turn: turn._replace(role="travel_agent"), "by its role"),
    "no mention": (by("user", "DECIDE"), lambda _op, turn: turn._replace(mentions=()), "mention its objects"),
}


@pytest.mark.parametrize("name", TRAVEL_DAMAGE)
def test_damage_to_a_trip_is_found(name: str) -> None:
    wanted, damage, complaint = TRAVEL_DAMAGE[name]
    with pytest.raises(VerificationError, match=complaint):
        verify(damaged(TRIP, wanted, damage))


def swap_side(_op: Operation, turn: Turn) -> Turn:
    mention = turn.mentions[0]
    wrong = mention.text.replace("your", "our")
    return turn._replace(
        text=turn.text.replace(mention.text, wrong), mentions=(Mention(wrong, mention.object), *turn.mentions[1:])
    )


def other_citation(op: Operation, turn: Turn) -> Turn:
    assert isinstance(DEBATE.world, DebateWorld)
    right = DEBATE.world.evidence[op.cited[0]].citation
    wrong = next(found.citation for found in DEBATE.world.evidence.values() if found.citation != right)
    mentions = (turn.mentions[0], Mention(wrong, op.cited[0]))
    return turn._replace(text=turn.text.replace(right, wrong), mentions=mentions)


def add_citation(_op: Operation, turn: Turn) -> Turn:
    assert isinstance(DEBATE.world, DebateWorld)
    return turn._replace(text=f"{turn.text} {next(iter(DEBATE.world.evidence.values())).citation}")


def add_title(_op: Operation, turn: Turn) -> Turn:
    assert isinstance(DEBATE.world, DebateWorld)
    return turn._replace(text=f"{turn.text} {next(iter(DEBATE.world.evidence.values())).title}")


PRO, CON = "pro-side-debater", "con-side-debater"
DEBATE_DAMAGE = {
    "no contention": (by(PRO, "propose"), said("I rest."), "state its contention"),
    "a thin summary": (by(CON, "summarize"), said("I rest."), "leaves out"),
    "the wrong side": (
        lambda op, turn: op.action == "attack" and "your" in turn.mentions[0].text,
        swap_side,
        "misled by",
    ),
    "other evidence": (lambda op, _turn: bool(op.cited), other_citation, "cites"),
    "evidence out of place": (by(PRO, "background_supply"), add_citation, "other evidence than planned"),
    "a title": (by(PRO, "background_supply"), add_title, "betrays the title"),
    "no reference": (by(PRO, "defend"), said("I stand by it."), "lacks"),
    "no mention": (by(PRO, "defend"), lambda _op, turn: turn._replace(mentions=()), "mention its objects"),
    "an unclear reference": (
        by(PRO, "defend"),
        lambda op, turn: turn._replace(text=turn.text + " that point", mentions=(Mention("that point", op.target),)),
        "misled by",
    ),
}


@pytest.mark.parametrize("name", DEBATE_DAMAGE)
def test_damage_to_a_debate_is_found(name: str) -> None:
    wanted, damage, complaint = DEBATE_DAMAGE[name]
    with pytest.raises(VerificationError, match=complaint):
        verify(damaged(DEBATE, wanted, damage))


def test_a_lost_turn_is_found() -> None:
    last = TRIP.turns[-1].operation
    with pytest.raises(VerificationError, match="by its role"):
        verify(TRIP._replace(turns=tuple(turn for turn in TRIP.turns if turn.operation != last)))


@pytest.mark.parametrize("trajectory", [TRIP, DEBATE], ids=["travel", "debate"])
def test_an_answer_that_its_steps_do_not_bear_is_found(trajectory: GeneratedTrajectory) -> None:
    question = trajectory.questions[0]
    for wrong in (
        question._replace(items=("Nowhere Inn",)),
        question._replace(turns=()),
        question._replace(items=()),
        question._replace(turns=("trip-x-turn-1",)),
    ):
        with pytest.raises(VerificationError, match=re.escape(question.id)):
            verify(trajectory._replace(questions=(wrong,)))


def test_travel_answers_follow_from_replaying_the_users_turns() -> None:
    assert isinstance(TRIP.world, TravelWorld)
    proposed: dict[str, list[str]] = {}
    decided: dict[str, list[str]] = {}
    for op in TRIP.storyboard.operations:
        if op.role == "user" and op.action in ("PROPOSE", "DECIDE"):
            state = proposed if op.action == "PROPOSE" else decided
            state.setdefault(f"{op.slot} {op.day}", []).append(op.objects[0])
    for question in TRIP.questions:
        if found := re.fullmatch(r"Q2-([A-Z]+)-Day(\d)", question.id):
            assert question.answer == decided[f"{found[1].lower()} {found[2]}"][-1]
        elif found := re.fullmatch(r"Q2-ALL-([A-Z]+)-Day(\d)", question.id):
            assert set(question.items) == set(decided[f"{found[1].lower()} {found[2]}"])
        elif found := re.fullmatch(r"Q4-Day(\d)-(\w+)", question.id):
            assert list(question.items) == proposed[f"{found[2]} {found[1]}"]
        elif found := re.fullmatch(r"Q3-([PR])-(.+)", question.id):
            place = TRIP.world.place(found[2])
            assert question.answer == (place.price if found[1] == "P" else place.rating)
        else:
            day = question.id.removeprefix("Q5-Day")
            assert [item.split(" at ")[-1].removeprefix("Visit ") for item in question.items] == [
                decided[f"{slot} {day}"][-1] for slot in KIND_OF_SLOT
            ]


def test_the_price_stands_in_a_gold_turn_and_the_name_is_said_before() -> None:
    texts = {turn.id: turn.text for turn in TRIP.turns}
    order = list(texts)
    for question in TRIP.questions:
        if question.type == "type_2":
            assert any(question.answer in texts[turn] for turn in question.turns)
            name = question.id[5:]
            assert any(name in texts[turn] for turn in order[: order.index(question.turns[0])])


def test_debate_answers_are_exactly_the_citations_of_the_gold_turns() -> None:
    assert isinstance(DEBATE.world, DebateWorld)
    texts = {turn.id: turn.text for turn in DEBATE.turns}
    citations = [evidence.citation for evidence in DEBATE.world.evidence.values()]
    for question in DEBATE.questions:
        if question.type != "type_1":
            found = {name for turn in question.turns for name in citations if name in texts[turn]}
            assert found == set(question.items)


def test_questions_come_in_the_numbers_of_the_release() -> None:
    assert statistics(TRIP)["questions_by_type"] == {"type_1": 15, "type_2": 15, "type_3": 10, "type_4": 2}
    kinds = statistics(DEBATE)["questions_by_type"]
    assert kinds["type_3"] == 6
    assert kinds["type_1"]
    assert kinds["type_2"]
    assert kinds["type_4"] == 1


def test_references_are_about_as_implicit_as_in_the_example() -> None:
    assert 0.8 <= implicit_reference_share(TRIP) <= 0.95
    assert implicit_reference_share(TRIP._replace(turns=TRIP.turns[:1])) == 0.0


SMALL = Size(tokens=3_000, days=1, evidence=10, citations=2)


@pytest.mark.parametrize("domain", ["travel", "debate"])
def test_a_writer_writes_instead_of_the_templates(domain: str) -> None:
    asked: list[RealizationRequest] = []

    def write(request: RealizationRequest) -> str:
        asked.append(request)
        op = request.operation
        what = " and ".join(request.must_say)
        if op.action == "PROPOSE":
            what += " " + {"accommodation": "for the night", "attraction": "to visit"}.get(op.slot, f"for {op.slot}")
        verb = {"PROPOSE": "One idea is", "COMPARE": "Compare", "DECIDE": "I choose"}.get(op.action, "On")
        return f"{verb} {what}, {' and '.join(op.asked)}."

    made = generate(domain, SMALL, seed="writer", write=write)
    assert len(asked) == len(made.storyboard.operations)
    assert sum(len(turn.text) < 200 for turn in made.turns) > 0.8 * len(made.turns)
    assert all(request.goal and request.words[0] < request.words[1] for request in asked)
    templates = generate(domain, SMALL, seed="writer")
    assert made.id == templates.id


@pytest.mark.parametrize("domain", ["travel", "debate"])
def test_what_a_writer_gets_wrong_twice_is_said_by_the_templates(domain: str) -> None:
    calls: list[Operation] = []

    def write(request: RealizationRequest) -> str:
        calls.append(request.operation)
        return "I would rather talk about the weather."

    made = generate(domain, SMALL, seed="writer", write=write)
    verify(made)
    proposals = [
        op for op in made.storyboard.operations if op.action.lower() == "propose" and op.role != "travel_agent"
    ]
    assert all(calls.count(op) == 2 for op in proposals)
    assert not any(
        "weather" in turn.text for op in proposals for turn in made.by_operation()[made.storyboard.operations.index(op)]
    )
