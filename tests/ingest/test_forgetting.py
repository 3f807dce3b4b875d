"""After an erasure the labeling is learnt again, and what was erased stays erased when it is given again."""

import asyncio
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import orjson
import pytest

from doubles.talk import talk
from stitch import Memory, Step, open_memory
from stitch.core import LabelKind, Receipt, StepState
from stitch.label.local import LocalLabeler
from stitch.lifecycle.erase import erase
from stitch.lifecycle.erased_words import strings
from stitch.lifecycle.repair import verify
from stitch.lifecycle.selection import Selector, select
from stitch.maintenance import restore_memory
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
    # The name of a scope stands on all of its steps, and what opened it may have been erased.
    told = [[(each.intent.event_types, each.mentions) for each in labels] for labels in (made, after)]
    assert sum(one != other for one, other in zip(*told, strict=False)) <= len(made) // 4
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


TRIP = [
    Step(id="a", role="user", content="Let's plan day 1 with Doctor Quetzalina."),
    Step(id="b", role="user", content="How much is the hotel per night?"),
    Step(id="c", role="assistant", content="It is priced at $76.22."),
]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with open_memory(tmp_path / "m") as opened:
        opened.add_many(TRIP, trajectory="trip")
        yield opened


def ids(memory: Memory, trajectory: str = "trip") -> list[str]:
    return [entry.id for entry in memory.steps(trajectory)]


def test_an_erased_step_is_refused_by_every_way_of_adding(memory: Memory) -> None:
    memory.lifecycle.erase(Selector(trajectory="trip", step="a"))
    refused = Receipt(
        tenant="default", trajectory="trip", step="a", position=-1, state=StepState.ERASED, reason="was erased"
    )

    async def astream() -> list[object]:
        return [receipt async for receipt in memory.astream(TRIP[:1], trajectory="trip")]

    assert memory.add(TRIP[0], trajectory="trip") == refused
    assert memory.add(TRIP[0], trajectory="trip", wait=False) == refused
    assert memory.add(Step(id="a", role="user", content="Other words."), trajectory="trip") == refused
    assert memory.add_many(TRIP, trajectory="trip")[0] == refused
    assert memory.add_each(TRIP, trajectory="trip")[0] == refused
    assert next(iter(memory.stream(TRIP[:1], trajectory="trip"))) == refused
    assert asyncio.run(memory.aadd(TRIP[0], trajectory="trip")) == refused
    assert asyncio.run(astream()) == [refused]
    assert ids(memory) == ["b", "c"]
    assert memory.lifecycle.verify().disagreements == ()


def test_an_erased_trajectory_stays_erased_and_an_erased_tenant_is_forgotten(memory: Memory) -> None:
    memory.lifecycle.erase(Selector(trajectory="trip"))
    assert [receipt.state for receipt in memory.add_many(TRIP, trajectory="trip")] == [StepState.ERASED] * 3
    assert memory.trajectories() == []
    memory.lifecycle.erase(Selector(everything=True))
    assert [receipt.state for receipt in memory.add_many(TRIP, trajectory="trip")] == [StepState.STORED] * 3


def test_what_is_kept_of_an_erased_step_is_no_name_nor_text(memory: Memory, tmp_path: Path) -> None:
    memory.lifecycle.erase(Selector(trajectory="trip"))
    memory.close()
    with closing(sqlite3.connect(tmp_path / "m" / "journal.sqlite")) as db:
        kept = db.execute("SELECT typeof(digest), length(digest) FROM erased").fetchall()
        keys = db.execute("SELECT number, length(tenant), length(key) FROM erasers").fetchall()
    assert kept == [("blob", 16)] * 3
    assert keys == [(0, 0, 32), (1, 16, 32)]
    data = (tmp_path / "m" / "journal.sqlite").read_bytes()
    assert [name for name in (b"trip", b"default", b"Quetzalina") if name in data] == []


def test_an_import_brings_nothing_back_that_was_erased(memory: Memory) -> None:
    lines = list(memory.lifecycle.export())
    memory.lifecycle.erase(Selector(trajectory="trip", step="a"))
    result = memory.lifecycle.import_lines(lines)
    assert (result.steps, result.known, result.erased, result.rejections) == (0, 2, 1, ())
    assert ids(memory) == ["b", "c"]
    memory.lifecycle.erase(Selector(trajectory="trip"))
    result = memory.lifecycle.import_lines(lines)
    assert (result.steps, result.known, result.erased, result.rejections) == (0, 0, 3, ())
    assert memory.trajectories() == []
    result = memory.lifecycle.import_lines(lines, again=True)
    assert (result.steps, result.known, result.erased, result.rejections) == (3, 0, 0, ())
    assert ids(memory) == ["a", "b", "c"]


def test_a_backup_from_before_an_erasure_brings_it_back(memory: Memory, tmp_path: Path) -> None:
    memory.lifecycle.backup(tmp_path / "backup")
    memory.lifecycle.erase(Selector(trajectory="trip", step="a"))
    memory.close()
    restore_memory(tmp_path / "backup", memory=tmp_path / "restored")
    with open_memory(tmp_path / "restored") as restored:
        assert ids(restored) == ["a", "b", "c"]
