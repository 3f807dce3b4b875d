"""The calibration of the scorers of path queries: `python -m stitch.bench.fit paths --data DIR --data DIR [--write]`.

For each condition in words that was judged, every node of its type is an example. A logistic model over the features of
a scorer is fitted, each condition with the root of its number of nodes as weight. Figures are of each domain by a fit
on the others. Conditions of our own (`own_sets`) take part in every fit, and no figure is told of them.
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
from stitch.retrieve.path.scorers.similarity import WEIGHTS, Calibration
from stitch.retrieve.path.semantics import passages_of

Column = NDArray[np.float64]

STRENGTH = 0.003
"""The inverse of the ridge; of .1 to .001 the best over domains."""
_FEW_STRENGTH = 0.2
"""The same of the scorer by words, which has few features."""


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


Domains = Mapping[str, list[Example]]


def fits_without(domains: Domains, *, beside: Sequence[Example], strength: float = STRENGTH) -> dict[str, Calibration]:
    """Leave-one-out fits: for each domain a model fitted on all others, and on the examples beside."""

    def fitted(others: Domains) -> Calibration:
        return fit([*(example for own in others.values() for example in own), *beside], strength=strength)

    return {name: model for name, _, model in left_out(domains, fitted)}


def judged_by(scorer: SimilarityScorer, domains: Domains, models: Mapping[str, Calibration]) -> Iterator[Judged]:
    """Examples as judged by models that did not see them."""
    for name, own in domains.items():
        for each in own:
            said = scorer.with_calibration(models[name]).judge(each.gold.condition, each.passages)
            yield Judged(each, np.array(said.scores), said.cut)


def _tell(what: str, judged: Sequence[Judged]) -> None:
    domains: dict[str, list[float]] = {}
    for each in judged:
        if each.example.right.any():
            domains.setdefault(each.example.domain, []).append(each.f1)
    by_domain = ", ".join(f"{domain} {mean(f1s).value:.3f}" for domain, f1s in sorted(domains.items()))
    click.echo(f"{what}: F1 {mean([f1 for f1s in domains.values() for f1 in f1s]).value:.3f} ({by_domain})")


def _fitted(name: str, scorer: SimilarityScorer, domains: Sequence[TreeSet]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The fit of a scorer, and by domain the fit on all others, as JSON; figures are printed."""
    by_domain = {domain.name: examples_of(domain, scorer) for domain in domains}
    beside = [example for domain in own_sets() for example in examples_of(domain, scorer)]
    strength = _FEW_STRENGTH if name == "lexical" else STRENGTH
    apart = fits_without(by_domain, beside=beside, strength=strength)
    _tell(f"{name}: domains left out", list(judged_by(scorer, by_domain, apart)))
    every = [example for own in by_domain.values() for example in own]
    return fit(every + beside, strength=strength).as_json(), {name: own.as_json() for name, own in apart.items()}


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
    """Fit the scorers of path queries, and tell how they do on domains left out."""
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
