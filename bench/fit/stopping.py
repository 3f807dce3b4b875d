"""Where contexts stop, chosen by sets that are left out in turn.

Each question is asked once, of its own memory, with a full context. For every table of constants it is told how many of
its tokens a context that stops would have saved, and how much of the evidence it would have lost. The constants are
those that save most at no more than `MOST_LOST` lost on each set that chooses.
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

from stitch.bench.data.sets import load_questions
from stitch.bench.data.types import DataSet, Question
from stitch.bench.fit.memories import (
    DATA,
    JUDGED,
    KEPT,
    LIMIT,
    asked_of_each,
    load_sets,
    request_for,
    retriever_over,
    tenants_of,
)  # fmt: skip
from stitch.core import RetrievalResult
from stitch.ingest import Ingestor
from stitch.retrieve import PieceCounter
from stitch.retrieve.constants import CONSTANTS, Constants
from stitch.retrieve.context.stopping import enough
from stitch.retrieve.rank.telling import scores_tell

MOST_LOST = 0.0175
"""Of the evidence of each set: less than the .02 that may be lost, for a set left out may lose more than the others."""
BUDGET = 4096
GRID: Mapping[str, Sequence[float]] = {
    "stop_share": (0.4, 0.5, 0.55, 0.6, 0.65),
    "stop_share_of_long": (0.5, 0.6, 0.7, 0.8),
    "stop_tokens": (1024, 1280, 1536, 2048),
}
_BEGINS = re.compile(r"(?<=\n)(?=<step |</memory>)")


class Stopped(NamedTuple):
    """A question's context that stopped: tokens that the full one has beyond it, tokens of the full one, and the share
    of the question's evidence that stands in the full one alone.
    """

    saved: int
    tokens: int
    lost: float


class Judged(NamedTuple):
    """The share of the tokens of all contexts that a set saves, and of a question's evidence that it loses."""

    saved: float
    lost: float


def tables() -> list[Constants]:
    """The tables of constants that are tried; a long step never needs less than a short one."""
    every = (dict(zip(GRID, values, strict=True)) for values in product(*GRID.values()))
    return [replace(CONSTANTS, **each) for each in every if each["stop_share_of_long"] >= each["stop_share"]]  # type: ignore[arg-type]


def stopped_of(question: Question, result: RetrievalResult, tried: Sequence[Constants]) -> list[Stopped]:
    """A question's full context as each table of constants would have stopped it."""
    counter, evidence = PieceCounter(), frozenset(question.evidence)
    blocks = _BEGINS.split(result.context_text)[1:-1]
    tokens = {name: counter.count(block) for name, block in zip(result.context_hits, blocks, strict=True)}
    full = {hit.snippet.id: hit.snippet.step for hit in result.hits if hit.snippet.id in tokens}
    found = []
    for constants in tried:
        left = set(full)
        if scores_tell(result.hits, question.text, constants=constants):
            near = enough(result.hits, budget_tokens=result.request.budget_tokens, counter=counter, constants=constants)
            left &= {hit.snippet.id for hit in near}
        lost = evidence.intersection(full.values()) - {full[name] for name in left}
        saved = sum(tokens[name] for name in full.keys() - left)
        found.append(Stopped(saved, sum(tokens.values()), len(lost) / len(evidence)))
    return found


def asked_of(data: DataSet, ingestor: Ingestor, *, tried: Sequence[Constants]) -> Iterator[list[Stopped]]:
    """The contexts of each question with evidence, by each table of constants."""
    retriever, tenants = retriever_over(ingestor), tenants_of(data)
    for question in data.questions:
        if question.evidence:
            request = request_for(question, tenants, budget_tokens=BUDGET, min_share=0.0)
            yield stopped_of(question, retriever.search(request), tried)


def judge(questions: Sequence[Stopped]) -> Judged:
    """The savings and losses of a set by one table of constants."""
    tokens = sum(each.tokens for each in questions) or 1
    lost = sum(each.lost for each in questions) / (len(questions) or 1)
    return Judged(sum(each.saved for each in questions) / tokens, lost)


def best_of(sets: Sequence[Sequence[Judged]]) -> int | None:
    """The table that saves most on the mean, of those with which no set loses too much; None without such."""
    able = [place for place in range(len(sets[0])) if all(each[place].lost <= MOST_LOST for each in sets)]
    return max(able, key=lambda place: sum(each[place].saved for each in sets), default=None)


@click.command()
@DATA
@JUDGED
@LIMIT
@KEPT
def command(folders: Sequence[Path], judged: Sequence[Path], limit: int | None, kept: Path | None) -> None:
    """Choose where contexts stop, and tell of each set what it saves and loses by the choice of all others."""
    choosing = load_sets(folders, limit=limit)
    sets = [*choosing, *(load_questions(folder).limited(limit) for folder in judged)]
    tried = tables()
    asked = asked_of_each(sets, partial(asked_of, tried=[CONSTANTS, *tried]), kept=kept)
    found = {name: [judge(column) for column in zip(*own, strict=True)] for name, own in asked.items()}
    for name, (shipped, *others) in found.items():
        place = best_of([found[other.name][1:] for other in choosing if other.name != name])
        line = {"set": name, "questions": len(asked[name]), "shipped": shipped._asdict()}
        if place is not None:
            line |= {"left_out": others[place]._asdict(), "constants": _told(tried[place])}
        click.echo(json.dumps(line))
    place = best_of([found[data.name][1:] for data in choosing])
    click.echo(json.dumps({"all_choose": None if place is None else _told(tried[place])}))


def _told(constants: Constants) -> dict[str, float]:
    return {name: getattr(constants, name) for name in GRID}
