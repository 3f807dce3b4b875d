"""What was raised, and by whom, is found again whatever was forgotten since."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stitch.label.local import antecedents
from stitch.label.local.antecedents import Antecedents, Referent
from stitch.text.names import find_names

RAISING = st.tuples(
    st.sampled_from(["Alder Kitchen", "Birch Tavern", "Cedar Inn", "Dove House", "Elm"]),
    st.sampled_from(["user", "agent"]),
    st.sampled_from(["day 1", "day 2", "the trip"]),
    st.sampled_from(["", "day 1", "day 2"]),
)


class NoWords:
    """Of steps that are erased others say all words."""

    def said_in(self, text: str) -> bool:
        return False

    quoted_in = named_in = said_in

    def renamed(self, scope: str) -> str:
        return scope


@given(raisings=st.lists(RAISING, max_size=40), gone=st.sets(st.integers(0, 39)), loaded=st.booleans())
def test_things_raised_are_those_of_the_speaker_for_the_part_of_the_plan(
    raisings: list[tuple[str, str, str, str]], gone: set[int], loaded: bool
) -> None:
    known = Antecedents()
    for number, (name, by, scope, part) in enumerate(raisings):
        known.clock, known.part = number + 1, part
        known.raise_names([(name, [f"{name} for lunch {number}."], False)], by=by, scope=scope, step=str(number))
    if gone:
        known.forget(sorted(place + 1 for place in gone), ids={str(place) for place in gone}, erased=NoWords())
    if loaded:
        known = Antecedents.load(known.save())
    for part in ("", "day 1", "day 2"):
        known.part = part
        here = [item for item in known.raised if part and item.part == part]
        for by in ("user", "agent"):
            own = [item for item in here if item.by == by and " " in item.name]
            most = 2 * len(own) >= sum(" " in item.name for item in here)
            assert list(map(id, known.raised_by(by))) == list(map(id, own if most else []))


def test_of_what_was_raised_the_oldest_of_a_goal_and_of_all_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(antecedents, "_MAX_RAISED_PER_SCOPE", 2)
    monkeypatch.setattr(antecedents, "_MAX_RAISED", 3)
    known = Antecedents(part="day 1")
    for name, scope in (
        ("Alder Inn", "a"),
        ("Birch Inn", "b"),
        ("Cedar Inn", "b"),
        ("Dove Inn", "b"),
        ("Elm Inn", "c"),
    ):
        known.raise_names([(name, [name], False)], by="user", scope=scope, step=None)
    assert [item.name for item in known.raised] == ["Cedar Inn", "Dove Inn", "Elm Inn"]


@given(st.from_regex(antecedents._ITEM) | st.from_regex(re.compile(r"(?:.|\n)*[\d*\u2022-][.)]? +\w{3}")))
def test_a_text_with_an_item_of_a_list_has_the_sign_of_one(text: str) -> None:
    assert not antecedents._ITEM.search(text) or antecedents._MAY_LIST.search(text)


def in_mind(known: Antecedents, *texts: str) -> list[Referent]:
    """What is named in texts, each of the next step, as it is known in the end."""
    for text in texts:
        known.clock += 1
        for found in find_names(text):
            known.mention(found, step=None, alone=False, beside=False)
    return list(known.referents.values())


def test_what_is_named_again_or_stood_for_is_stronger_and_fades_with_every_step() -> None:
    named = ["we met Ann Bell and Bo Carr there"]
    once, twice = Antecedents(), Antecedents()
    [ann, bo] = in_mind(once, *named)
    assert once.strength(ann) == once.strength(bo) > 0
    [again, _] = in_mind(twice, *named, "then came Ann Bell")
    once.clock += 1
    assert twice.strength(again) > once.strength(ann) > 0
    before = once.strength(bo)
    once.stand_for(bo, kind="thing")
    assert once.strength(bo) > before
    assert [each for _, each in once.rank()] == [bo, ann]
    once.clock += 1
    faded = once.strength(bo)
    once.mention(find_names("then came Bo Carr")[0], step=None, alone=False, beside=False)
    assert once.strength(bo) > faded  # although to be named is less than what is left of having been stood for
