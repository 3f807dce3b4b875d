"""Fit the scorers of path queries: `python -m stitch.bench.fit paths --data DIR --data DIR [--write]`.

For each condition in words that was judged, every node of its type is an example. A logistic model over the features of
`retrieve/path/scorers/features.py` is fitted, or over what a model says by itself (`--scorer nli:FOLDER`), each
condition with the root of its number of nodes as weight. What is told was judged on conditions that took no part in the
fit: eight folds, conditions alike kept together, and each domain by a fit on the others. Conditions of our own
(`own_sets`) take part in every fit, and no figure is told of them. `--write` writes the fit on all. Of a scorer that is
not fitted, `exact`, it is told how right it is.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

import click

from stitch.bench.metrics.scores import mean
from stitch.bench.trees.own_sets import OwnSet, own_sets
from stitch.bench.trees.sets import SemanticGold, TreeSet, leaves, load_tree_set
from stitch.errors import StitchError
from stitch.lm import LanguageModel
from stitch.retrieve.path.scorers import scorer_named
from stitch.retrieve.path.scorers.calibration import WEIGHTS, Calibration, Term, as_json, fitted_name
from stitch.retrieve.path.scorers.pointwise import PointwiseScorer
from stitch.retrieve.path.scorers.protocol import Judgement, Passage, Scorer
from stitch.retrieve.path.scorers.reading import asked_words
from stitch.retrieve.path.scorers.similarity import Passages, SimilarityScorer
from stitch.retrieve.path.semantics import passages_of
from stitch.retrieve.path.versions import VERSION
from stitch.text.kinds import singular_stem

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Column = NDArray[np.float64]

STRENGTH = 0.003
"""How far the data may move the weights from nothing; of .1 to .001 the best by folds and over domains."""
FOLDS = 8
LEFT_OUT = Path(__file__).parent / "left_out.json"
"""Models by which `stitch bench trees` judges the sets of the fit: on conditions that took no part in theirs."""
_SAME = 0.5


class Fitted(Protocol):
    """A scorer that a logistic model makes of columns."""

    @property
    def name(self) -> str:
        """The scorer with its model."""
        ...

    def columns(self, condition: str, passages: Sequence[Passage]) -> dict[str, Column]:
        """The features of each passage by name."""
        ...

    def judge(self, condition: str, passages: Sequence[Passage]) -> Judgement:
        """Score passages."""
        ...

    def with_calibration(self, calibration: Calibration) -> Fitted:
        """The same scorer with another fit."""
        ...


def scorer_of(said: str) -> Scorer:
    """A scorer as commands name it, `nli:FOLDER`; of `model`, what stands behind the colon is asked.

    Raises:
        SettingsError: There is none of this name, or what it needs is missing.
    """
    kind, _, model = said.partition(":")
    asked = LanguageModel(model) if kind == "model" and model else None
    return scorer_named(kind, model=model or None, language_model=asked)


class Example(NamedTuple):
    """A condition with the features of all nodes of its type."""

    domain: str
    gold: SemanticGold
    passages: Passages
    columns: dict[str, Column]
    right: Column
    counts: NDArray[np.bool_]
    """Whether a node counts; of some it is unclear."""


def examples_of(domain: TreeSet | OwnSet, scorer: Fitted | None) -> list[Example]:
    """The judged conditions of a domain; those on versions are left out, they are but a handful."""
    import numpy as np

    found = []
    for gold in domain.judgements:
        if gold.type == VERSION:
            continue
        nodes = leaves(domain.tree) if gold.type == "*" else [node for node in domain.tree if node.type == gold.type]
        target = gold.field if gold.field in ("node", "own") else f"@{gold.field}"
        passages = passages_of(domain.tree, [domain.tree.position(node.id) for node in nodes], target=target)
        found.append(
            Example(
                domain.name,
                gold,
                passages,
                {} if scorer is None else scorer.columns(gold.condition, passages),
                np.array([float(node.id in gold.yes) for node in nodes]),
                np.array([node.id not in gold.borderline for node in nodes]),
            )
        )
    return found


def fit(examples: Sequence[Example], *, strength: float = STRENGTH) -> Calibration:
    """A logistic model, by Newton's method."""
    import numpy as np

    names = list(examples[0].columns)
    rows = np.vstack([np.column_stack([each.columns[name][each.counts] for name in names]) for each in examples])
    right = np.concatenate([each.right[each.counts] for each in examples])
    weights = np.concatenate([np.full(int(each.counts.sum()), len(each.right) ** -0.5) for each in examples])
    weights /= weights.mean()
    means, deviations = rows.mean(axis=0), rows.std(axis=0)
    used = deviations > 1e-9
    names, means, deviations = (
        [name for name, kept in zip(names, used, strict=True) if kept],
        means[used],
        deviations[used],
    )
    scaled = np.column_stack([np.ones(len(rows)), np.clip((rows[:, used] - means) / deviations, -3, 3)])
    beta = np.zeros(scaled.shape[1])
    ridge = np.eye(len(beta)) / strength
    ridge[0, 0] = 0
    for _ in range(50):
        said = 1 / (1 + np.exp(-scaled @ beta))
        slope = scaled.T @ (weights * (right - said)) - ridge @ beta
        curve = (scaled * (weights * said * (1 - said))[:, None]).T @ scaled + ridge
        step = np.linalg.solve(curve, slope)
        beta += step
        if float(np.abs(step).max()) < 1e-8:
            break
    terms = tuple(
        Term(name, float(middle), float(deviation), float(weight))
        for name, middle, deviation, weight in zip(names, means, deviations, beta[1:], strict=True)
    )
    return Calibration(float(beta[0]), terms)


class Judged(NamedTuple):
    """An example and what a scorer says of it that was fitted without it."""

    example: Example
    scores: Column
    cut: float

    @property
    def f1(self) -> float:
        """From the cut of the scorer on."""
        kept = self.scores >= self.cut
        counts = self.example.counts
        found = float((kept & counts & (self.example.right > 0)).sum())
        return 2 * found / max(1.0, float((kept & counts).sum() + self.example.right[counts].sum()))


def left_out(
    examples: Sequence[Example],
    group: Callable[[Example], str],
    *,
    folds: int,
    scorer: Fitted,
    beside: Sequence[Example] = (),
) -> list[Judged]:
    """What the scorer says with models that were fitted on the other groups, and on what stands beside."""
    judged: list[Judged] = []
    for fold, model in _folds(examples, group, folds=folds, beside=beside):
        unseen = scorer.with_calibration(model)
        judged += [judged_by(unseen, example) for example in fold]
    return judged


def judged_by(scorer: Fitted | Scorer, example: Example) -> Judged:
    """What a scorer says of an example."""
    said = scorer.judge(example.gold.condition, example.passages)
    return Judged(example, _column(said.scores), said.cut)


def _column(scores: Sequence[float]) -> Column:
    """Scores as a column."""
    import numpy as np

    return np.array(scores)


def _folds(
    examples: Sequence[Example], group: Callable[[Example], str], *, folds: int, beside: Sequence[Example] = ()
) -> Iterator[tuple[list[Example], Calibration]]:
    """Examples of some groups, and a model fitted on those of all others and on what stands beside."""
    groups = sorted({group(example) for example in examples})
    for fold in range(min(folds, len(groups))):
        out = set(groups[fold :: min(folds, len(groups))])
        rest = [example for example in examples if group(example) not in out] + list(beside)
        if rest:
            yield [example for example in examples if group(example) in out], fit(rest)


def alike(examples: Sequence[Example]) -> Callable[[Example], str]:
    """Which conditions stay together: those that share a word, or most of their nodes."""
    names: dict[int, int] = {}
    for place, example in enumerate(examples):
        same = [other for other in range(place) if _same(example.gold, examples[other].gold)]
        root = min((names[other] for other in same), default=place)
        for other in same:
            old = names[other]
            names |= {each: root for each, name in names.items() if name == old}
        names[place] = root
    by_condition = {id(example): f"{names[place]:03}" for place, example in enumerate(examples)}
    return lambda example: by_condition[id(example)]


def _same(one: SemanticGold, other: SemanticGold) -> bool:
    stems = [{singular_stem(word) for word in asked_words(gold.condition)} for gold in (one, other)]
    together = len(one.yes | other.yes)
    return bool(stems[0] & stems[1]) or (together > 0 and len(one.yes & other.yes) / together > _SAME)


def reliability(judged: Sequence[Judged]) -> list[tuple[float, int, float]]:
    """Of scores of a tenth, how many there are, and which share of them is right."""
    import numpy as np

    scores = np.concatenate([each.scores[each.example.counts] for each in judged])
    right = np.concatenate([each.example.right[each.example.counts] for each in judged])
    found = []
    for tenth in range(10):
        inside = (scores * 10).astype(int).clip(0, 9) == tenth
        if inside.any():
            found.append((tenth / 10, int(inside.sum()), float(right[inside].mean())))
    return found


def _tell(curve: Sequence[tuple[float, int, float]]) -> None:
    for low, count, share in curve:
        click.echo(f"  {low:.1f} to {low + 0.1:.1f}: {count:5} nodes, {share:.2f} of them right")


def _told(judged: Sequence[Judged]) -> str:
    asked = [each for each in judged if each.example.right.any()]
    domains = sorted({each.example.domain for each in asked})
    by_domain = ", ".join(
        f"{domain} {mean([each.f1 for each in asked if each.example.domain == domain]).value:.3f}" for domain in domains
    )
    return f"F1 {mean([each.f1 for each in asked]).value:.3f} ({by_domain})"


def _without(examples: Sequence[Example], beside: Sequence[Example]) -> dict[str, object]:
    """Models for judging the sets of the fit: of a condition one that did not see it, of a domain one without it."""
    group = alike(examples)
    conditions: dict[str, dict[str, int]] = {}
    models: list[object] = []
    for number, (fold, model) in enumerate(_folds(examples, group, folds=FOLDS, beside=beside)):
        models.append(as_json(model.bias, model.terms))
        for example in fold:
            conditions.setdefault(example.domain, {})[example.gold.condition] = number
    domains = {}
    for fold, model in _folds(examples, lambda each: each.domain, folds=99, beside=beside):
        domains[fold[0].domain] = as_json(model.bias, model.terms)
    return {"models": models, "conditions": conditions, "domains": domains}


def _tell_of_fit(
    name: str, examples: Sequence[Example], beside: Sequence[Example], *, scorer: Fitted, apart: bool, conditions: bool
) -> None:
    """Tell how fits do on what they did not see: conditions, and whole domains; and how sure they are."""
    folded = left_out(examples, alike(examples), folds=FOLDS, scorer=scorer, beside=beside)
    click.echo(f"{name}: conditions left out: {_told(folded)}")
    if apart:
        domains = left_out(examples, lambda each: each.domain, folds=99, scorer=scorer, beside=beside)
        click.echo(f"{name}: domains left out: {_told(domains)}")
    _tell(reliability(folded))
    for each in sorted(folded, key=lambda each: each.f1) if conditions else ():
        click.echo(f"  {each.f1:.2f} {each.example.domain} {each.example.gold.condition}")


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
    made = json.loads(WEIGHTS.read_text(encoding="utf-8")) if WEIGHTS.exists() else {"scorers": {}}
    without = json.loads(LEFT_OUT.read_text(encoding="utf-8")) if LEFT_OUT.exists() else {}
    for scorer in map(scorer_of, scorers):
        name = fitted_name(scorer.name)
        if not isinstance(scorer, SimilarityScorer | PointwiseScorer):
            judged = [judged_by(scorer, each) for domain in domains for each in examples_of(domain, None)]
            click.echo(f"{name}: not fitted: {_told(judged)}")
            _tell(reliability(judged))
            continue
        examples = [example for domain in domains for example in examples_of(domain, scorer)]
        beside = [example for domain in own_sets() for example in examples_of(domain, scorer)]
        _tell_of_fit(name, examples, beside, scorer=scorer, apart=len(domains) > 1, conditions=conditions)
        model = fit(examples + beside)
        made["scorers"][name] = as_json(model.bias, model.terms)
        without[name] = _without(examples, beside)
    if write:
        WEIGHTS.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
        LEFT_OUT.write_text(json.dumps(without) + "\n", encoding="utf-8")
        click.echo(f"written: {WEIGHTS}, {LEFT_OUT}")


if __name__ == "__main__":
    try:
        command(standalone_mode=False)
    except StitchError as error:
        sys.stderr.write(f"error: {error.message}\n")
        raise SystemExit(error.exit_code) from None
