"""After an erasure the labeling of a trajectory is learnt again from what is left, with the labels that were made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import orjson
import pytest

from stitch.core import LabelKind, Step
from stitch.label.local import LocalLabeler
from stitch.lifecycle.erase import erase
from stitch.lifecycle.repair import verify
from stitch.lifecycle.selection import Selector, select
from stitch.lifecycle.side_files import strings
from stitch.text.words import stems

Make = Callable[..., Any]

SAID = (
    "Hello!",
    "I need to check my bank balance.",
    "It is $41.80 on the savings account.",
    "Now find me a bus to Seattle on March 8th.",
    "There is one at 7:30 am, and another at 9 am. Shall I book it?",
    "Yes, please.",
    "Let's turn to day 2. One idea for breakfast is the Hyperion Horizon.",
    "Back to the bank balance: what about the other account?",
    "The price is $76.22 for two.",
    "Let's turn to day 1, and the Olympus Inn.",
)
SECRETS = (
    "Let's turn to the Zorblatt merger. One idea is Karwick Hall, another is Xylo Court for $9,731.",
    "Now find me a Zorblatt with a karwickish xylo at Port Isaac, please.",
    "The Zorblatt costs $9731.",
)
HIDDEN = frozenset(stems(" ".join(SECRETS))) - frozenset(stems(" ".join(SAID)))
LONG = 80


def talk(*contents: str, start: int = 0, role: str = "assistant") -> list[Step]:
    return [
        Step(id=f"s{n}", role="user" if n % 2 else role, content=content) for n, content in enumerate(contents, start)
    ]


def long_talk(*secrets: str, at: Sequence[int] = ()) -> list[Step]:
    said = list(islice(cycle(SAID), LONG))
    for place, secret in zip(at, secrets, strict=False):
        said[place] = secret
    return talk(*said)


def erase_steps(world: Any, *steps: str, folder: Path) -> None:
    for step in steps:
        selected = select(world.ingestor, Selector(trajectory="t", step=step), tenant="a")
        assert erase(world.ingestor, selected, tenant="a", folder=folder).proof.found == ()


def remembered_words(world: Any) -> set[str]:
    checkpoint = world.journal.checkpoint("a", "t")
    told = [*strings(orjson.loads(checkpoint.session)), checkpoint.inventory.model_dump_json()]
    return set(stems("\n".join(told)))


@pytest.mark.parametrize("at", [(0, 1, 2), (40, 41, 42), (77, 78, 79), (3, 44, 79)], ids=str)
def test_what_only_erased_steps_said_is_remembered_nowhere(worlds: Make, tmp_path: Path, at: tuple[int, ...]) -> None:
    world = worlds(tmp_path / "j", labeler=LocalLabeler())
    world.add(*long_talk(*SECRETS, at=at))
    world.ingestor.save()
    assert remembered_words(world) & HIDDEN
    made = [entry.labels for entry in world.journal.entries("a", "t") if entry.id not in {f"s{n}" for n in at}]
    erase_steps(world, *(f"s{place}" for place in at), folder=tmp_path)
    world.add(*talk("And what about the other one?", start=LONG))
    world.ingestor.save()
    assert remembered_words(world) & HIDDEN == set()
    after = [entry.labels for entry in world.journal.entries("a", "t")]
    assert sum(one != other for one, other in zip(made, after, strict=False)) <= 2 * len(at)
    assert verify(world.ingestor, tenant="a").disagreements == ()


@pytest.mark.parametrize("place", [0, 6, 45, LONG - 1])
def test_the_label_space_counts_the_labels_that_are_left_and_covers_each_step_once(
    worlds: Make, tmp_path: Path, place: int
) -> None:
    world = worlds(tmp_path / "j", labeler=LocalLabeler())
    world.add(*long_talk(SECRETS[0], at=(45,)))
    erase_steps(world, f"s{place}", folder=tmp_path)
    inventory = world.inventory(trajectory="t")
    vocabulary = inventory.vocabulary()
    made = [entry.labels for entry in world.journal.entries("a", "t")]
    for kind, counts in (
        (LabelKind.EVENT_TYPE, dict(inventory.event_types)),
        (LabelKind.ENTITY_TYPE, {name: each.steps for name, each in inventory.entity_types.items()}),
        (LabelKind.SCOPE, {scope.name: scope.steps for scope in inventory.scopes}),
    ):
        carried = [vocabulary.canonical(kind, value) for labels in made for value in labels.intent.of(kind)]
        assert counts == {value: carried.count(value) for value in carried}
    covered = [place for scope in inventory.scopes for first, last in scope.spans for place in range(first, last + 1)]
    assert sorted(covered) == list(range(LONG - 1))
    assert inventory.steps == LONG - 1
