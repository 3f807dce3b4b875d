"""Acts of those who argue: attack, defend, concede ..., told by how a turn opens."""

import pytest

from stitch.core import Step
from stitch.label.local import LocalLabeler
from stitch.label.local.arguing import ACTS, argued
from stitch.text.words import fold_case

_FILLER = (
    " The wells were dug in two summers, paid for by the owners of the mill. Nobody counted the carts that came,"
    " and the road was mended twice. In spring the water stood high in the lower fields; the sheep were on the hill."
    " The council met on a Tuesday, and the letters of that year are kept in a box under the stairs of the town hall."
    " The mill burned down later, and what is left of it is a wall with a door."
)


@pytest.mark.parametrize(
    ("opening", "act"),
    [
        ("I disagree: the claim that wells run dry rests on a narrow reading.", "attack"),
        ("Your evidence does not show what you want it to show.", "attack"),
        ("Your second argument is about another valley.", "attack"),
        ("That criticism misses how the wells are used. Our claim still stands.", "defend"),
        ("On the contrary, what we put forward was measured twice.", "defend"),
        ("We concede that our third point goes too far.", "concede"),
        ("Granted, the wells were costly.", "concede"),
        ("In support of this, the survey of the county counted forty wells.", "support"),
        ("Why do you count only the wells that failed?", "question"),
        ("We argue that wells make a village richer.", "argue"),
        ("Some background on the wells may help.", "give background"),
        ("To sum up, we have shown three things.", "sum up"),
    ],
)
def test_a_turn_that_argues_is_named_by_how_it_opens(opening: str, act: str) -> None:
    (step,) = LocalLabeler().begin("t").label([Step(role="ann", content=opening + _FILLER)])
    assert step.intent.event_types == (act,)
    assert act in ACTS


def test_a_turn_without_cues_and_a_short_one_argue_nothing() -> None:
    assert argued(fold_case(_FILLER)) is None
    assert argued(fold_case("I disagree.")) is None


def test_the_same_cue_late_in_a_turn_decides_nothing_alone() -> None:
    assert argued(fold_case(_FILLER + " I disagree.")) is None


def test_what_is_taken_for_granted_is_not_conceded() -> None:
    assert argued(fold_case("This is taken for granted, and it should not be." + _FILLER)) is None


def test_a_claim_of_a_side_that_is_only_taken_up_tells_of_long_turns_alone() -> None:
    assert argued(fold_case("Our second contention concerns the wells of the lower town." + _FILLER)) == "defend"
    assert argued(fold_case("Our second contention concerns the wells of the lower town" + _FILLER[:70])) is None
