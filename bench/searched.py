"""Sets that are searched with one table of constants after the other, for fitting these."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from stitch.bench.data.sets import load_questions
from stitch.bench.data.types import DataSet, Question
from stitch.bench.metrics.recall import recall_at
from stitch.bench.metrics.scores import Score, mean
from stitch.core import SearchRequest
from stitch.embed import LexicalEncoder, StaticEmbedder
from stitch.ingest import Ingestor
from stitch.journal import SqliteJournal
from stitch.label.local import LocalLabeler
from stitch.retrieve import IntentRetriever, LocalFilterSelector, PieceCounter
from stitch.retrieve.constants import CONSTANTS, Constants
from stitch.store import EdgeStore

if TYPE_CHECKING:
    from stitch.core.protocols import DensityQuery, SnippetStore, StoreHit

Asked = TypeVar("Asked")
"""What comes of asking a question."""

K = 10
"""Evidence is looked for among so many hits."""

DEPTH = 200
"""So many hits are asked for, as `stitch bench retrieval` does: what is looked at may depend on it."""

NO_CONTEXT = 16
"""A budget of so few tokens makes no context: that takes as long as the ranking, and nobody reads it here."""


class Noting:
    """A table of constants that notes which of them are read; the table can be exchanged."""

    def __init__(self, table: Constants) -> None:
        self.table = table
        self.read: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        self.read.add(name)
        return getattr(self.table, name)


class KeptRankings:
    """A store that answers the same query only once: with most tables of constants, questions ask it the same."""

    def __init__(self, store: SnippetStore) -> None:
        self._store = store
        self._kept: dict[object, list[StoreHit]] = {}
        self._snippets: dict[str, Any] = {}

    def rank(self, query: DensityQuery) -> list[StoreHit]:
        """As the store; a snippet is in memory once, however many questions find it."""
        vector, words, labels = query.vector, query.words, query.labels
        key = (
            query.tenant, query.trajectory, query.k, query.count, query.lexical_share, query.required_words,
            None if vector is None else vector.tobytes(), None if words is None else tuple(words.items()),
            frozenset(labels.items()),
        )  # fmt: skip
        if key not in self._kept:
            once = self._snippets.setdefault
            self._kept[key] = [
                hit._replace(snippet=once(hit.snippet.id, hit.snippet)) for hit in self._store.rank(query)
            ]
        return self._kept[key]

    def near(self, query: DensityQuery, snippets: Sequence[Any], *, reach: int) -> list[Any]:
        """Nothing: neighbors come behind the hits that are looked at here."""
        del query, snippets, reach
        return []


class Searched:
    """A set in memories, one a trajectory, searched with one table of constants after the other.

    What a question finds is found again only if a constant has changed that was read when it was asked.

    Args:
        data: The set.
        ingestor: Holds its trajectories, each as a tenant of its own.
    """

    def __init__(self, data: DataSet, ingestor: Ingestor) -> None:
        self.name = data.name
        self._data, self._ingestor = data, ingestor
        self._table = Noting(CONSTANTS)
        constants = cast("Constants", self._table)
        self._selector = LocalFilterSelector(constants=constants)
        self._constants = constants
        self._store = cast("SnippetStore", KeptRankings(ingestor.store))
        self._tenants = {each.id: tenant for tenant, each in tenants_of(data)}
        self._found: dict[int, list[tuple[Mapping[str, float], tuple[str, ...]]]] = {}

    def found(self, constants: Constants) -> list[tuple[str, ...]]:
        """The first steps that each question finds, best first."""
        self._table.table = constants
        self._table.read.clear()
        ingestor = self._ingestor
        retriever = IntentRetriever(
            store=self._store,
            selector=self._selector,
            embedder=ingestor.embedder,
            lexical=ingestor.lexical,
            inventories=ingestor.inventory,
            counter=PieceCounter(),
            constants=self._constants,
        )
        at_first = frozenset(self._table.read)
        return [
            self._steps(number, question, retriever, at_first=at_first)
            for number, question in enumerate(self._data.questions)
        ]

    def scores(self, constants: Constants) -> list[Score]:
        """The share of each question's evidence among the first hits."""
        every = zip(self._data.questions, self.found(constants), strict=True)
        return [recall_at(steps, question.evidence, k=K) for question, steps in every]

    def recall(self, constants: Constants) -> float:
        """The mean of these shares; 0 if no question names any evidence."""
        return mean(self.scores(constants)).value or 0.0

    def _steps(
        self, number: int, question: Question, retriever: IntentRetriever, *, at_first: frozenset[str]
    ) -> tuple[str, ...]:
        table, kept = self._table.table, self._found.setdefault(number, [])
        for read, steps in kept:
            if all(getattr(table, name) == value for name, value in read.items()):
                return steps
        asked = question.inquiry
        request = SearchRequest(
            query=asked.text,
            tenant=self._tenants[asked.trajectory or ""],
            trajectory=asked.trajectory,
            asked_at=asked.asked_at,
            k=DEPTH,
            budget_tokens=NO_CONTEXT,
        )
        self._table.read.clear()
        steps = tuple(hit.snippet.step for hit in retriever.search(request).hits[:K])
        kept.append(({name: getattr(table, name) for name in self._table.read | at_first}, steps))
        return steps


def tenants_of(data: DataSet) -> Iterator[tuple[str, Any]]:
    """The trajectories of a set, each with the tenant that it is in a memory."""
    for number, trajectory in enumerate(data.trajectories):
        yield f"t{number}", trajectory


def retriever_over(ingestor: Ingestor) -> IntentRetriever:
    """Searches what an ingestor holds, as a memory does."""
    return IntentRetriever(
        store=ingestor.store,
        selector=LocalFilterSelector(),
        embedder=ingestor.embedder,
        lexical=ingestor.lexical,
        inventories=ingestor.inventory,
        counter=PieceCounter(),
    )


def asked_of_each(
    folders: Sequence[Path],
    ask: Callable[[DataSet, Ingestor], Iterable[Asked]],
    *,
    limit: int | None,
    kept: Path | None,
) -> dict[str, list[Asked]]:
    """What comes of the questions of each set, by its name.

    Args:
        folders: Of the sets.
        ask: Asks the questions of a set.
        limit: Ask so many questions of a set; None asks all.
        kept: Where memories are kept; see `taken_in`.
    """
    found: dict[str, list[Asked]] = {}
    for folder in folders:
        data = load_questions(folder).limited(limit)
        with held(data, kept=kept) as ingestor:
            found[data.name] = list(ask(data, ingestor))
        click.echo(f"stitch: {data.name}, {len(found[data.name])} questions", err=True)
    return found


@contextmanager
def taken_in(data: DataSet, *, kept: Path | None = None) -> Iterator[Searched]:
    """A set in memories of its own, which go when this ends; in a folder where they are kept they are found again."""
    with held(data, kept=kept) as ingestor:
        yield Searched(data, ingestor)


@contextmanager
def held(data: DataSet, *, kept: Path | None = None) -> Iterator[Ingestor]:
    """What holds a set, each trajectory as a tenant of its own; see `taken_in`."""
    with ExitStack() as stack:
        folder = (
            kept / f"{data.name}-{data.digest[:12]}-{len(data.trajectories)}"
            if kept
            else Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="stitch-bench-")))
        )
        folder.mkdir(parents=True, exist_ok=True)
        embedder = StaticEmbedder()
        ingestor = Ingestor(
            journal=SqliteJournal(folder / "journal.sqlite"),
            store=EdgeStore(folder / "store", embedder_name=embedder.name, dimension=embedder.dimension),
            embedder=embedder,
            labeler=LocalLabeler(),
            lexical=LexicalEncoder(),
        )
        stack.callback(ingestor.close)
        whole = folder / "whole"
        if not whole.exists():
            for tenant, trajectory in tenants_of(data):
                ingestor.add_many(trajectory.steps, tenant=tenant, trajectory=trajectory.id)
            whole.touch()
        yield ingestor
