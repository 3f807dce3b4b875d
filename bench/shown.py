"""The evidence that a reader has before them: `python -m stitch.bench.shown --data SET --methods themes,stitch,bm25`.

The same evidence in contexts as `recall_in` of `stitch bench retrieval`, for some types of questions if that is wanted,
with how the first method compares with each other one inside each budget.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from stitch.bench.data.sets import load_questions
from stitch.bench.figures import Figures, print_json
from stitch.bench.harness import DEPTH
from stitch.bench.metrics.budget_recall import BUDGETS
from stitch.bench.metrics.paired import compare_paired
from stitch.bench.metrics.recall import all_at, recall_at
from stitch.bench.metrics.scores import Score, Unscored, mean
from stitch.bench.registry import make_methods, method_names

if TYPE_CHECKING:
    from stitch.bench.data.types import DataSet

Scores = dict[str, dict[int, list[Score]]]
"""By method and budget, a score a question."""


def shown(data: DataSet, names: Sequence[str]) -> tuple[Scores, Scores]:
    """The share of the evidence that stands in the contexts of each method, and whether all of it does."""
    recall: Scores = {name: defaultdict(list) for name in names}
    complete: Scores = {name: defaultdict(list) for name in names}
    for trajectory in data.trajectories:
        asked = [each for each in data.questions if each.trajectory == trajectory.id and each.evidence]
        if not asked:
            continue
        methods = make_methods(names, replace(data, trajectories=(trajectory,), questions=tuple(asked)))
        try:
            for method in methods:
                method.prepare([trajectory])
                for question in asked:
                    inside = method.search(question.inquiry, k=DEPTH, budget_tokens=max(BUDGETS)).shown
                    for budget in BUDGETS:
                        steps = inside[budget]
                        recall[method.name][budget].append(recall_at(steps, question.evidence))
                        complete[method.name][budget].append(all_at(steps, question.evidence))
        finally:
            for method in methods:
                method.close()
    return recall, complete


def report(recall: Scores, complete: Scores) -> dict[str, Any]:
    """Means by method and budget, and the first method less each other one, with 95 % intervals over questions."""
    first, *others = recall
    return {
        "shown_in": {name: _means(own) for name, own in recall.items()},
        "all_shown_in": {name: _means(own) for name, own in complete.items()},
        f"{first} -": {
            name: {str(budget): _compared(own, recall[name][budget]) for budget, own in recall[first].items()}
            for name in others
        },
    }


def _means(scores: dict[int, list[Score]]) -> Figures:
    return Figures(**{str(budget): mean(own) for budget, own in scores.items()})


def _compared(one: Sequence[Score], other: Sequence[Score]) -> list[float] | None:
    found = compare_paired(one, other)
    return None if isinstance(found, Unscored) else [round(each, 4) for each in found[:3]]


@click.command(context_settings={"show_default": True})
@click.option("--data", required=True, type=click.Path(exists=True, path_type=Path), help="A set of questions.")
@click.option("--type", "kinds", multiple=True, help="Only questions of these types.")
@click.option("--methods", default="themes,stitch,bm25,dense", help="Methods, of which the first is compared.")
@click.option("--limit", type=click.IntRange(1), help="Only so many questions, evenly taken.")
def main(data: Path, kinds: tuple[str, ...], methods: str, limit: int | None) -> None:
    """Measure the evidence that stands in contexts of 512 to 4,096 tokens."""
    loaded = load_questions(data)
    asked = [each for each in loaded.questions if each.evidence and (not kinds or each.type in kinds)]
    if limit is not None and limit < len(asked):
        asked = [asked[place * len(asked) // limit] for place in range(limit)]
    found = report(*shown(replace(loaded, questions=tuple(asked)), method_names(methods)))
    print_json({"questions": len(asked), **found})


if __name__ == "__main__":
    main()
