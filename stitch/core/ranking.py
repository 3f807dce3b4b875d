"""Label-density ranking: the definition (§2.3). Stores compute the same; tests compare them with this."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from stitch.core.intent import ContextualIntent, IntentFilter, Label, LabelKind, LabelVocabulary, goal_of
from stitch.core.snippets import MemorySnippet

_NO_MERGES = LabelVocabulary()


class DensityCount(str, Enum):
    """Counting of matched labels."""

    VALUES = "values"
    """Matched label values: the paper's "cardinality of their overlap"."""
    KINDS = "kinds"
    """Kinds of which at least one label matches: the authors' code."""


DENSITY, SIMILARITY, LABELS, GOAL = "density", "similarity", "labels", "goal"
"""Parts of a score: how many labels match; how alike question and step are; what labels add where they are weighed;
what it adds to be of the goal that is asked about."""


class SupersededValue(NamedTuple):
    """A value that a step tells of a thing, and that a later step tells otherwise."""

    thing: str
    """The identifier of the thing; of a part, behind that of the whole. Of what somebody says, their role."""
    field: str
    """The attribute; of what somebody is or does, all of it ("allergic to peanuts")."""
    value: str
    now: str
    """The value told last; "so" and "not so" of what somebody is or does."""
    step: str
    """The id of the step that told it, in the same trajectory."""
    position: int
    """The place of that step in its trajectory."""


class Cause(NamedTuple):
    """A result that made an agent do a later step."""

    step: str
    """The id of the result, in the same trajectory."""
    position: int
    outcome: str
    """The outcome where that was it: a failure, a refusal, a timeout, nothing; empty where it told a value."""
    value: str
    """The identifier that both name; empty where the outcome alone ties them."""


class ScoredSnippet(NamedTuple):
    """A snippet with the reasons for its place in a ranking."""

    snippet: MemorySnippet
    matched: frozenset[Label]
    """The labels of the filter that this snippet carries, in canonical form."""
    parts: Mapping[str, float]
    """Numbers by scorer; scorers that had nothing to say of any candidate are left out."""
    score: float
    """The sum of those parts that are in no tier of the rule."""
    relevance: float | None = None
    """The chance that it bears on the question, from 0 to 1; None where nobody told."""
    superseded: tuple[SupersededValue, ...] = ()
    """Values of it that no longer hold: those that programs wrote, and what people said in plain forms."""
    because_of: Cause | None = None
    """The result that made an agent do it; None where nothing says so."""
    embedded: bool = True
    """Whether its vector is there; if it follows, words and labels alone speak for it until then."""

    def bearing(self, relevance: float) -> ScoredSnippet:
        """The same with how likely it is that it bears on the question: `_replace` takes three times as long."""
        return ScoredSnippet(
            self.snippet, self.matched, self.parts, self.score, relevance, self.superseded, self.because_of,
            self.embedded,
        )  # fmt: skip

    def with_parts(self, parts: Mapping[str, float]) -> ScoredSnippet:
        """The same with other parts of its score."""
        return ScoredSnippet(
            self.snippet, self.matched, parts, self.score, self.relevance, self.superseded, self.because_of,
            self.embedded,
        )  # fmt: skip

    @property
    def text(self) -> str:
        """The words of the step."""
        return self.snippet.text

    @property
    def superseded_by(self) -> str | None:
        """The id of the last step that tells one of its values otherwise; None where all still hold."""
        return max(self.superseded, key=lambda one: one.position).step if self.superseded else None

    @property
    def density(self) -> float:
        """Number of matched labels; 0 where density is no part of the ranking."""
        return self.parts.get(DENSITY, 0.0)

    @property
    def similarity(self) -> float:
        """Similarity of question and snippet, from 0 to 1."""
        return self.parts.get(SIMILARITY, 0.0)


DECIMALS = 12
"""Of a sum of several parts, so many decimals count."""


def add_up(parts: Sequence[float]) -> float:
    """The sum of parts: one as it is, several rounded to `DECIMALS`, so that the order of adding tells nothing."""
    return parts[0] if len(parts) == 1 else round(math.fsum(parts), DECIMALS)


class RankingRule(NamedTuple):
    """A rule that makes an order of the parts of scores.

    Hits are compared by the first tier, then by the second, and so on, then by the score: more is better in all of
    them. What is equal in all stands by trajectory, position and step, so the order is total. Whoever has the parts
    can compute it again: see `add_up`.
    """

    tiers: tuple[tuple[str, ...], ...] = ()
    """Names of parts; a tier is the sum of its parts."""
    summed: tuple[str, ...] = (SIMILARITY,)
    """Names of the parts whose sum is the score."""

    @property
    def parts(self) -> tuple[str, ...]:
        """All names of parts, in the order in which they are compared."""
        return (*(name for tier in self.tiers for name in tier), *self.summed)

    @property
    def is_strict(self) -> bool:
        """Whether label density stands in a tier, and not in the sum or nowhere."""
        return any(DENSITY in tier for tier in self.tiers)

    def totals(self, parts: Mapping[str, float]) -> tuple[float, ...]:
        """The sum of each tier, then the score, as they are compared; a part that is missing counts 0."""
        return tuple(add_up([parts[name] for name in names if name in parts]) for names in (*self.tiers, self.summed))

    def key(self, hit: ScoredSnippet) -> tuple[tuple[float, ...], str, int, str]:
        """The sort key of a hit: smaller is better."""
        snippet = hit.snippet
        totals = tuple(-total for total in self.totals(hit.parts))
        return totals, snippet.trajectory, snippet.position, snippet.step

    def lead(self, hit: ScoredSnippet, other: ScoredSnippet) -> str:
        """The part that did most to put `hit` above `other`; empty if they differ in none that decides."""
        compared = zip((*self.tiers, self.summed), self.totals(hit.parts), self.totals(other.parts), strict=True)
        names = next((names for names, own, theirs in compared if own != theirs), ())
        return max(names, key=lambda name: hit.parts.get(name, 0.0) - other.parts.get(name, 0.0), default="")


LABEL_DENSITY = RankingRule(tiers=((DENSITY,),))
"""The rule of the paper (§2.3): label density strictly first, similarity among equals."""


def match(
    intent: ContextualIntent,
    labels: frozenset[Label],
    vocabulary: LabelVocabulary = _NO_MERGES,
    *,
    trajectory: str = "",
) -> frozenset[Label]:
    """The labels of the filter that `intent` carries, after merges, those of its trajectory among them."""
    if not labels:
        return frozenset()
    own = {vocabulary.canonical_label(label, trajectory=trajectory) for label in intent.labels()}
    scope = next((label for label in own if label.kind is LabelKind.SCOPE), None)
    if scope is not None and scope not in labels:  # a phase is matched by its goal, where it is not named itself
        own.add(Label(scope.kind, goal_of(scope.value)))
    return frozenset(own & labels)


def matcher(
    labels: frozenset[Label], vocabulary: LabelVocabulary = _NO_MERGES
) -> Callable[[ContextualIntent, str], frozenset[Label]]:
    """`match` for many intents, each with its trajectory, and the same labels, which must be canonical.

    Merges are looked up once, but for those of scopes.
    """
    read_as: dict[LabelKind, dict[str, Label]] = {}
    for label, values in vocabulary.readings(labels).items():
        for value in values:
            read_as.setdefault(label.kind, {})[value] = label
    nothing = frozenset[Label]()
    kinds = tuple((kind, known) for kind, known in read_as.items() if kind is not LabelKind.SCOPE)

    def matched(intent: ContextualIntent, trajectory: str) -> frozenset[Label]:
        found = [known[value] for kind, known in kinds for value in intent.of(kind) if value in known]
        if LabelKind.SCOPE in read_as and intent.scope is not None:
            name = vocabulary.canonical(LabelKind.SCOPE, intent.scope, trajectory=trajectory)
            scope = Label(LabelKind.SCOPE, name)  # a phase is matched by its goal, where it is not named itself
            found += {scope if scope in labels else Label(LabelKind.SCOPE, goal_of(name))} & labels
        return frozenset(found) if found else nothing

    return matched


def density(matched: frozenset[Label], *, count: DensityCount = DensityCount.VALUES) -> float:
    """Label density: the number of matched values, or of their kinds."""
    return float(len({label.kind for label in matched} if count is DensityCount.KINDS else matched))


def rank_by_label_density(
    candidates: Iterable[tuple[MemorySnippet, float]],
    intent_filter: IntentFilter,
    *,
    vocabulary: LabelVocabulary = _NO_MERGES,
    count: DensityCount = DensityCount.VALUES,
    k: int | None = None,
) -> list[ScoredSnippet]:
    """Rank snippets strictly by how many labels they share with the filter, and only then by similarity.

    Ties are broken by trajectory, position and step, so the order is total, best first. A snippet without any matched
    label stands below all that have one, and is not dropped: density is a priority, not a gate. Labels of snippets and
    of the filter F_q are read through the vocabulary; of an empty filter similarity alone decides.
    """
    labels = frozenset(map(vocabulary.canonical_label, intent_filter.labels()))
    scored = []
    for snippet, similarity in candidates:
        matched = match(snippet.intent, labels, vocabulary, trajectory=snippet.trajectory)
        parts = {DENSITY: density(matched, count=count), SIMILARITY: similarity}
        scored.append(ScoredSnippet(snippet, matched, parts, similarity))
    scored.sort(key=LABEL_DENSITY.key)
    return scored if k is None else scored[:k]


def matched_by_kind(matched: Iterable[Label]) -> dict[str, list[str]]:
    """Matched labels as plain lists under `scope`, `event_type` and `entity_type` (and `target` if there is one)."""
    kinds: dict[str, list[str]] = {kind.value: [] for kind in LabelKind if kind is not LabelKind.TARGET}
    for label in sorted(matched):
        kinds.setdefault(label.kind.value, []).append(label.value)
    return kinds
