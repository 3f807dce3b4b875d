"""What local labels are meant to reach, and whether the runs at hand show it: one table of `bench/RESULTS.md`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from stitch.bench.metrics.scores import mean
from stitch.bench.records import Record
from stitch.bench.runs import Run


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


GOALS = (
    Goal(set="sgd_interleaved", measure="recall@10", least=0.75, trivial="BM25 .357"),
    Goal(set="sgd_interleaved", measure="recall@10", least=0.60, trivial="BM25 .157", among=_hard, note="hard"),
    Goal(set="star", measure="scope bcubed_f1", least=0.85, trivial="one scope .683"),
    Goal(set="star", measure="scope switch_f1", least=0.65, trivial="TextTiling .275"),
    Goal(set="sgd", measure="scope bcubed_f1", least=0.88, trivial="one scope .742"),
    Goal(set="irc", measure="scope bcubed_f1", least=0.62, trivial="speaker .524"),
    Goal(set="tiage", measure="scope switch_f1", least=0.40, trivial=".29"),
    Goal(set="dialseg711", measure="scope switch_f1", least=0.65, trivial=".50"),
    Goal(set="sgd", measure="event_type v_measure", least=0.55, trivial="k-means .39"),
    Goal(set="locomo", measure="recall@10", least=0.72, trivial="BM25 .639"),
    Goal(set="longmemeval_s", measure="all@10", least=0.80, trivial="BM25 .718"),
    Goal(set="beam", measure="recall@10", least=0.47, trivial="BM25 .402"),
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
    figures: dict[str, Mapping[str, Any]] = {own["set"]: own for own in saved}
    for goal in GOALS:
        reached = _in_run(by_set.get(goal.set), goal) if goal.set in by_set else _in_saved(figures.get(goal.set), goal)
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


def _mean(run: Run, measure: str, among: Callable[[Record], bool]) -> float | None:
    return mean(run.measures[measure](record) for record in run.records["stitch"] if among(record)).value


def _in_saved(figures: Mapping[str, Any] | None, goal: Goal) -> float | None:
    found: Any = figures
    for key in goal.measure.split(" "):
        found = found.get(key) if isinstance(found, Mapping) else None
    return float(found) if found is not None else None
