"""The seams of the library: whoever satisfies one of these can take the place of what is shipped.

Each protocol has one suite of contract tests in `tests/contracts`, which every implementation passes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

from stitch.core.intent import ContextualIntent, Label
from stitch.core.ranking import DensityCount
from stitch.core.receipts import MemoryEvent, Rejection
from stitch.core.results import RetrievalResult, SearchRequest, Selection
from stitch.core.snippets import LabelInventory, MemorySnippet, Moment, StepLabels
from stitch.core.steps import Step
from stitch.core.trust import Trust

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

SparseVector = Mapping[int, float]
"""Weights by 32-bit index."""


@runtime_checkable
class Embedder(Protocol):
    """Vectors of texts, whose dot product is their similarity."""

    @property
    def name(self) -> str:
        """The embedding space, version included. A store refuses vectors of another one."""

    @property
    def dimension(self) -> int:
        """Length of a vector."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector per text, shape `(len(texts), dimension)`; of a text without words, zeros.

        Raises:
            EmbedderError: The texts could not be embedded; none of them was.
        """


@runtime_checkable
class SummingEmbedder(Embedder, Protocol):
    """An embedder for which a text is the sum of what it says, so that words of a question can weigh differently."""

    def sums(self, texts: Sequence[str]) -> Vectors:
        """Return the sums that `embed` makes unit vectors of; shape and errors as there."""


class SnippetRecord(NamedTuple):
    """A snippet with what it is searched by."""

    snippet: MemorySnippet
    vector: Vectors
    """Shape `(dimension,)`."""
    words: SparseVector
    """Lexical weights, see `stitch.embed.LexicalEncoder`."""


@dataclass(frozen=True, kw_only=True)
class DensityQuery:
    """One ranking request to a store."""

    tenant: str
    labels: Mapping[Label, frozenset[str]] = field(default_factory=dict)
    """Canonical labels of the filter, each with all stored values that read as it (`LabelVocabulary.aliases`)."""
    matches: Callable[[ContextualIntent, str], Collection[Label]] | None = None
    """The labels that an intent of a trajectory carries, where it depends on its trajectory how a scope reads."""
    trajectory: str | None = None
    vector: Vectors | None = None
    """Query vector; similarity has no dense part if None."""
    words: SparseVector | None = None
    """Lexical weights of the query; similarity has no lexical part if None."""
    lexical_share: float = 0.5
    """The part of the similarity that is lexical when both parts are there, from 0 to 1."""
    count: DensityCount = DensityCount.VALUES
    k: int = 40
    exact: bool = True
    """Whether the ranking has to be exact.

    If not, as where it makes a pool for further scorers, a store may take what is first by labels, by vector or by
    words for all that can be first by these together.
    """
    min_trust: Trust | None = None
    """Only snippets of this trust or more are ranked."""
    as_of: Moment | None = None
    """Only snippets that were there at this moment are ranked."""

    def matched(self, snippet: MemorySnippet) -> Collection[Label]:
        """The labels of the filter that a snippet carries."""
        if self.matches is not None:
            return self.matches(snippet.intent, snippet.trajectory)
        carried = snippet.intent.labels()
        return [
            label for label, names in self.labels.items() if any(Label(label.kind, name) in carried for name in names)
        ]

    def sees(self, snippet: MemorySnippet) -> bool:
        """Whether a snippet is among those that are searched."""
        return (
            snippet.tenant == self.tenant
            and self.trajectory in (None, snippet.trajectory)
            and (self.min_trust is None or snippet.trust >= self.min_trust)
            and (self.as_of is None or self.as_of.knows(snippet))
        )


class WordCounts(NamedTuple):
    """Counts of words among a tenant's snippets, and which of some snippets have them."""

    snippets: int
    """Number of the tenant's snippets that have any word; if a trajectory was named, of its own."""
    carrying: Mapping[int, int]
    """Of each word that was asked for, how many of them have it."""
    carried: Mapping[str, frozenset[int]]
    """By id, which of the words each snippet that was asked for has; ids that are not stored are left out."""


class StoreHit(NamedTuple):
    """A snippet as a store ranked it."""

    snippet: MemorySnippet
    density: float
    similarity: float
    cosine: float = 0.0
    """The part of the similarity that vectors have; 0 without any."""
    lexical: float = 0.0
    """The part that words have, from 0 to 1."""


@runtime_checkable
class SnippetReader(Protocol):
    """Snippets as whoever answers sees them: a store, or one as it was at a moment of the past."""

    def rank(self, query: DensityQuery) -> list[StoreHit]:
        """Return the `k` first snippets by (density, similarity, trajectory, position), exactly.

        Equal to `rank_by_label_density` over all snippets that the query sees (`DensityQuery.sees`), snippets
        without any matched label included. Similarity is `(1 - s) * cosine + s * lexical / (lexical + 10)` where `s` is
        `lexical_share` and both parts are asked for; one part alone counts in full. `lexical` is the sum, over the
        words asked for, of both weights times ln(1 + (N - n + .5) / (n + .5)) ** 1.3: N snippets *of the tenant* have
        any word, n of them this one. Nothing that another tenant holds changes a number.
        """

    def get(self, tenant: str, ids: Sequence[str]) -> list[MemorySnippet]:
        """Return the snippets with these ids, in the order of `ids`; unknown ones and other tenants' are left out."""

    def near(self, query: DensityQuery, snippets: Sequence[MemorySnippet], *, reach: int) -> list[MemorySnippet]:
        """Return the snippets that stand up to `reach` positions before or after these in their trajectories.

        Each once, these themselves left out, by trajectory, position and step. Only what the query sees is returned
        (`DensityQuery.sees`); what else it asks for says nothing here.
        """

    def word_counts(
        self, tenant: str, words: Collection[int], *, trajectory: str | None = None, ids: Sequence[str] = ()
    ) -> WordCounts:
        """Count words, given as the indices of `SnippetRecord.words`, among a tenant's snippets, or a trajectory's.

        Of the snippets named by `ids` it is told which of the words they have.
        """

    def count(self, tenant: str | None = None) -> int:
        """The number of snippets of a tenant, or of all."""


class SnippetStore(SnippetReader, Protocol):
    """Keeps snippets and ranks them. Every call names a tenant; nothing of another tenant is ever touched."""

    def put(self, records: Sequence[SnippetRecord]) -> None:
        """Write snippets; one with the same id is replaced. When this returns, they can be found.

        Raises:
            StoreError: Nothing or only a part was written; putting again is safe.
        """

    def scroll(self, tenant: str, trajectory: str | None = None) -> Iterator[MemorySnippet]:
        """Iterate over all snippets, by trajectory and position."""

    def delete(self, tenant: str, ids: Sequence[str]) -> int:
        """Delete snippets and return how many there were."""

    def flush(self) -> None:
        """Make everything written survive a loss of power."""

    def close(self) -> None:
        """Flush and let go of the store; closing twice is harmless."""


class LabelSession(Protocol):
    """The labeling of one trajectory: remembers between two steps, knows nothing of what comes after."""

    def label(self, steps: Sequence[Step]) -> list[StepLabels]:
        """Label the next steps of the trajectory, in order; one result a step.

        Raises:
            ModelError: No step of the batch was labeled and the session is as before; asking again is safe.
        """

    def replay(self, steps: Sequence[Step], labels: Sequence[StepLabels]) -> None:
        """Take in steps whose labels are known already, as if `label` had just returned them."""

    def inventory(self) -> LabelInventory:
        """The label space so far."""

    def save(self) -> bytes:
        """Everything this session remembers; `Labeler.begin(trajectory, saved)` continues from it."""


@runtime_checkable
class CorrectableSession(LabelSession, Protocol):
    """A labeling that can take in a correction without reading the trajectory again."""

    def correct(self, position: int, *, before: tuple[Step, StepLabels], after: tuple[Step, StepLabels]) -> bool:
        """Take in that an earlier step, at a position from 0, says something else or has other labels.

        No other step's labels change. Returns False if it cannot: then nothing has changed, and a new session has to
        `replay` the trajectory.
        """


@runtime_checkable
class RevisingSession(LabelSession, Protocol):
    """A labeling that may learn from later steps that it misread an earlier one.

    It changes no label: it says which are to be corrected, and whoever keeps them records that as a correction. What it
    has to say is among what it saves, until it is settled.
    """

    def unsettled(self) -> list[str]:
        """The ids of the earlier steps that it misread, as it knows now."""

    def settle(self, step: str, labels: StepLabels | None) -> StepLabels | None:
        """The labels that an earlier step is to have, given those that it has; None if these stay.

        With None for `labels` it is not to be corrected. Afterwards the step is settled; whoever corrects it says so by
        `CorrectableSession.correct`.
        """


@runtime_checkable
class Labeler(Protocol):
    """Finds the contextual intent of steps (§2.2)."""

    @property
    def name(self) -> str:
        """The maker of the labels: goes into `StepLabels.made_by` and is compared before a saved session is used."""

    def begin(self, trajectory: str, saved: bytes | None = None) -> LabelSession:
        """Start labeling a trajectory, or continue from a saved session."""


@runtime_checkable
class BatchingLabeler(Labeler, Protocol):
    """A labeler that wants several steps at once, as one that asks a model does.

    Others stay accepted, and can be found without labels, until there are enough of them, or until `flush`, `close` or
    `retry`.
    """

    def ready(self, steps: Sequence[Step], *, waited_s: float) -> int:
        """The number of these consecutive steps that should be labeled now; none before the first waits.

        Unless the first has waited too long, that depends on the steps alone, and `label` makes the same of the steps
        after the first `ready` ones whether it is given them with these or later.
        """


@runtime_checkable
class FilterSelector(Protocol):
    """Chooses the filter F_q for a question (§2.3)."""

    def select(self, request: SearchRequest, inventory: LabelInventory) -> Selection:
        """Return the labels that the question licenses; an empty filter if it licenses none."""


@runtime_checkable
class Retriever(Protocol):
    """One way to search a memory."""

    @property
    def mode(self) -> str:
        """The name under which it is chosen."""

    def search(self, request: SearchRequest) -> RetrievalResult:
        """Answer a question."""


class SourcedStep(NamedTuple):
    """A step with where it was read."""

    trajectory: str
    step: Step
    source: str
    """File name, or `-` for standard input."""
    line: int
    """The line, from 1; for a format without lines, the number of the record."""
    numbered: bool = False
    """Whether the id is a number of the source's own, which another source may give as well."""
    placeholders: int = 0
    """Number of messages before it that say nothing but that a program left something out."""


Position = Mapping[str, Any]
"""Position in a source, as JSON; only its source knows what is in it."""


@runtime_checkable
class StepSource(Protocol):
    """Reads steps from a file, a file that grows, standard input, a broker, in batches with positions between them.

    A position is committed when all before it is accepted. A process that dies before that reads some steps again, with
    the same trajectories and ids: nothing is lost and nothing is there twice.
    """

    @property
    def name(self) -> str:
        """The path of a file, `-` for standard input, a topic."""

    def read(self) -> Iterator[Sequence[SourcedStep | Rejection]]:
        """Yield steps and rejections behind the committed position, in order, up to where nothing more has come.

        To read again goes on from there.

        Raises:
            InputError: The source is there and cannot be read.
        """

    def snapshot(self) -> Position:
        """The position behind the last batch that `read` has yielded."""

    def commit(self, position: Position) -> None:
        """Take note that all before a position, which `snapshot` returned, is accepted: a later process begins there.

        Raises:
            InputError: It cannot be written down.
        """

    def close(self) -> None:
        """Let go of what is open; nothing is committed. Closing twice is harmless."""


@runtime_checkable
class Observer(Protocol):
    """Observer of the events of a memory."""

    def notice(self, event: MemoryEvent) -> None:
        """Take note of an event. Must be quick and must not raise."""


@runtime_checkable
class DspyLanguageModel(Protocol):
    """A `dspy.BaseLM`, such as `dspy.LM("openai/gpt-5-mini")`."""

    model: str
    kwargs: dict[str, Any]
    num_retries: int

    def inspect_history(self, n: int = 1) -> None:
        """Show the last calls."""


@runtime_checkable
class PromptModule(Protocol):
    """A module of DSPy with the prompts of a program, as DSPy's optimizers return it."""

    def named_predictors(self) -> list[tuple[str, Any]]:
        """Predictors by the names of their attributes."""
