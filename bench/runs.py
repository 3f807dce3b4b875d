"""Finished runs, read from their folders: the ground of what commands print, of pages and of tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from stitch.bench import scoring
from stitch.bench.metrics.scores import Interval, Unscored, bootstrap_mean, mean
from stitch.bench.records import Manifest, Prepared, Record, methods_in, read_manifest, read_prepared, read_records
from stitch.bench.registry import METHODS
from stitch.bench.scoring import Measure
from stitch.errors import InputError

MAIN = {"retrieval": "recall@10", "came": "answer_in_context"}
"""The measure that matters most, by suite."""
COMPARED = ("recall@10", "budget_recall", "accuracy", "answer_in_context", "evidence_recall", "f1")
"""The measures on which methods are compared question by question, where a suite has them."""


@dataclass(frozen=True)
class Run:
    """A finished run."""

    manifest: Manifest
    records: Mapping[str, Sequence[Record]]
    """By method, in the order of the registry; records by question."""
    prepared: Sequence[Prepared]

    @property
    def set(self) -> str:
        """The name of its set."""
        return self.manifest.settings.set

    @property
    def suite(self) -> str:
        """The suite that made it."""
        return self.manifest.settings.suite

    @cached_property
    def every(self) -> list[Record]:
        """The records of all methods."""
        return [record for records in self.records.values() for record in records]

    @cached_property
    def answered(self) -> bool:
        """Whether answers of a model were scored."""
        return any(record.answered is not None and record.answered.correct is not None for record in self.every)

    @cached_property
    def measures(self) -> dict[str, Measure]:
        """All measures of its suite, by name."""
        if self.suite == "came":
            return scoring.came_measures()
        answers = scoring.answer_measures() if self.manifest.settings.answerer else {}
        return scoring.retrieval_measures(self.manifest.settings.budget_tokens) | answers

    @cached_property
    def main(self) -> str:
        """The measure that matters most: of CAME-Bench that of answers, where a model gave any that could be scored."""
        return "f1" if self.suite == "came" and self.answered else MAIN[self.suite]

    @cached_property
    def models(self) -> dict[str, str]:
        """The models that took part, by what they did; empty if none did."""
        settings = self.manifest.settings
        made = {
            "labels": settings.labels if any(note.model_calls for note in self.prepared) else None,
            "answers": settings.answerer,
            "verdicts": settings.judge if settings.judge != "containment" else None,
        }
        return {what: who for what, who in made.items() if who}

    @cached_property
    def questions(self) -> list[str]:
        """The ids of the questions that any method answered."""
        return sorted({record.question for record in self.every})

    @cached_property
    def steps(self) -> dict[str, int]:
        """The number of steps, by trajectory."""
        return {note.trajectory: note.steps for note in self.prepared}

    @cached_property
    def means(self) -> dict[str, Any]:
        """The mean of every measure, by method, with reasons for what was not scored."""
        return {method: scoring.summarize(records, self.measures) for method, records in self.records.items()}

    @cached_property
    def rows(self) -> dict[str, dict[str, Any]]:
        """All that is said of each method in one line, besides its measures."""
        return {method: self._row(method, records) for method, records in self.records.items()}

    def _row(self, method: str, records: Sequence[Record]) -> dict[str, Any]:
        tokens = [float(record.context_tokens) for record in records if record.context_tokens is not None]
        return {
            "entity_resolution_recall": scoring.entity_resolution(self.prepared, method),
            "context_tokens": mean(tokens).value,
            "context_tokens_p50": scoring.quantile(tokens, 50),
            **scoring.latency(records),
            **scoring.answer_costs(records),
        }

    @cached_property
    def intervals(self) -> dict[str, dict[str, Interval | None]]:
        """The mean of each measure with its interval, by method; None where nothing is scored."""
        return {
            method: {name: _interval(measure, records) for name, measure in self.measures.items()}
            for method, records in self.records.items()
        }

    @cached_property
    def differences(self) -> list[dict[str, Any]]:
        """Differences of the first method and every other on the measures that matter most, the main one first."""
        names = dict.fromkeys((self.main, *COMPARED))
        measures = {name: self.measures[name] for name in names if name in self.measures}
        return scoring.paired_with(self.first, self.records, measures)

    @cached_property
    def first(self) -> str:
        """`stitch`, or the first method where that was not run."""
        return "stitch" if "stitch" in self.records else next(iter(self.records), "")

    @cached_property
    def by_type(self) -> dict[str, dict[str, dict[str, Any]]]:
        """The main measure of each type of questions, by method."""
        main = {self.main: self.measures[self.main]}
        return {method: scoring.grouped(records, "type", main) for method, records in self.records.items()}

    @cached_property
    def labeling(self) -> str:
        """The cost of labeling with a model, of the memories of `stitch`, in words; empty if none did."""
        taken = scoring.taken_in(self.prepared, "stitch")
        if "model_calls" not in taken:
            return ""
        return (
            f"{taken['model_calls']:,} calls, {taken['model_tokens']:,} tokens, US$ {price(taken['model_cost_usd'])},"
            f" for {taken['steps']:,} steps; {taken['stand_ins']:,} have labels that stand in,"
            f" {taken['unusable_replies']:,} replies were cut or of no use."
        )

    def figures(self) -> dict[str, Any]:
        """Everything that is measured, as a command prints it."""
        reasons = {name: dict(row.reasons) for name, row in self.means.items() if row.reasons}
        for name, records in self.records.items() if self.suite == "came" else ():
            if self.rows[name]["entity_resolution_recall"] is None:
                labeled = any(record.labels is not None for record in records)
                why = "the data names no entity of its operations" if labeled else "the method resolves nothing"
                reasons.setdefault(name, {})["entity_resolution_recall"] = why
        return {
            "set" if self.suite == "retrieval" else "data": self.set,
            "trajectories": len({record.trajectory for record in self.every}),
            "questions": max(map(len, self.records.values()), default=0),
            "budget_tokens": self.manifest.settings.budget_tokens,
            "methods": {name: self._figures_of(name, records) for name, records in self.records.items()},
            "ingest": scoring.taken_in(self.prepared, self.first),
            "paired": self.differences,
            "reasons": reasons,
        }

    def _figures_of(self, method: str, records: Sequence[Record]) -> dict[str, Any]:
        of_came = {"by_domain": scoring.grouped(records, "domain", self.measures)} if self.suite == "came" else {}
        return {
            **self.means[method],
            **self.rows[method],
            **scoring.by_budget(records),
            **of_came,
            "by_type": scoring.grouped(records, "type", self.measures, budgets=not of_came),
            "decided_by": scoring.decided_by(records),
            "label_diagnostics": scoring.diagnostics(records),
        }


def _interval(measure: Measure, records: Sequence[Record]) -> Interval | None:
    found = bootstrap_mean([measure(record) for record in records])
    return None if isinstance(found, Unscored) else found


def price(cost_usd: float | None) -> str:
    """A sum in dollars, where it is known."""
    return "unknown" if cost_usd is None else f"{cost_usd:.4f}"


def read_run(folder: Path) -> Run:
    """Read a run folder.

    Raises:
        InputError: It is no run, or has no record.
    """
    order = list(METHODS)
    names = sorted(methods_in(folder), key=lambda name: (order.index(name) if name in order else len(order), name))
    run = run_of(names, folder)
    if not run.every:
        raise InputError(f"{str(folder)!r} has no records yet", hint="run the command of its manifest again")
    return run


def run_of(methods: Iterable[str], folder: Path) -> Run:
    """The run in a folder, of these methods."""
    records = {name: sorted(read_records(folder, name), key=lambda record: record.question) for name in methods}
    return Run(read_manifest(folder), records, read_prepared(folder))
