"""The chance that a memory has anything to say on a question, and that each hit is what was asked for.

A ranking puts something first even where nothing bears on the question. What tells the two apart is how near the best
hit is in meaning, whether one hit is alike and says the question's rare words, and how many of its words, and of the
names in it, nobody said: other words for a thing are common, other names are not.
Two logistic models read such numbers: one says whether anything bears on the question, one says of each hit, if
anything does, whether it is what was asked for. The chance of a hit is the product of both.

The weights are fitted by `python -m stitch.bench.fit relevance` on public sets, each left out once; how far they carry
stands in `bench/results/relevance.md`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stitch.core import Decision, Embedder, RetrievalResult, Retriever, ScoredSnippet, SearchRequest
from stitch.core.protocols import SnippetReader, WordCounts
from stitch.core.results import WITHHELD, WITHOUT_MODEL
from stitch.embed import StaticEmbedder
from stitch.embed.lexical import index_of
from stitch.errors import ModelError
from stitch.retrieve.context.answer import with_context
from stitch.retrieve.context.quoting import quote
from stitch.retrieve.context.stopping import leading
from stitch.retrieve.kinds import running
from stitch.retrieve.question import is_courtesy, read_request
from stitch.text.dates import MONTH, WEEKDAY
from stitch.text.languages import content_stems, is_foreign, language_of
from stitch.text.words import stem, word_set
from stitch.text.words import words as words_of

if TYPE_CHECKING:
    from stitch.lm import LanguageModel

JUDGED, JUDGED_CHARS = 20, 600
"""A model is shown so many hits, of each so many characters."""
FIRST, FIRST_CHARS = 10, 600
"""The nearest is looked for among so many hits, in so many characters of each: long ones say first what they are of."""

DECIMALS = 4
"""Of a chance, so many count."""

Weights = Mapping[str, float]

LEAST = 0.04
"""Of talks that have less than this chance nothing comes back, unless a request says otherwise."""
ANSWERED: Weights = {"bias": -6.233, "near": 16.146, "both": 6.456, "absent": -2.189, "unnamed": -3.013}
"""Of `question_features`, for: anything bears on the question."""
MEANT: Weights = {
    "bias": 0.582, "similarity": -4.218, "below": -1.321, "covered": -3.164, "both": 11.041, "place": -0.836,
    "words": 0.092,
}  # fmt: skip
"""Of `hit_features`, for: this hit is what was asked for, if anything is."""


class Relevance(NamedTuple):
    """The probability that hits bear on a question."""

    result: float
    """That anything in the memory does, from 0 to 1."""
    hits: tuple[float, ...]
    """That each hit does, in their order; no more than `result`."""


@dataclass(frozen=True)
class Evidence:
    """Evidence for whether hits bear on a question.

    Attributes:
        similarities: Of each hit, in their order.
        covered: Of each hit, the share of the question's words that it says, each counted by its rarity.
        near: The cosine of the question and the nearest of the first hits, by the vectors that come with the package.
        absent: The share of the question's words that no step of the memory says, not counted by rarity.
        words: How many words the question has.
        unnamed: The share of the names in the question that no step of the memory says; 0 if it has none.
    """

    similarities: tuple[float, ...]
    covered: tuple[float, ...]
    near: float
    absent: float
    words: int
    unnamed: float = 0.0

    @property
    def question_features(self) -> dict[str, float]:
        """The numbers that tell whether anything bears on the question, by name."""
        return {
            "bias": 1.0,
            "near": self.near,
            "both": max((a * b for a, b in zip(self.similarities[:FIRST], self.covered, strict=False)), default=0.0),
            "absent": self.absent,
            "unnamed": self.unnamed,
        }

    @property
    def hit_features(self) -> dict[str, list[float]]:
        """The numbers that tell of each hit whether it is what was asked for, by name, one a hit."""
        similarities, covered = self.similarities, self.covered
        hits, best = len(similarities), max(similarities, default=0.0)
        return {
            "bias": [1.0] * hits,
            "similarity": [*similarities],
            "below": [best - similarity for similarity in similarities],
            "covered": [*covered],
            "both": [similarity * share for similarity, share in zip(similarities, covered, strict=True)],
            "place": [math.log1p(place) for place in range(hits)],
            "words": [math.sqrt(self.words)] * hits,
        }


def evidence_of(
    hits: Sequence[ScoredSnippet],
    words: Collection[int],
    counts: WordCounts,
    *,
    near: float,
    names: Collection[int] = (),
    few: bool = False,
) -> Evidence:
    """Gather the evidence on whether hits bear on a question, which has these words and names, by their indices.

    Where the hits are all there is (`few`), and all else is said, a name that nobody said may be of who speaks.
    """
    rarity = {word: _rarity(counts.carrying.get(word, 0), counts.snippets) for word in words}
    whole = math.fsum(rarity.values())
    said = [frozenset(rarity.keys() & counts.carried.get(hit.snippet.id, frozenset())) for hit in hits]
    shares = {own: math.fsum(rarity[word] for word in own) / whole if whole else 0.0 for own in set(said)}
    absent = {word for word in (*words, *names) if not counts.carrying.get(word)}
    if few and absent.issubset(names):
        absent = set()
    return Evidence(
        similarities=tuple(hit.similarity for hit in hits),
        covered=tuple(map(shares.__getitem__, said)),
        near=near,
        absent=len(absent.intersection(words)) / (len(words) or 1),
        words=len(words),
        unnamed=len(absent.intersection(names)) / (len(names) or 1),
    )


_NAME = re.compile(r"(?<![.?!:\n]) (?P<name>[A-Z][\w'’-]+)")
_CALENDAR = re.compile(rf"{MONTH}|{WEEKDAY}", re.IGNORECASE)


def names_in(question: str) -> frozenset[str]:
    """The words of names in a question, folded: those with a capital that do not begin a sentence; in English alone."""
    if is_foreign(language_of(question)):
        return frozenset()
    said = (words_of(match["name"].removesuffix("'s").removesuffix("’s")) for match in _NAME.finditer(question))
    return frozenset(word for own in said for word in own if len(word) > 1 and not _CALENDAR.fullmatch(word))


def _rarity(carrying: int, snippets: int) -> float:
    """The inverse document frequency of BM25."""
    return math.log1p((snippets - carrying + 0.5) / (carrying + 0.5))


def relevance(evidence: Evidence, *, answered: Weights = ANSWERED, meant: Weights = MEANT) -> Relevance:
    """Estimate the probability that hits bear on a question."""
    if not evidence.similarities:
        return Relevance(0.0, ())
    anything = chance(evidence.question_features, answered)
    features = evidence.hit_features
    weighed = np.array([meant.get(name, 0.0) for name in features]) @ np.array(list(features.values()))
    hits = np.round(anything / (1.0 + np.exp(-weighed)), DECIMALS)
    return Relevance(round(anything, DECIMALS), tuple(hits.tolist()))


def chance(features: Mapping[str, float], weights: Weights) -> float:
    """The probability by a logistic model, from 0 to 1."""
    return 1.0 / (1.0 + math.exp(-math.fsum(weights.get(name, 0.0) * value for name, value in features.items())))


def calibrated(retriever: Retriever) -> bool:
    """Whether the similarity of a retriever's hits is that of vectors and words together: chances are fitted to it."""
    return bool(getattr(retriever, "calibrated", False))


@lru_cache(maxsize=1)
def _shipped() -> StaticEmbedder:
    """The table that comes with the package: a search makes an estimator, and need not read what the table is of."""
    return StaticEmbedder()


_OF_A_TALK = frozenset(
    map(
        stem,
        word_set(
            """
            give make list show tell sum summary summarize summarise recap overview outline gist whole entire main key
            important short brief quick point topic theme takeaway action item meeting conversation chat talk discussion
            discuss session call thread dialogue transcript exchange far today part took place came come happen decision
            """
        ),
    )
)
"""Words of a question for a talk as a whole, which hardly says of itself that it is one."""


class RelevanceEstimator:
    """Tells of hits how likely it is that they bear on the question.

    The weights are fitted to the table that comes with the package, so that it is used whatever embedder a memory has.
    """

    def __init__(self, store: SnippetReader, *, embedder: Embedder) -> None:
        self._store, self._embedder = store, _shipped()
        self._fitted = embedder.name == self._embedder.name

    def talks(self, found: RetrievalResult, *, words: int) -> tuple[ScoredSnippet, ...]:
        """The hits to which chances are fitted: of talks in English, whose vectors are of the shipped table.

        Where somebody, or a model, chose labels and steps carry them, these say more; what was on a day, or came first,
        is asked for in hardly a word, of which the question has so many; who asks for help is answered by what shall
        always be done; and who asks for a talk as a whole by any of it.
        """
        chosen = found.rule.is_strict and any(hit.density for hit in found.hits)
        standing = any(hit.parts.get("standing") for hit in found.hits)
        question = read_request(found.request)
        if chosen or standing or question.spans or words <= 1 + abs(question.order):
            return ()
        if _OF_A_TALK.issuperset(content_stems(question.text)):
            return ()
        if not self._fitted or is_foreign(language_of(found.request.query)):
            return ()
        others = running(found.hits).union(
            hit.snippet.trajectory for hit in found.hits[:FIRST] if is_foreign(language_of(hit.snippet.text))
        )
        return tuple(hit for hit in found.hits if hit.snippet.trajectory not in others)

    def evidence(self, request: SearchRequest, hits: Sequence[ScoredSnippet], *, few: bool) -> Evidence:
        """Gather the evidence on whether hits, best first, bear on a question; see `evidence_of`."""
        said = {index_of(each) for each in content_stems(request.query)}
        names = {index_of(stem(name)) for name in names_in(request.query)}
        ids = [hit.snippet.id for hit in hits]
        counts = self._store.word_counts(request.tenant, said | names, ids=ids)
        near = self._nearest(request.query, hits[:FIRST])
        return evidence_of(hits, said, counts, near=near, names=names, few=few)

    def _nearest(self, question: str, hits: Sequence[ScoredSnippet]) -> float:
        if not hits:
            return 0.0
        asked, *said = self._embedder.embed([question, *(hit.snippet.text[:FIRST_CHARS] for hit in hits)])
        return max(float(asked @ own) for own in said)


class RelevanceJudge:
    """Lets a language model say which steps bear on a question, in one call: it tells near misses, too."""

    def __init__(self, model: LanguageModel) -> None:
        self._model = model

    def bearing(self, question: str, texts: Sequence[str]) -> frozenset[int]:
        """The places, from 0, of those texts that bear on the question.

        Raises:
            ModelError: The model cannot be reached, or its reply names no line and does not say that there is none.
        """
        from stitch.lm import Purpose
        from stitch.lm.reading import said_in
        from stitch.signatures.relevance import NAME_RELEVANT

        lines = "\n".join(f'<step number="{number}">{quote(text)}</step>' for number, text in enumerate(texts, start=1))
        asked = f"{lines}\n\nQuestion: {quote(question)}\nNumbers:"
        said = self._model.complete(asked, purpose=Purpose("relevance"), system=NAME_RELEVANT, temperature=0.0)
        reply = said_in(said)
        named = {int(number) - 1 for number in _NUMBER.findall(reply)}
        if not named and not _NONE.search(reply):
            raise ModelError(f"the reply on what is relevant names no line: {reply[:80]!r}")
        return frozenset(named & set(range(len(texts))))


_NUMBER = re.compile(r"(?<![\w.$€£])[0-9]{1,3}(?!\w|\.[0-9])")
_NONE = re.compile(r"\bnone\b", re.IGNORECASE)


def unlikely(relevance: float) -> str:
    """The reason why hits are left out, in words."""
    return f"the chance that anything bears on this is {relevance:.2f}"


class RelevanceRetriever:
    """Adds to the answers of another retriever how likely it is that each hit bears on the question.

    What is below `SearchRequest.min_relevance`, or has less than `min_share` of the best score, is left out, of the
    hits and of the context.
    Where a least chance is given, a judge says which of the first hits that are left bear on the question; what stands
    behind these goes, too. Where none is given, nothing comes back of talks that hardly have anything on the question,
    whatever comes back of runs.
    """

    def __init__(
        self,
        retriever: Retriever,
        *,
        estimator: RelevanceEstimator,
        judge: RelevanceJudge | None = None,
        diverse: bool = False,
    ) -> None:
        """`diverse` says that the other retriever chooses anew for each number of hits."""
        self.mode, self._diverse = retriever.mode, diverse
        self._retriever, self._estimator, self._judge = retriever, estimator, judge

    def search(self, request: SearchRequest) -> RetrievalResult:
        """Answer a question. Where a context is made of less than steps, it stands or goes as a whole.

        Whether anything bears on it does not depend on how many hits are asked for.
        """
        deeper = request if self._diverse or request.depth >= FIRST else request.model_copy(update={"k": FIRST})
        ranked = self._retriever.search(deeper)
        few = len(ranked.hits) < max(request.depth, FIRST)
        evidence = self._estimator.evidence(request, ranked.hits, few=few)
        chances = relevance(evidence)
        hits = tuple(map(ScoredSnippet.bearing, ranked.hits, chances.hits))
        trace, least = ranked.trace, request.min_relevance
        if least is not None:
            hits = tuple(hit for hit in hits if (hit.relevance or 0.0) >= least)
        else:
            withheld, why = self._withheld(ranked, chances.result, words=evidence.words, few=few)
            hits, trace = tuple(hit for hit in hits if hit.snippet.id not in withheld), (*trace, *why)
        kept = hits[: request.depth]
        kept = kept if request.min_share is None else leading(kept, share=request.min_share)
        if least is not None and kept and self._judge is not None:
            kept, decision = _judged(self._judge, request.query, kept)
            trace = (*trace, decision)
        return self._with(replace(ranked, request=request, relevance=chances.result, trace=trace), kept)

    def _withheld(
        self, ranked: RetrievalResult, anything: float, *, words: int, few: bool
    ) -> tuple[frozenset[str], tuple[Decision, ...]]:
        """The ids of hits of talks that hardly bear on the question, and why they are left out.

        Where nothing is asked, of talks and runs alike all that does not say the same words.
        """
        if ranked.request.intent_filter is None and is_courtesy(ranked.request.query):
            said = frozenset(words_of(ranked.request.query))
            others = frozenset(hit.snippet.id for hit in ranked.hits if not said.issubset(words_of(hit.snippet.text)))
            decision = Decision(WITHHELD, {}, "it greets, thanks or agrees, and asks nothing")
            return others, (decision,) if others else ()
        talks = self._estimator.talks(ranked, words=words)
        if talks and len(talks) < len(ranked.hits):  # what else is in the memory says nothing of talks
            anything = relevance(self._estimator.evidence(ranked.request, talks, few=few)).result
        if not talks or anything >= LEAST:
            return frozenset(), ()
        decision = Decision(WITHHELD, {"chance": anything, "least": LEAST}, unlikely(anything))
        return frozenset(hit.snippet.id for hit in talks), (decision,)

    def _with(self, found: RetrievalResult, kept: tuple[ScoredSnippet, ...]) -> RetrievalResult:
        """The result with these hits, and a context of them where they are others than its own."""
        if [hit.snippet.id for hit in kept] == [hit.snippet.id for hit in found.hits]:
            return replace(found, hits=kept)
        if not kept:
            return replace(found, hits=(), context_text="", context_tokens=0, context_hits=(), pieces=())
        if found.pieces:
            return replace(found, hits=kept)
        made = with_context(replace(found, hits=kept))
        return replace(made, hits=kept, trace=found.trace)


def _judged(
    judge: RelevanceJudge, question: str, hits: tuple[ScoredSnippet, ...]
) -> tuple[tuple[ScoredSnippet, ...], Decision]:
    """First hits that a model judges to bear on the question; all hits, if it cannot be asked."""
    shown = hits[:JUDGED]
    try:
        bearing = judge.bearing(question, [hit.snippet.resolved[:JUDGED_CHARS] for hit in shown])
    except ModelError as error:
        return hits, Decision("relevance", {"shown": float(len(shown))}, f"{WITHOUT_MODEL}{error}")
    kept = tuple(hit for place, hit in enumerate(shown) if place in bearing)
    figures = {"shown": float(len(shown)), "bearing": float(len(kept))}
    return kept, Decision("relevance", figures, "a model says which steps bear on the question")
