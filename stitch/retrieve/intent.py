"""Search by contextual intent: label density first, similarity inside a tier (§2.3).

Where a question only hints at its labels, they are weighed beside similarity instead (`weigh`). Where a
question asks a fact of something it names, an exchange that names it counts as one step (`join_exchanges`).
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from stitch.core import (
    DensityCount,
    Embedder,
    FilterSelector,
    Label,
    LabelInventory,
    LabelKind,
    RetrievalResult,
    ScoredSnippet,
    SearchRequest,
    Selection,
    SnippetStore,
    density,
    snippet_id,
)
from stitch.errors import InputError
from stitch.retrieve.context.budget import TokenCounter
from stitch.retrieve.question.reading import read_question
from stitch.retrieve.rank.exchanges import join_exchanges
from stitch.retrieve.rank.explain import WhyNot, explain_rank
from stitch.retrieve.rank.hints import POOL, decides, lean, named_speakers, read_leanings
from stitch.retrieve.rank.similarity import Similarity, result, scored
from stitch.retrieve.rank.weighing import weigh

if TYPE_CHECKING:
    from stitch.embed.lexical import LexicalEncoder

_FACT_POOL = 150
"""How many are looked at where a fact is asked and no scope is named; 400 find one answer in thirty more."""
_HINTED_POOL = 100
"""How many of the most similar hits are looked at where a question says nowhere where to look; 400 find no more."""

Inventories = Callable[[str, str | None], LabelInventory]
"""The label space of a tenant's trajectory, or of all of them."""


class IntentRetriever:
    """Ranks snippets by how many of the question's labels they carry, then by similarity.

    Args:
        store: Where the snippets are.
        selector: Chooses the labels of a question.
        embedder: Makes the vector of a question.
        lexical: Makes the words of a question.
        inventories: Tells the label space of a tenant and trajectory.
        counter: Counts the tokens of the context.
        count: What density counts.
        informative: Whether a label counts the more, the fewer steps carry it. Then density is a sum of weights
            between 0 and 1, and no longer the number of labels of the paper.
    """

    mode = "intent"

    def __init__(
        self,
        *,
        store: SnippetStore,
        selector: FilterSelector,
        embedder: Embedder,
        lexical: LexicalEncoder,
        inventories: Inventories,
        counter: TokenCounter,
        count: DensityCount = DensityCount.VALUES,
        informative: bool = False,
    ) -> None:
        self._store, self._selector, self._inventories = store, selector, inventories
        self._similarity = Similarity(embedder=embedder, lexical=lexical)
        self._counter, self._density, self._informative = counter, count, informative

    def over(self, store: SnippetStore, *, inventories: Inventories) -> IntentRetriever:
        """The same retriever over another store and label space."""
        other = copy.copy(self)
        other._store, other._inventories = store, inventories
        return other

    def search(self, request: SearchRequest) -> RetrievalResult:
        """Answer a question. A filter that the request brings along is used as it is."""
        started = time.perf_counter()
        inventory = self._inventories(request.tenant, request.trajectory)
        selection = self._select(request, inventory)
        hits = self._rank(request, selection, inventory, k=request.k)
        return result(request, selection, hits, counter=self._counter, mode=self.mode, started=started)

    def why_not(self, request: SearchRequest, *, step: str, trajectory: str | None = None) -> WhyNot:
        """Say where a step stands for a question, and what kept it from standing higher.

        Ranks everything the request can see; meant for looking into a memory, not for answering.

        Args:
            request: The question.
            step: The id of the step.
            trajectory: The step's trajectory; by default that of the request.

        Raises:
            InputError: There is no such step among those that the request searches.
        """
        trajectory = trajectory or request.trajectory
        if trajectory is None:
            raise InputError(f"cannot look for step {step!r}: its trajectory is not named", hint=_HINT)
        wanted = snippet_id(request.tenant, trajectory, step)
        inventory = self._inventories(request.tenant, request.trajectory)
        selection = self._select(request, inventory)
        k, target, ranking = 0, None, list[ScoredSnippet]()
        while target is None and k < (
            count := max(1, self._store.count(request.tenant))
        ):  # again if steps came while it was ranked
            k = count
            ranking = self._rank(request, selection, inventory, k=k)
            target = next((hit.snippet for hit in ranking if hit.snippet.id == wanted), None)
        if target is None:
            raise InputError(f"no step {step!r} of trajectory {trajectory!r} is in what is searched", hint=_HINT)
        vocabulary = inventory.vocabulary()
        labels = frozenset(map(vocabulary.canonical_label, selection.intent_filter.labels()))
        own = frozenset(map(vocabulary.canonical_label, target.intent.labels()))
        return explain_rank(
            wanted,
            ranking,
            frozenset() if selection.weighed else labels,
            k=request.k,
            vocabulary=vocabulary,
            count=self._count(selection),
            weights=self._weights(labels | own, inventory),
        )

    def _select(self, request: SearchRequest, inventory: LabelInventory) -> Selection:
        if request.intent_filter is not None:
            return Selection(request.intent_filter, ("the filter came with the request",), weighed=request.weighed)
        return self._selector.select(request, inventory)

    def _rank(
        self, request: SearchRequest, selection: Selection, inventory: LabelInventory, *, k: int
    ) -> list[ScoredSnippet]:
        vocabulary = inventory.vocabulary()
        labels = frozenset(map(vocabulary.canonical_label, selection.intent_filter.labels()))
        asked = ""
        if selection.weighed or (selection.intent_filter.scopes and selection.remainder is None):
            asked = read_question(request.query).asked_beside_context

        leanings, question = read_leanings(request), read_question(request.query)
        hinted = selection.weighed and not question.context

        def first(k: int) -> list[ScoredSnippet]:
            query = self._similarity.query(
                request,
                text=selection.remainder,
                asked=asked,
                labels={} if hinted else {label: vocabulary.aliases(label) for label in sorted(labels)},
                count=self._count(selection),
                weights=self._weights(labels, inventory),
                k=k,
            )
            return scored(self._store.rank(query), labels, vocabulary)

        if selection.weighed:
            pool = POOL if question.context or leanings else _HINTED_POOL
            return lean(leanings, weigh(question, first(max(k, pool)), vocabulary))[:k]
        deciding = frozenset([vocabulary.canonical_label(_DECIDE)]) & labels if request.intent_filter is None else None
        # To read many hits takes long: in a scope, or without a class, what names the thing is among the first.
        unplaced = bool(question.facts and labels) and not selection.intent_filter.scopes
        widely = bool(leanings or deciding) or unplaced
        pool = POOL if leanings or deciding else _FACT_POOL
        hits = first(max(k, pool) if widely else k)
        if not widely and named_speakers(leanings.text, {hit.snippet.role for hit in hits}):
            hits, widely = first(max(k, POOL)), True
        if not widely:
            return join_exchanges(question, hits)
        if deciding:
            weights = self._weights(labels, inventory)
            hits = [_as_decision(hit, deciding, count=self._count(selection), weights=weights) for hit in hits]
        return join_exchanges(question, lean(leanings, hits))[:k]

    def _count(self, selection: Selection) -> DensityCount:
        return DensityCount.KINDS if selection.lists_names else self._density

    def _weights(self, labels: Iterable[Label], inventory: LabelInventory) -> Mapping[Label, float] | None:
        return {label: informativeness(label, inventory) for label in labels} if self._informative else None


_DECIDE = Label(LabelKind.EVENT_TYPE, "decide")


def _as_decision(
    hit: ScoredSnippet, deciding: frozenset[Label], *, count: DensityCount, weights: Mapping[Label, float] | None
) -> ScoredSnippet:
    """The hit, ranked as if it had the label if its words decide: few decisions are labeled so."""
    if deciding <= hit.matched or not decides(hit.snippet):
        return hit
    matched = hit.matched | deciding
    return hit._replace(density=density(matched, count=count, weights=weights), matched=matched)


_HINT = "see `stitch show --memory DIR --json` for trajectories and steps"


def informativeness(label: Label, inventory: LabelInventory) -> float:
    """How much a label tells, from 0 (every step carries it) to 1 (one step does)."""
    if inventory.steps < 2:
        return 1.0
    carried = min(max(inventory.count(label), 1), inventory.steps)
    return 1.0 - math.log(carried) / math.log(inventory.steps)
