"""From records to figures: what a run is told by is computed here, from the lines of its folder alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from stitch.bench.answering import NO_MODEL, is_unscored, score_answered
from stitch.bench.figures import Figures
from stitch.bench.metrics.answers import contains_normalized, items_of, normalize, said_in_context, token_f1
from stitch.bench.metrics.evidence import (
    BUDGETS,
    SelectionDiagnostics,
    all_at,
    mean_diagnostics,
    ndcg_at,
    precision_of,
    recall_at,
    reciprocal_rank,
)
from stitch.bench.metrics.scores import PairedDifference, Score, Unscored, compare_paired, mean
from stitch.bench.records import Answered, Prepared, Record
from stitch.bench.timing import percentile
from stitch.core import DecidedBy

Measure = Callable[[Record], Score]
"""The score of one question."""

NO_CONTEXT = Unscored("no context was made")
NO_ANSWER = Unscored("the question has no gold answer")


def retrieval_measures(budget_tokens: int) -> dict[str, Measure]:
    """The measures of evidence, by name."""
    return {
        **{f"recall@{k}": _ranked(recall_at, k=k) for k in (5, 10, 20)},
        "all@10": _ranked(all_at, k=10),
        "mrr": _ranked(reciprocal_rank),
        "ndcg@10": _ranked(ndcg_at, k=10),
        "budget_recall": lambda r: inside(r, r.window_tokens or budget_tokens, recall_at),
        "budget_precision": lambda r: inside(r, r.window_tokens or budget_tokens, precision_of),
    }


def _ranked(measure: Callable[..., Score], **at: int) -> Measure:
    return lambda record: measure(record.steps, record.evidence, **at)


def came_measures() -> dict[str, Measure]:
    """The measures of CAME-Bench, by name; those of answers are unscored without a model."""
    return {
        "answer_in_context": answer_in_context,
        "evidence_recall": lambda r: NO_CONTEXT if r.context_steps is None else recall_at(r.context_steps, r.evidence),
        **{part: partial(_answer_score, part=part) for part in ("precision", "recall", "f1")},
    }


def answer_measures() -> dict[str, Measure]:
    """The measures of single answers, by name; unscored without a model."""
    return {"accuracy": _accepted, "token_f1": _compared}


def inside(record: Record, budget_tokens: int, measure: Callable[[Sequence[str], Sequence[str]], Score]) -> Score:
    """A measure of the steps of which a reader sees something in a context of so many tokens."""
    return measure(record.shown[budget_tokens], record.evidence)


def by_budget(records: Sequence[Record]) -> dict[str, dict[str, float | None]]:
    """Recall, and whether all of it is there, by the tokens of the budget, also of a method with its own window."""
    return {
        name: dict(Figures(**{str(each): mean(inside(own, each, measure) for own in records) for each in BUDGETS}))
        for name, measure in (("recall_in", recall_at), ("all_in", all_at))
    }


def answer_in_context(record: Record) -> Score:
    """The share of gold items (the places of a plan, else its candidates) that stand literally in the context."""
    if record.context is None:
        return NO_CONTEXT
    items = items_of(record.type, record.gold_answer)
    text = normalize(said_in_context(record.context))
    return sum(contains_normalized(text, item) for item in items) / len(items) if items else NO_ANSWER


def _given(record: Record, *, judged: bool) -> Answered | Unscored:
    """The answer to a question, and the verdict on it, if that is asked for."""
    own = record.answered
    if own is None:
        return Unscored(NO_MODEL)
    return own if (own.correct if judged else own.answer) is not None else Unscored(own.reason or "not judged")


def _answer_score(record: Record, *, part: str) -> Score:
    own = _given(record, judged=True)
    score = own if isinstance(own, Unscored) else score_answered(record, own)
    return score if isinstance(score, Unscored) else float(getattr(score, part))


def _accepted(record: Record) -> Score:
    own = _given(record, judged=True)
    return own if isinstance(own, Unscored) else float((own.correct or 0) > 0)


def _compared(record: Record) -> Score:
    own = _given(record, judged=False)
    if record.gold_answer is None:
        return NO_ANSWER
    return own if isinstance(own, Unscored) else token_f1(own.answer or "", record.gold_answer)


def summarize(records: Sequence[Record], measures: Mapping[str, Measure]) -> Figures:
    """The mean of every measure; what is unscored is left out of its mean, with the reason."""
    return Figures(**{name: mean(measure(record) for record in records) for name, measure in measures.items()})


def grouped(
    records: Iterable[Record], key: str, measures: Mapping[str, Measure], *, budgets: bool = False
) -> dict[str, dict[str, Any]]:
    """The summary of each group of records that are alike in a field, with the number of its questions."""
    groups: dict[str, list[Record]] = {}
    for record in records:
        groups.setdefault(getattr(record, key), []).append(record)
    return {
        name: {"questions": len(own), **summarize(own, measures), **(by_budget(own) if budgets else {})}
        for name, own in sorted(groups.items())
    }


def latency(records: Sequence[Record]) -> dict[str, float | None]:
    """Median and 95th percentile of the time a search took."""
    times = [record.milliseconds for record in records]
    return {"search_p50_ms": quantile(times, 50), "search_p95_ms": quantile(times, 95)}


def answer_costs(records: Sequence[Record]) -> dict[str, Any]:
    """Costs of answering and judging; empty if no model did."""
    made = [record.answered for record in records if record.answered is not None]
    if not made:
        return {}
    return {
        "answered": sum(own.answer is not None for own in made),
        "scored": sum(own.correct is not None for own in made),
        "unscored": sum(is_unscored(record) for record in records),
        "model_calls": sum(own.model_calls for own in made),
        "model_tokens": sum(own.model_tokens for own in made),
        "model_cost_usd": _total(own.cost_usd for own in made),
        "answer_p50_s": quantile([own.seconds for own in made], 50),
    }


def taken_in(notes: Iterable[Prepared], method: str) -> dict[str, Any]:
    """Steps that a method took in, and the rate of one process."""
    own = [note for note in notes if note.method == method]
    seconds, steps = sum(note.seconds for note in own), sum(note.steps for note in own)
    found: dict[str, Any] = {"steps": steps, "steps_per_s": round(steps / seconds, 1) if seconds else None}
    if any(note.model_calls for note in own):
        for name in ("model_calls", "model_tokens", "stand_ins", "unusable_replies"):
            found[name] = sum(getattr(note, name) for note in own)
        found["model_cost_usd"] = _total(note.cost_usd for note in own if note.model_calls)
    return found


def _total(costs: Iterable[float | None]) -> float | None:
    """The sum of costs; None if one of them is not known."""
    every = list(costs)
    return None if None in every else round(sum(cost for cost in every if cost), 6)


def quantile(values: Sequence[float], percent: int) -> float | None:
    """The value below which so many percent of the values are (nearest rank); None without values."""
    return round(percentile(values, percent), 3) if values else None


def diagnostics(records: Iterable[Record]) -> dict[str, Any] | None:
    """The diagnostics of label selection (Appendix D); None for a method without labels."""
    known = [record.diagnostics for record in records if record.labels is not None]
    none = Unscored("no gold step")
    means = mean_diagnostics(none if own is None else SelectionDiagnostics(*own) for own in known)
    return Figures(**means) if known else None


def decided_by(records: Iterable[Record]) -> dict[str, float] | None:
    """The share of questions for which labels decided, were weighed, or were absent; None without labels."""
    said = [record.decided_by for record in records if record.decided_by is not None]
    return {way.value: round(said.count(way.value) / len(said), 6) for way in DecidedBy} if said else None


def entity_resolution(notes: Iterable[Prepared], method: str) -> float | None:
    """Entity resolution recall over all trajectories; None for methods without snippets, or without a plan."""
    own = [note for note in notes if note.method == method and note.named is not None]
    operations = sum(note.operations for note in own)
    return round(sum(note.named or 0 for note in own) / operations, 6) if operations else None


def paired_with(
    baseline: str, records: Mapping[str, Sequence[Record]], measures: Mapping[str, Measure]
) -> list[dict[str, Any]]:
    """Compare a method with every other one on the questions both have, measure by measure."""
    found = []
    mine = {record.question: record for record in records.get(baseline, ())}
    for name, measure in measures.items():
        for other in (each for each in records if each != baseline):
            both = [(mine[each.question], each) for each in records[other] if each.question in mine]
            difference = compare_paired([measure(a) for a, _ in both], [measure(b) for _, b in both])
            if isinstance(difference, PairedDifference):
                row = {"a": baseline, "b": other, "metric": name, "pairs": difference.pairs}
                figures = {key: round(getattr(difference, key), 6) for key in ("difference", "low", "high", "p")}
                found.append({**row, **figures})
    return found
