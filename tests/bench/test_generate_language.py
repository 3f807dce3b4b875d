"""What is said: varied, referring as people do, split into turns, and never betraying what was masked."""

import re
from collections import Counter, defaultdict
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stitch.bench.generate import SIZES, GeneratedTrajectory, Size, generate
from stitch.bench.generate.environment import DebateWorld
from stitch.bench.generate.focus import Scene
from stitch.bench.generate.realization import Decks
from stitch.bench.generate.refinement import refer_in_travel, segment
from stitch.bench.generate.storyboard import Operation
from stitch.bench.generate.verify import resolve
from stitch.bench.generate.wordings import PLAIN

TRIP = generate("travel", SIZES["M"], seed="language")
DEBATE = generate("debate", SIZES["M"], seed="language")
BESIDE_THE_POINT = re.compile(r"rest|more|close|where|special|crowd|senses|custom|founder|reason|talk|correction")
ACTION_POOLS = {
    f"{speaker} {name}": pool
    for speaker, pools in {
        "user": PLAIN.travel.user,
        "agent": PLAIN.travel.agent,
        "debater": PLAIN.debate.openings,
        "citing": PLAIN.debate.citing,
    }.items()
    for name, pool in pools.items()
    if not BESIDE_THE_POINT.search(name)
}


@pytest.mark.parametrize("name", ACTION_POOLS)
def test_every_action_and_role_has_at_least_eight_realizations(name: str) -> None:
    assert len(set(ACTION_POOLS[name])) >= 8


def texts_by_action(trajectory: GeneratedTrajectory) -> dict[tuple[str, str], list[str]]:
    texts = defaultdict(list)
    for index, turns in trajectory.by_operation().items():
        op = trajectory.storyboard.operations[index]
        texts[op.role, op.action].append(turns[0].text)
    return texts


@pytest.mark.parametrize("trajectory", [TRIP, DEBATE], ids=["travel", "debate"])
def test_no_beginning_gives_an_action_away(trajectory: GeneratedTrajectory) -> None:
    for (role, action), texts in texts_by_action(trajectory).items():
        if len(texts) < 30:
            continue
        beginnings = Counter(" ".join(text.split()[:3]) for text in texts)
        assert len(beginnings) >= 8, (role, action)
        assert beginnings.most_common(1)[0][1] <= len(texts) * 0.25, (role, action, beginnings.most_common(3))


def test_the_same_beginning_occurs_under_several_actions_of_the_user() -> None:
    actions = defaultdict(set)
    for (role, action), texts in texts_by_action(TRIP).items():
        for text in texts if role == "user" else ():
            actions[" ".join(text.split()[:2])].add(action)
    assert sum(len(found) >= 3 for found in actions.values()) >= 10


def test_no_turn_of_a_debate_says_the_same_sentence_twice() -> None:
    for turn in DEBATE.turns:
        said = Counter(re.split(r"(?<=[.?!])\s+", turn.text))
        assert said.most_common(1)[0][1] == 1, turn.text


def test_the_agent_answers_in_several_turns_of_the_length_of_the_example() -> None:
    agents = [len(turn.text.split()) for turn in TRIP.turns if turn.role == "travel_agent"]
    users = [len(turn.text.split()) for turn in TRIP.turns if turn.role == "user"]
    assert max(agents) <= 150
    assert 60 <= sum(agents) / len(agents) <= 110
    assert 20 <= sum(users) / len(users) <= 60
    assert len(agents) >= 2 * len(users)


def test_names_are_said_when_proposed_and_nearly_never_afterwards() -> None:
    named = defaultdict(list)
    for index, turns in TRIP.by_operation().items():
        op = TRIP.storyboard.operations[index]
        text = " ".join(turn.text for turn in turns)
        named[op.role, op.action].append(all(name in text for name in op.objects))
    assert all(named["user", "PROPOSE"])
    for action in ("INQUIRE", "DECIDE", "COMPARE"):
        assert sum(named["user", action]) <= 0.15 * len(named["user", action])
        assert sum(named["travel_agent", action]) <= 0.15 * len(named["travel_agent", action])


def test_a_debate_never_says_the_title_of_its_evidence() -> None:
    assert isinstance(DEBATE.world, DebateWorld)
    titles = [evidence.title for evidence in DEBATE.world.evidence.values()]
    assert not any(title in turn.text for turn in DEBATE.turns for title in titles)


PLACES = tuple(f"Place{letter} Inn" for letter in "ABCDEFGHIJKLMNOPQRSTUVW")


@given(st.integers(0, 10**6), st.integers(1, len(PLACES)), st.data())
def test_what_refers_to_a_place_can_be_resolved_to_it(seed: int, number: int, data: st.DataObject) -> None:
    known = PLACES[:number]
    name = data.draw(st.sampled_from(known))
    slot = data.draw(st.sampled_from(["accommodation", "breakfast", "lunch", "dinner", "attraction"]))
    op = Operation(0, "user", "INQUIRE", (name,), 3, slot)
    scene = Scene(known)
    refined = refer_in_travel(op, f"What about {name}? Is {name}'s price fair?", scene=scene, rng=Random(seed))
    expression = refined.mentions[0].text
    assert name in expression or resolve(expression, op, scene) == name
    assert resolve(expression, op._replace(day=4), scene) is None


def test_an_expression_without_day_ordinal_or_slot_stands_for_nothing() -> None:
    op = Operation(0, "user", "INQUIRE", ("A",), 1, "lunch")
    assert resolve("the second restaurant I raised", op, Scene(["A", "B"])) is None
    assert resolve("the restaurant I raised for day 1's lunch", op, Scene(["A", "B"])) is None
    assert resolve("the second restaurant I raised for day 1's dinner", op, Scene(["A", "B"])) is None
    assert resolve("the third restaurant I raised for day 1's lunch", op, Scene(["A", "B"])) is None
    assert resolve("the second restaurant I raised for day 1's lunch", op, Scene(["A", "B"])) == "B"
    assert resolve("the 2nd restaurant I raised for day 1's lunch", op, Scene(["A", "B"])) == "B"
    assert resolve("the restaurant I suggested last for lunch on day 1", op, Scene(["A", "B"])) == "B"
    assert resolve("the restaurant I suggested last for lunch on day 1", op, Scene([])) is None


def test_a_pronoun_takes_its_case_and_its_capital() -> None:
    op = Operation(0, "travel_agent", "PROPOSE", ("Ada Inn",), 1, "accommodation")
    said = {
        refer_in_travel(
            op, "Ada Inn is fine. Ada Inn's roof leaks, so at Ada Inn you get wet.", scene=Scene(()), rng=Random(n)
        ).text
        for n in range(60)
    }
    assert any(text.startswith("It is fine. Its roof leaks, so at the ") for text in said)
    assert not any("at it" in text or ". it" in text for text in said)


@given(st.lists(st.integers(1, 40), min_size=1, max_size=30), st.integers(0, 1000))
def test_segmentation_keeps_every_sentence_whole_and_in_order(lengths: list[int], seed: int) -> None:
    sentences = [" ".join(["word"] * length) + f"{number}." for number, length in enumerate(lengths)]
    turns = segment(" ".join(sentences), rng=Random(seed))
    assert " ".join(turns) == " ".join(sentences)
    assert all(turn.endswith(".") for turn in turns)
    assert all(len(turn.split()) <= 140 for turn in turns)


@given(st.integers(2, 12), st.integers(0, 1000))
def test_a_deck_deals_half_of_the_pool_before_anything_returns(size: int, seed: int) -> None:
    pool = tuple(f"entry {number}" for number in range(size))
    dealt = Decks(Random(seed)).deal_many("pool", pool, 6 * size)
    for start in range(len(dealt) - size // 2):
        window = dealt[start : start + size // 2 + 1]
        assert len(set(window)) == len(window)
    assert set(dealt) == set(pool)


def test_a_small_size_still_makes_a_whole_trajectory() -> None:
    trip = generate("travel", Size(tokens=200, days=1, evidence=0, citations=0), seed="tiny")
    assert {question.type for question in trip.questions} >= {"type_1", "type_3", "type_4"}
    debate = generate("debate", Size(tokens=200, days=0, evidence=5, citations=1), seed="tiny")
    assert len(debate.turns) == 12
