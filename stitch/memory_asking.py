"""Questions to a memory: the half of `Memory` that searches, answers and explains."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from stitch.core import (
    Answer,
    IntentFilter,
    Moment,
    Ranking,
    RetrievalResult,
    SearchRequest,
    Trust,
    trajectory_name,
)
from stitch.core.arguments import told_in_a_line
from stitch.core.steps import without_surrogates
from stitch.core.times import Time, said_time
from stitch.errors import InputError, SettingsError, no_trajectory
from stitch.lm import charged_to
from stitch.memory_parts import (
    MemoryParts,
    SearchDefaults,
    note_search,
    retriever_named,
    searching,
    to_async,
)
from stitch.text.dates import day_of

if TYPE_CHECKING:
    from stitch.core import Retriever
    from stitch.ingest import Ingestor
    from stitch.observe.recalls import Recall
    from stitch.retrieve import ExplainsRanks, WhyNot
    from stitch.retrieve.explain import Why


@told_in_a_line
class AskedMemory:
    """Questions to the memory of one tenant; `Memory` adds all else."""

    tenant: str
    _parts: MemoryParts
    _defaults: SearchDefaults

    @property
    def _ingestor(self) -> Ingestor:
        """The way of every call; refused in a fork of the process that opened the memory."""
        self._parts.process.check()
        return self._parts.ingestor

    def search(
        self,
        query: str,
        *,
        trajectory: str | None = None,
        k: int | None = None,
        budget_tokens: int | None = None,
        asked_at: Time | None = None,
        intent_filter: IntentFilter | None = None,
        ranking: Ranking | str | None = None,
        retriever: str | None = None,
        min_trust: Trust | str | None = None,
        min_relevance: float | None = None,
        min_share: float | None = None,
        as_of: Time | None = None,
        include_setup: bool = False,
        diverse: bool = False,
    ) -> RetrievalResult:
        """Find the steps that answer a question: by shared labels first, by similarity second (§2.3).

        Args:
            query: The question.
            trajectory: Search this one only.
            k: How many steps to return, and to show in the context, at most. By default 10 come back, or what the
                settings say, and the context shows as many as it has room for.
            budget_tokens: How many tokens `RetrievalResult.context` may have; what the settings say (2000) by default.
            asked_at: When the question is asked; "last week" is read against it.
            intent_filter: Labels to use instead of those the question licenses.
            ranking: `strict` (label density first: the rule of the paper), `weighed` (labels are added to similarity),
                or `auto` (strict where a model or a person chose the labels); what the settings say by default.
            retriever: Which one answers; what the settings say by default.
            min_trust: `high` (the user's own words), `medium` (an agent's too) or `low` (everything: what tools and
                documents say too). Steps that took in words of a less trusted step have its trust. All by default.
            min_relevance: Return only steps that bear on the question with this chance, from 0 to 1, and nothing if
                none does (`RetrievalResult.nothing_relevant`). By default all, but nothing where a talk in English
                hardly has anything on the question; 0 returns what is nearest even then.
            min_share: Return only steps with this share of the best one's score or more; 0 fills the context. By
                default all come back, and where label density decides the context ends with the best densities.
            as_of: Answer as the memory would have then: a time of Python, Unix seconds, ISO 8601, or the id of a step
                of `trajectory`. What was retired or corrected since is as it was; what was erased since is not there.
            include_setup: Whether system prompts and other instructions given before an agent's run may be hits.
            diverse: Return steps that say different things: of three times as many, those that cover them best.

        Raises:
            InputError: There is no such trajectory, or a time cannot be read.
            SettingsError: There is no such retriever, or nobody can tell how likely its hits are.
        """
        result = self._found(
            query,
            retriever=retriever,
            diverse=diverse,
            trajectory=trajectory,
            k=k,
            budget_tokens=budget_tokens,
            asked_at=asked_at,
            intent_filter=intent_filter,
            ranking=ranking,
            min_trust=min_trust,
            min_relevance=min_relevance,
            min_share=min_share,
            as_of=as_of,
            include_setup=include_setup,
        )
        result = replace(result, hits=result.hits[: result.request.k])
        note_search(result, self._parts)
        return result

    def ask(
        self,
        question: str,
        *,
        trajectory: str | None = None,
        k: int | None = None,
        budget_tokens: int | None = None,
        asked_at: Time | None = None,
        min_trust: Trust | str | None = None,
        as_of: Time | None = None,
    ) -> Answer:
        """Answer a question in words by the language model of the settings, from what `search` finds.

        Options are those of `search`. It is one call of the model, none if nothing is found, beside one of the search
        where the model chooses the filter. Where no model is set, the one that DSPy is configured with answers.

        Returns:
            The answer, with the steps that the model names as its grounds (`cited`).

        Raises:
            SettingsError: No model is set.
            ModelError: It cannot be used.
        """
        from stitch.retrieve.context.answering import answer_in_words

        model = self._parts.model or self._parts.make_model()
        result = self._found(
            question, trajectory=trajectory, k=k, budget_tokens=budget_tokens, asked_at=asked_at, min_trust=min_trust,
            as_of=as_of,
        )  # fmt: skip
        note_search(result, self._parts)
        with charged_to(self.tenant):
            return answer_in_words(result, model)

    def why_not(
        self, step: str, *, query: str, trajectory: str, k: int | None = None, intent_filter: IntentFilter | None = None
    ) -> WhyNot:
        """Say where a step stands in the ranking for a question, what it lacks, and what would have admitted it.

        Raises:
            InputError: There is no such step.
            SettingsError: The retriever of the settings cannot explain its ranking.
        """
        request = self._request(query, trajectory=trajectory, k=k, intent_filter=intent_filter)
        return self._explaining().why_not(request, step=step)

    def why(
        self,
        query: str,
        *,
        step: str,
        trajectory: str,
        k: int | None = None,
        asked_at: Time | None = None,
        ranking: Ranking | str | None = None,
        min_trust: Trust | str | None = None,
        as_of: Time | None = None,
        everywhere: bool = False,
    ) -> Why:
        """Say why a step comes back for a question, or why it does not: labels, rank, trust, state and budget.

        Args:
            query: The question.
            step: The id of the step.
            trajectory: Where it is, and what is searched.
            k: How many steps count as hits; what the settings say by default.
            asked_at: As in `search`, and so are all others.
            ranking: As in `search`.
            min_trust: As in `search`.
            as_of: As in `search`.
            everywhere: Whether all trajectories are searched, as where `search` is told none.

        Raises:
            InputError: The memory knows no such step; it was never accepted, or erased.
            SettingsError: The retriever of the settings cannot explain its ranking.
        """
        from stitch.retrieve.explain import explain

        where, moment = trajectory_name(trajectory), self._moment(as_of, trajectory)
        request = self._request(
            query, k=k, trajectory=None if everywhere else where, asked_at=asked_at, ranking=ranking or None,
            min_trust=min_trust, as_of=moment,
        )  # fmt: skip
        ranker = self._explaining(request.as_of)
        answering = searching(ranker, self._parts, request=request, diverse=False)
        with charged_to(self.tenant):
            return explain(self._ingestor.journal, answering, request, ranker=ranker, step=step, trajectory=where)

    def recalls(self) -> list[Recall]:
        """The last questions and their hits, oldest first: what the setting `recall_log` keeps, now or earlier."""
        self._parts.process.check()
        return self._parts.recalls.read(self.tenant)

    def _moment(self, as_of: Time | None, trajectory: str | None) -> Moment | None:
        if as_of is None:
            return None
        from stitch.lifecycle.as_of import moment_of

        return moment_of(self._ingestor.journal, as_of, tenant=self.tenant, trajectory=trajectory)

    def _known(self, trajectory: str | None) -> str | None:
        """The name, as `add` reads it; one that is not there is refused: to find nothing would look like an answer."""
        name = None if trajectory is None else trajectory_name(trajectory)
        if name is not None and not self._ingestor.journal.length(self.tenant, name):
            raise no_trajectory(name, self._ingestor.journal.trajectories(self.tenant))
        return name

    def _found(
        self,
        query: str,
        *,
        trajectory: str | None,
        as_of: Time | None,
        retriever: str | None = None,
        diverse: bool = False,
        **given: Any,
    ) -> RetrievalResult:
        """The answer to a question, with all hits that its context shows."""
        trajectory = self._known(trajectory)
        request = self._request(query, trajectory=trajectory, as_of=self._moment(as_of, trajectory), **given)
        with self._ingestor.searches.first(), charged_to(self.tenant):
            chosen = self._retriever(retriever, request.as_of)
            return searching(chosen, self._parts, request=request, diverse=diverse).search(request)

    def _request(self, query: object, *, k: int | None, **given: Any) -> SearchRequest:
        """A request of what is given; the rest is what the settings say."""
        fields = {**self._defaults.of(k), **{name: value for name, value in given.items() if value is not None}}
        fields["query"] = without_surrogates(query) if isinstance(query, str) else query
        if isinstance(query, str) and not query.strip() and "intent_filter" not in fields:
            raise InputError("the question is empty", hint="ask in words")
        if "asked_at" in fields:
            asked_at = said_time(fields["asked_at"])
            if isinstance(asked_at, str) and asked_at.strip().isdecimal():  # Unix seconds, as a command gives them
                asked_at = float(asked_at)
            if day_of(asked_at) is None:
                hint = "write it as 2026-03-01T12:00, or as Unix seconds"
                raise InputError(f"asked_at {asked_at!r} is no time with a date", hint=hint)
            fields["asked_at"] = asked_at
        try:
            return SearchRequest(tenant=self.tenant, **fields)
        except ValidationError as error:
            first = error.errors()[0]
            raise InputError(f"search argument {first['loc'][0]!r}: {str(first['msg']).lower()}") from None

    def _retriever(self, name: str | None, moment: Moment | None = None) -> Retriever:
        retriever = retriever_named(name or self._defaults.retriever, self._parts.retrievers)
        if moment is None:
            return retriever
        from stitch.lifecycle.as_of import in_the_past

        return in_the_past(retriever, ingestor=self._ingestor, moment=moment)

    def _explaining(self, moment: Moment | None = None) -> ExplainsRanks:
        from stitch.retrieve import ExplainsRanks

        retriever = self._retriever(None, moment)
        if isinstance(retriever, ExplainsRanks):
            return retriever
        explaining = [name for name, own in self._parts.retrievers.items() if isinstance(own, ExplainsRanks)]
        raise SettingsError(
            f"retriever {retriever.mode!r} cannot explain its ranking",
            hint=f"set retriever to one of {', '.join(explaining)}",
        )

    asearch = to_async(search)
    aask = to_async(ask)
    awhy = to_async(why)
    awhy_not = to_async(why_not)
    arecalls = to_async(recalls)
