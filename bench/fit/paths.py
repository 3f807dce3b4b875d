"""The calibration of the scorers of path queries: `python -m stitch.bench.fit paths --data DIR --data DIR [--write]`.

For each condition in words that was judged, every node of its type is an example. A logistic model over the features of
a scorer is fitted, or over what a model says by itself (`--scorer nli:FOLDER`), each condition with the root of its
number of nodes as weight. Figures are of conditions that took no part in the fit: eight folds, conditions alike kept
together, and each domain by a fit on the others. Conditions of our own (`bench.trees.own_sets`) take part in every fit,
and no figure is told of them. Of a scorer that is not fitted, `exact`, it is told how right it is.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from stitch.bench.metrics.scores import mean
from stitch.bench.trees.own_sets import own_sets
from stitch.bench.trees.sets import JudgedSet, SemanticGold, TreeSet, leaves, load_tree_set
from stitch.bench.trees.suite import LEFT_OUT
from stitch.lm import LanguageModel
from stitch.retrieve.path.forest import VERSION
from stitch.retrieve.path.scorers import SimilarityScorer, scorer_named
from stitch.retrieve.path.scorers.models import PointwiseScorer
from stitch.retrieve.path.scorers.protocol import Passages, Scorer
from stitch.retrieve.path.scorers.reading import asked_words
from stitch.retrieve.path.scorers.similarity import WEIGHTS, Calibration, fitted_name
from stitch.retrieve.path.semantics import passages_of
from stitch.text.kinds import singular_stem

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Column = NDArray[np.float64]
    Fitted = SimilarityScorer | PointwiseScorer

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


def examples_of(domain: JudgedSet, scorer: Fitted | None) -> list[Example]:
    """The judged conditions of a domain; those on versions are left out, they are but a handful."""
    import numpy as np

    found = []
    for gold in domain.judgements:
        if gold.type == VERSION:
            continue
        nodes = leaves(domain.tree) if gold.type == "*" else [node for node in domain.tree if node.type == gold.type]
        target = gold.field if gold.field in ("node", "own") else f"@{gold.field}"
        passages = passages_of(domain.tree, [domain.tree.position(node.id) for node in nodes], target=target)
        columns = {} if scorer is None else scorer.columns(gold.condition, passages)
        right = np.array([float(node.id in gold.yes) for node in nodes])
        counts = np.array([node.id not in gold.borderline for node in nodes])
        found.append(Example(domain.name, gold, passages, columns, right, counts))
    return found


def fit(examples: Sequence[Example], *, strength: float = STRENGTH) -> Calibration:
    """A logistic model over the scaled features."""
    import numpy as np
    from sklearn.linear_model import LogisticRegression

    names = list(examples[0].columns)
    rows = np.vstack([np.column_stack([each.columns[name][each.counts] for name in names]) for each in examples])
    right = np.concatenate([each.right[each.counts] for each in examples])
    weights = np.concatenate([np.full(int(each.counts.sum()), len(each.right) ** -0.5) for each in examples])
    means, deviations = rows.mean(axis=0), rows.std(axis=0)
    used = np.flatnonzero(deviations > 1e-9)
    scaled = np.clip((rows[:, used] - means[used]) / deviations[used], -3, 3)
    model = LogisticRegression(C=strength, tol=1e-8, max_iter=1_000)
    model.fit(scaled, right, sample_weight=weights / weights.mean())
    terms = [
        (names[place], float(means[place]), float(deviations[place]), float(weight))
        for place, weight in zip(used, model.coef_[0], strict=True)
    ]
    return Calibration(float(model.intercept_[0]), terms)


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


def left_out(
    examples: Sequence[Example],
    group: Callable[[Example], str],
    *,
    folds: int,
    scorer: Fitted,
    beside: Sequence[Example] = (),
) -> list[Judged]:
    """Examples as judged by models that were fitted on the other groups, and on what stands beside."""
    pairs = _folds(examples, group, folds=folds, beside=beside, strength=STRENGTHS.get(scorer.name, STRENGTH))
    return [judged_by(scorer.with_calibration(model), example) for fold, model in pairs for example in fold]


def judged_by(scorer: Scorer, example: Example) -> Judged:
    """An example as a scorer judges it."""
    import numpy as np

    said = scorer.judge(example.gold.condition, example.passages)
    return Judged(example, np.array(said.scores), said.cut)


def _folds(
    examples: Sequence[Example],
    group: Callable[[Example], str],
    *,
    folds: int,
    beside: Sequence[Example],
    strength: float,
) -> Iterator[tuple[list[Example], Calibration]]:
    """Examples of some groups, and a model fitted on those of all others and on what stands beside."""
    groups = sorted({group(example) for example in examples})
    for fold in range(min(folds, len(groups))):
        out = set(groups[fold :: min(folds, len(groups))])
        rest = [example for example in examples if group(example) not in out] + list(beside)
        if rest:
            yield [example for example in examples if group(example) in out], fit(rest, strength=strength)


def alike(examples: Sequence[Example]) -> Callable[[Example], str]:
    """The groups of conditions that stay together: those that share a word, or most of their nodes."""
    names: dict[int, int] = {}
    for place, example in enumerate(examples):
        same = [other for other in range(place) if _same(example.gold, examples[other].gold)]
        root = min((names[other] for other in same), default=place)
        joined = {names[other] for other in same}
        names = {each: root if name in joined else name for each, name in names.items()} | {place: root}
    by_condition = {id(example): f"{names[place]:03}" for place, example in enumerate(examples)}
    return lambda example: by_condition[id(example)]


def _same(one: SemanticGold, other: SemanticGold) -> bool:
    stems = [{singular_stem(word) for word in asked_words(gold.condition)} for gold in (one, other)]
    together = len(one.yes | other.yes)
    return bool(stems[0] & stems[1]) or (together > 0 and len(one.yes & other.yes) / together > _SAME_SHARE)


def reliability(judged: Sequence[Judged]) -> list[tuple[float, int, float]]:
    """Of scores of a tenth, how many there are, and which share of them is right."""
    import numpy as np

    scores = np.concatenate([each.scores[each.example.counts] for each in judged])
    right = np.concatenate([each.example.right[each.example.counts] for each in judged])
    tenths = (scores * 10).astype(int).clip(0, 9)
    return [
        (tenth / 10, int((tenths == tenth).sum()), float(right[tenths == tenth].mean()))
        for tenth in sorted(set(tenths.tolist()))
    ]


def _tell(what: str, judged: Sequence[Judged], *, curve: bool = True) -> None:
    asked = [each for each in judged if each.example.right.any()]
    by_domain = ", ".join(
        f"{domain} {mean([each.f1 for each in asked if each.example.domain == domain]).value:.3f}"
        for domain in sorted({each.example.domain for each in asked})
    )
    click.echo(f"{what}: F1 {mean([each.f1 for each in asked]).value:.3f} ({by_domain})")
    for low, count, share in reliability(judged) if curve else ():
        click.echo(f"  {low:.1f} to {low + 0.1:.1f}: {count:5} nodes, {share:.2f} of them right")


def _without(examples: Sequence[Example], beside: Sequence[Example], *, strength: float) -> dict[str, Any]:
    """Models for judging the sets of the fit: of a condition one that did not see it, of a domain one without it."""
    conditions: dict[str, dict[str, int]] = {}
    models: list[object] = []
    for number, (fold, model) in enumerate(
        _folds(examples, alike(examples), folds=FOLDS, beside=beside, strength=strength)
    ):
        models.append(model.as_json())
        for example in fold:
            conditions.setdefault(example.domain, {})[example.gold.condition] = number
    by_domain = _folds(examples, lambda each: each.domain, folds=99, beside=beside, strength=strength)
    domains = {fold[0].domain: model.as_json() for fold, model in by_domain}
    return {"models": models, "conditions": conditions, "domains": domains}


@click.command()
@click.option("--data", multiple=True, required=True, type=click.Path(path_type=Path), help="Folder of a domain.")
@click.option(
    "--scorer",
    "scorers",
    metavar="NAME[:MODEL]",
    multiple=True,
    default=("static", "lexical"),
    help="Which to fit; behind a colon the model of one that needs it: nli:FOLDER.  [default: static, lexical]",
)
@click.option("--write", is_flag=True, help="Write the fit on all conditions.")
@click.option("--conditions", is_flag=True, help="Tell the F1 of each condition.")
def command(data: Sequence[Path], scorers: Sequence[str], write: bool, conditions: bool) -> None:
    """Fit the scorers of path queries, and tell how they do on conditions left out."""
    domains = [load_tree_set(folder) for folder in data]
    made, without = (json.loads(file.read_text(encoding="utf-8")) for file in (WEIGHTS, LEFT_OUT))
    for said in scorers:
        kind, _, model_name = said.partition(":")
        asked = LanguageModel(model_name) if kind == "model" and model_name else None
        scorer = scorer_named(kind, model=model_name or None, language_model=asked)
        name = fitted_name(scorer.name)
        if isinstance(scorer, SimilarityScorer | PointwiseScorer):
            made["scorers"][name], without[name] = _fitted(name, scorer, domains, conditions=conditions)
        else:
            judged = [judged_by(scorer, each) for domain in domains for each in examples_of(domain, None)]
            _tell(f"{name}: not fitted", judged)
    if write:
        WEIGHTS.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
        LEFT_OUT.write_text(json.dumps(without) + "\n", encoding="utf-8")
        click.echo(f"written: {WEIGHTS}, {LEFT_OUT}")


def _fitted(
    name: str, scorer: Fitted, domains: Sequence[TreeSet], *, conditions: bool
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The fit of a scorer and its models that left something out, as JSON; figures are printed."""
    examples = [example for domain in domains for example in examples_of(domain, scorer)]
    beside = [example for domain in own_sets() for example in examples_of(domain, scorer)]
    folded = left_out(examples, alike(examples), folds=FOLDS, scorer=scorer, beside=beside)
    _tell(f"{name}: conditions left out", folded)
    if len(domains) > 1:
        apart = left_out(examples, lambda each: each.domain, folds=99, scorer=scorer, beside=beside)
        _tell(f"{name}: domains left out", apart, curve=False)
    for each in sorted(folded, key=lambda each: each.f1) if conditions else ():
        click.echo(f"  {each.f1:.2f} {each.example.domain} {each.example.gold.condition}")
    strength = STRENGTHS.get(name, STRENGTH)
    return fit(examples + beside, strength=strength).as_json(), _without(examples, beside, strength=strength)
