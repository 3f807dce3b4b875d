"""`python -m stitch.bench.gates`: figures of the development sets, each beside the floor that it may not fall under.

`FLOORS` is the table; each line names a source of `SOURCES`, which is run once and tells all its figures. Nothing needs
a model or the network. A set that is not there is skipped and named.

    make gates                 everything: three minutes on two quiet cores
    make gates QUICK=1         four sets: a minute
    make gates ONLY=qmsum,perf

Exit status: 0 all hold, 1 a figure fell under its floor, 2 nothing was measured.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

import click

from stitch.bench.data.came import load_came
from stitch.bench.data.sets import load_labels, load_questions
from stitch.bench.suites.retrieval import Options
from stitch.bench.suites.retrieval import measure as measure_run

if TYPE_CHECKING:
    from stitch import Memory, Step
    from stitch.bench.data.types import Question

DATA = Path("../shared/data")


class Floor(NamedTuple):
    """A figure and how far it may fall."""

    source: str
    """Where it is measured: a key of `SOURCES`."""
    figure: str
    floor: float
    most: bool = False
    """Whether it is a ceiling: the figure may not rise over it."""

    def holds(self, value: float) -> bool:
        """Whether the figure is where it may be."""
        return value <= self.floor if self.most else value >= self.floor

    def line(self, value: float) -> str:
        """The line to print."""
        bound = f"{'at most' if self.most else 'at least':8} {self.floor:5.3f}"
        verdict = "" if self.holds(value) else "  FELL"
        return f"{self.source:20} {self.figure:22} {value:7.3f}   {bound}{verdict}"


FLOORS = (
    Floor("sgd_interleaved", "recall@10", 0.720),
    Floor("agent_runs", "recall@10", 0.730),
    Floor("agent_runs", "inside 4096", 0.930),
    Floor("experience", "recall@10", 0.450),
    Floor("strangers", "recall@10", 0.630),
    Floor("strangers_reworded", "recall@10", 0.410),
    Floor("multilingual", "recall@10", 0.600),
    Floor("ikat", "recall@10", 0.965),
    Floor("locomo", "recall@10", 0.770),
    Floor("beam", "recall@10", 0.600),
    Floor("qmsum", "inside 4096", 0.680),
    Floor("longmemeval_s", "all@10", 0.865),
    Floor("longmemeval_oracle", "newest first", 0.800),
    Floor("longmemeval_oracle", "newest of talks first", 0.680),
    Floor("model labels", "recall@5", 0.834),
    Floor("model labels", "recall@10", 0.950),
    Floor("model labels reworded", "recall@5", 0.897),
    Floor("model labels reworded", "recall@10", 0.950),
    Floor("came example", "answers in context", 0.950),
    Floor("labels of star", "scope B-cubed", 0.840),
    Floor("labels of sgd", "event V-measure", 0.550),
    Floor("labels of irc", "scope B-cubed", 0.780),
    Floor("scripted model", "steps labeled by it", 1.0),
    Floor("scripted model", "calls a step", 0.20, most=True),
    Floor("scripted model", "recall@10", 0.080),
    Floor("perf", "search by engine, cpu", 8.0, most=True),
)
_OPTIONS = Options(methods="stitch", workers=2, as_json=True)
QUICK = ("sgd_interleaved", "agent_runs", "experience", "strangers", "strangers_reworded")


class AbsentError(Exception):
    """The data of a source is not there."""


Figures = Mapping[str, float]


def _retrieval(data: Path, name: str, *, written: bool = False) -> Figures:
    """Evidence found in a set of questions; with labels and filters as a strong model wrote them, if so."""
    folder, options = _there(data / "memory_qa" / name), _OPTIONS
    if written:
        labels, asks, filters = (
            _there(data / "model_labels" / f"{own}.jsonl") for own in ("model_labels", "asks", "filters")
        )
        options = replace(options, labels=f"{labels},{asks}", filters=filters)
    row = measure_run(load_questions(folder), options).figures["methods"]["stitch"]
    return {
        **{name: row[name] for name in ("recall@5", "recall@10", "all@10")},
        "inside 4096": row["recall_in"]["4096"],
    }


def _newest_first(data: Path) -> Figures:
    """Of what somebody said twice and otherwise, the share where the newest stands first, both among ten hits.

    Once with all sessions in one trajectory, as the set has them, and once with each in one of its own, as chats have.
    """
    from stitch import open_memory

    asked = load_questions(_there(data / "memory_qa" / "longmemeval_oracle"))
    talks, first, first_of_talks = {own.id: own.steps for own in asked.trajectories}, list[bool](), list[bool]()
    with TemporaryDirectory() as folder, open_memory(Path(folder) / "all", share=False) as memory:
        for question in asked.questions:
            if question.type != "knowledge-update":
                continue
            steps = talks[question.trajectory]
            memory.add_many(list(steps), trajectory=question.trajectory)
            first += _is_first(memory, question, steps, question.trajectory)
            with open_memory(Path(folder) / question.id, share=False) as own:
                for session, said in groupby(steps, key=lambda step: step.session):
                    own.add_many(list(said), trajectory=session)
                first_of_talks += _is_first(own, question, steps)
    return {
        "newest first": sum(first) / len(first),
        "newest of talks first": sum(first_of_talks) / len(first_of_talks),
    }


def _is_first(memory: Memory, question: Question, steps: Sequence[Step], trajectory: str | None = None) -> list[bool]:
    """Whether the last of the evidence stands before the other; nothing where not both are found."""
    hits = memory.search(question.text, k=10, min_relevance=0.0, trajectory=trajectory, asked_at=question.asked_at).hits
    told = [hit.snippet.step for hit in hits if hit.snippet.step in question.evidence]
    newest = [step.id for step in steps if step.id in question.evidence][-1]
    return [told[0] == newest] if len(told) > 1 and newest in told else []


def _came_example(data: Path) -> Figures:
    """The authors' published trip and debate."""
    folder = _there(data / "came" / "example")
    row = measure_run(load_came(folder), _OPTIONS, suite="came").figures["methods"]["stitch"]
    return {"answers in context": row["answer_in_context"]}


def _labels(data: Path, name: str) -> Figures:
    """Labels without a model against a person's."""
    from stitch.bench.labelers import labeler_named
    from stitch.bench.suites.labels import label_trajectory, score_intents

    labeled, labeler = load_labels(_there(data / "labels" / f"{name}.jsonl.gz")), labeler_named("local")
    made = score_intents(labeled, [label_trajectory(labeler, own) for own in labeled.trajectories])
    told = {"scope B-cubed": ("scope", "bcubed_f1"), "event V-measure": ("event_type", "v_measure")}
    return {figure: made[kind][measured] for figure, (kind, measured) in told.items() if made[kind]}


def _scripted_model(data: Path) -> Figures:
    """The path with a model from end to end: a generated trip, labeled and asked over HTTP, replies by rule."""
    del data
    from stitch import Step, open_memory
    from stitch.bench.generate.generation import SIZES, generate
    from stitch.bench.metrics.evidence import recall_at
    from stitch.bench.metrics.scores import mean
    from stitch.bench.model import provider_by_rules

    trip = generate("travel", SIZES["S"], seed="gates")
    steps = [Step(id=turn.id, role=turn.role, content=turn.content) for turn in trip.turns]
    with (
        provider_by_rules() as url,
        TemporaryDirectory(prefix="stitch-gates-") as folder,
        open_memory(Path(folder), labels="model", model="rules", base_url=url) as memory,
    ):
        memory.add_many(steps, trajectory="trip")
        memory.flush()
        calls, by_model = memory.ledger.total().calls, memory.status().labeled_by.get(memory.labeler, 0)
        found = [
            [hit.snippet.step for hit in memory.search(asked.text, k=10, min_relevance=0.0).hits]
            for asked in trip.questions
        ]
    recalls = [recall_at(own, asked.turns, k=10) for own, asked in zip(found, trip.questions, strict=True)]
    return {
        "steps labeled by it": by_model / len(steps),
        "calls a step": calls / len(steps),
        "recall@10": mean(recalls).value or 0.0,
    }


def _perf(data: Path) -> Figures:
    """Searches of 20,000 steps for ten hits in 2,000 tokens, beside three of the engine alone in the same run.

    Processor time, for a busy machine tells nothing by the clock.
    """
    del data
    from stitch.bench.perf import measure_searches

    made = measure_searches(20_000)
    return {"search by engine, cpu": made["search_k10_cpu_ms"] / made["engine_cpu_p50_ms"]}


SOURCES: Mapping[str, Callable[[Path], Figures]] = {
    **{
        name: partial(_retrieval, name=name)
        for name in (*QUICK, "multilingual", "ikat", "locomo", "beam", "qmsum", "longmemeval_s")
    },
    "model labels": partial(_retrieval, name="strangers", written=True),
    "model labels reworded": partial(_retrieval, name="strangers_reworded", written=True),
    "longmemeval_oracle": _newest_first,
    "came example": _came_example,
    **{f"labels of {name}": partial(_labels, name=name) for name in ("star", "sgd", "irc")},
    "scripted model": _scripted_model,
    "perf": _perf,
}


def _there(path: Path) -> Path:
    if not path.exists():
        raise AbsentError(str(path))
    return path


def measure(sources: Sequence[str], *, data: Path = DATA) -> tuple[list[bool], dict[str, str]]:
    """Whether each figure of these sources holds, printed as it comes, and why others were left out."""
    held: list[bool] = []
    skipped: dict[str, str] = {}
    for source in sources:
        began = time.perf_counter()
        try:
            figures = SOURCES[source](data)
        except AbsentError as absent:
            skipped[source] = str(absent)
            continue
        took = time.perf_counter() - began
        for floor in (own for own in FLOORS if own.source == source):
            held.append(floor.holds(figures[floor.figure]))
            click.echo(f"{floor.line(figures[floor.figure])}   {took:4.0f} s")
    return held, skipped


@click.command()
@click.option("--quick", is_flag=True, help=f"Only {', '.join(QUICK)}.")
@click.option("--only", metavar="A,B", default="", help=f"Only these of {', '.join(SOURCES)}.")
@click.option("--data", type=click.Path(path_type=Path), default=DATA, show_default=True, help="Where the sets are.")
def command(quick: bool, only: str, data: Path) -> None:
    """Print the figures of the development sets beside their floors."""
    names = [name.strip() for name in only.split(",") if name.strip()] or list(QUICK if quick else SOURCES)
    if unknown := sorted(set(names) - set(SOURCES)):
        raise click.BadParameter(f"no source {unknown[0]!r}; there are {', '.join(SOURCES)}")
    began = time.perf_counter()
    held, skipped = measure(names, data=data)
    for source, why in skipped.items():
        click.echo(f"{source:20} skipped: {why} is not there")
    click.echo(f"{len(held)} figures, {held.count(False)} fell, {time.perf_counter() - began:.0f} s")
    sys.exit(2 if not held else 0 if all(held) else 1)


if __name__ == "__main__":
    command()
