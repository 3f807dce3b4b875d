"""`stitch` and its ablations as methods: real memories in temporary folders, shared where methods can share one."""

from __future__ import annotations

import hashlib
import re
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

from stitch.bench.data.types import Inquiry
from stitch.bench.labelers import LABELERS, labeler_named
from stitch.bench.methods import TENANT, Found, Shown
from stitch.bench.metrics.evidence import BUDGETS
from stitch.core import (
    DensityCount,
    FilterSelector,
    IntentFilter,
    Labeler,
    LabelInventory,
    LabelKind,
    RetrievalResult,
    SearchRequest,
    Selection,
    Trajectory,
    clean_label,
    matched_by_kind,
)
from stitch.lm import LABELING_STAGES, Totals, read_ledger, sum_up

if TYPE_CHECKING:
    from stitch.memory import Memory

Opener = Callable[[Path], "Memory"]
"""Makes a memory in a folder."""
FilterChoice = Callable[["Memory", Inquiry], "Selection | None"]
"""The labels to search by; None leaves the choice to the memory."""

MATCHED_SHOWN = 20
"""For so many of the first steps, what they matched and the parts of their scores are kept."""

_FILTER_FIELDS = {
    LabelKind.SCOPE: "scopes",
    LabelKind.EVENT_TYPE: "event_types",
    LabelKind.ENTITY_TYPE: "entity_types",
}


class SharedMemory:
    """A memory of some trajectories in a temporary folder, for all methods that search it.

    Args:
        open_in: Makes the memory.
        keep: Where it stays when it is closed, so that what was paid for labels is not paid again.
        fills: Whether contexts are filled, as in the paper.
    """

    def __init__(self, open_in: Opener, *, keep: Path | None = None, fills: bool = False) -> None:
        self.fills = fills
        self._open_in = open_in
        self._keep = keep
        self._resources = ExitStack()
        self._memory: Memory | None = None
        self._holds: tuple[str, ...] = ()
        self.steps = 0
        self.seconds = 0.0
        """What taking in `steps` steps took, opening included."""
        self.spent = Totals()
        """What the calls of a model came to meanwhile."""
        self.stand_ins = 0
        """How many steps have labels of another than who was to label."""

    def take_in(self, trajectories: Sequence[Trajectory]) -> None:
        """Hold these trajectories and nothing else; doing it twice is done once."""
        names = tuple(trajectory.id for trajectory in trajectories)
        if self._memory is not None and names == self._holds:
            return
        self.close()
        folder = self._folder(names)
        started = time.perf_counter()
        memory = self._resources.enter_context(self._open_in(Path(folder)))
        for trajectory in trajectories:
            memory.add_many(trajectory.steps, trajectory=trajectory.id)
        memory.flush()  # a model may still wait for more steps before it labels
        self.seconds = time.perf_counter() - started
        self.steps = sum(len(trajectory.steps) for trajectory in trajectories)
        from stitch.lifecycle.folder import LEDGER_FILE

        charges = read_ledger(Path(folder) / LEDGER_FILE)
        self.spent = sum_up(charge for charge in charges if charge.stage in LABELING_STAGES)
        self.stand_ins = self.steps - memory.status().labeled_by.get(memory.labeler, 0)
        self._memory, self._holds = memory, names

    def _folder(self, names: Sequence[str]) -> str:
        if self._keep is None:
            return self._resources.enter_context(tempfile.TemporaryDirectory(prefix="stitch-bench-"))
        folder = self._keep / hashlib.sha256("\0".join(names).encode()).hexdigest()[:16]
        folder.mkdir(parents=True, exist_ok=True)
        return str(folder)

    @property
    def memory(self) -> Memory:
        """The memory; `take_in` comes first."""
        assert self._memory is not None
        return self._memory

    def close(self) -> None:
        """Close the memory and remove its folder."""
        self._memory, self._holds = None, ()
        self._resources.close()


class MemoryMethod:
    """A method that searches a memory.

    Args:
        name: The name under which it is reported.
        shared: Holds the memory.
        choose: The labels to search by.
        retriever: Which one answers; that of the settings by default.
    """

    def __init__(self, name: str, shared: SharedMemory, choose: FilterChoice, *, retriever: str | None = None) -> None:
        self.name = name
        self.shared = shared
        self._choose, self._retriever = choose, retriever

    def prepare(self, trajectories: Sequence[Trajectory]) -> None:
        """Store the trajectories."""
        self.shared.take_in(trajectories)

    def search(self, inquiry: Inquiry, *, k: int, budget_tokens: int) -> Found:
        """Ask the memory."""
        started = time.perf_counter()
        result = self._search(inquiry, k=k, budget_tokens=budget_tokens)
        found = found_in(result, milliseconds=(time.perf_counter() - started) * 1000)
        # Recall is told for other budgets too: in fewer tokens less of long steps is shown, and other sentences.
        others = [budget for budget in BUDGETS if budget != budget_tokens]
        again = partial(self._search, inquiry, k=k) if result.pieces else partial(_in_budget, result)
        inside = {budget: _steps_in(again(budget_tokens=budget)) for budget in others}
        return replace(found, shown={**inside, budget_tokens: found.context_steps})

    def _search(self, inquiry: Inquiry, *, k: int, budget_tokens: int) -> RetrievalResult:
        chosen = self._choose(self.shared.memory, inquiry)
        return self.shared.memory.search(
            inquiry.text,
            trajectory=inquiry.trajectory,
            k=k,
            budget_tokens=budget_tokens,
            asked_at=inquiry.asked_at,
            intent_filter=None if chosen is None else chosen.intent_filter,
            retriever=self._retriever,
            min_share=0.0 if self.shared.fills and self._retriever is None else None,
        )

    def texts(self, trajectory: str) -> dict[str, str]:
        """What the memory made of each step: resolved text and summary, by step id."""
        entries = self.shared.memory.steps(trajectory)
        snippets = [entry.snippet() for entry in entries]
        return {snippet.step: f"{snippet.resolved}\n{snippet.summary}" for snippet in snippets}

    def labels(self, trajectory: str) -> dict[str, frozenset[tuple[str, str]]]:
        """The labels of each step, by step id, each with its kind and after merges."""
        vocabulary = self.shared.memory.inventory(trajectory).vocabulary()
        snippets = [entry.snippet() for entry in self.shared.memory.steps(trajectory)]
        return {
            snippet.step: frozenset(
                (own.kind.value, own.value) for own in map(vocabulary.canonical_label, snippet.intent.labels())
            )
            for snippet in snippets
        }

    def close(self) -> None:
        """Remove the memory; other methods that share it have to be prepared again."""
        self.shared.close()


def found_in(result: RetrievalResult, *, milliseconds: float) -> Found:
    """The answer of a memory in the form of the benchmark."""
    return Found(
        pieces=tuple(Shown(piece.steps, piece.tokens, piece.text) for piece in result.pieces),
        steps=tuple(hit.snippet.step for hit in result.hits),
        milliseconds=milliseconds,
        context=_without_clock(result.context_text),
        context_tokens=result.context_tokens,
        context_steps=_steps_in(result),
        labels=matched_by_kind(result.intent_filter.labels()),
        matched={hit.snippet.step: matched_by_kind(hit.matched) for hit in result.hits[:MATCHED_SHOWN] if hit.matched},
        parts={hit.snippet.step: hit.parts for hit in result.hits[:MATCHED_SHOWN]},
        decided_by=result.decided_by.value,
    )


def _steps_in(result: RetrievalResult) -> tuple[str, ...]:
    """The steps of which at least a part stands in the context."""
    step_of = {hit.snippet.id: hit.snippet.step for hit in result.hits}
    for piece in result.pieces:
        step_of.update(zip(piece.snippets, piece.steps, strict=True))
    return tuple(step_of[own] for own in result.context_hits if own in step_of)


def _in_budget(result: RetrievalResult, *, budget_tokens: int) -> RetrievalResult:
    """The answer that the same search gives in another budget: the order of hits is none of the budget's business."""
    from stitch.retrieve import PieceCounter
    from stitch.retrieve.context.answer import answer

    return answer(
        result.request.model_copy(update={"budget_tokens": budget_tokens}),
        Selection(result.intent_filter, result.reasons),
        result.hits,
        rule=result.rule,
        counter=PieceCounter(),
        mode=result.mode,
        started=0.0,
    )


_HEADER = re.compile(r"<step [^<>]*>")
_RECORDED = re.compile(r" recorded (?:\d{1,2} [A-Z][a-z]{2}(?: \d{4})?(?: \d\d:\d\d)?|\d\d:\d\d)")


def _without_clock(context: str) -> str:
    """A context without when steps were taken in: that is not the data's, and with it no two runs have one prompt."""
    return _HEADER.sub(lambda header: _RECORDED.sub("", header[0], count=1), context)


def as_selected(memory: Memory, inquiry: Inquiry) -> None:
    """Leave the choice of labels to the memory."""
    del memory, inquiry


def no_labels(memory: Memory, inquiry: Inquiry) -> Selection:
    """Search by similarity alone, on the same snippets."""
    del memory, inquiry
    return Selection(IntentFilter())


def given(filters: Mapping[str, IntentFilter]) -> FilterChoice:
    """The labels given for each question, by its id."""

    def choose(memory: Memory, inquiry: Inquiry) -> Selection:
        del memory
        return Selection(filters[inquiry.id])

    return choose


def default_opener(labels: str) -> Opener:
    """Makes memories as `stitch ingest` does, labeled as settings say, or by files of written labels (`labels`)."""
    if labels not in LABELERS:
        return opener(labeler_named(labels))

    def open_in(folder: Path) -> Memory:
        from stitch.assemble import open_memory

        return open_memory(folder, tenant=TENANT, labels=cast("Literal['local', 'model']", labels))

    return open_in


def opener(
    labeler: Labeler,
    *,
    selector: FilterSelector | None = None,
    count: DensityCount = DensityCount.VALUES,
) -> Opener:
    """Makes memories as `default_opener` does, but with another labeler, selector or density."""

    def open_in(folder: Path) -> Memory:
        from stitch.embed import LexicalEncoder, StaticEmbedder
        from stitch.ingest import Ingestor
        from stitch.journal import SqliteJournal
        from stitch.lm import Ledger
        from stitch.memory import Memory, MemoryParts, SearchDefaults
        from stitch.observe import Observers
        from stitch.retrieve import IntentRetriever, LocalFilterSelector, PieceCounter
        from stitch.retrieve.themes import ThemesRetriever
        from stitch.store import EdgeStore
        from stitch.themes import TenantThemes

        embedder, lexical = StaticEmbedder(), LexicalEncoder()
        store = EdgeStore(folder / "snippets", embedder_name=embedder.name, dimension=embedder.dimension)
        journal = SqliteJournal(folder / "journal.sqlite")
        themes = TenantThemes(journal=journal, embedder=embedder)
        ingestor = Ingestor(
            journal=journal, store=store, embedder=embedder, labeler=labeler, lexical=lexical, projections=[themes]
        )
        resources = ExitStack()
        resources.callback(ingestor.close)
        intent = IntentRetriever(
            store=store,
            selector=selector or LocalFilterSelector(),
            embedder=embedder,
            lexical=lexical,
            inventories=ingestor.inventory,
            counter=PieceCounter(),
            count=count,
        )
        covering = ThemesRetriever(
            steps=intent, store=store, embedder=embedder, counter=PieceCounter(), hierarchies=themes.of
        )
        parts = MemoryParts(
            folder=folder,
            ingestor=ingestor,
            themes=themes,
            retrievers={own.mode: own for own in (intent, covering)},
            defaults=SearchDefaults(),
            observer=Observers([]),
            ledger=Ledger(),
            resources=resources,
        )
        return Memory(parts, tenant=TENANT)

    return open_in


class LessSelector:
    """Chooses the labels of another selector but those of one kind.

    Args:
        selector: Chooses the labels.
        kind: Those that are left out.
    """

    def __init__(self, selector: FilterSelector, kind: LabelKind) -> None:
        self._selector, self._field = selector, _FILTER_FIELDS[kind]

    def select(self, request: SearchRequest, inventory: LabelInventory) -> Selection:
        """The other selector's choice, with fewer labels."""
        selection = self._selector.select(request, inventory)
        return selection._replace(intent_filter=selection.intent_filter.model_copy(update={self._field: ()}))


class TargetSelector:
    """Chooses, besides the labels of another selector, every target that the question names word for word.

    Args:
        selector: Chooses the other labels.
        targets: Tells the targets of a trajectory.
    """

    def __init__(self, selector: FilterSelector) -> None:
        self._selector = selector

    def select(self, request: SearchRequest, inventory: LabelInventory) -> Selection:
        """The other selector's choice, with targets."""
        selection = self._selector.select(request, inventory)
        asked = f" {_folded(request.query)} "
        values = {value for summary in inventory.entity_types.values() for value in summary.values}
        values |= {value for scope in inventory.scopes for value in scope.values}
        named = sorted({value.casefold() for value in values if _folded(value) and f" {_folded(value)} " in asked})
        chosen = selection.intent_filter.model_copy(update={"targets": tuple(named)})
        return Selection(chosen, (*selection.reasons, *(f"target {value!r}: named" for value in named)))


def _folded(text: str) -> str:
    return " ".join("".join(c if c.isalnum() or c in ".'" else " " for c in clean_label(text).casefold()).split())
