"""The calibration of the scorers of path queries: `python -m stitch.bench.fit paths --data DIR --data DIR [--write]`.

For each condition in words that was judged, every node of its type is an example. A logistic model over the features of
a scorer is fitted, each condition with the root of its number of nodes as weight. Figures are of conditions that took
no part in the fit: eight folds, conditions alike kept together, and each domain by a fit on the others. Conditions of
our own (`own_sets`) take part in every fit, and no figure is told of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
from numpy.typing import NDArray

from stitch.bench.fit.solvers import left_out, logistic
from stitch.bench.metrics.scores import mean
from stitch.bench.trees.sets import SemanticGold, TreeSet, leaves, load_tree_set, own_sets
from stitch.bench.trees.suite import LEFT_OUT
from stitch.errors import InputError
from stitch.retrieve.path.forest import VERSION
from stitch.retrieve.path.scorers import SimilarityScorer, scorer_named
from stitch.retrieve.path.scorers.protocol import Passages
from stitch.retrieve.path.scorers.reading import asked_words
from stitch.retrieve.path.scorers.similarity import WEIGHTS, Calibration
from stitch.retrieve.path.semantics import passages_of
from stitch.text.kinds import singular_stem

Column = NDArray[np.float64]

STRENGTH = 0.003
"""The inverse of the ridge; of .1 to .001 the best by folds and over domains."""
STRENGTHS = {"lexical": 0.2}
"""The same of a scorer with few features."""
FOLDS = 8
_SAME_SHARE = 0.5


class Example(NamedTuple):
    """A condition with the features of all nodes of its type."""

    domain: str
    gold: SemanticGold
    passages: Passages
    columns: dict[str, Column]
    right: Column
    counts: NDArray[np.bool_]
    """Whether a node counts; of some it is unclear."""


def examples_of(domain: TreeSet, scorer: SimilarityScorer) -> list[Example]:
    """The judged conditions of a domain; those on versions are left out, they are but a handful."""
    found = []
    for gold in (gold for gold in domain.judgements if gold.type != VERSION):
        nodes = leaves(domain.tree) if gold.type == "*" else [node for node in domain.tree if node.type == gold.type]
        target = gold.field if gold.field in ("node", "own") else f"@{gold.field}"
        passages = passages_of(domain.tree, [domain.tree.position(node.id) for node in nodes], target=target)
        right = np.array([float(node.id in gold.yes) for node in nodes])
        counts = np.array([node.id not in gold.borderline for node in nodes])
        columns = scorer.columns(gold.condition, passages)
        found.append(Example(domain.name, gold, passages, columns, right, counts))
    return found


def fit(examples: Sequence[Example], *, strength: float = STRENGTH) -> Calibration:
    """A logistic model over the scaled features."""
    names = list(examples[0].columns)
    rows = np.vstack([np.column_stack([each.columns[name][each.counts] for name in names]) for each in examples])
    right = np.concatenate([each.right[each.counts] for each in examples])
    weights = np.concatenate([np.full(int(each.counts.sum()), len(each.right) ** -0.5) for each in examples])
    means, deviations = rows.mean(axis=0), rows.std(axis=0)
    used = np.flatnonzero(deviations > 1e-9)
    scaled = np.clip((rows[:, used] - means[used]) / deviations[used], -3, 3)
    found, bias = logistic(scaled, right, counts=weights / weights.mean(), ridge=1 / strength, intercept=True)
    terms = [
        (names[place], float(means[place]), float(deviations[place]), float(weight))
        for place, weight in zip(used, found, strict=True)
    ]
    return Calibration(bias, terms)


class Judged(NamedTuple):
    """An example and what a scorer says of it that was fitted without it."""

    example: Example
    scores: Column
    cut: float

    @property
    def f1(self) -> float:
        """From the cut of the scorer on."""
        kept = (self.scores >= self.cut) & self.example.counts
        right = (self.example.right > 0) & self.example.counts
        return 2 * float((kept & right).sum()) / max(1.0, float(kept.sum() + right.sum()))


Folds = Mapping[str, list[Example]]
Fits = list[tuple[list[Example], Calibration]]
"""Examples of a fold, with what was fitted on the others."""


def folds_of(examples: Sequence[Example]) -> Folds:
    """The examples in eight folds; conditions that share a word, or most of their nodes, stay together."""
    names: dict[int, int] = {}
    for place, example in enumerate(examples):
        same = {names[other] for other in range(place) if _same(example.gold, examples[other].gold)}
        root = min((names[other] for other in range(place) if names[other] in same), default=place)
        names = {each: root if name in same else name for each, name in names.items()} | {place: root}
    groups = sorted(set(names.values()))
    folds: dict[str, list[Example]] = {}
    for place, example in enumerate(examples):
        folds.setdefault(str(groups.index(names[place]) % FOLDS), []).append(example)
    return dict(sorted(folds.items()))


def _same(one: SemanticGold, other: SemanticGold) -> bool:
    stems = [{singular_stem(word) for word in asked_words(gold.condition)} for gold in (one, other)]
    together = len(one.yes | other.yes)
    return bool(stems[0] & stems[1]) or (together > 0 and len(one.yes & other.yes) / together > _SAME_SHARE)


def fits_without(folds: Folds, *, beside: Sequence[Example] = (), strength: float = STRENGTH) -> Fits:
    """Each fold with a model fitted on all others, and on what stands beside."""

    def fitted(others: Folds) -> Calibration | None:
        rest = [example for fold in others.values() for example in fold] + list(beside)
        return fit(rest, strength=strength) if rest else None

    return [(fold, model) for _, fold, model in left_out(folds, fitted) if model is not None]


def judged_by(scorer: SimilarityScorer, fits: Fits) -> Iterator[Judged]:
    """Examples as judged by models that did not see them."""
    for fold, model in fits:
        for each in fold:
            said = scorer.with_calibration(model).judge(each.gold.condition, each.passages)
            yield Judged(each, np.array(said.scores), said.cut)


def reliability(judged: Sequence[Judged]) -> list[tuple[float, int, float]]:
    """Of scores of a tenth, how many there are, and which share of them is right."""
    scores = np.concatenate([each.scores[each.example.counts] for each in judged])
    right = np.concatenate([each.example.right[each.example.counts] for each in judged])
    tenths = (scores * 10).astype(int).clip(0, 9)
    return [
        (tenth / 10, int((tenths == tenth).sum()), float(right[tenths == tenth].mean()))
        for tenth in sorted(set(tenths.tolist()))
    ]


def _tell(what: str, judged: Sequence[Judged]) -> None:
    domains: dict[str, list[float]] = {}
    for each in judged:
        if each.example.right.any():
            domains.setdefault(each.example.domain, []).append(each.f1)
    by_domain = ", ".join(f"{domain} {mean(f1s).value:.3f}" for domain, f1s in sorted(domains.items()))
    click.echo(f"{what}: F1 {mean([f1 for f1s in domains.values() for f1 in f1s]).value:.3f} ({by_domain})")


def _fitted(name: str, scorer: SimilarityScorer, domains: Sequence[TreeSet]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The fit of a scorer, and models by which the sets of the fit are judged, as JSON; figures are printed."""
    by_domain = {domain.name: examples_of(domain, scorer) for domain in domains}
    examples = [example for own in by_domain.values() for example in own]
    beside = [example for domain in own_sets() for example in examples_of(domain, scorer)]
    strength = STRENGTHS.get(name, STRENGTH)
    folded = fits_without(folds_of(examples), beside=beside, strength=strength)
    apart = fits_without(by_domain, beside=beside, strength=strength)
    judged = list(judged_by(scorer, folded))
    _tell(f"{name}: conditions left out", judged)
    for low, count, share in reliability(judged):
        click.echo(f"  {low:.1f} to {low + 0.1:.1f}: {count:5} nodes, {share:.2f} of them right")
    if len(domains) > 1:
        _tell(f"{name}: domains left out", list(judged_by(scorer, apart)))
    conditions: dict[str, dict[str, int]] = {}
    for number, (fold, _) in enumerate(folded):
        for example in fold:
            conditions.setdefault(example.domain, {})[example.gold.condition] = number
    without = {
        "models": [model.as_json() for _, model in folded],
        "conditions": conditions,
        "domains": {fold[0].domain: model.as_json() for fold, model in apart},
    }
    return fit(examples + beside, strength=strength).as_json(), without


@click.command()
@click.option("--data", multiple=True, required=True, type=click.Path(path_type=Path), help="Folder of a domain.")
@click.option(
    "--scorer",
    "scorers",
    metavar="NAME[:MODEL]",
    multiple=True,
    default=("static", "lexical"),
    help="Which to fit; behind a colon its model: sentence-transformers:FOLDER.  [default: static, lexical]",
)
@click.option("--write", is_flag=True, help="Write the fit on all conditions.")
def command(data: Sequence[Path], scorers: Sequence[str], write: bool) -> None:
    """Fit the scorers of path queries, and tell how they do on conditions left out."""
    domains = [load_tree_set(folder) for folder in data]
    made, without = (json.loads(file.read_text(encoding="utf-8")) for file in (WEIGHTS, LEFT_OUT))
    for said in scorers:
        kind, _, model_name = said.partition(":")
        scorer = scorer_named(kind, model=model_name or None)
        if not isinstance(scorer, SimilarityScorer):
            raise InputError(f"the scorer {kind!r} has nothing to fit", hint="name static, lexical or minilm")
        made["scorers"][scorer.name], without[scorer.name] = _fitted(scorer.name, scorer, domains)
    if write:
        WEIGHTS.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
        LEFT_OUT.write_text(json.dumps(without) + "\n", encoding="utf-8")
        click.echo(f"written: {WEIGHTS}, {LEFT_OUT}")
