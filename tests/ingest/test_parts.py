"""Single parts of ingestion: records of snippets, label spaces without retired steps, and flushes when they are due."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from stitch.core import (
    ContextualIntent,
    EntityTypeSummary,
    LabelInventory,
    LabelKind,
    LabelMerge,
    MemorySnippet,
    ReferenceRewrite,
    ScopeSummary,
    Step,
    StepLabels,
    ToolCall,
)
from stitch.embed.lexical import LexicalEncoder
from stitch.errors import InputError
from stitch.ingest.active_labels import of_these, without_retired
from stitch.ingest.priorities import RightOfWay
from stitch.ingest.reach import StoreReach
from stitch.ingest.records import make_records
from stitch.ingest.writing import SnippetWriter
from stitch.journal.entries import Entry, encode_labels
from stitch.testing.journaling import DictJournal
from stitch.testing.labeling import ScriptedLabeler
from stitch.testing.storing import ListStore

if TYPE_CHECKING:
    from stitch.core.protocols import Vectors

LEXICAL = LexicalEncoder()


class Axes:
    """An embedder whose vectors say how often each of three letters stands in a text."""

    name, dimension = "axes-3", 3

    def __init__(self) -> None:
        self.calls: list[list[str]] = []

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One vector a text."""
        self.calls.append(list(texts))
        return np.array([[text.count(letter) for letter in "xyz"] for text in texts], dtype=np.float32).reshape(-1, 3)


def snippet(resolved: str, **about: Any) -> MemorySnippet:
    about = {"tenant": "a", "trajectory": "t", "step": "s", "position": 0, "role": "user", "text": resolved, **about}
    return MemorySnippet(resolved=resolved, recorded=1.0, **about)


def test_a_record_has_a_unit_vector_in_which_short_steps_lean_on_their_context() -> None:
    embedder = Axes()
    referring = snippet(
        "The inn is x",
        text="It is x",
        context="y",
        references=(ReferenceRewrite(start=0, end=2, replacement="The inn"),),
    )
    given = [
        snippet("xxx yyyy"), referring, snippet("x" + "." * 99, context="y"), snippet("x" + "." * 199, context="y"),
        snippet("nothing"), snippet("nothing", context="z"),
    ]  # fmt: skip
    records = make_records(given, embedder=embedder, lexical=LEXICAL)
    lean = [[1, 0.5, 0], [1, 0.5, 0], [1, 0.25, 0]]
    units = [[0.6, 0.8, 0], *(np.array(each) / np.linalg.norm(each) for each in lean), [0, 0, 0], [0, 0, 1]]
    assert np.stack([record.vector for record in records]) == pytest.approx(np.array(units))
    assert [record.vector.dtype for record in records] == [np.dtype(np.float32)] * 6
    assert [record.snippet for record in records] == given
    assert records[0].words == LEXICAL.document("xxx yyyy", context="user")
    assert records[1].words == LEXICAL.document("The inn is x", context="user y It")
    assert embedder.calls == [[*(each.resolved for each in given), "y", "y", "y", "z"]]
    plain = Axes()
    assert len(make_records(given[:1], embedder=plain, lexical=LEXICAL)) == 1
    assert plain.calls == [["xxx yyyy"]]
    assert make_records([], embedder=plain, lexical=LEXICAL) == []


def entry(position: int, content: str, intent: ContextualIntent | None, **about: Any) -> Entry:
    labels = None if intent is None else StepLabels(intent=intent, made_by="local")
    step = Step(id=str(position), role="user", content=content, **about)
    return Entry(position + 1, "a", "t", position, step, 1.0, labels=labels)


def test_a_label_space_keeps_what_the_steps_that_are_left_say() -> None:
    about: dict[str, Any] = {"trajectory": "t", "summary": "The Olympus costs 76"}
    inventory = LabelInventory(
        scopes=(
            ScopeSummary(
                name="day 1", spans=((0, 1), (4, 5), (9, 9)), steps=7, terms={"hotel": 2.0, "price": 1.0},
                values={"olympus": 2, "76": 1}, **about,
            ),
            ScopeSummary(name="day 2", spans=((2, 3),), steps=2, values={"zephyr": 1}, **about),
            ScopeSummary(name="gone", spans=((6, 6),), steps=1, **about),
        ),
        event_types={"ask": 3, "propose": 2, "book": 1},
        entity_types={
            "price": EntityTypeSummary(steps=4, values=("76", "80")),
            "place": EntityTypeSummary(steps=1, values=("rome",)),
        },
        merges=(LabelMerge(kind=LabelKind.EVENT_TYPE, alias="ask again", into="ask"),),
        steps=11,
    )  # fmt: skip
    one = ContextualIntent(scope="day 1", event_types=("ask again", "ask"), entity_types=("price",))
    other = ContextualIntent(scope="day 2", event_types=("propose",))
    left = of_these(
        inventory,
        [
            entry(1, "Which hotels are there?", one),
            entry(3, "See.", other, tool_calls=(ToolCall(name="find", arguments={"name": "ZEPHYR"}),)),
            entry(5, "The Olympus", one),
            entry(7, "80 or more", None),
        ],
    )
    assert left == LabelInventory(
        scopes=(
            ScopeSummary(
                name="day 1", trajectory="t", spans=((0, 1), (4, 5)), steps=2, summary="day 1", terms={"hotel": 2.0},
                values={"olympus": 2},
            ),
            ScopeSummary(name="day 2", spans=((2, 3),), steps=1, values={"zephyr": 1}, **about),
        ),
        event_types={"ask": 2, "propose": 1},
        entity_types={"price": EntityTypeSummary(steps=2)},
        merges=inventory.merges,
        steps=3,
    )  # fmt: skip


def test_a_label_space_changes_only_where_a_step_was_retired() -> None:
    journal, inventory = DictJournal(), LabelInventory(event_types={"ask": 2, "book": 1}, steps=2)
    entries: list[Entry] = []
    for trajectory in "tu":
        accepted = journal.append_many(
            [Step(role="user", content=text) for text in ("one", "two")],
            tenant="a",
            trajectory=trajectory,
            recorded=1.0,
        )
        entries = [each for each in accepted if isinstance(each, Entry)]
        labels = StepLabels(intent=ContextualIntent(event_types=("ask",)), made_by="local")
        journal.record_labels([(each.seq, encode_labels(labels, step="")) for each in entries])
    journal.retire([entries[0].seq], at=2.0, reason="old")
    active = LabelInventory(event_types={"ask": 1}, steps=1)
    assert without_retired(inventory, journal, tenant="a", trajectory="t") is inventory
    assert without_retired(inventory, journal, tenant="a", trajectory="u") == active


class Counting(ListStore):
    """A store that counts its flushes and the sizes of its puts."""

    def __init__(self) -> None:
        super().__init__()
        self.flushes, self.sizes = 0, list[int]()

    def put(self, records: Sequence[Any]) -> None:
        """Put and count."""
        self.sizes.append(len(records))
        super().put(records)

    def flush(self) -> None:
        """Flush and count."""
        self.flushes += 1


def always_there() -> StoreReach:
    return StoreReach(notice=lambda _: None, lost=lambda: None, waiting=lambda: 0)


class Writing:
    """A writer around doubles, and a journal that grows by a step a call."""

    def __init__(self) -> None:
        self.journal, self.store, self.searches = DictJournal(), Counting(), RightOfWay()
        self.writer = SnippetWriter(
            journal=self.journal,
            store=self.store,
            embedder=Axes(),
            lexical=LEXICAL,
            searches=self.searches,
            reach=always_there(),
            flush_steps=3,
        )

    def accept(self, trajectory: str = "t") -> int:
        """Accept a step; return the number of the last change."""
        self.journal.append_many([Step(role="user", content="x")], tenant="a", trajectory=trajectory, recorded=1.0)
        return self.journal.last_change()

    def applied(self) -> int:
        """How far the store has come, after a checkpoint."""
        self.writer.checkpoint()
        return self.writer.position()


def test_a_flush_is_due_when_enough_was_put_since_the_last_one() -> None:
    world, due = Writing(), []
    for steps in (2, 0, 1, 4):
        world.writer.count(steps)
        due.append(world.writer.is_due)
    assert (due, world.store.flushes) == ([False, False, True, True], 0)
    world.writer.checkpoint()
    assert (world.writer.is_due, world.store.flushes) == (False, 1)


def test_snippets_are_put_in_small_pieces_while_somebody_searches() -> None:
    world, stood_back = Writing(), list[int]()
    snippets = [snippet("x", step=str(number)) for number in range(100)]

    def put(given: Sequence[MemorySnippet]) -> None:
        world.writer.put(given, stand_back=lambda: stood_back.append(len(world.store.sizes)))

    put(snippets)
    with world.searches.first():
        put(snippets)
    put([])
    assert (world.store.sizes, stood_back) == ([100, 48, 48, 4], [0, 1, 2, 3])


def test_a_store_has_come_as_far_as_nobody_is_still_at_a_change() -> None:
    world = Writing()
    first = world.accept()
    assert world.applied() == first
    with world.writer.behind("a", "t"):
        world.accept()
        with world.writer.behind("a", "u"):
            second = world.accept("u")
        assert world.applied() == first
    assert (world.applied(), world.writer.owed) == (second, [])
    with pytest.raises(InputError), world.writer.behind("a", "t"):
        raise InputError("refused")
    assert world.writer.owed == []

    def interrupted() -> None:
        with world.writer.behind("a", "u"):
            world.accept("t")
            world.accept("u")
            raise ZeroDivisionError

    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            interrupted()
    third = world.journal.last_change()
    assert (world.applied(), world.writer.owed) == (second, [("a", "u")])
    world.writer.settle("a", "t")
    assert world.writer.owed == [("a", "u")]
    world.writer.settle("a", "u")
    assert (world.applied(), world.writer.owed) == (third, [])
    assert sorted((each.trajectory, each.position) for each in world.store.scroll("a")) == [("u", 1), ("u", 2)]


def test_a_store_that_does_not_follow_all_is_not_said_to() -> None:
    world = Writing()
    world.accept()
    late = SnippetWriter(
        journal=world.journal,
        store=world.store,
        embedder=Axes(),
        lexical=LEXICAL,
        searches=RightOfWay(),
        reach=always_there(),
        flush_steps=1,
    )
    late.checkpoint()
    assert late.position() == 0
    late.apply(list(world.journal.changes()))
    late.checkpoint()
    assert late.position() == world.journal.last_change()
    world.accept()
    late.checkpoint()
    assert late.position() == world.journal.last_change()


@pytest.mark.parametrize("name", ["scripted", "other"])
def test_who_goes_on_without_a_checkpoint_knows_every_step_from_the_first(
    worlds: Callable[..., Any], steps: Callable[..., list[Step]], name: str
) -> None:
    first = worlds(checkpoint_steps=100)
    first.add(*steps(5))
    later = worlds(journal=first.journal, store=first.store, labeler=ScriptedLabeler(name=name), checkpoint_steps=100)
    later.add(Step(id="next", role="user", content="It opens at 9"))
    *_, entry = first.journal.entries("a", "t")
    assert (entry.labels.summary, entry.labels.intent.scope) == ("step 5", "scope 1")


def test_nobody_stands_back_for_a_search_that_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stitch.ingest.priorities._LATELY_S", 0.0)
    searches = RightOfWay()
    with searches.first(), searches.first():
        assert searches.wanted
    assert not searches.wanted
