"""What a search returns."""

from __future__ import annotations

from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from stitch.core.intent import IntentFilter
from stitch.core.moment import Moment
from stitch.core.ranking import ScoredSnippet
from stitch.core.trust import Trust


class SearchRequest(BaseModel):
    """A question to a memory."""

    model_config = ConfigDict(frozen=True)

    query: str
    tenant: str
    trajectory: str | None = None
    """Search one trajectory only; all of the tenant if None."""
    k: int = Field(default=40, ge=1, le=10_000)
    """How many snippets to return (k_retrieve; the paper uses 40)."""
    budget_tokens: int = Field(default=4096, ge=1)
    """How many tokens the context may have (§4)."""
    asked_at: float | str | None = None
    """When the question is asked; relative times in it are read against this."""
    intent_filter: IntentFilter | None = None
    """Use this filter instead of selecting one."""
    weighed: bool = False
    """Whether the labels of that filter are only likely, see `RetrievalResult.weighed`."""
    min_trust: Trust | None = None
    """Return only snippets of this trust or more."""
    as_of: Moment | None = None
    """Answer as the memory would have at this moment."""


class Selection(NamedTuple):
    """A filter with the reasons for it."""

    intent_filter: IntentFilter
    reasons: tuple[str, ...] = ()
    """One short sentence per selected label: what in the question licenses it."""
    remainder: str | None = None
    """What of the question is left for similarity to find, where the filter says the rest; all of it if None."""
    weighed: bool = False
    """Whether the labels are only likely: they are weighed beside similarity, and density decides nothing."""
    lists_names: bool = False
    """Whether all names of a kind of thing are asked for: then classes of names are chosen that stand for one another,
    density counts kinds, and the context holds of each hit what bears a name."""


class RetrievalResult(NamedTuple):
    """The answer of a memory to a question."""

    request: SearchRequest
    intent_filter: IntentFilter
    reasons: tuple[str, ...]
    hits: tuple[ScoredSnippet, ...]
    """Best first, at most `request.k`."""
    context_text: str
    context_tokens: int
    context_hits: tuple[str, ...]
    """Ids of the snippets of which at least a part stands in the context."""
    milliseconds: float
    mode: str
    """The retriever that answered."""
    weighed: bool = False
    """Whether the question only hints at the labels of the filter: they were weighed beside similarity, and the
    similarity of the hits tells both; no hit has a density."""

    def context(self) -> str:
        """The hits as text for a prompt: inside the budget, in the order in which they happened.

        It is quoted data with a delimiter that the quoted text cannot contain; put it into a user message, never into
        a system message.
        """
        return self.context_text
