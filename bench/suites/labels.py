"""`stitch bench labels`: how well a labeler's scopes, event types and entity types meet a person's, beside baselines.

All measures are taken over the steps that carry gold of the kind; the gold values of a step together are one class.
Only the figure of names looks at how scopes are called. Scope: B-cubed per trajectory, then the mean; switches pooled.
Where gold scopes are "goal / phase", goals are measured apart: what stands before the mark, on both sides.
Event types: V-measure over all steps of the set.
Outcomes: of what gold calls a result or an error, whether it is known as one.
Entity types: see `metrics/clusters.py`.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import click

from stitch.bench.data.sets import load_labels
from stitch.bench.data.types import DataSet
from stitch.bench.figures import Figures, print_table
from stitch.bench.labelers import LABELERS, canonical_intent, labeler_named
from stitch.bench.metrics.clusters import entity_type_f1, macro_bcubed, switch_f1, v_measure
from stitch.bench.metrics.scores import Unscored
from stitch.console.printing import print_json
from stitch.console.progress import progress_drawn
from stitch.core import PHASE_MARK, ContextualIntent, Labeler, Trajectory, goal_of
from stitch.core.progress import counted
from stitch.lm import LanguageModel
from stitch.text.languages import carrying, stem_in
from stitch.text.structured import in_words

Intents = Sequence[ContextualIntent]
"""The intent of each step of a trajectory, in order."""

_NO_LABELS = Unscored("no labels of this kind")


def measure_labels(labeled: DataSet, labeler: Labeler) -> dict[str, Any]:
    """Label a set and measure the labels, with the trivial baselines."""
    started = time.perf_counter()
    trajectories = counted(labeled.trajectories, "trajectories labeled", of=lambda: len(labeled.trajectories))
    made_by: Counter[str] = Counter()
    intents = [label_trajectory(labeler, trajectory, made_by=made_by) for trajectory in trajectories]
    seconds = time.perf_counter() - started
    model = getattr(labeler, "model", None)
    return {
        "set": labeled.name,
        "labels": labeler.name,
        "steps": labeled.steps,
        "labeled_by": dict(made_by.most_common()),
        "unusable_replies": model.ledger.total().unusable if isinstance(model, LanguageModel) else 0,
        **score_intents(labeled, intents),
        "steps_per_s": round(labeled.steps / seconds, 1) if seconds else None,
        "baselines": {
            name: score_intents(labeled, [make(trajectory) for trajectory in labeled.trajectories])
            for name, make in BASELINES.items()
        },
    }


def label_trajectory(labeler: Labeler, trajectory: Trajectory, *, made_by: Counter[str] | None = None) -> Intents:
    """The intents that a labeler gives the steps of a trajectory, all in one batch, with its merges applied.

    `made_by` counts who made the labels: what stood in for a model is not the model's.
    """
    session = labeler.begin(trajectory.id)
    labels = session.label(trajectory.steps) if trajectory.steps else []
    if made_by is not None:
        made_by.update(label.made_by for label in labels)
    vocabulary = session.inventory().vocabulary()
    return [canonical_intent(label.intent, vocabulary=vocabulary) for label in labels]


def score_intents(labeled: DataSet, intents: Sequence[Intents]) -> dict[str, Any]:
    """Measure intents against the gold of a set; a kind without gold is None."""
    each = list(zip(labeled.trajectories, intents, strict=True))
    scopes, events, types = (
        [_steps(labeled, own, kind) for own in each] for kind in ("scope", "event_types", "entity_types")
    )
    said = list(chain.from_iterable(events))
    return {
        "scope": _score_scopes(scopes),
        "goal": _score_goals(scopes),
        "name": _score_names(scopes),
        "outcome": _score_outcomes(said),
        "event_type": _score_events(said),
        "entity_type": _score_types(types),
    }


class _Step(NamedTuple):
    """A step that carries gold of a kind."""

    intent: ContextualIntent
    gold: tuple[str, ...]


def _steps(labeled: DataSet, own: tuple[Trajectory, Intents], kind: str) -> list[_Step]:
    gold = labeled.gold.get(own[0].id, {})
    pairs = [(intent, gold.get(str(step.id))) for step, intent in zip(own[0].steps, own[1], strict=True)]
    return [_Step(intent, getattr(labels, kind)) for intent, labels in pairs if labels and getattr(labels, kind)]


def _score_scopes(trajectories: Sequence[Sequence[_Step]]) -> Figures | None:
    pairs = [([s.intent.scope for s in steps], [tuple(sorted(s.gold)) for s in steps]) for steps in trajectories]
    agreement, switches = macro_bcubed(pairs), switch_f1(pairs)
    if isinstance(agreement, Unscored) or isinstance(switches, Unscored):
        return None
    return Figures(
        bcubed_f1=agreement.f1, bcubed_precision=agreement.precision, bcubed_recall=agreement.recall,
        switch_f1=switches.f1, switch_rate=switches.rate, gold_switch_rate=switches.gold_rate,
    )  # fmt: skip


def _score_goals(trajectories: Sequence[Sequence[_Step]]) -> Figures | None:
    """As scopes, but for goals alone; None where no gold scope has a phase."""
    if not any(PHASE_MARK in scope for steps in trajectories for step in steps for scope in step.gold):
        return None

    def goals(step: _Step) -> _Step:
        scope = goal_of(step.intent.scope) if step.intent.scope else None
        return _Step(step.intent.model_copy(update={"scope": scope}), tuple(map(goal_of, step.gold)))

    return _score_scopes([[goals(step) for step in steps] for steps in trajectories])


_NAMED_STEPS = 3


def _score_names(trajectories: Sequence[Sequence[_Step]]) -> Figures | None:
    """Share of the gold goals of three steps or more whose name shares a stem with the scope that most of them have."""
    told = list[bool]()
    for steps in trajectories:
        goals = defaultdict[str, Counter[str]](Counter)
        for step in steps:
            goals[goal_of(step.gold[0])][step.intent.scope or ""] += 1
        for goal, scopes in goals.items():
            if scopes.total() >= _NAMED_STEPS:
                told.append(bool(_stems(goal) & _stems(scopes.most_common(1)[0][0])))
    return Figures(share_a_word=sum(told) / len(told), goals=len(told)) if told else None


def _stems(name: str) -> set[str]:
    return {stem_in(word, None) for word in carrying(in_words(name).replace("·", " ").split(), None)}


_WENT = {"report result": True, "report error": False}
_BAD = ("failure", "refusal", "timeout", "report error")
_TELLING = ("success", "empty", "partial", "report result", *_BAD)


def _score_outcomes(steps: Sequence[_Step]) -> Figures | None:
    """Accuracy of results and errors against gold; F1 is that of errors."""
    known = [(step, _WENT[step.gold[0]]) for step in steps if len(step.gold) == 1 and step.gold[0] in _WENT]
    if not known:
        return None
    told = [(not set(_BAD) & set(step.intent.event_types), good) for step, good in known
            if set(_TELLING) & set(step.intent.event_types)]  # fmt: skip
    missed = sum(not good for _, good in known)
    hits = sum(not own and not good for own, good in told)
    named = sum(not own for own, _ in told)
    return Figures(
        told=len(told) / len(known),
        accuracy=sum(own == good for own, good in told) / len(known),
        error_f1=2 * hits / (named + missed) if named + missed else _NO_LABELS,
    )


def _score_events(steps: Sequence[_Step]) -> Figures | None:
    if not steps:
        return None
    own = [tuple(sorted(step.intent.event_types)) for step in steps]
    gold = [tuple(sorted(step.gold)) for step in steps]
    if not any(own):
        return Figures(v_measure=_NO_LABELS)
    return Figures(v_measure=v_measure(own, gold))


def _score_types(trajectories: Sequence[Sequence[_Step]]) -> Figures | None:
    if not any(trajectories):
        return None
    if not any(step.intent.entity_types for steps in trajectories for step in steps):
        return Figures(f1=_NO_LABELS)
    return Figures(f1=entity_type_f1([[(s.intent.entity_types, s.gold) for s in steps] for steps in trajectories]))


def _speaker(trajectory: Trajectory) -> Intents:
    return [ContextualIntent(scope=step.role, event_types=(step.role,)) for step in trajectory.steps]


BASELINES: Mapping[str, Callable[[Trajectory], Intents]] = {
    "one-scope": lambda trajectory: [ContextualIntent(scope="all")] * len(trajectory.steps),
    "every-step": lambda own: [ContextualIntent(scope=f"step {place}") for place in range(len(own.steps))],
    "speaker": _speaker,
}
"""The baselines that any labeler has to beat, by name."""


@click.command()
@click.option("--data", required=True, type=click.Path(path_type=Path), help="A file of labeled trajectories.")
@click.option("--labels", type=click.Choice(LABELERS), default="local", show_default=True, help="Who labels.")
@click.option("--limit", type=click.IntRange(min=1), help="Only the first trajectories.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(data: Path, labels: str, limit: int | None, as_json: bool) -> None:
    """Measure labels against gold.

    \b
    Example:
      stitch bench labels --data star.jsonl.gz
    """
    labeled = load_labels(data)
    if limit is not None:
        labeled = replace(labeled, trajectories=labeled.trajectories[:limit])
    with progress_drawn("labeling"):
        figures = measure_labels(labeled, labeler_named(labels))
    if as_json:
        print_json(figures)
        return
    rows = {figures["labels"]: figures, **figures["baselines"]}
    click.echo(f"{figures['set']}: {figures['steps']} steps, {figures['steps_per_s']} steps/s")
    if (others := figures["steps"] - figures["labeled_by"].get(figures["labels"], 0)) or figures["unusable_replies"]:
        click.echo(
            f"stitch: {others} steps have labels that stand in for those of {figures['labels']};"
            f" {figures['unusable_replies']} replies were cut or of no use",
            err=True,
        )
    for kind in ("scope", "goal", "name", "event_type", "outcome", "entity_type"):
        if figures[kind] is not None:
            print_table({name: row[kind] for name, row in rows.items()}, title=kind)
