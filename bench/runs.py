"""Finished runs, read again from their folders: the ground of reports and tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stitch.bench.answering import is_unscored
from stitch.bench.manifest import Manifest, read_manifest
from stitch.bench.metrics.evidence import BUDGETS
from stitch.bench.metrics.paired import Interval, bootstrap_mean
from stitch.bench.metrics.scores import Unscored
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


@dataclass(frozen=True, kw_only=True)
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
    def title(self) -> str:
        """Its name in a report."""
        return f"{self.set} ({self.manifest.settings.suite})"

    @property
    def main(self) -> str:
        """The measure that matters most: of CAME-Bench that of answers, where a model gave any that could be scored."""
        if self.manifest.settings.suite == "came" and self.answered:
            return "f1"
        return MAIN[self.manifest.settings.suite]

    @property
    def answered(self) -> bool:
        """Whether answers of a model were scored."""
        return any(
            record.answered is not None and record.answered.correct is not None
            for records in self.records.values()
            for record in records
        )

    @property
    def models(self) -> dict[str, str]:
        """The models that took part, by what they did; empty if none did."""
        settings = self.manifest.settings
        made = {
            "labels": settings.labels if any(note.model_calls for note in self.prepared) else None,
            "answers": settings.answerer,
            "verdicts": settings.judge if settings.judge != "containment" else None,
        }
        return {what: who for what, who in made.items() if who}

    @property
    def compared(self) -> tuple[str, ...]:
        """The measures on which methods are compared, question by question."""
        return tuple(dict.fromkeys((self.main, MAIN[self.manifest.settings.suite])))

    @property
    def measures(self) -> dict[str, Measure]:
        """All measures of its suite, by name."""
        if self.manifest.settings.suite == "came":
            return came_measures()
        measures = retrieval_measures(self.manifest.settings.budget_tokens)
        return measures | answer_measures() if self.manifest.settings.answerer else measures

    @property
    def questions(self) -> list[str]:
        """The ids of the questions that any method answered."""
        return sorted({record.question for records in self.records.values() for record in records})

    def interval(self, method: str, measure: str) -> Interval | None:
        """The mean of a measure with its interval; None if nothing is scored."""
        found = bootstrap_mean([self.measures[measure](record) for record in self.records[method]])
        return None if isinstance(found, Unscored) else found

    def row(self, method: str) -> dict[str, Any]:
        """Everything that is said of a method in one line, besides its measures."""
        records = self.records[method]
        tokens = [float(record.context_tokens) for record in records if record.context_tokens is not None]
        return {
            "entity_resolution_recall": entity_resolution(self.prepared, method),
            "context_tokens_p50": quantile(tokens, 0.5),
            **latency(records),
            **answer_costs(records),
            "unscored": sum(isinstance(self.measures[self.main](record), Unscored) for record in records),
        }

    def not_scored(self) -> dict[str, int]:
        """Why answers of a model have no score, the most frequent reason first."""
        reasons = (
            record.answered.reason or "not judged"
            for records in self.records.values()
            for record in records
            if record.answered is not None and is_unscored(record)
        )
        return dict(Counter(reasons).most_common())

    def labeling(self) -> dict[str, Any]:
        """What labeling with a model took, of the memories of `stitch`; empty if none did."""
        taken = taken_in(self.prepared, "stitch")
        return taken if "model_calls" in taken else {}

    def selection_failures(self) -> dict[str, dict[str, float]]:
        """How often each failure mode was found in the labels of wrongly answered questions, by method."""
        found = {method: selection_failures(records) for method, records in self.records.items()}
        return {method: figures for method, figures in found.items() if figures}

    def diagnostics(self) -> dict[str, dict[str, Any]]:
        """Label-selection diagnostics of the methods with labels."""
        found = {method: diagnostics(records) for method, records in self.records.items()}
        return {method: figures for method, figures in found.items() if figures}

    def differences(self) -> list[dict[str, Any]]:
        """How `stitch` compares with every other method on the measures that matter most, the main one first."""
        found = paired_with("stitch", self.records, self.measures, names=self.compared)
        return sorted(found, key=lambda row: self.compared.index(row["metric"]))

    def recall_by_budget(self, method: str) -> list[float]:
        """Evidence recall in contexts of each of `BUDGETS`."""
        scores = [[recall_in(record, budget) for record in self.records[method]] for budget in BUDGETS]
        scored = [[s for s in own if not isinstance(s, Unscored)] for own in scores]
        return [sum(own) / len(own) if own else 0.0 for own in scored]


def read_run(folder: Path) -> Run:
    """Read a run folder.

    Raises:
        InputError: It is no run, or has no record.
    """
    manifest = read_manifest(folder)
    present = methods_in(folder)
    records = {
        name: sorted(read_records(folder, name), key=lambda record: record.question)
        for name in sorted(present, key=lambda name: (list(METHODS).index(name) if name in METHODS else 99, name))
    }
    if not any(records.values()):
        raise InputError(f"{str(folder)!r} has no records yet", hint="run the command of its manifest again")
    return Run(manifest=manifest, records=records, prepared=read_prepared(folder))


def read_runs(folders: Iterable[Path]) -> list[Run]:
    """Read several run folders, in the order given."""
    return [read_run(folder) for folder in folders]
