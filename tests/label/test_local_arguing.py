"""Acts of those who take sides: whose claims a turn takes up, and what it does with them."""

import pytest

from stitch.core import Step
from stitch.core.protocols import Forgotten
from stitch.label.local import LocalLabeler
from stitch.label.local.arguing import ACTS, Arguing, best_act, features, shipped_weights
from stitch.label.local.reading import read_step

FILLER = (
    " The wells were dug in two summers, paid for by the owners of the mill. Nobody counted the carts that came,"
    " and the road was mended twice. In spring the water stood high in the lower fields; the sheep were on the hill."
    " The council met on a Tuesday, and the letters of that year are kept in a box under the stairs of the town hall."
)
PRO, CON = "pro-side-debater", "con-side-debater"
CLAIMS = [
    Step(role=role, content=f"{claim} {FILLER}")
    for role, claim in (
        (PRO, "Deep wells make a village richer."),
        (PRO, "Deep wells keep the young people from leaving."),
        (CON, "Deep wells ruin the meadows of the neighbors."),
        (CON, "Nobody knows what deep wells cost a village in the end."),
    )
]
CITING = " Halbrook (2003) counted forty of them, and in most places the water rose by nine percent."
ATTACK = Step(role=CON, content=f"Your second claim ignores those who left.{FILLER}{CITING}")


class Erased:
    """Only the words of these are erased."""

    def __init__(self, *roles: str) -> None:
        self._roles = roles

    def said_in(self, text: str) -> bool:
        return text in self._roles

    quoted_in = named_in = said_in

    def renamed(self, scope: str) -> str:
        return scope


def acts_after_claims(*said: Step) -> list[tuple[str, ...]]:
    labels = LocalLabeler().begin("t").label([*CLAIMS, *said])
    return [each.intent.event_types for each in labels][len(CLAIMS) :]


def test_what_each_side_begins_with_is_put_forward() -> None:
    labels = LocalLabeler().begin("t").label(CLAIMS)
    assert [each.intent.event_types for each in labels] == [("argue",)] * 4


@pytest.mark.parametrize(
    ("role", "opening", "act"),
    [
        (PRO, "Their second argument does not survive a closer look.", "attack"),
        (CON, "I disagree with what you say about rich villages, it is a weak claim.", "attack"),
        (PRO, "Our first argument still stands, whatever was said against it.", "defend"),
        (CON, "I stand by our claim about the meadows, which remains untouched.", "defend"),
    ],
)
def test_the_claims_of_others_are_attacked_and_ones_own_are_defended(role: str, opening: str, act: str) -> None:
    assert acts_after_claims(Step(role=role, content=opening + FILLER + CITING)) == [(act,)]


def test_ones_own_claim_is_conceded_where_it_is_given_up() -> None:
    said = "We withdraw our second point, and I admit that we were wrong. It was said in good faith, and it is gone."
    assert acts_after_claims(ATTACK, Step(role=PRO, content=said))[1] == ("concede",)


def test_who_takes_up_nobodys_claim_gives_background() -> None:
    said = "Some background on the history of the county, without taking sides." + FILLER
    assert acts_after_claims(ATTACK, Step(role=PRO, content=said))[1] == ("give background",)


@pytest.mark.parametrize("role", ["user", "ann", "producer", "consultant", "assistant"])
def test_roles_that_take_no_side_do_not_argue(role: str) -> None:
    assert Arguing().act(read_step(Step(role=role, content=ATTACK.content))) is None


def test_short_turns_react() -> None:
    assert Arguing().act(read_step(Step(role=PRO, content="I disagree with you."))) is None


def test_what_was_said_is_remembered_when_a_session_goes_on() -> None:
    before = LocalLabeler().begin("t")
    before.label(CLAIMS)
    later = LocalLabeler().begin("t", before.save())
    assert later.label([ATTACK])[0].intent == before.label([ATTACK])[0].intent


def test_turns_that_are_forgotten_were_never_said() -> None:
    steps = [*CLAIMS, ATTACK]
    labels = LocalLabeler().begin("t").label(steps)
    arguing = Arguing()
    for step, own in zip(steps, labels, strict=True):
        arguing.take(step.role, own.intent.event_types)
    assert arguing.save() == {"turns": {PRO: 2, CON: 3}, "argued": 1}
    arguing.forget([Forgotten(4, ATTACK, labels[4])], erased=Erased())
    assert arguing.save() == {"turns": {PRO: 2, CON: 2}, "argued": 0}
    arguing.forget([Forgotten(0, CLAIMS[0], labels[0])], erased=Erased(PRO))
    assert arguing.save() == {"turns": {CON: 2}, "argued": 0}
    arguing.take("user", ("ask",))
    arguing.forget([Forgotten(5, Step(role="user", content="Why?"), labels[0])], erased=Erased())
    assert arguing.save() == {"turns": {CON: 2}, "argued": 0}


def test_the_weights_name_every_feature_and_every_act() -> None:
    numbers = features(["We hold it."], turns=0, argued=False)
    assert set(shipped_weights()) == set(numbers)
    assert all(len(row) == len(ACTS) for row in shipped_weights().values())
    assert best_act(numbers, shipped_weights()) in ACTS


def test_whose_claim_comes_first_counts() -> None:
    ours = features(["Our claim is not touched by their doubts at all, as anybody sees."], turns=1, argued=True)
    theirs = features(["Their doubts do not touch our claim at all, as anybody sees."], turns=1, argued=True)
    assert (ours["whose first"], theirs["whose first"]) == (1.0, -1.0)
