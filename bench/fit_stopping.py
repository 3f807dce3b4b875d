"""Choose where contexts stop: `python -m stitch.bench.fit_stopping --data SET ...`.

Each question is asked once, of its own memory, with a full context. What a context that stops would have shown of it is
told for every table of constants: how many of the tokens are saved, and how much of the evidence is lost. For each set
the constants are chosen on all others: those that save most at no more than `MOST_LOST` lost on each of them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import NamedTuple

import click

from stitch.bench.data.types import DataSet, Question
from stitch.bench.metrics.paired import bootstrap_mean
from stitch.bench.metrics.scores import Unscored, mean
from stitch.bench.searched import DEPTH, asked_of_each, retriever_over, tenants_of
from stitch.core import RetrievalResult, SearchRequest
from stitch.errors import InputError
from stitch.ingest import Ingestor
from stitch.retrieve import PieceCounter
from stitch.retrieve.constants import CONSTANTS, Constants
from stitch.retrieve.context.stopping import enough
from stitch.retrieve.rank.telling import scores_tell

MOST_LOST = 0.0175
"""Of the evidence of each set: less than the .02 that may be lost, for a set left out may lose more than the others."""
BUDGET = 4096
"""Of a context, in tokens."""
GRID: Mapping[str, Sequence[float]] = {
    "stop_share": (0.4, 0.5, 0.55, 0.6, 0.65),
    "stop_share_of_long": (0.5, 0.6, 0.7, 0.8),
    "stop_tokens": (1024, 1280, 1536, 2048),
}
_BEGINS = re.compile(r"(?<=\n)(?=<step |</memory>)")


class Stopped(NamedTuple):
    """What became of a question's context."""

    saved: int
    """Tokens that the full context has beyond this one."""
    tokens: int
    """Those of the full context."""
    lost: float
    """The share of the question's evidence that stands in the full context alone."""


def tables() -> dict[tuple[float, ...], Constants]:
    """The tables of constants that are tried, by their values; a long step never needs less than a short one."""
    every = (dict(zip(GRID, values, strict=True)) for values in product(*GRID.values()))
    kept = [table for table in every if table["stop_share_of_long"] >= table["stop_share"]]
    return {tuple(table.values()): replace(CONSTANTS, **table) for table in kept}  # type: ignore[arg-type]


def stopped_of(question: Question, result: RetrievalResult, tried: Sequence[Constants]) -> list[Stopped]:
    """What becomes of a full context with each table of constants.

    Args:
        question: What was asked.
        result: What was found, with the context filled.
        tried: The tables.
    """
    counter, evidence = PieceCounter(), frozenset(question.evidence)
    blocks = _BEGINS.split(result.context_text)[1:-1]
    tokens = {name: counter.count(block) for name, block in zip(result.context_hits, blocks, strict=True)}
    full = {hit.snippet.id: hit.snippet.step for hit in result.hits if hit.snippet.id in tokens}
    found = []
    for constants in tried:
        left = set(full)
        if scores_tell(result.hits, question.text, rule=result.rule, constants=constants):
            near = enough(result.hits, budget_tokens=result.request.budget_tokens, counter=counter, constants=constants)
            left &= {hit.snippet.id for hit in near}
        lost = evidence.intersection(full.values()) - {full[name] for name in left}
        saved = sum(tokens[name] for name in full.keys() - left)
        found.append(Stopped(saved, sum(tokens.values()), len(lost) / len(evidence)))
    return found


def asked_of(data: DataSet, ingestor: Ingestor, tried: Sequence[Constants]) -> Iterator[list[Stopped]]:
    """Of each question with evidence, what becomes of its context with each table of constants."""
    retriever = retriever_over(ingestor)
    tenants = {trajectory.id: tenant for tenant, trajectory in tenants_of(data)}
    for question in data.questions:
        if not question.evidence:
            continue
        asked = question.inquiry
        request = SearchRequest(
            query=asked.text,
            tenant=tenants[asked.trajectory],
            trajectory=asked.trajectory,
            asked_at=asked.asked_at,
            k=DEPTH,
            budget_tokens=BUDGET,
            min_share=0.0,
        )
        yield stopped_of(question, retriever.search(request), tried)


class Judged(NamedTuple):
    """How much a set saves and loses."""

    saved: float
    """The share of the tokens of all its contexts."""
    lost: float
    """The share of a question's evidence, on the mean."""
    low: float
    high: float
    """The 95 % bootstrap interval of what is lost."""


def judge(questions: Sequence[Stopped]) -> Judged:
    """How much a set saves and loses with one table of constants."""
    lost = [each.lost for each in questions]
    interval = bootstrap_mean(lost)
    low, high = (0.0, 0.0) if isinstance(interval, Unscored) else (interval.low, interval.high)
    saved = sum(each.saved for each in questions) / (sum(each.tokens for each in questions) or 1)
    return Judged(round(saved, 3), round(mean(lost).value or 0.0, 4), round(low, 4), round(high, 4))


def best_of(sets: Sequence[Sequence[tuple[float, float]]]) -> int | None:
    """Which table saves most on the mean, of those with which no set loses more than `MOST_LOST`; None without such.

    Args:
        sets: Of each set, what it saves and loses with each table.
    """
    able = [place for place in range(len(sets[0])) if all(each[place][1] <= MOST_LOST for each in sets)]
    return max(able, key=lambda place: sum(each[place][0] for each in sets), default=None)


@click.command()
@click.option("--data", "folders", multiple=True, type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--judged", "only_judged", multiple=True, type=click.Path(path_type=Path, exists=True, file_okay=False),
              help="A set that is judged and chooses nothing.")  # fmt: skip
@click.option("--limit", type=click.IntRange(1), help="Use so many questions of a set.")
@click.option("--kept", type=click.Path(path_type=Path, file_okay=False), help="Keep the memories in this folder.")
def main(folders: Sequence[Path], only_judged: Sequence[Path], limit: int | None, kept: Path | None) -> None:
    """Choose where contexts stop, and tell of each set what it saves and loses by the choice of all others."""
    if len(folders) < 2:
        raise InputError("choosing needs at least two sets", hint="give --data once for each set")
    tried = tables()
    every = [CONSTANTS, *tried.values()]
    asked = asked_of_each((*folders, *only_judged), partial(asked_of, tried=every), limit=limit, kept=kept)
    found = {name: [list(column) for column in zip(*own, strict=True)] for name, own in asked.items()}
    figures = {name: [_figures(column) for column in columns[1:]] for name, columns in found.items()}
    choosing = list(found)[: len(folders)]
    for name, columns in found.items():
        place = best_of([figures[other] for other in choosing if other != name])
        line = {"set": name, "questions": len(columns[0]), "shipped": judge(columns[0])._asdict()}
        if place is not None:
            line |= {"left out": judge(columns[place + 1])._asdict(), "constants": list(tried)[place]}
        click.echo(json.dumps(line))
    place = best_of([figures[name] for name in choosing])
    click.echo(json.dumps({"all choose": None if place is None else dict(zip(GRID, list(tried)[place], strict=True))}))


def _figures(questions: Sequence[Stopped]) -> tuple[float, float]:
    """What a set saves and loses."""
    tokens = sum(each.tokens for each in questions) or 1
    return sum(each.saved for each in questions) / tokens, sum(each.lost for each in questions) / (len(questions) or 1)


if __name__ == "__main__":
    main()
