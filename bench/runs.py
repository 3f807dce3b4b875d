"""Finished runs, read again from their folders: the ground of reports and tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from stitch.bench.answering import is_unscored
from stitch.bench.manifest import Manifest, read_manifest
from stitch.bench.metrics.evidence import BUDGETS
from stitch.bench.metrics.paired import Interval, bootstrap_mean
from stitch.bench.metrics.scores import Unscored, mean
from stitch.bench.records import Prepared, Record, methods_in, read_prepared, read_records
from stitch.bench.registry import METHODS
from stitch.bench.scoring import (
    Measure,
    answer_costs,
    answer_measures,
    came_measures,
    diagnostics,
    entity_resolution,
    latency,
    paired_with,
    quantile,
    recall_in,
    retrieval_measures,
    selection_failures,
    taken_in,
)
from stitch.errors import InputError

MAIN = {"retrieval": "recall@10", "came": "answer_in_context"}
"""The measure that matters most, by suite."""


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
    def main(self) -> str:
        """The measure that matters most: of CAME-Bench that of answers, where a model gave any that could be scored."""
        return "f1" if self.suite == "came" and self.answered else MAIN[self.suite]

    @cached_property
    def answered(self) -> bool:
        """Whether answers of a model were scored."""
        return any(record.answered is not None and record.answered.correct is not None for record in self.every)

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
    def compared(self) -> tuple[str, ...]:
        """The measures on which methods are compared, question by question."""
        return tuple(dict.fromkeys((self.main, MAIN[self.suite])))

    @cached_property
    def measures(self) -> dict[str, Measure]:
        """All measures of its suite, by name."""
        if self.suite == "came":
            return came_measures()
        answers = answer_measures() if self.manifest.settings.answerer else {}
        return retrieval_measures(self.manifest.settings.budget_tokens) | answers

    @cached_property
    def questions(self) -> list[str]:
        """The ids of the questions that any method answered."""
        return sorted(dict.fromkeys(record.question for record in self.every))

    @cached_property
    def rows(self) -> dict[str, dict[str, Any]]:
        """All that is said of each method in one line, besides its measures."""
        return {method: self._row(method, records) for method, records in self.records.items()}

    def _row(self, method: str, records: Sequence[Record]) -> dict[str, Any]:
        tokens = [float(record.context_tokens) for record in records if record.context_tokens is not None]
        return {
            "entity_resolution_recall": entity_resolution(self.prepared, method),
            "context_tokens_p50": quantile(tokens, 0.5),
            **latency(records),
            **answer_costs(records),
            "unscored": sum(isinstance(self.measures[self.main](record), Unscored) for record in records),
        }

    @cached_property
    def intervals(self) -> dict[str, dict[str, Interval | None]]:
        """The mean of each measure with its interval, by method; None where nothing is scored."""
        return {
            method: {name: _interval(measure, records) for name, measure in self.measures.items()}
            for method, records in self.records.items()
        }

    @cached_property
    def not_scored(self) -> str:
        """Why answers of a model have no score, in words, the most frequent reason first."""
        told = [each.answered for each in self.every if is_unscored(each)]
        counted = Counter(own.reason or "not judged" for own in told if own is not None).most_common()
        return "; ".join(f"{reason} ({count})" for reason, count in counted)

    @cached_property
    def labeling(self) -> str:
        """The cost of labeling with a model, of the memories of `stitch`, in words; empty if none did."""
        taken = taken_in(self.prepared, "stitch")
        if "model_calls" not in taken:
            return ""
        return (
            f"{taken['model_calls']:,} calls, {taken['model_tokens']:,} tokens, US$ {price(taken['model_cost_usd'])},"
            f" for {taken['steps']:,} steps; {taken['stand_ins']:,} have labels that stand in,"
            f" {taken['unusable_replies']:,} replies were cut or of no use."
        )

    def of_labels(self) -> dict[str, dict[str, dict[str, Any]]]:
        """Label-selection diagnostics, and how often each failure mode was found, by method."""
        found = {"diagnostics": diagnostics, "failures": selection_failures}
        return {
            what: {method: told for method, records in self.records.items() if (told := make(records))}
            for what, make in found.items()
        }

    def differences(self) -> list[dict[str, Any]]:
        """How `stitch` compares with every other method on the measures that matter most, the main one first."""
        found = paired_with("stitch", self.records, self.measures, names=self.compared)
        return sorted(found, key=lambda row: self.compared.index(row["metric"]))

    def recall_by_budget(self, method: str) -> list[float]:
        """Evidence recall in contexts of each of `BUDGETS`."""
        return [mean(recall_in(record, budget) for record in self.records[method]).value or 0.0 for budget in BUDGETS]


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
    manifest, order = read_manifest(folder), list(METHODS)
    names = sorted(methods_in(folder), key=lambda name: (order.index(name) if name in order else len(order), name))
    records = {name: sorted(read_records(folder, name), key=lambda record: record.question) for name in names}
    if not any(records.values()):
        raise InputError(f"{str(folder)!r} has no records yet", hint="run the command of its manifest again")
    return Run(manifest, records, read_prepared(folder))


def read_runs(folders: Iterable[Path]) -> list[Run]:
    """Read several run folders, in the order given."""
    return [read_run(folder) for folder in folders]
