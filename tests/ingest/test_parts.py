"""Single parts of ingestion: records of snippets, label spaces without retired steps, and flushes when they are due."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from stitch.core import (
    MemorySnippet,
    ReferenceRewrite,
    Step,
)
from stitch.embed.lexical import LexicalEncoder
from stitch.errors import InputError
from stitch.ingest.priorities import RightOfWay
from stitch.ingest.reach import StoreReach
from stitch.ingest.records import make_records
from stitch.ingest.writing import SnippetWriter
from stitch.testing.journaling import DictJournal
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
