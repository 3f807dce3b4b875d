"""Search by contextual intent: the labels that a question licenses, similarity, and what else it says (§2.3).

The store finds candidates, features say one thing each of all of them, and one of two rules makes an order (`order`):
label density first where a model or a person made labels and filter, a fitted sum elsewhere.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

from stitch.core import (
    INSTRUCTS,
    LABEL_DENSITY,
    SETUP_SCOPE,
    DensityCount,
    DensityQuery,
    Embedder,
    FilterMaker,
    FilterSelector,
    Label,
    LabelInventory,
    LabelKind,
    LabelVocabulary,
    Ranking,
    RankingRule,
    RetrievalResult,
    ScoredSnippet,
    SearchRequest,
    Selection,
    SnippetReader,
    StoreHit,
    goal_of,
    is_setup,
    snippet_id,
)
from stitch.core.cancellation import check_canceled
from stitch.core.intent import labels_in_words
from stitch.core.ranking import matcher
from stitch.core.results import MOST_FILLING
from stitch.core.text_cache import register_cache
from stitch.errors import InputError
from stitch.retrieve.candidates import Inventories, Pool, QueryPlan, Similarity, as_read
from stitch.retrieve.context.answer import bare, with_context
from stitch.retrieve.explain import WhyNot, explain_rank
from stitch.retrieve.goals import leading_goals
from stitch.retrieve.kinds import GOAL_OPENED, is_local
from stitch.retrieve.links.linking import with_links
from stitch.retrieve.neighbors import (
    FIRST_HITS,
    SEGMENT_FIRST,
    SEGMENT_TOKENS,
    Near,
    among_many,
    neighbor_rule,
    with_neighbors,
    with_segments,
)
from stitch.retrieve.order import OF_A_DAY, STRICT, WEIGHTED, rank
from stitch.retrieve.question import Question, form_of, last_turn, read_request

if TYPE_CHECKING:
    from stitch.embed.lexical import LexicalEncoder

POOL, LARGE_POOL = 64, 200
"""Candidates of a question; of one that says where to look, when or in which order, and of runs."""
LEXICAL_SHARE = 0.3
"""What words count beside vectors in the choice of candidates, as in the order of them."""
ASKED_SHARE = 0.4
"""What the part of a question behind its clause counts once more, beside the whole."""
LAST_TURN_SHARE = 0.6
"""What the last turn counts once more beside all, where turns of a conversation are the query."""
_MOST_GOALS = 8
"""Goals of runs of which all steps are candidates."""
_MOST_SETUP = 1_000
"""Further candidates asked for at most, so that instructions that are left out take no place."""
_HINT = "see `stitch show --memory DIR --json` for trajectories and steps"


@dataclass(frozen=True, kw_only=True)
class _Search(QueryPlan):
    """A question on its way to an order of candidates."""

    turns: str
    """The turns of a conversation that are the query, all of them; empty if it is a question."""
    inventory: LabelInventory

    def pool(self, candidates: Sequence[StoreHit]) -> Pool:
        """The question with candidates."""
        return Pool(**{name: getattr(self, name) for name in _OF_A_PLAN}, candidates=candidates)


_OF_A_PLAN = tuple(field.name for field in fields(QueryPlan))


class IntentRetriever:
    """Ranks snippets by the question's labels and by similarity."""

    mode = "intent"
    calibrated = True

    def __init__(
        self,
        *,
        store: SnippetReader,
        selector: FilterSelector,
        embedder: Embedder,
        lexical: LexicalEncoder,
        inventories: Inventories,
        count: DensityCount = DensityCount.VALUES,
    ) -> None:
        self._store, self._selector, self._inventories = store, selector, inventories
        self._similarity = Similarity(embedder=embedder, lexical=lexical)
        self._density = count
        self._read_through = LabelInventory(), LabelVocabulary()
        """The last inventory, and what applies its merges."""
        register_cache(self)

    def forget_trajectory(self, trajectory: str, *, tenant: str) -> None:
        """Forget the names of labels."""
        self._read_through = LabelInventory(), LabelVocabulary()

    def over(self, store: SnippetReader, *, inventories: Inventories) -> IntentRetriever:
        """The same retriever over another store and label space."""
        other = copy(self)
        other._store, other._inventories = store, inventories
        register_cache(other)
        return other

    def search(self, request: SearchRequest) -> RetrievalResult:
        """Answer a question. A filter that the request brings along is used as it is."""
        return with_context(self.ranked(request, k=request.depth))

    def ranked(self, request: SearchRequest, *, k: int) -> RetrievalResult:
        """Rank `k` steps, or as many as the request needs, without a context of them."""
        started, size = time.perf_counter(), max(k, request.depth)
        asked = self._read(request, self._inventories(request.tenant, request.trajectory))
        asked, pool = self._pool(asked, k=size)
        rule = asked.rule
        hits = self._ordered(pool, k=size if size <= SEGMENT_FIRST else len(pool.candidates))
        check_canceled()
        if size > SEGMENT_FIRST and not (rule.is_strict or asked.chosen):
            of_run = bool(hits) and hits[0].snippet.trajectory in pool.runs
            wide = not of_run and (form_of(request.query).wide or among_many(hits))
            if wide and request.fill_budget:
                size = max(size, min(request.budget_tokens // SEGMENT_TOKENS, MOST_FILLING))
            if min(size, len(hits)) > (SEGMENT_FIRST if wide else FIRST_HITS):
                expand = with_segments if wide else with_neighbors
                hits = expand(hits, near=self._near(asked, of_run=of_run), rule=rule, k=size)
                rule = neighbor_rule(rule)
        hits = as_read(hits[:size], asked.vocabulary)
        return bare(request, asked.selection, hits, rule=rule, mode=self.mode, started=started)

    def pool(self, request: SearchRequest) -> Pool:
        """The candidates of a question, for measuring what each feature says of them."""
        asked = self._read(request, self._inventories(request.tenant, request.trajectory))
        return self._pool(asked, k=request.depth)[1]

    def _near(self, asked: _Search, *, of_run: bool) -> Near:
        """The neighbor lookup of the store, limited to what the request sees; the exchanges of runs are candidates."""
        query = Similarity().query(asked.request, {})
        return lambda snippets, reach: () if of_run else self._store.near(query, snippets, reach=reach)

    def why_not(self, request: SearchRequest, *, step: str, trajectory: str | None = None) -> WhyNot:
        """Say where a step stands for a question, and what kept it from standing higher.

        Ranks everything the request can see; meant for looking into a memory, not for answering. What is moved up
        because it stands beside a hit has the place here that it has by itself.
        The trajectory of the step is that of the request by default.

        Raises:
            InputError: There is no such step among those that the request searches.
        """
        trajectory = trajectory or request.trajectory
        if trajectory is None:
            raise InputError(f"cannot look for step {step!r}: its trajectory is not named", hint=_HINT)
        wanted = snippet_id(request.tenant, trajectory, step)
        asked = self._read(request, self._inventories(request.tenant, request.trajectory))
        k, target, ranking = 0, None, list[ScoredSnippet]()
        while target is None and k < (
            count := max(1, self._store.count(request.tenant))
        ):  # again if steps came while it was ranked
            k = count
            asked, pool = self._pool(asked, k=k)
            ranking = self._ordered(pool, k=k)
            target = next((hit.snippet for hit in ranking if hit.snippet.id == wanted), None)
        if target is None:
            raise InputError(f"no step {step!r} of trajectory {trajectory!r} is in what is searched", hint=_HINT)
        why = explain_rank(
            wanted,
            ranking,
            asked.labels if asked.rule.is_strict or asked.chosen else frozenset(),
            rule=asked.rule,
            k=request.k,
            vocabulary=asked.vocabulary,
            count=self._density,
        )
        [linked] = with_links([why.hit], [hit.snippet for hit in ranking])
        return why._replace(hit=linked)

    def _read(self, request: SearchRequest, inventory: LabelInventory) -> _Search:
        turns = request.query if (last := last_turn(request.query)) else ""
        request = request.model_copy(update={"query": last}) if last else request
        if request.intent_filter is None:
            selection = self._selector.select(request, inventory)
        else:
            reasons = ("the filter came with the request",)
            selection = Selection(request.intent_filter, reasons, made_by=FilterMaker.PERSON)
        vocabulary, question = self._vocabulary(inventory), read_request(request)
        labels = frozenset(map(vocabulary.canonical_label, selection.intent_filter.labels()))
        if lacking := [label for label in labels if request.intent_filter and not inventory.count(label)]:
            selection = selection._replace(reasons=(*selection.reasons, f"no step carries {labels_in_words(lacking)}"))
        return _Search(
            request=request,
            turns=turns,
            question=question,
            selection=selection,
            labels=labels,
            vocabulary=vocabulary,
            rule=_rule_for(request.ranking, selection, question=question),
            count=self._density,
            inventory=inventory,
        )

    def _vocabulary(self, inventory: LabelInventory) -> LabelVocabulary:
        """The merges, ready to be applied; as long as they are the same object, so is this: a tenant may have many."""
        read, vocabulary = self._read_through
        if read.merges is not inventory.merges or read.scopes is not inventory.scopes:
            vocabulary = inventory.vocabulary()
            self._read_through = inventory, vocabulary
        return vocabulary

    def _pool(self, asked: _Search, *, k: int) -> tuple[_Search, Pool]:
        """The candidates, with the question as it is ranked: who made their labels shows in the candidates alone."""
        if asked.rule.is_strict:
            said = asked.question.order or asked.question.spans
            size = max(k, LARGE_POOL) if said and asked.rule is STRICT else k
            matches = matcher(asked.labels, asked.vocabulary) if asked.vocabulary.by_trajectory else None
            labels = asked.vocabulary.readings(asked.labels)
            query = replace(self._query(asked), labels=labels, matches=matches, k=size)
            pool = asked.pool(self._candidates(asked, query))
            made = [one.labeled_by for one in pool.snippets if pool.matched(one)]
            if asked.rule is not STRICT or 2 * sum(map(is_local, made)) <= len(made):
                return asked, pool
            asked = replace(asked, rule=WEIGHTED)  # no label without a model is that sure
        return asked, self._weighted_pool(asked, k=k)

    def _weighted_pool(self, asked: _Search, *, k: int) -> Pool:
        question, of_runs = asked.question, GOAL_OPENED.value in asked.inventory.event_types
        large = of_runs or question.clause or question.order or question.spans
        size = max(k, LARGE_POOL if large else POOL)
        query = replace(self._query(asked), lexical_share=LEXICAL_SHARE, k=size, exact=False)
        found = {one.snippet.id: one for one in self._candidates(asked, query)}
        if len(found) < size:  # these are all there are
            return asked.pool(list(found.values()))
        if asked.labels and (asked.chosen or question.clause):
            self._look_at(asked, query, asked.labels, found=found)
        if of_runs:
            self._look_at_goals(asked, query, found=found)
        return asked.pool(list(found.values()))

    def _look_at(
        self, asked: _Search, query: DensityQuery, labels: Iterable[Label], *, found: dict[str, StoreHit]
    ) -> None:
        """Add to what was found the steps that carry a label, before others."""
        wanted = map(asked.vocabulary.canonical_label, labels)
        query = replace(query, labels=asked.vocabulary.readings(wanted))
        for one in self._candidates(asked, query):
            found.setdefault(one.snippet.id, one)

    def _look_at_goals(self, asked: _Search, query: DensityQuery, *, found: dict[str, StoreHit]) -> None:
        """Add what opens goals, and all steps of goals that the question may be about."""
        self._look_at(asked, query, [GOAL_OPENED], found=found)
        if asked.of_runs.task:
            return
        leading = leading_goals(asked.pool(list(found.values())), most=_MOST_GOALS)
        names = {scope.name for scope in asked.inventory.scopes if (scope.trajectory, goal_of(scope.name)) in leading}
        self._look_at(asked, query, {Label(LabelKind.SCOPE, name) for name in names}, found=found)

    def _ordered(self, pool: Pool, *, k: int) -> list[ScoredSnippet]:
        ranked = rank(pool, k=k)
        return with_links(ranked, pool.snippets) if pool.running.any() else ranked

    def _query(self, asked: _Search) -> DensityQuery:
        """Build the store query; what a question asks for counts once more beside the clause that says where."""
        where = not asked.rule.is_strict or asked.selection.intent_filter.scopes
        texts = {asked.request.query: 1.0}
        if asked.turns:
            texts = {asked.turns: 1.0 - LAST_TURN_SHARE, asked.request.query: LAST_TURN_SHARE}
        elif where and asked.question.asked:
            texts = {asked.request.query: 1.0 - ASKED_SHARE, asked.question.asked: ASKED_SHARE}
        return replace(self._similarity.query(asked.request, texts), count=self._density)

    def _candidates(self, asked: _Search, query: DensityQuery) -> list[StoreHit]:
        check_canceled()
        hidden = self._hidden(asked)
        if not hidden:
            return self._store.rank(query)
        found = self._store.rank(replace(query, k=query.k + hidden))
        return [hit for hit in found if not is_setup(hit.snippet.intent)][: query.k]

    def _hidden(self, asked: _Search) -> int:
        """Count the candidates that may be instructions that were not asked for."""
        setup = Label(LabelKind.SCOPE, SETUP_SCOPE)
        if asked.request.include_setup or setup in asked.labels:
            return 0
        # What no step does is known at once; to count a scope, all are looked through.
        if asked.vocabulary.canonical(LabelKind.EVENT_TYPE, INSTRUCTS) not in asked.inventory.event_types:
            return 0
        return min(asked.inventory.count(setup), _MOST_SETUP)


def _rule_for(ranking: Ranking, selection: Selection, *, question: Question) -> RankingRule:
    """The rule that is asked for, or the one that fits who chose the labels: the makers of labels are not known yet."""
    if ranking is Ranking.STRICT:
        return LABEL_DENSITY
    words = selection.made_by is FilterMaker.WORDS or not selection.intent_filter
    if ranking is not Ranking.WEIGHED and not words:
        return STRICT
    return OF_A_DAY if question.of_a_day else WEIGHTED
