"""The scorers that compare texts: `static` by the table, `sentence-transformers` by a model, `lexical` by words.

They see all nodes of a type at once, since what is near depends on what else is there.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, overload

from stitch.core.protocols import Embedder
from stitch.core.text_cache import text_cache
from stitch.embed.static import StaticEmbedder
from stitch.errors import require_extra
from stitch.retrieve.path.scorers.absence import absent, denied
from stitch.retrieve.path.scorers.calibration import Calibration, calibration_of, fitted_calibration
from stitch.retrieve.path.scorers.features import features
from stitch.retrieve.path.scorers.population import Space
from stitch.retrieve.path.scorers.populations import Populations, populations_of
from stitch.retrieve.path.scorers.protocol import Judgement, Passage, best_cut
from stitch.retrieve.path.scorers.reading import alternatives
from stitch.retrieve.path.scorers.spaces import EmbeddedSpace, SummedSpace, WordlessSpace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Column = NDArray[np.float64]


class Passages(Sequence[Passage]):
    """Passages that are judged again and again: their hash is worked out once.

    Args:
        passages: In the order of the nodes.
        kin: What passages of other versions of the same tree share: of these, only what is otherwise is read again.
    """

    def __init__(self, passages: Sequence[Passage], *, kin: Hashable = None) -> None:
        self._passages, self.kin = tuple(passages), kin
        self._hash = hash(self._passages)

    @overload
    def __getitem__(self, place: int) -> Passage: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Passage]: ...
    def __getitem__(self, place: int | slice) -> Passage | Sequence[Passage]:
        return self._passages[place]

    def __len__(self) -> int:
        return len(self._passages)

    def __iter__(self) -> Iterator[Passage]:
        return iter(self._passages)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Passages) and self._passages == other._passages)


class SimilarityScorer:
    """Scores by features of how texts are alike, put together by a fitted logistic model.

    Args:
        name: Under which the model was fitted.
        space: Where texts are compared.
        calibration: The model; by default the one that comes with the package.
    """

    relative = True

    def __init__(self, name: str, space: Space, *, calibration: Calibration | None = None) -> None:
        self._name, self.space, self._given = name, space, calibration

    @property
    def name(self) -> str:
        """The scorer, as its calibration is named."""
        return self._name

    def judge(self, condition: str, passages: Sequence[Passage]) -> Judgement:
        """Score passages beside each other."""
        if not passages or not alternatives(condition):
            return Judgement((0.0,) * len(passages))
        return _judged(self, condition, passages if isinstance(passages, Passages) else Passages(passages))

    def with_calibration(self, calibration: Calibration) -> SimilarityScorer:
        """The same scorer with another fit."""
        return SimilarityScorer(self._name, self.space, calibration=calibration)

    def columns(self, condition: str, passages: Sequence[Passage]) -> dict[str, Column]:
        """The features of each passage by name, as a model is fitted on them."""
        kept = passages if isinstance(passages, Passages) else Passages(passages)
        ready, places = _made_ready(self, kept)
        return {name: column[places] for name, column in features(condition, ready).items()}

    def score(self, condition: str, passages: Passages) -> Judgement:
        """Score passages, nothing remembered of the scores."""
        import numpy as np

        ready, places = _made_ready(self, passages)
        probabilities = absent(condition, ready)
        if probabilities is not None:
            if (opposite := denied(condition)) and alternatives(opposite):
                probabilities = np.minimum(probabilities, 1 - self._probabilities(opposite, ready))
            probabilities[ready.empty] = 0.0
            return Judgement(tuple(probabilities[places].tolist()))
        probabilities = self._probabilities(condition, ready)
        probabilities[ready.empty] = 0.0
        scores = tuple(probabilities[places].tolist())
        return Judgement(scores, best_cut(scores))

    def _probabilities(self, condition: str, ready: Populations) -> Column:
        calibration = self._given or calibration_of(self._name)
        return calibration.probabilities(features(condition, ready))


@text_cache(maxsize=512)
def _judged(scorer: SimilarityScorer, condition: str, passages: Passages) -> Judgement:
    return scorer.score(condition, passages)


@text_cache(maxsize=64)
def _made_ready(scorer: SimilarityScorer, passages: Passages) -> tuple[Populations, NDArray[np.intp]]:
    """The different passages, made ready, and which of them each passage is."""
    import numpy as np

    numbers: dict[Passage, int] = {}
    places = np.array([numbers.setdefault(passage, len(numbers)) for passage in passages], np.intp)
    kin = _kin(scorer, passages.kin) if passages.kin is not None else _Kin()
    kin.latest = ready = populations_of(list(numbers), space=scorer.space, beside=kin.latest)
    return ready, places


class _Kin:
    """What was made ready last of passages that are kin."""

    latest: Populations | None = None


@text_cache(maxsize=64)
def _kin(scorer: SimilarityScorer, kin: Hashable) -> _Kin:
    return _Kin()


def static_scorer(embedder: StaticEmbedder | None = None) -> SimilarityScorer:
    """The default: the table of token vectors that comes with the package."""
    return SimilarityScorer("static", SummedSpace(embedder or StaticEmbedder()))


def embedder_scorer(embedder: Embedder) -> SimilarityScorer:
    """Any embedder, such as a Sentence Transformer, with its own calibration if it was fitted.

    With the table's if not: most features tell how passages stand beside each other, which is alike for all embedders.
    """
    name = f"sentence-transformers {embedder.name}"
    calibration = fitted_calibration(name) or calibration_of("static")
    return SimilarityScorer(name, EmbeddedSpace(embedder), calibration=calibration)


def minilm_scorer(model: str | None = None) -> SimilarityScorer:
    """MiniLM by ONNX Runtime, with a calibration of its own.

    Args:
        model: Its folder, or its name in the local cache; by default what the extra `neural` brings.

    Raises:
        SettingsError: The extra is not installed.
    """
    require_extra("neural", package="onnxruntime", needed_by="the scorer 'minilm'")
    from stitch.embed import MiniLMEmbedder

    return SimilarityScorer("minilm", EmbeddedSpace(MiniLMEmbedder(model)))


def lexical_scorer() -> SimilarityScorer:
    """Words in common and kinds of things in common; no vectors."""
    return SimilarityScorer("lexical", WordlessSpace())
