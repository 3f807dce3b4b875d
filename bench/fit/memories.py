"""Sets held in memories, each trajectory as a tenant of its own, for fits that ask them the same questions again."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click

from stitch.bench.data.sets import load_questions
from stitch.bench.data.types import DataSet, Question
from stitch.core import SearchRequest
from stitch.embed import LexicalEncoder, StaticEmbedder
from stitch.errors import InputError
from stitch.ingest import Ingestor
from stitch.journal import SqliteJournal
from stitch.label.local import LocalLabeler
from stitch.retrieve import IntentRetriever, LocalFilterSelector, PieceCounter
from stitch.store import EdgeStore

Asked = TypeVar("Asked")

DEPTH = 200
"""Hits asked for, as `stitch bench retrieval` does: what is looked at may depend on it."""
NO_CONTEXT = 16
"""A budget of so few tokens makes no context: that takes as long as the ranking, and nobody reads it here."""

DATA = click.option(
    "--data", "folders", multiple=True, type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="A set that chooses and is left out once; at least two.",
)  # fmt: skip
JUDGED = click.option(
    "--judged", multiple=True, type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="A set that is judged and chooses nothing.",
)  # fmt: skip
LIMIT = click.option("--limit", type=click.IntRange(1), help="Use so many questions of a set.")
KEPT = click.option(
    "--kept", type=click.Path(path_type=Path, file_okay=False), help="Keep the memories in this folder."
)


def load_sets(folders: Sequence[Path], *, limit: int | None) -> list[DataSet]:
    """The sets in some folders.

    Raises:
        InputError: There are fewer than two names of sets, so that none can be left out.
    """
    sets = [load_questions(folder).limited(limit) for folder in folders]
    if len({data.name for data in sets}) < max(2, len(sets)):
        raise InputError("fitting needs sets of at least two names", hint="give --data once for each set")
    return sets


def tenants_of(data: DataSet) -> dict[str, str]:
    """The tenant in which each trajectory of a set is, by its id."""
    return {trajectory.id: f"t{number}" for number, trajectory in enumerate(data.trajectories)}


def request_for(question: Question, tenants: Mapping[str, str], **settings: Any) -> SearchRequest:
    """The request for a question, without a context unless `budget_tokens` is given."""
    return SearchRequest(
        query=question.text,
        tenant=tenants[question.trajectory],
        trajectory=question.trajectory,
        asked_at=question.asked_at,
        **{"k": DEPTH, "budget_tokens": NO_CONTEXT, **settings},
    )


def retriever_over(ingestor: Ingestor, **parts: Any) -> IntentRetriever:
    """The default search over a set that is held; `parts` replace parts of it."""
    return IntentRetriever(
        **{
            "store": ingestor.store,
            "selector": LocalFilterSelector(),
            "embedder": ingestor.embedder,
            "lexical": ingestor.lexical,
            "inventories": ingestor.inventory,
            "counter": PieceCounter(),
            **parts,
        }
    )


def asked_of_each(
    sets: Iterable[DataSet], ask: Callable[[DataSet, Ingestor], Iterable[Asked]], *, kept: Path | None
) -> dict[str, list[Asked]]:
    """The results of asking the questions of each set, by its name."""
    found: dict[str, list[Asked]] = {}
    for data in sets:
        with held(data, kept=kept) as ingestor:
            found[data.name] = list(ask(data, ingestor))
        click.echo(f"stitch: {data.name}, {len(found[data.name])} questions", err=True)
    return found


@contextmanager
def held(data: DataSet, *, kept: Path | None = None) -> Iterator[Ingestor]:
    """A set in memories that go when this ends; in a folder where they are kept they are found again."""
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
            tenants = tenants_of(data)
            for trajectory in data.trajectories:
                ingestor.add_many(trajectory.steps, tenant=tenants[trajectory.id], trajectory=trajectory.id)
            whole.touch()
        yield ingestor
