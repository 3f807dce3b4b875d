"""What local labels are meant to reach, and whether the runs at hand show it: one table of `bench/RESULTS.md`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from stitch.bench.metrics.scores import mean
from stitch.bench.records import Record
from stitch.bench.runs import Run
from stitch.bench.scoring import Measure, recall_in


@dataclass(frozen=True, kw_only=True)
class Goal:
    """A figure of `stitch` on a set, to be reached."""

    set: str
    measure: str
    least: float
    trivial: str = ""
    """What somebody else, or doing next to nothing, reaches, as the table shows it."""
    among: Callable[[Record], bool] | None = None
    """The questions that count; all if None."""
    note: str = ""


def _hard(record: Record) -> bool:
    return record.type.endswith("-hard")


def _of_size(record: Record, *, size: str) -> bool:
    return record.type.split("-")[0] == size


def _travel(record: Record) -> bool:
    return record.domain == "travel"


def _of_type(record: Record, *, name: str) -> bool:
    return record.type == name


_RUN_TYPES = {"scoped": 0.85, "across": 0.60, "order": 0.70, "latest": 0.70}
_EXPERIENCE_TYPES = {"same-kind": 0.60, "state": 0.60, "procedure": 0.35}

GOALS = (
    Goal(set="agent_runs", measure="recall@10", least=0.80, trivial="BM25 .504"),
    *(
        Goal(set="agent_runs", measure="recall@10", least=least, among=partial(_of_type, name=name), note=name)
        for name, least in _RUN_TYPES.items()
    ),
    Goal(set="agent_runs", measure="recall in 4096", least=0.90, trivial="BM25 .619"),
    Goal(set="agent_runs", measure="recall in 1024", least=0.70),
    Goal(set="agent_runs", measure="scope bcubed_f1", least=0.70, trivial="TextTiling .564"),
    Goal(set="agent_runs", measure="goal bcubed_f1", least=0.85, trivial="one scope .514"),
    Goal(set="agent_runs", measure="event_type v_measure", least=0.75, trivial="speaker .53"),
    Goal(set="experience", measure="recall@10", least=0.50, trivial="BM25 .126"),
    *(
        Goal(set="experience", measure="recall@10", least=least, among=partial(_of_type, name=name), note=name)
        for name, least in _EXPERIENCE_TYPES.items()
    ),
    Goal(set="sgd_interleaved", measure="recall@10", least=0.75, trivial="BM25 .357"),
    Goal(set="sgd_interleaved", measure="recall@10", least=0.60, trivial="BM25 .157", among=_hard, note="hard"),
    Goal(set="star", measure="scope bcubed_f1", least=0.85, trivial="one scope .683"),
    Goal(set="star", measure="scope switch_f1", least=0.65, trivial="TextTiling .275"),
    Goal(set="sgd", measure="scope bcubed_f1", least=0.88, trivial="one scope .742"),
    Goal(set="irc", measure="scope bcubed_f1", least=0.62, trivial="speaker .524"),
    Goal(set="tiage", measure="scope switch_f1", least=0.40, trivial=".29"),
    Goal(set="dialseg711", measure="scope switch_f1", least=0.65, trivial=".50"),
    Goal(set="sgd", measure="event_type v_measure", least=0.55, trivial="k-means .39"),
    Goal(set="multilingual", measure="recall@10", least=0.58, trivial="BM25 .392"),
    Goal(set="locomo", measure="recall@10", least=0.79, trivial="BM25 .639"),
    Goal(set="longmemeval_s", measure="all@10", least=0.86, trivial="BM25 .718"),
    Goal(set="beam", measure="recall@10", least=0.59, trivial="BM25 .402"),
    Goal(set="qmsum", measure="budget_recall", least=0.70, trivial="BM25 .423"),
    Goal(set="locomo", measure="budget_recall", least=0.88, trivial="BM25 .828"),
    Goal(set="longmemeval_s", measure="budget_recall", least=0.90, trivial="BM25 .836"),
    Goal(set="gecor", measure="bleu", least=70.0, trivial="copy 57.7"),
    Goal(set="canard", measure="bleu", least=42.0, trivial="copy 34.5"),
    Goal(set="example", measure="answer_in_context", least=0.85, trivial="BM25 in the tables", among=_travel,
         note="travel"),
)  # fmt: skip
SIZES = ("S", "M", "L")
"""The sizes of `sgd_interleaved`, over which recall@10 is to fall by less than `FALL`."""
FALL = 0.10


def goal_rows(runs: Sequence[Run], saved: Sequence[Mapping[str, Any]]) -> Iterator[list[str]]:
    """A row for each goal of which the sets were run: set, measure, trivial, goal, reached, verdict."""
    by_set = {run.manifest.settings.set: run for run in runs if "stitch" in run.records}
    figures: dict[str, Mapping[str, Any]] = {}
    for own in saved:  # of a set, several commands may have saved some, and a fit tells of many
        if name := own.get("set"):
            figures[name] = {**figures.get(name, {}), **own}
    for goal in GOALS:
        reached = _in_saved(figures.get(goal.set), goal)
        if reached is None:
            reached = _in_run(by_set.get(goal.set), goal)
        if reached is not None:
            measure = f"{goal.measure}, {goal.note}" if goal.note else goal.measure
            yield _row(goal.set, measure, goal.trivial, goal.least, reached)
    run = by_set.get("sgd_interleaved")
    if run is not None:
        sizes = [_mean(run, "recall@10", partial(_of_size, size=size)) for size in SIZES]
        if None not in sizes:
            small, middle, large = (size or 0.0 for size in sizes)
            shown = f"{small:.3f} / {middle:.3f} / {large:.3f}"
            verdict = "reached" if small - large < FALL else "**not reached**"
            yield [
                "sgd_interleaved",
                "recall@10, S / M / L",
                "BM25 .51 / .37 / .27",
                f"falls < {FALL:.2f}",
                shown,
                verdict,
            ]


def _row(name: str, measure: str, trivial: str, least: float, reached: float) -> list[str]:
    digits = 1 if least > 1 else 3
    verdict = "reached" if round(reached, digits) >= least else "**not reached**"
    return [name, measure, trivial, f"{least:.{digits - (digits > 1)}f}", f"{reached:.{digits}f}", verdict]


def _in_run(run: Run | None, goal: Goal) -> float | None:
    return _mean(run, goal.measure, goal.among or (lambda record: True)) if run is not None else None


def _mean(run: Run, name: str, among: Callable[[Record], bool]) -> float | None:
    if name.startswith(_INSIDE):
        measure: Measure | None = partial(recall_in, budget_tokens=int(name.removeprefix(_INSIDE)))
    else:
        measure = run.measures.get(name)
    if measure is None:  # it is a measure of labels
        return None
    return mean(measure(record) for record in run.records["stitch"] if among(record)).value


_INSIDE = "recall in "
"""How a measure begins that is the share of the evidence inside so many tokens."""


def _in_saved(figures: Mapping[str, Any] | None, goal: Goal) -> float | None:
    found: Any = figures
    for key in goal.measure.split(" "):
        found = found.get(key) if isinstance(found, Mapping) else None
    return float(found) if found is not None else None
