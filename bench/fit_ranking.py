"""Fit the constants of the search again, each by leaving sets out: `python -m stitch.bench.fit_ranking`.

    python -m stitch.bench.fit_ranking                                     # on generated trips and debates
    python -m stitch.bench.fit_ranking --data locomo --data sgd_interleaved --only time --only speaker

Each constant of `retrieve/constants.py` is set to nothing, half, and twice what it is, all others as they are. For each
set, the value is taken that does best on all *other* sets, and what it gives on this one is told beside what the value
in use gives. A constant is worth changing if most sets gain by what the others chose. Nothing is written.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, NamedTuple

import click

from stitch.bench.data.came import load_came
from stitch.bench.data.sets import load_questions
from stitch.bench.data.types import DataSet
from stitch.bench.generate.generation import SIZES, Size, generate
from stitch.bench.generate.trajectory import write_release
from stitch.bench.methods import TENANT
from stitch.bench.metrics.recall import recall_at
from stitch.bench.metrics.scores import mean
from stitch.core import SearchRequest
from stitch.embed import LexicalEncoder, StaticEmbedder
from stitch.errors import InputError
from stitch.ingest import Ingestor
from stitch.journal import SqliteJournal
from stitch.label.local import LocalLabeler
from stitch.retrieve import IntentRetriever, LocalFilterSelector, PieceCounter
from stitch.retrieve.constants import CHOSEN_ON, CONSTANTS, Constants
from stitch.store import EdgeStore

K = 10
"""Evidence is looked for among so many hits."""

Recalls = Mapping[str, Mapping[float, float]]
"""By set, the recall that each value of a constant gives."""


class Choice(NamedTuple):
    """What comes of a value that all sets but one chose, on the one that was left out."""

    left_out: str
    value: float
    recall: float
    in_use: float
    """The recall with the value in use."""


class Searched:
    """A set in a memory, searched with one table of constants after the other.

    Args:
        data: The set.
        ingestor: Holds its trajectories.
    """

    def __init__(self, data: DataSet, ingestor: Ingestor) -> None:
        self.name = data.name
        self._data, self._ingestor = data, ingestor

    def recall(self, constants: Constants) -> float:
        """The mean share of a question's evidence among the first hits; 0 if no question names any."""
        ingestor = self._ingestor
        retriever = IntentRetriever(
            store=ingestor.store,
            selector=LocalFilterSelector(constants=constants),
            embedder=ingestor.embedder,
            lexical=ingestor.lexical,
            inventories=ingestor.inventory,
            counter=PieceCounter(),
            constants=constants,
        )
        scores = []
        for question in self._data.questions:
            asked = question.inquiry
            request = SearchRequest(
                query=asked.text, tenant=TENANT, trajectory=asked.trajectory, asked_at=asked.asked_at, k=K
            )
            found = [hit.snippet.step for hit in retriever.search(request).hits]
            scores.append(recall_at(found, question.evidence, k=K))
        return mean(scores).value or 0.0


@contextmanager
def taken_in(data: DataSet) -> Iterator[Searched]:
    """A set in a memory of its own, which goes when this ends."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="stitch-bench-")))
        embedder = StaticEmbedder()
        ingestor = Ingestor(
            journal=SqliteJournal(folder / "journal.sqlite"),
            store=EdgeStore(folder / "store", embedder_name=embedder.name, dimension=embedder.dimension),
            embedder=embedder,
            labeler=LocalLabeler(),
            lexical=LexicalEncoder(),
        )
        stack.callback(ingestor.close)
        for trajectory in data.trajectories:
            ingestor.add_many(trajectory.steps, tenant=TENANT, trajectory=trajectory.id)
        yield Searched(data, ingestor)


def values_of(name: str) -> list[float]:
    """What a constant is tried with, the value in use first."""
    used = getattr(CONSTANTS, name)
    tried = (used, max(1, used // 2), 2 * used) if isinstance(used, int) else (used, 0.0, used / 2, 2 * used)
    return list(dict.fromkeys(tried))


def recalls(sets: Sequence[Searched], name: str) -> Recalls:
    """What each value of a constant gives on each set, all other constants as they are."""
    tables = {value: _with(name, value) for value in values_of(name)}
    return {each.name: {value: each.recall(table) for value, table in tables.items()} for each in sets}


def _with(name: str, value: Any) -> Constants:
    return replace(CONSTANTS, **{name: value})


def choose(found: Recalls, *, in_use: float) -> list[Choice]:
    """For each set, the value that does best on the mean of all others, and what it gives on this one.

    Of equals the value in use is chosen, or else the one that was tried first.
    """
    choices = []
    for left_out, own in found.items():
        others = [recall for name, recall in found.items() if name != left_out]
        best = max(own, key=lambda value: (sum(recall[value] for recall in others), value == in_use))
        choices.append(Choice(left_out, best, own[best], own[in_use]))
    return choices


def generated(seed: int, *, size: Size = SIZES["S"]) -> list[DataSet]:
    """A trip and a debate of our own generator."""
    sets = []
    for domain in ("travel", "debate"):
        with tempfile.TemporaryDirectory() as folder:
            made = generate(domain, size, seed=f"fit {seed}")
            write_release([made], Path(folder) / domain, manifest={"seed": seed})
            sets.append(load_came(Path(folder) / domain))
    return sets


def _constants(only: Sequence[str]) -> list[str]:
    known = [field.name for field in fields(Constants)]
    for name in only:
        if name not in known:
            raise InputError(f"no constant {name!r}", hint=f"one of {', '.join(known)}")
    return list(only) or known


@click.command()
@click.option("--data", "folders", multiple=True, type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--only", multiple=True, help="A constant, by its name in retrieve/constants.py; all by default.")
@click.option("--limit", type=click.IntRange(1), help="Use so many questions of a set.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of what is generated where no data is named.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a constant.")
def main(folders: Sequence[Path], only: Sequence[str], limit: int | None, seed: int, as_json: bool) -> None:
    """Tell of each constant of the search what other values would give, each set judged by what the others chose."""
    names = _constants(only)
    sets = [load_questions(folder) for folder in folders] or generated(seed)
    if len({data.name for data in sets}) < max(2, len(sets)):
        raise InputError("fitting needs sets of at least two names", hint="give --data once for each set")
    chosen_on = {field.name: field.metadata[CHOSEN_ON] for field in fields(Constants)}
    with ExitStack() as stack:
        searched = [stack.enter_context(taken_in(data.limited(limit))) for data in sets]
        for name in names:
            used = float(getattr(CONSTANTS, name))
            found = recalls(searched, name)
            choices = choose(found, in_use=getattr(CONSTANTS, name))
            if as_json:
                left_out = [choice._asdict() for choice in choices]
                row = {"constant": name, "in_use": used, "chosen_on": chosen_on[name], "recall": found}
                click.echo(json.dumps({**row, "left_out": left_out}))
                continue
            click.echo(f"{name} = {used:g}, chosen on {chosen_on[name]}")
            for choice in choices:
                tried = ", ".join(f"{value:g}: {recall:.3f}" for value, recall in found[choice.left_out].items())
                click.echo(
                    f"  {choice.left_out}: {choice.recall - choice.in_use:+.3f} with {choice.value:g},"
                    f" which the others chose ({tried})"
                )


if __name__ == "__main__":
    main()
