"""What fits of the search share: sets held in memories, constants chosen by sets that are left out in turn, options."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple

import click

from stitch.bench.data.sets import load_questions
from stitch.bench.data.types import DataSet, Question
from stitch.bench.figures import print_table
from stitch.bench.fit.solvers import left_out
from stitch.core import SearchRequest
from stitch.embed import LexicalEncoder, StaticEmbedder
from stitch.errors import InputError
from stitch.ingest import Ingestor
from stitch.journal import Journal
from stitch.label.local import LocalLabeler
from stitch.retrieve import IntentRetriever, LocalFilterSelector, PieceCounter
from stitch.store import QdrantStore

DEPTH = 200
"""Hits asked for, as `stitch bench retrieval` does: what is looked at may depend on it."""
NO_CONTEXT = 16
"""A budget of so few tokens makes no context: that takes as long as the ranking, and nobody reads it here."""

_FOLDER = click.Path(path_type=Path, exists=True, file_okay=False)
DATA = click.option(
    "--data", "folders", multiple=True, type=_FOLDER, help="A set that chooses and is left out once; at least two."
)
JUDGED = click.option("--judged", multiple=True, type=_FOLDER, help="A set that is judged and chooses nothing.")
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
    own = {"store": ingestor.store, "embedder": ingestor.embedder, "lexical": ingestor.lexical,
           "inventories": ingestor.inventory}  # fmt: skip
    return IntentRetriever(**{**own, "selector": LocalFilterSelector(), "counter": PieceCounter(), **parts})


@contextmanager
def held(data: DataSet, *, kept: Path | None = None) -> Iterator[Ingestor]:
    """A set, each trajectory as a tenant of its own, in a memory that goes when this ends, or stays in a folder."""
    with ExitStack() as stack:
        folder = (
            kept / f"{data.name}-{data.digest[:12]}-{len(data.trajectories)}"
            if kept
            else Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="stitch-bench-")))
        )
        folder.mkdir(parents=True, exist_ok=True)
        embedder = StaticEmbedder()
        ingestor = Ingestor(
            journal=Journal(folder / "journal.sqlite"),
            store=QdrantStore(folder / "store", embedder_name=embedder.name, dimension=embedder.dimension),
            embedder=embedder,
            labeler=LocalLabeler(),
            lexical=LexicalEncoder(),
        )
        stack.callback(ingestor.close)
        if not (whole := folder / "whole").exists():
            for trajectory in data.trajectories:
                ingestor.add_many(trajectory.steps, tenant=tenants_of(data)[trajectory.id], trajectory=trajectory.id)
            whole.touch()
        yield ingestor
        click.echo(f"stitch: {data.name}, {len(data.questions)} questions", err=True)


Goodness = Mapping[str, Callable[[Any], float]]
"""By set, how good a table of constants is there; more is better."""


class Problem(NamedTuple):
    """What is to be chosen, and how."""

    in_use: Any
    """The table that ships, a frozen dataclass."""
    off: bool
    """Whether constants begin at nothing; else with the table in use."""
    names: Sequence[str]
    """Of the constants that may change."""
    values: Callable[[str, Any], Sequence[Any]]
    """Values to try a constant with, the one in the table first; of equals it stays."""
    least_gain: float
    """What is better by less says nothing, and changes nothing."""


def climb(problem: Problem, goodness: Goodness, *, rounds: int) -> Any:
    """The table that these sets choose: steps along one constant after the other, until none is better."""

    def mean(table: Any) -> float:
        return sum(good(table) for good in goodness.values()) / len(goodness)

    table: Any = replace(problem.in_use, **dict.fromkeys(problem.names, 0.0)) if problem.off else problem.in_use
    best = mean(table)
    for _ in range(rounds):
        before = table
        for name in problem.names:
            for value in problem.values(name, table)[1:]:
                tried = replace(table, **{name: value})
                if (good := mean(tried)) > best + problem.least_gain:
                    table, best = tried, good
        if table == before:
            break
    return table


def _told(problem: Problem, goodness: Goodness, *, rounds: int) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """What all sets choose, and what each set has by what all but itself choose."""

    def changed(table: Any) -> dict[str, Any]:
        used = asdict(problem.in_use)
        return {name: value for name, value in asdict(table).items() if value != used[name]}

    every = climb(problem, goodness, rounds=rounds)
    rows: dict[str, dict[str, Any]] = {}
    for name, good, table in left_out(goodness, lambda others: climb(problem, others, rounds=rounds)):
        figures = {"shipped": good(problem.in_use), "left_out": good(table), "all_choose": good(every)}
        rows[name] = {**figures, "chosen": changed(table)}
    return changed(every), rows


def constants_command(
    problem: Problem, *, measured: Callable[[DataSet, Path | None], AbstractContextManager[Callable[[Any], float]]],
    rounds: int, text: str,
) -> click.Command:  # fmt: skip
    """The command that chooses constants anew; `measured` tells how good a table is for a set."""

    @click.command(help=text)
    @DATA
    @click.option("--only", "names", multiple=True, help="A constant to choose, by its name; all by default.")
    @LIMIT
    @click.option("--rounds", type=click.IntRange(1), default=rounds, show_default=True, help="Go through so often.")
    @KEPT
    @click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
    def command(
        folders: Sequence[Path], names: Sequence[str], limit: int | None, rounds: int, kept: Path | None, as_json: bool
    ) -> None:
        for name in names:
            if name not in problem.names:
                raise InputError(f"no constant {name!r} is fitted so", hint=f"one of {', '.join(problem.names)}")
        chosen = problem._replace(names=names or problem.names)
        with ExitStack() as stack:
            sets = load_sets(folders, limit=limit)
            goodness = {data.name: stack.enter_context(measured(data, kept)) for data in sets}
            every, rows = _told(chosen, goodness, rounds=rounds)
        if as_json:
            click.echo(
                json.dumps({"all_choose": every, "left_out": [{"set": name, **row} for name, row in rows.items()]})
            )
            return
        click.echo(f"all sets choose {every}")
        print_table(rows, title="Leaving sets out", columns=["shipped", "left_out", "all_choose"])

    return command
