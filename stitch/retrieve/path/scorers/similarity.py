"""The scorers that compare texts: `static` by the table, `lexical` by words, others by an embedder.

Nearness and common words are told three times: as they are, below the best passage, and that in standard deviations,
for a raw cosine has no common zero between conditions. A fitted logistic model makes a probability of them. All nodes
of a type are seen at once.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from stitch.core.protocols import Embedder
from stitch.core.text_cache import text_cache
from stitch.embed.static import StaticEmbedder
from stitch.retrieve.path.scorers.population import PassageIndex, Population
from stitch.retrieve.path.scorers.protocol import Judgement, Passage, Passages
from stitch.retrieve.path.scorers.reading import alternatives, asked_words, denied, names_one, ruled_out
from stitch.text.kinds import kinds_of, singular_stem

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Column = NDArray[np.float64]

WEIGHTS = Path(__file__).parent / "weights.json"
_MOST_DEVIATIONS = 3.0
"""No feature is taken for further from its mean: other trees have other ranges."""
_FREE, _HOLDS = 0.8, 0.03
"""The score of absence of a thing that is not named, and of one that is."""


class Calibration(NamedTuple):
    """A logistic model over features."""

    bias: float
    terms: Sequence[tuple[str, float, float, float]]
    """Of each feature its name, mean, standard deviation and weight."""

    def probabilities(self, columns: Mapping[str, Column]) -> Column:
        """The probability that each passage fulfils the condition."""
        import numpy as np

        said: Column | float = self.bias
        for name, mean, deviation, weight in self.terms:
            said = said + weight * np.clip((columns[name] - mean) / deviation, -_MOST_DEVIATIONS, _MOST_DEVIATIONS)
        return np.asarray(1 / (1 + np.exp(-np.asarray(said))))

    def as_json(self) -> dict[str, Any]:
        """As it stands in `weights.json`."""
        terms = [[name, *(round(value, 4) for value in values)] for name, *values in self.terms]
        return {"bias": round(self.bias, 4), "terms": terms}


@text_cache(maxsize=16)
def calibration_of(scorer: str) -> Calibration | None:
    """The fitted model of a scorer, if there is one."""
    made = json.loads(WEIGHTS.read_text(encoding="utf-8"))["scorers"].get(scorer)
    return None if made is None else Calibration(**made)


class SimilarityScorer:
    """Scores by features of how texts are alike.

    Args:
        name: Under which the model was fitted.
        embedder: Compares texts; None for words in common alone.
        calibration: The model; by default the one that comes with the package, else that of the table, for most
            features tell how passages stand beside each other, which is alike for all embedders.
    """

    relative = True

    def __init__(self, name: str, embedder: Embedder | None, *, calibration: Calibration | None = None) -> None:
        self.name, self.embedder = name, embedder
        self._calibration = calibration or calibration_of(name) or calibration_of("static")

    def judge(self, condition: str, passages: Sequence[Passage]) -> Judgement:
        """Score passages beside each other."""
        if not passages or not alternatives(condition):
            return Judgement((0.0,) * len(passages))
        return _judged(self, condition, passages if isinstance(passages, Passages) else Passages(passages))

    def with_calibration(self, calibration: Calibration | None) -> SimilarityScorer:
        """The same scorer with another fit."""
        return SimilarityScorer(self.name, self.embedder, calibration=calibration)

    def columns(self, condition: str, passages: Sequence[Passage]) -> dict[str, Column]:
        """The features of each passage by name, on which a model is fitted. Of alternatives, the better one counts."""
        import numpy as np

        ready = _made_ready(self, passages if isinstance(passages, Passages) else Passages(passages))
        capitals = frozenset(word.lower() for word in re.findall(r"\w+", condition) if word.isupper())
        told = [_told(part, ready, capitals) for part in alternatives(condition)]
        columns: dict[str, Column] = {}
        for name in told[0]:
            best = np.max([each[name] for each in told], axis=0)
            below, deviation = best - best.max(), float(best.std())
            columns |= {name: best, f"{name}_below": below}
            if "common" not in name:
                columns[f"{name}_spread"] = below / deviation if deviation > 1e-9 else below
        return columns

    def score(self, condition: str, passages: Passages) -> Judgement:
        """Score passages, nothing remembered of the scores."""
        import numpy as np

        opposite, kinds = denied(condition), ruled_out(condition)
        absence = bool(opposite or kinds)
        if absence:
            scores = np.full(len(passages), _FREE)
            if kinds:
                scores[[any(names_one(text, kinds) for text in passage.texts) for passage in passages]] = _HOLDS
            elif opposite:
                scores = np.minimum(scores, 1 - self._probabilities(opposite, passages))
        else:
            scores = self._probabilities(condition, passages)
        given = tuple(np.where(_made_ready(self, passages).empty, 0.0, scores).tolist())
        return Judgement(given) if absence else Judgement(given, best_cut(given))

    def _probabilities(self, condition: str, passages: Passages) -> Column:
        assert self._calibration is not None  # the table's comes with the package
        return self._calibration.probabilities(self.columns(condition, passages))


@text_cache(maxsize=512)
def _judged(scorer: SimilarityScorer, condition: str, passages: Passages) -> Judgement:
    return scorer.score(condition, passages)


@text_cache(maxsize=64)
def _made_ready(scorer: SimilarityScorer, passages: Passages) -> Population:
    return Population(passages, index=_index_of(scorer, passages.tree or id(passages)))


@text_cache(maxsize=64)
def _index_of(scorer: SimilarityScorer, tree: str | int) -> PassageIndex:
    """The texts of a tree in any version, under the id of its root."""
    return PassageIndex(scorer.embedder)


def _told(condition: str, ready: Population, capitals: frozenset[str]) -> dict[str, Column]:
    """Nearness of the own text and of the nearest part; and words and kinds of things in common."""
    import numpy as np

    asked = asked_words(condition)
    common = np.zeros((ready.count, len(asked)))
    for place, word in enumerate(asked):
        stem = singular_stem(word)
        common[:, place] = ready.best_term([_named(term, stem) for term in ready.terms])
        if word in capitals or not kinds_of(word):
            common[ready.with_initials(word), place] = 1.0
    rarity = np.log(1 + (ready.count + 0.5) / ((common > 0).sum(axis=0) + 0.5))  # rare words weigh more, as in BM25
    near = ready.nearness(condition) or {"all_common": common.min(axis=1)}  # beside nearness it says nothing more
    return near | {"common": common @ (rarity / rarity.sum())}


def _named(term: str, stem: str) -> float:
    """1 if a term is a word, less if it names a thing of the kind of this word ("legumes" and chickpeas)."""
    return 1.0 if singular_stem(term) == stem else kinds_of(term).get(stem, 0.0)


def best_cut(scores: Sequence[float], *, least: float = 0.2, most: float = 0.5) -> float:
    """The cut with the best expected F1, if scores are probabilities.

    Args:
        scores: Of all nodes that could be meant.
        least: Nothing less likely is ever taken: it may be that nothing is meant.
        most: What is more likely than not is always taken.
    """
    ordered = sorted(scores, reverse=True)
    expected, total, best, cut = 0.0, sum(ordered), 0.0, most
    for place, score in enumerate(ordered, start=1):
        expected += score
        balance = 2 * expected / (place + total) if total else 0.0
        if balance > best:
            best, cut = balance, score
    return min(most, max(least, cut))


def static_scorer() -> SimilarityScorer:
    """The default: the table of token vectors that comes with the package."""
    return SimilarityScorer("static", StaticEmbedder())


def lexical_scorer() -> SimilarityScorer:
    """Words and kinds of things in common; no vectors."""
    return SimilarityScorer("lexical", None)


def embedder_scorer(embedder: Embedder, *, name: str = "") -> SimilarityScorer:
    """Any embedder, such as a Sentence Transformer, with the fit of its name."""
    return SimilarityScorer(name or f"sentence-transformers {embedder.name}", embedder)
