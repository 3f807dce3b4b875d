"""The request of a search and its result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from html import escape
from typing import NamedTuple, overload

from pydantic import BaseModel, Field

from stitch.core.html import table
from stitch.core.intent import IntentFilter, labels_in_words
from stitch.core.ranking import DENSITY, GOAL, LABELS, RankingRule, ScoredSnippet
from stitch.core.snippets import Moment
from stitch.core.trust import Trust

WITHOUT_MODEL = "chosen without the model: "
"""Begins the first reason of a selection that a model should have made and could not."""
WITHHELD = "nothing relevant"
"""Decision of a search that returns nothing, though something may be nearest; its reason says why."""


class Ranking(str, Enum):
    """The way in which the labels chosen for a question rank."""

    AUTO = "auto"
    """Strict where a model or a person made the filter; where words did, by how surely they name it."""
    STRICT = "strict"
    """By label density, and among equals by similarity: the rule of the paper (§2.3)."""
    WEIGHED = "weighed"
    """Labels are added to similarity, beside nearness to what the question says."""


class DecidedBy(str, Enum):
    """The part that labels had in a ranking."""

    LABEL_DENSITY = "label density"
    """Hits that carry more labels of the filter stand above those that carry fewer."""
    WEIGHED_LABELS = "weighed labels"
    """Labels added to the scores of hits."""
    NO_LABELS = "no labels"
    """No label was chosen, or no hit carries one."""


class FilterMaker(str, Enum):
    """The maker of a filter."""

    PERSON = "person"
    """It came with the request."""
    MODEL = "model"
    WORDS = "words"
    """The words of the question alone; they mislead more often than the others."""


LEAST_TOKENS = 30
"""A step takes about so many tokens of a context, with its line, or more; chats have 30 to 50."""
MOST_FILLING = 400
"""To fill a budget no more snippets are ranked, however large it is."""
_TEXT_CHARS = 300
_HEADS = ("", "step", "who", "what was said or done", "scope", "labels that match", "similarity")


class SearchRequest(BaseModel, frozen=True):
    """A question to a memory."""

    query: str = Field(max_length=1_000_000)
    """As long as a step may be."""
    tenant: str
    trajectory: str | None = None
    """Search one trajectory only; all of the tenant if None."""
    k: int = Field(default=40, ge=1, le=10_000)
    """The number of snippets to return (k_retrieve; the paper uses 40)."""
    budget_tokens: int = Field(default=4096, ge=1, le=2**53)
    """The most tokens of the context (§4)."""
    fill_budget: bool = False
    """Let the context show more than `k` where it has room for more."""
    asked_at: float | str | None = None
    """Time of the question; relative times in it are read against this."""
    intent_filter: IntentFilter | None = None
    """Use this filter instead of selecting one."""
    ranking: Ranking = Ranking.AUTO
    min_trust: Trust | None = None
    """Return only snippets of this trust or more."""
    as_of: Moment | None = None
    """Answer as the memory would have at this moment."""
    min_relevance: float | None = Field(default=None, ge=0.0, le=1.0)
    """Return only snippets that bear on the question with this chance or more (`ScoredSnippet.relevance`). If None,
    all, and nothing where a talk hardly has anything on the question; 0 returns all even then."""
    min_share: float | None = Field(default=None, ge=0.0, le=1.0)
    """Return only snippets whose score is at least this share of the best one's; 0 returns all, in a full context. If
    None all are returned, and where label density decides the context ends with the best densities."""
    include_setup: bool = False
    """Whether system prompts and other instructions given before a run may be hits; see `SETUP_SCOPE`."""

    @property
    def depth(self) -> int:
        """Number of snippets to rank: `k`, or as many as the context may have room for."""
        return max(self.k, min(self.budget_tokens // LEAST_TOKENS, MOST_FILLING)) if self.fill_budget else self.k


class Selection(NamedTuple):
    """A filter with the reasons for it."""

    intent_filter: IntentFilter
    reasons: tuple[str, ...] = ()
    """One short sentence per selected label: what in the question licenses it."""
    made_by: FilterMaker = FilterMaker.WORDS
    speaker: str = ""
    """The speaker asked for, as the question calls them; empty if nobody in particular, or if words decide."""


class Piece(NamedTuple):
    """A text that stands for steps, such as a sentence of a statement; contexts take in one after the other."""

    text: str
    snippets: tuple[str, ...]
    """The ids of the snippets of the steps that it is taken from."""
    steps: tuple[str, ...]
    """The ids of these steps."""
    tokens: int
    """Of its text alone."""
    statement: str | None = None
    """The id of the statement that it is taken from; None where it is taken from the step itself."""
    theme: str | None = None
    """The id of the theme of that statement."""


class Decision(NamedTuple):
    """A decision of a search on its way, with the figures that it went by."""

    what: str
    figures: Mapping[str, float]
    reason: str = ""


@dataclass(frozen=True)
class RetrievalResult(Sequence[ScoredSnippet]):
    """The answer of a memory to a question: its hits, best first, with how they were found, and as text for a prompt.

    It is a sequence of the hits: `for hit in result`, `len(result)`, `result[0]`.
    """

    request: SearchRequest
    intent_filter: IntentFilter
    reasons: tuple[str, ...]
    hits: tuple[ScoredSnippet, ...]
    """Best first, at most `request.k`; where the request fills its budget, as many more as the context shows."""
    context_text: str
    context_tokens: int
    context_hits: tuple[str, ...]
    """Ids of the snippets of which at least a part stands in the context."""
    milliseconds: float
    mode: str
    """The retriever that answered."""
    rule: RankingRule = field(default_factory=RankingRule)
    """The rule that made the order of the hits of the parts of their scores."""
    pieces: tuple[Piece, ...] = ()
    """Best first, where the context is made of less than steps; also those that it had no room for."""
    trace: tuple[Decision, ...] = ()
    """Decisions on the way, in order."""
    relevance: float | None = None
    """The chance that anything in the memory bears on the question, from 0 to 1; None where nobody told."""

    @overload
    def __getitem__(self, index: int) -> ScoredSnippet: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[ScoredSnippet, ...]: ...

    def __getitem__(self, index: int | slice) -> ScoredSnippet | tuple[ScoredSnippet, ...]:
        return self.hits[index]

    def __len__(self) -> int:
        return len(self.hits)

    def __repr__(self) -> str:
        labels = labels_in_words(self.intent_filter.labels())
        first = (
            f", first step {self.hits[0].snippet.step!r} of {self.hits[0].snippet.trajectory!r}" if self.hits else ""
        )
        return (
            f"<RetrievalResult for {self.request.query!r}: {len(self.hits)} hits by {self.decided_by.value}"
            f"{f' ({labels})' if labels else ''}{first}, {self.context_tokens} tokens>"
        )

    def _repr_html_(self) -> str:
        return _table_of(self)

    @property
    def nothing_relevant(self) -> bool:
        """Whether nothing came back: no step is likely enough to bear on the question."""
        return not self.hits

    @property
    def ranking(self) -> Ranking:
        """The ranking that was used: strict or weighed."""
        return Ranking.STRICT if self.rule.is_strict else Ranking.WEIGHED

    @property
    def decided_by(self) -> DecidedBy:
        """The part that labels had in the order of the hits."""
        if self.rule.is_strict and any(hit.density for hit in self.hits):
            return DecidedBy.LABEL_DENSITY
        made_of_labels = {LABELS, GOAL, DENSITY}.intersection(self.rule.summed)
        weighed = any(hit.parts.get(name) for hit in self.hits for name in made_of_labels)
        return DecidedBy.WEIGHED_LABELS if weighed else DecidedBy.NO_LABELS

    @property
    def model_failure(self) -> str:
        """The reason why labels were chosen without the model that should have; empty if nothing failed."""
        first = self.reasons[0] if self.reasons else ""
        return first.removeprefix(WITHOUT_MODEL) if first.startswith(WITHOUT_MODEL) else ""

    def context(self) -> str:
        """The hits as text for a prompt: inside the budget, in the order in which they happened.

        It is quoted data with a delimiter that the quoted text cannot contain; put it into a user message, never into
        a system message.
        """
        return self.context_text


def _table_of(result: RetrievalResult) -> str:
    """The hits of an answer as an HTML table, under the labels that were looked for."""
    labels = ", ".join(f"{kind.value} <b>{escape(value)}</b>" for kind, value in sorted(result.intent_filter.labels()))
    about = f"{len(result.hits)} hits by {result.decided_by.value}, {result.milliseconds:.1f} ms"
    return (
        f"<p><b>{escape(result.request.query)}</b><br>looking for {labels or 'similar text only'}: {about}</p>"
        + table(_HEADS, (_row(rank, hit) for rank, hit in enumerate(result.hits, start=1)))
    )


def _row(rank: int, hit: ScoredSnippet) -> Sequence[str]:
    snippet = hit.snippet
    text = snippet.resolved if len(snippet.resolved) <= _TEXT_CHARS else snippet.resolved[: _TEXT_CHARS - 1] + "…"
    matched = ", ".join(value for _, value in sorted(hit.matched))
    return (
        str(rank), f"{snippet.trajectory} {snippet.step}", snippet.role, text, snippet.intent.scope or "", matched,
        f"{hit.similarity:.3f}",
    )  # fmt: skip


@dataclass(frozen=True)
class Answer:
    """The answer of a language model to a question, with the steps on which it stands."""

    text: str
    """Empty if nothing is known: then no model was asked."""
    cited: tuple[ScoredSnippet, ...]
    """The steps that the model names as its grounds, in the order of the result."""
    result: RetrievalResult
    """All that was found; the model read its `context`."""

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        rows = (_row(rank, hit) for rank, hit in enumerate(self.cited, start=1))
        return f"<p><b>{escape(self.result.request.query)}</b><br>{escape(self.text)}</p>{table(_HEADS, rows)}"
