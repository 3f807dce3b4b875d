"""Search by contextual intent: the labels that a question licenses, similarity, and what else it says (§2.3).

The store finds candidates, scorers say one thing each of all of them, and one rule makes an order of what they said
(`rank.scorers`): label density first where no words chose labels or filter, a sum of all that was said elsewhere.

More than 400 lines because one class holds together what is done of a question: it is read, gets a filter, candidates,
an order and neighbors. What each of these is stands in a room beside it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Literal

from stitch.core import (
    DENSITY,
    INSTRUCTS,
    LABEL_DENSITY,
    LABELS,
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
    SnippetStore,
    density,
    is_setup,
    snippet_id,
)
from stitch.core.cancellation import check_canceled
from stitch.core.ranking import matcher
from stitch.core.results import MOST_FILLING
from stitch.core.text_cache import tell_of_erasures
from stitch.errors import InputError
from stitch.retrieve.constants import CONSTANTS, Constants
from stitch.retrieve.context.answer import answer, bare
from stitch.retrieve.context.budget import TokenCounter
from stitch.retrieve.kinds import GOAL_OPENED, goal_of
from stitch.retrieve.links.linking import link_one, with_links
from stitch.retrieve.question.form import form_of
from stitch.retrieve.question.hints import Hints, named_speakers, read_hints
from stitch.retrieve.question.plan_parts import is_plan_in_parts
from stitch.retrieve.question.reading import Question, read_question
from stitch.retrieve.question.run_question import read_run_question
from stitch.retrieve.question.turns import last_turn
from stitch.retrieve.rank.beside import Near, beside_rule, with_neighbors
from stitch.retrieve.rank.explain import WhyNot, explain_rank
from stitch.retrieve.rank.goals import leading_goals, named_goals
from stitch.retrieve.rank.nearness import strength_of_hints
from stitch.retrieve.rank.pool import Candidate, Pool, Scorer, rank
from stitch.retrieve.rank.runs import Goal, runs, without_things
from stitch.retrieve.rank.scope import is_local
from stitch.retrieve.rank.scorers import SCORERS, STRICT, WEIGHTED, scorers_for
from stitch.retrieve.rank.similarity import Similarity
from stitch.retrieve.rank.stretches import among_many, with_stretches
from stitch.retrieve.rank.verbatim import repeater

if TYPE_CHECKING:
    from stitch.embed.lexical import LexicalEncoder

_REPEATING = 10
"""At most so many steps that have all words of the question are read, to see whether they say them in its order."""

Inventories = Callable[[str, str | None], LabelInventory]
"""The label space of a tenant's trajectory, or of all of them."""


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """A question with all that its ranking goes by."""

    request: SearchRequest
    """Its query is what is asked: of turns of a conversation, the last."""
    turns: str
    """Those turns, all of them; empty if the query is a question."""
    question: Question
    hints: Hints
    selection: Selection
    labels: frozenset[Label]
    """Those of the selection, in canonical form."""
    vocabulary: LabelVocabulary
    count: DensityCount
    rule: RankingRule
    inventory: LabelInventory
    of_runs: bool = False
    """Whether what is searched are an agent's runs."""

    @property
    def strict(self) -> bool:
        """Whether label density stands first."""
        return self.rule.is_strict

    @property
    def sure(self) -> bool:
        """Whether labels were chosen or licensed, and not only hinted at."""
        selection = self.selection
        weighed_words = self.request.ranking is Ranking.WEIGHED and selection.made_by is FilterMaker.WORDS
        return self.strict or not (self.of_runs or selection.likely or weighed_words)

    @property
    def by_words(self) -> bool:
        """Whether the words of the question chose labels that are weighed."""
        return self.selection.made_by is FilterMaker.WORDS and not self.strict

    def density_of(self, matched: frozenset[Label]) -> float:
        """How much matched labels count."""
        return density(matched, count=self.count)


class IntentRetriever:
    """Ranks snippets by the question's labels and by similarity."""

    mode = "intent"
    calibrated: Literal[True] = True

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
        scorers: Mapping[str, Scorer] = SCORERS,
        constants: Constants = CONSTANTS,
    ) -> None:
        self._store, self._selector, self._inventories = store, selector, inventories
        self._embedder, self._lexical = embedder, lexical
        self._similarity = Similarity(embedder=embedder, lexical=lexical, asked_share=constants.asked_share)
        self._lexical = lexical
        self._counter, self._density = counter, count
        self._scorers, self._constants = scorers, constants
        self._read_through = LabelInventory(), LabelVocabulary()
        """The last inventory, and what applies its merges."""
        tell_of_erasures(self)

    def forget_trajectory(self, trajectory: str, *, tenant: str) -> None:
        """Forget the names of labels."""
        self._read_through = LabelInventory(), LabelVocabulary()

    def over(self, store: SnippetStore, *, inventories: Inventories) -> IntentRetriever:
        """The same retriever over another store and label space."""
        return IntentRetriever(
            store=store,
            selector=self._selector,
            embedder=self._embedder,
            lexical=self._lexical,
            inventories=inventories,
            counter=self._counter,
            count=self._density,
            scorers=self._scorers,
            constants=self._constants,
        )

    def search(self, request: SearchRequest) -> RetrievalResult:
        """Answer a question. A filter that the request brings along is used as it is."""
        return self.search_deep(request, k=request.depth)[1]()

    def search_deep(self, request: SearchRequest, *, k: int) -> tuple[RetrievalResult, Callable[[], RetrievalResult]]:
        """Rank `k` steps without a context of them, and get what makes the answer to the request of the first ones."""
        started = time.perf_counter()
        deep = request.model_copy(update={"k": max(k, request.depth)})
        asked = self._read(deep, self._inventories(request.tenant, request.trajectory))
        stretches = self._constants.stretch_hits if deep.k > self._constants.stretch_first else 0
        asked, hits = self._rank(asked, k=max(deep.k, stretches if _lets_neighbors_in(asked) else 0))
        check_canceled()
        rule = asked.rule
        # Of a plan in numbered parts "all that they thought of" is a list, and what stands around it another matter.
        over_a_stretch = form_of(request.query).wide or among_many(hits, constants=self._constants)
        wide = over_a_stretch and not is_plan_in_parts(asked.inventory)
        stays = self._constants.stretch_first if wide else self._constants.beside_hits
        size, depth = deep.k, request.depth
        if deep.k > stays and _lets_neighbors_in(asked):
            if wide and request.fill_budget:
                depth = max(depth, min(request.budget_tokens // self._constants.stretch_tokens, MOST_FILLING))
                size = max(size, depth)
            rule, hits = beside_rule(rule), self._with_neighbors(asked, hits, k=size, wide=wide)
        hits = hits[:size]
        if asked.vocabulary.has_merges:
            hits = [_as_matched(hit, asked.vocabulary) for hit in hits]
        making = partial(answer, selection=asked.selection, rule=rule, mode=self.mode, started=started)
        ranked = bare(deep, asked.selection, hits, rule=rule, mode=self.mode, started=started)
        return ranked, partial(making, request, hits=hits[:depth], counter=self._counter)

    def _with_neighbors(self, asked: _Asked, ranked: list[ScoredSnippet], *, k: int, wide: bool) -> list[ScoredSnippet]:
        let_in = with_stretches if wide else with_neighbors
        return let_in(
            ranked,
            near=self._near(asked),
            rule=asked.rule,
            k=k,
            constants=self._constants,
        )

    def _near(self, asked: _Asked) -> Near:
        """What gives the steps around others, of those that the request sees."""
        query = DensityQuery(
            tenant=asked.request.tenant,
            trajectory=asked.request.trajectory,
            min_trust=asked.request.min_trust,
            as_of=asked.request.as_of,
        )
        return lambda snippets, reach: self._store.near(query, snippets, reach=reach)

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
        inventory = self._inventories(request.tenant, request.trajectory)
        asked = self._read(request, inventory)
        returned = len(self.search(request).hits) if request.fill_budget else 0
        k, target, ranking = 0, None, list[ScoredSnippet]()
        while target is None and k < (
            count := max(1, self._store.count(request.tenant))
        ):  # again if steps came while it was ranked
            k = count
            asked, ranking = self._rank(asked, k=k)
            target = next((hit.snippet for hit in ranking if hit.snippet.id == wanted), None)
        if target is None:
            raise InputError(f"no step {step!r} of trajectory {trajectory!r} is in what is searched", hint=_HINT)
        return explain_rank(
            wanted,
            link_one(wanted, ranking) if asked.of_runs else ranking,
            asked.labels if asked.sure else frozenset(),
            rule=asked.rule,
            k=max(request.k, returned),
            vocabulary=asked.vocabulary,
            count=asked.count,
        )

    def _read(self, request: SearchRequest, inventory: LabelInventory) -> _Asked:
        turns = request.query if (last := last_turn(request.query)) else ""
        request = request.model_copy(update={"query": last}) if last else request
        if request.intent_filter is None:
            selection = self._selector.select(request, inventory)
        else:
            reasons = ("the filter came with the request",)
            selection = Selection(request.intent_filter, reasons, made_by=FilterMaker.PERSON)
        vocabulary = self._vocabulary(inventory)
        labels = frozenset(map(vocabulary.canonical_label, selection.intent_filter.labels()))
        return _Asked(
            request=request,
            turns=turns,
            question=read_question(request.query),
            hints=read_hints(request),
            selection=selection,
            labels=labels,
            vocabulary=vocabulary,
            count=DensityCount.KINDS if selection.lists_names else self._density,
            rule=_rule_for(request.ranking, selection),
            inventory=inventory,
        )

    def _vocabulary(self, inventory: LabelInventory) -> LabelVocabulary:
        """The merges, ready to be applied; as long as they are the same object, so is this: a tenant may have many."""
        read, vocabulary = self._read_through
        if read.merges is not inventory.merges or read.scopes is not inventory.scopes:
            vocabulary = inventory.vocabulary()
            self._read_through = inventory, vocabulary
        return vocabulary

    def _rank(self, asked: _Asked, *, k: int) -> tuple[_Asked, list[ScoredSnippet]]:
        """The ranking, with the question as it was ranked: that it is asked of runs shows in the candidates alone."""
        query = self._query(asked)
        if asked.by_words and GOAL_OPENED.value in asked.inventory.event_types:
            return self._rank_runs(asked, query, k=k)
        size = max(k, self._pool_size(asked))
        candidates = self._candidates(asked, replace(query, k=size))
        asked = _with_known_makers(asked, candidates)
        widest = self._constants.pool
        if size == k < widest and asked.sure and not asked.strict:
            roles = {one.snippet.role for one in candidates}
            if named_speakers(asked.hints.text, roles):  # which is known only when the roles are
                candidates = self._candidates(asked, replace(query, k=widest))
        pool = self._pool(asked, candidates)
        if asked.by_words and pool.once(runs) is not None:
            return self._rank_runs(asked, query, k=k)
        if _clause_counts_nothing(asked, pool):
            candidates = self._candidates(asked, replace(self._query(asked, apart=False), k=size))
        if query.labels and "verbatim" in asked.rule.parts and len(candidates) >= size:
            candidates += self._repeating(asked, query, known=candidates)
        return asked, self._ordered(asked, candidates, k=k)

    def _rank_runs(self, asked: _Asked, query: DensityQuery, *, k: int) -> tuple[_Asked, list[ScoredSnippet]]:
        """Rank the steps of runs: what opens goals is looked at, and all steps of goals that may be asked about."""
        asked = replace(asked, of_runs=True)
        query = replace(query, labels={}, k=max(k, self._constants.pool))
        found = {one.snippet.id: one for one in self._candidates(asked, query)}
        if len(found) == query.k:
            self._look_at(asked, query, [GOAL_OPENED], found=found)
            self._look_for_names(asked, query, found=found)
        pool = self._pool(asked, list(found.values()))
        if (read := pool.once(runs)) is not None and read.asked.task:
            text = without_things(asked.request.query, pool)
            query = replace(self._similarity.query(asked.request, text=text), k=query.k)
            found = {}
            self._look_at(asked, query, [GOAL_OPENED], found=found)
        elif len(found) >= query.k:
            # Those that are named come first and alone: one goal of many steps takes all the room there is.
            for goals in (named_goals(pool), leading_goals(pool, most=self._constants.runs_goals)):
                if scopes := self._scopes_of(asked, goals):
                    self._look_at(asked, query, scopes, found=found)
        # What looks like a task may be what somebody said: who says it again wants that step.
        every = [*found.values(), *self._repeating(asked, query, known=list(found.values()))]
        ranked = self._ordered(asked, every, k=k)
        return asked, with_links(ranked, [one.snippet for one in every])

    def _ordered(self, asked: _Asked, candidates: Sequence[Candidate], *, k: int) -> list[ScoredSnippet]:
        pool = self._pool(asked, candidates)
        return rank(pool, scorers_for(pool, self._scorers), asked.rule, k=k)

    def _look_at(
        self, asked: _Asked, query: DensityQuery, labels: Iterable[Label], *, found: dict[str, Candidate]
    ) -> None:
        """Add to what was found the steps that carry a label, before others."""
        wanted = map(asked.vocabulary.canonical_label, labels)
        query = replace(query, labels=asked.vocabulary.readings(wanted))
        for one in self._candidates(asked, query):
            found.setdefault(one.snippet.id, one)

    def _look_for_names(self, asked: _Asked, query: DensityQuery, *, found: dict[str, Candidate]) -> None:
        """Add the steps that say an identifier of the question, which may stand in the opening of a goal alone."""
        for name in read_run_question(asked.request.query).identifiers[:_MOST_NAMES]:
            required = frozenset(self._lexical.query(name))
            for one in self._candidates(asked, replace(query, required_words=required, k=_SAYING_A_NAME)):
                found.setdefault(one.snippet.id, one)

    def _scopes_of(self, asked: _Asked, goals: Iterable[Goal]) -> set[Label]:
        """The scopes of goals, those of their phases included."""
        wanted = {(goal.trajectory, goal.name) for goal in goals}
        return {
            Label(LabelKind.SCOPE, scope.name)
            for scope in asked.inventory.scopes
            if (scope.trajectory, goal_of(scope.name)) in wanted
        }

    def _pool(self, asked: _Asked, candidates: Sequence[Candidate]) -> Pool:
        return Pool(
            request=asked.request,
            question=asked.question,
            hints=asked.hints,
            selection=asked.selection,
            labels=asked.labels,
            vocabulary=asked.vocabulary,
            candidates=candidates,
            density_of=asked.density_of,
            sure=asked.sure,
            of_runs=asked.of_runs,
            constants=self._constants,
        )

    def _query(self, asked: _Asked, *, apart: bool = True) -> DensityQuery:
        """What the store is asked; with `apart`, what a question asks for counts once more beside its clauses."""
        selection, weighed = asked.selection, not (asked.strict or asked.sure)
        remainder = None if weighed else selection.remainder
        scoped = bool(selection.intent_filter.scopes) and remainder is None
        # Where labels are only hinted at, those that carry them must not crowd out the most similar.
        hinted = weighed and not asked.question.context
        used = not hinted and not self._scorers.keys().isdisjoint({DENSITY, LABELS}.intersection(asked.rule.parts))
        part, share = asked.question.asked_beside_context if apart and (weighed or scoped) else "", None
        if asked.turns:
            remainder, part, share = asked.turns, remainder or asked.request.query, self._constants.last_turn_share
        query = self._similarity.query(
            asked.request,
            text=remainder,
            asked=part,
            asked_share=share,
            labels=asked.vocabulary.readings(asked.labels) if used else {},
            count=asked.count,
        )
        return replace(query, exact=asked.strict)

    def _pool_size(self, asked: _Asked) -> int:
        """How many candidates the scorers want to see; 0 if those that are returned will do."""
        constants = self._constants
        if asked.strict:
            return constants.pool if asked.hints and asked.rule is STRICT else 0
        if not asked.sure:
            return constants.pool if asked.question.context or asked.hints else constants.pool_of_hints
        return constants.pool if asked.hints else 0

    def _candidates(self, asked: _Asked, query: DensityQuery) -> list[Candidate]:
        check_canceled()
        matched, hidden = matcher(asked.labels, asked.vocabulary), self._hidden(asked)
        found = self._store.rank(replace(query, k=query.k + hidden) if hidden else query)
        shown = [hit for hit in found if not (hidden and is_setup(hit.snippet.intent))][: query.k] if hidden else found
        return [
            Candidate(snippet, matched(snippet.intent), counted, similarity) for snippet, counted, similarity in shown
        ]

    def _hidden(self, asked: _Asked) -> int:
        """How many candidates may be instructions that were not asked for."""
        setup = Label(LabelKind.SCOPE, SETUP_SCOPE)
        if asked.request.include_setup or setup in asked.labels:
            return 0
        # What no step does is known at once; to count a scope, all are looked through.
        if asked.vocabulary.canonical(LabelKind.EVENT_TYPE, INSTRUCTS) not in asked.inventory.event_types:
            return 0
        return min(asked.inventory.count(setup), _MOST_SETUP)

    def _repeating(self, asked: _Asked, query: DensityQuery, *, known: Sequence[Candidate]) -> list[Candidate]:
        """Steps that say the question's own words and that carry too few of its labels to be candidates."""
        words = asked.question.words
        if len(words) < self._constants.verbatim_words:
            return []
        says = repeater(words, constants=self._constants)
        required = frozenset(self._lexical.query(" ".join(words)))
        having_all = self._candidates(asked, replace(query, labels={}, required_words=required, k=_REPEATING))
        repeating = [one for one in having_all if says(one.snippet.text)]
        ids = {one.snippet.id for one in known} if repeating else set()
        return [one._replace(density=asked.density_of(one.matched)) for one in repeating if one.snippet.id not in ids]


def _clause_counts_nothing(asked: _Asked, pool: Pool) -> bool:
    """Whether steps are so long that they say themselves what a clause says of where to look."""
    hinted = not (asked.strict or asked.sure)
    return hinted and bool(asked.question.context) and not pool.once(strength_of_hints)


def _lets_neighbors_in(asked: _Asked) -> bool:
    """Whether labels leave room: where they decide, what carries them comes first, however many there are."""
    return not (asked.of_runs or asked.rule is LABEL_DENSITY or (asked.labels and (asked.strict or asked.sure)))


def _rule_for(ranking: Ranking, selection: Selection) -> RankingRule:
    """The rule that is asked for, or the one that fits who chose the labels: the makers of labels are not known yet."""
    if ranking is Ranking.STRICT:
        return LABEL_DENSITY
    words = selection.likely or selection.made_by is FilterMaker.WORDS or not selection.intent_filter
    return WEIGHTED if ranking is Ranking.WEIGHED or words else STRICT


def _with_known_makers(asked: _Asked, candidates: Sequence[Candidate]) -> _Asked:
    """The same, labels weighed if words made most of those that match: no label without a model is that sure."""
    made = [one.snippet.labeled_by for one in candidates if one.matched]
    by_words = sum(map(is_local, made))
    return replace(asked, rule=WEIGHTED) if asked.rule is STRICT and 2 * by_words > len(made) else asked


_MOST_NAMES, _SAYING_A_NAME = 4, 40
"""So many identifiers of a question are looked for, and so many of the steps that say one are taken."""
_MOST_SETUP = 1_000
"""So many more candidates are asked for at most, so that instructions that are left out take no place."""
_HINT = "see `stitch show --memory DIR --json` for trajectories and steps"


def _as_matched(hit: ScoredSnippet, vocabulary: LabelVocabulary) -> ScoredSnippet:
    """A hit whose labels read as merges say where it matched by such a reading: what matched stands among them."""
    intent = hit.snippet.intent
    if hit.matched <= set(intent.labels()):
        return hit
    told = {
        "scope": intent.scope and vocabulary.canonical(LabelKind.SCOPE, intent.scope),
        "event_types": tuple(dict.fromkeys(vocabulary.canonical(LabelKind.EVENT_TYPE, v) for v in intent.event_types)),
        "entity_types": tuple(
            dict.fromkeys(vocabulary.canonical(LabelKind.ENTITY_TYPE, v) for v in intent.entity_types)
        ),
    }
    return hit._replace(snippet=hit.snippet.model_copy(update={"intent": intent.model_copy(update=told)}))
