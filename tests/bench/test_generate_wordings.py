"""The same plan in the words of others: families that share no sentence, and references that can be told."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from stitch.bench.generate import SIZES, GeneratedTrajectory, generate
from stitch.bench.generate.command import group
from stitch.bench.generate.focus import Scene
from stitch.bench.generate.storyboard import Operation
from stitch.bench.generate.verify import resolve
from stitch.bench.generate.wordings import WORDINGS

OTHERS = [name for name in WORDINGS if name != "plain"]


def sentences(thing: Any) -> Iterator[str]:
    """Every string that a wording holds, with what is filled in taken out."""
    if isinstance(thing, str):
        yield " ".join(re.sub(r"\{\w+\}", " ", thing).lower().split())
    else:
        for part in thing.values() if isinstance(thing, dict) else thing:
            yield from sentences(part)


def longer(name: str) -> set[str]:
    wording = WORDINGS[name]
    said = sentences((wording.travel.user, wording.travel.agent, *wording.debate[:-1], *wording.questions[:-1]))
    return {
        sentence
        for sentence in said
        if len(re.findall(r"[a-z]+", sentence)) >= 4 and "breakfast at [breakfast]" not in sentence
    }


@pytest.mark.parametrize("name", WORDINGS)
def test_no_family_shares_a_sentence_with_another(name: str) -> None:
    for other in WORDINGS.keys() - {name}:
        assert longer(name) & longer(other) == set()


@pytest.fixture(scope="module", params=OTHERS)
def told(request: pytest.FixtureRequest) -> tuple[GeneratedTrajectory, GeneratedTrajectory]:
    return tuple(  # type: ignore[return-value]
        generate(domain, SIZES["S"], seed="wordings", wording=WORDINGS[request.param])
        for domain in ("travel", "debate")
    )


PLAIN = tuple(generate(domain, SIZES["S"], seed="wordings") for domain in ("travel", "debate"))


def test_the_plan_and_the_answers_are_those_of_the_plain_words(
    told: tuple[GeneratedTrajectory, GeneratedTrajectory],
) -> None:
    for other, plain in zip(told, PLAIN, strict=True):
        assert other.storyboard == plain.storyboard
        assert [question.items for question in other.questions] == [question.items for question in plain.questions]
        assert not {question.text for question in other.questions} & {question.text for question in plain.questions}
        assert not {turn.text for turn in other.turns} & {turn.text for turn in plain.turns}


def test_travelers_refer_in_more_ways_than_by_number(told: tuple[GeneratedTrajectory, GeneratedTrajectory]) -> None:
    trip = told[0]
    said = {
        mention.text
        for turn in trip.turns
        for mention in turn.mentions
        if turn.role == "user" and mention.object not in mention.text
    }
    forms = {
        form
        for form, texts in trip.wording.travel.references.items()
        for text in texts
        if any(re.fullmatch(re.sub(r"\\{\w+\\}", ".+", re.escape(text)), expression) for expression in said)
    }
    assert {"ordinal", "near", "only", "again"} <= forms


SCENE = Scene(
    ("A", "B", "C"),
    chosen="B",
    last="C",
    near=True,
    told=(("A", "a clock", "by a river"), ("B", "a dog", "uphill"), ("C", "a dog", "downhill")),
)
OP = Operation(0, "user", "INQUIRE", ("A",), 2, "lunch")


@pytest.mark.parametrize(
    ("expression", "name"),
    [
        ("number two on my lunch pile", "B"),
        ("#3 for lunch", "C"),
        ("the 2. restaurant for lunch", "B"),
        ("the newest lunch one", "C"),
        ("the lunch one with a clock", "A"),
        ("the lunch one with a dog", None),
        ("the lunch one that is uphill", "B"),
        ("the lunch one we booked", "B"),
        ("that one", "C"),
        ("the other lunch one", None),
        ("the first one for dinner on day 1", None),
        ("the first one on the first day", None),
        ("number nine", None),
    ],
)
def test_expressions_are_resolved_by_their_words(expression: str, name: str | None) -> None:
    assert resolve(expression, OP, SCENE) == name


def test_what_does_not_say_its_slot_is_understood_right_after_the_slot_only() -> None:
    assert resolve("the second", OP, SCENE._replace(near=False)) is None
    assert resolve("the other lunch one", OP, Scene(("A", "B"), last="A")) == "B"


def test_a_wording_is_an_option_of_the_command(tmp_path: Path) -> None:
    asked = ["came", "--domain", "debate", "--wording", "chat"]
    done = CliRunner().invoke(group, [*asked, "--out", str(tmp_path / "a")])
    assert done.exit_code == 0, done.output
    assert '"wording": "chat"' in (tmp_path / "a" / "generation.json").read_text()
    refused = CliRunner().invoke(group, [*asked, "--model", "--out", str(tmp_path / "b")])
    assert refused.exit_code != 0
    assert not (tmp_path / "b").exists()
