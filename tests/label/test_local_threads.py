"""Scopes that turn out to continue earlier ones."""

import pytest

from stitch.core import LabelKind, Step
from stitch.label.local import LocalLabeler
from stitch.label.local.evidence import Scope, Stream
from stitch.label.local.moves import answers
from stitch.label.local.naming import InWords
from stitch.label.local.reading import read_step
from stitch.label.local.scopes import ScopeTracker
from stitch.label.local.threads import (
    JOIN_FEATURES,
    JOIN_MARGIN,
    LOOK_STEPS,
    MAX_HOMES,
    MAX_JOINED_STEPS,
    join_evidence,
    take_over,
)

JOINING = {"join: always": JOIN_MARGIN}
"""Weights under which every scope that was weighed continues an earlier one."""
LOOKING = {"look: always": JOIN_MARGIN}
"""Weights under which every such scope does so at the first look, before it is left."""


def read(content, role="user", **fields):
    return read_step(Step(role=role, content=content, **fields))


def tracked(*turns, weights=JOINING):
    """A tracker that was given turns, each with the number of its scope; None opens one."""
    tracker = ScopeTracker(weights)
    for content, number in turns:
        reading = read(content)
        tracker.choose(reading)
        tracker.assign(reading, None if number is None else tracker.scopes[number])
    return tracker


def test_a_scope_that_was_left_can_be_joined_to_an_earlier_one():
    tracker = tracked(("A bus to Boston.", None), ("A hotel.", None), ("In Boston, please.", 1), ("Some music.", None))
    joined = tracker.reconsider()
    assert joined == (tracker.scopes[1], tracker.scopes[0])
    assert tracker.scope(1) is tracker.scopes[0]
    assert tracker.scopes[0].spans == [[0, 2]]
    assert tracker.scopes[0].steps == 3
    assert tracker.scopes[0].values["boston"] == 2
    assert {"bus", "hotel"} <= set(tracker.scopes[0].terms)
    assert tracker.reconsider() is None


@pytest.mark.parametrize("steps", range(1, 6))
def test_a_scope_is_looked_at_again_soon_after_it_was_opened(steps):
    tracker = tracked(("A bus.", None), *[("A hotel.", 1 if n else None) for n in range(steps)], weights=LOOKING)
    joined = tracker.reconsider()
    assert (joined is not None) == (steps in LOOK_STEPS)
    assert tracker.current is tracker.scopes[0 if joined else 1]
    assert tracker.reconsider() is None or not joined


def test_what_a_look_does_not_join_stays_as_it_is():
    turns = (("A bus.", None), ("A hotel.", None), ("A hotel.", 1))
    assert tracked(*turns, weights={"look: always": JOIN_MARGIN - 0.01}).reconsider() is None
    assert tracked(*turns, weights=JOINING).reconsider() is None


def test_a_switch_that_a_look_takes_back_was_none():
    tracker = tracked(("A bus.", None), ("A hotel.", None), ("A hotel.", 1), weights=LOOKING)
    assert tracker.save()["stream"]["switches"] == 1
    tracker.reconsider()
    assert tracker.save()["stream"]["switches"] == 0


def test_a_joined_scope_is_no_candidate_any_more():
    tracker = tracked(("A bus to Boston.", None), ("A hotel in Boston.", None), ("Some music.", None))
    tracker.reconsider()
    candidates = tracker.candidates(read("The hotel in Boston?"))
    assert [candidate.scope and candidate.scope.number for candidate in candidates] == [2, 0, None]
    assert tracker.decide(read("Back to the hotel."), InWords(named=1)) == (tracker.scopes[0],)


def test_a_scope_stands_for_itself_unless_enough_speaks_for_a_join():
    turns = (("A bus to Boston.", None), ("A hotel.", None), ("Some music.", None))
    assert tracked(*turns, weights={"join: always": JOIN_MARGIN - 0.01}).reconsider() is None
    assert tracked(*turns, weights={}).reconsider() is None


def test_a_scope_that_the_text_opened_is_never_joined():
    tracker = ScopeTracker(JOINING)
    for content, unit in (("Plan day 1.", "day 1"), ("Plan day 2.", "day 2"), ("Plan day 3.", "day 3")):
        reading = read(content)
        tracker.assign(reading, tracker.choose(reading, InWords(unit=unit)), unit=unit)
        assert tracker.reconsider() is None
    assert len(tracker.scopes) == 3


def test_a_long_scope_stands_for_itself():
    tracker = tracked(
        ("A bus.", None), ("A hotel.", None), *[("It has rooms.", 1)] * MAX_JOINED_STEPS, ("Music.", None)
    )
    assert tracker.doubtful is None
    assert tracker.homes() == []


def test_at_most_a_handful_of_scopes_come_into_question():
    names = ["bus", "hotel", "song", "movie", "car", "train", "flight", "meal", "doctor", "house", "bank"]
    tracker = tracked(*[(f"I need a {name}.", None) for name in names], weights={})
    assert len(tracker.homes()) <= MAX_HOMES
    for home in tracker.homes():
        assert len(home.features) == len(JOIN_FEATURES)
        assert home.score == 0.0


def test_what_is_shared_with_an_earlier_scope_is_evidence():
    tracker = tracked(
        ("A bus to Boston on March 8th.", None),
        ("A hotel in Chicago.", None),
        ("The bus on March 8th.", None),
        ("Some music.", None),
        weights={},
    )
    homes = sorted(tracker.homes(), key=lambda home: home.scope.number)
    bus, hotel = (dict(zip(JOIN_FEATURES, home.features, strict=True)) for home in homes)
    assert bus["cohesion"] > hotel["cohesion"] == 0.0
    assert bus["shared rare values"] > hotel["shared rare values"] == 0.0
    assert bus["best cohesion"] == bus["best values"] == 1.0
    assert hotel["latest"] == 1.0
    assert hotel["left for it"] == 1.0
    assert bus["pointed at unknown"] == 0.0 < hotel["pointed at unknown"]


def test_nothing_comes_into_question_without_an_earlier_scope():
    assert join_evidence(Scope(1, spans=[[1, 1]]), [], Stream(), holders={}, scopes=1) == []


def test_the_later_of_two_joined_scopes_says_what_is_open():
    home, left = Scope(0, spans=[[0, 1]], opens="time"), Scope(1, spans=[[3, 4]], opens="place", speakers={"ann": 4})
    take_over(home, left)
    assert (home.opens, home.spans, home.speakers, left.into) == ("place", [[0, 1], [3, 4]], {"ann": 4}, 0)
    earlier = Scope(2, spans=[[2, 2]], opens="number")
    take_over(home, earlier)
    assert (home.opens, home.spans) == ("place", [[0, 4]])


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


def test_an_answer_gives_what_was_asked_for():
    assert answers(("time",), "time")
    assert not answers(("yes",), "time")
    assert answers(("yes",), "told")


def test_what_is_spoken_of_as_known_is_pointed_at():
    assert read("This apartment looks good, and the other cars?").pointed == {"apart", "look", "car"}
