"""`stitch bench drafts`: what the two forms of a window cost and keep, with replies made of gold.

In the place of a model stands one that knows gold: of whole labels it writes each, of a draft what is otherwise. What
gold says nothing of it leaves as local rules have it. So tokens are those of a model that is always right, and labels
show what the forms themselves lose; `--misses` lets it pass over steps, as a middling model does. No model takes part.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from stitch.bench.data.sets import load_labels
from stitch.bench.data.types import GoldLabels, LabeledSet
from stitch.bench.figures import print_json, print_table
from stitch.bench.suites.labels import Intents, label_trajectory, score_intents
from stitch.core import Labeler, Trajectory

if TYPE_CHECKING:
    from dspy import lm15

FORMS = ("local", "windowed", "drafted")


@click.command()
@click.option("--data", required=True, type=click.Path(path_type=Path), help="A file of labeled trajectories.")
@click.option("--limit", type=click.IntRange(min=1), help="Only the first trajectories.")
@click.option("--misses", type=click.FloatRange(0, 1), default=0.0, show_default=True, metavar="SHARE",
              help="Of how many steps nothing is said: the scope before, or the draft, stays.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(data: Path, limit: int | None, misses: float, as_json: bool) -> None:
    """Compare whole labels with corrected drafts: tokens and quality, by replies that are made of gold.

    \b
    Example:
      stitch bench drafts --data star.jsonl.gz --limit 20
    """
    labeled = load_labels(data)
    if limit is not None:
        labeled = replace(labeled, trajectories=labeled.trajectories[:limit])
    figures = {form: measure_form(labeled, form, misses=misses) for form in FORMS}
    if as_json:
        print_json({"set": labeled.name, "steps": labeled.steps, "misses": misses, **figures})
    else:
        print_table(figures, title=f"{labeled.name}: {labeled.steps} steps, replies of gold, {misses:.0%} passed over")


def measure_form(labeled: LabeledSet, form: str, *, misses: float = 0.0) -> dict[str, Any]:
    """Tokens a step and the quality of labels of one form."""
    from stitch.label.local import LocalLabeler
    from stitch.label.model import DraftedLabeler, WindowedLabeler
    from stitch.lm import LanguageModel, Ledger

    ledger = Ledger()
    intents: list[Intents] = []
    for trajectory in labeled.trajectories:
        gold = GoldCompletion(trajectory, labeled.gold.get(trajectory.id, {}), misses=misses)
        model = LanguageModel("gold", completion=gold, ledger=ledger)
        labeler: Labeler = LocalLabeler()
        if form != "local":
            labeler = (DraftedLabeler if form == "drafted" else WindowedLabeler)(model, fallback=LocalLabeler())
        intents.append(label_trajectory(labeler, trajectory))
    spent, scores = ledger.total(), score_intents(labeled, intents)
    return {
        "calls": round(spent.calls / labeled.steps, 4),
        "prompt_tokens": round(spent.prompt_tokens / labeled.steps, 1),
        "reply_tokens": round(spent.reply_tokens / labeled.steps, 1),
        **{
            f"{kind}_{name}": scores[kind][name]
            for kind, name in (("scope", "bcubed_f1"), ("event_type", "v_measure"), ("entity_type", "f1"))
            if scores[kind] is not None
        },
    }


class GoldCompletion:
    """Answers prompts about the windows of one trajectory, in order, from gold.

    Args:
        trajectory: What is labeled.
        gold: Of its steps.
        misses: Of how many of them nothing is said.
    """

    def __init__(self, trajectory: Trajectory, gold: Mapping[str, GoldLabels], *, misses: float) -> None:
        from stitch.label.local import LocalLabeler

        local = LocalLabeler().begin(trajectory.id).label(trajectory.steps)
        drawn = random.Random(trajectory.id)
        self._right: list[dict[str, Any]] = []
        scope = ""
        for step, made in zip(trajectory.steps, local, strict=True):
            own, intent = gold.get(str(step.id), GoldLabels()), made.intent
            missed = drawn.random() < misses
            scope = scope if missed and scope else " / ".join(own.scope) or intent.scope or scope
            self._right.append({
                "missed": missed,
                "scope": scope,
                "events": list((not missed and own.event_types) or intent.event_types),
                "entities": list((not missed and own.entity_types) or intent.entity_types),
                "summary": " ".join(f"{step.role}: {step.content}".split())[:110],
            })  # fmt: skip
        self._position = 0

    def complete(self, request: lm15.Request) -> lm15.Response:
        """Return what gold says of the next window; of names that mean the same, that there are none."""
        from stitch.lm.replies import prompt_of, reply_of
        from stitch.retrieve import PieceCounter

        system, user = prompt_of(request)
        text = json.dumps(self._reply(user), ensure_ascii=False)
        asked, told = (PieceCounter().count(part) for part in (system + user, text))
        return reply_of(text, model=request.model, usage=(asked, told))

    def _reply(self, user: str) -> dict[str, Any]:
        asked = user.rpartition("Respond with")[2]
        if "`synonyms`" in asked:
            return {"synonyms": []}
        quoted = user.rpartition("[[ ## steps ## ]]\n")[2].partition("\n\nRespond with")[0]
        steps = [json.loads(line) for line in quoted.splitlines()]
        right = self._right[self._position : self._position + len(steps)]
        self._position += len(steps)
        if "`changes`" in asked:
            return {"changes": _changes(steps, right)}
        return {"readings": [{"n": n, **_said(own), "references": []} for n, own in enumerate(right, start=1)]}


def _said(right: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in right.items() if name != "missed"}


def _changes(steps: Sequence[Mapping[str, Any]], right: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """What is otherwise than the draft; a scope that is written goes on for the steps behind that are drafted alike."""
    changes, told = [], ""
    for step, own in zip(steps, right, strict=True):
        told = step.get("scope", told)
        if own["missed"]:
            continue
        change = {} if own["scope"] == told else {"scope": own["scope"]}
        told = own["scope"]
        for name in ("events", "entities"):
            if own[name] and own[name] != step.get(name, []):
                change[name] = own[name]
        if change:
            changes.append({"n": step["n"], **change})
    return changes
