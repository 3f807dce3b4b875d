"""`stitch` and its ablations as methods: real memories in temporary folders, shared where methods can share one."""

from __future__ import annotations

import hashlib
import re
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stitch.bench.data.types import Inquiry
from stitch.bench.labelers import LABELERS, FilterChoice, labeler_named
from stitch.bench.methods import TENANT
from stitch.bench.metrics.evidence import BUDGETS
from stitch.bench.records import LabeledTrajectory, MethodResult
from stitch.core import Labeler, RetrievalResult, Trajectory, matched_by_kind
from stitch.lm import LABELING_STAGES, Totals, read_ledger, sum_up
from stitch.server.operations.steps import ScopeSpans

if TYPE_CHECKING:
    from stitch.memory import Memory

Opener = Callable[[Path], "Memory"]
"""Makes a memory in a folder."""
MATCHED_SHOWN = 20
"""For so many of the first steps, what they matched and the parts of their scores are kept."""


class SharedMemory:
    """A memory of some trajectories in a temporary folder, for all methods that search it."""

    memory: Memory
    """The memory; `take_in` comes first."""

    def __init__(self, open_in: Opener, *, keep: Path | None = None, fills: bool = False) -> None:
        self.fills = fills
        self._open_in, self._keep = open_in, keep
        self._resources = ExitStack()
        self._holds: tuple[str, ...] | None = None
        self.seconds = 0.0
        """The time that taking in took, opening included."""
        self.spent = Totals()
        """The calls of a model meanwhile."""
        self.stand_ins = 0
        """How many steps have labels of another than who was to label."""

    def take_in(self, trajectories: Sequence[Trajectory]) -> None:
        """Hold these trajectories and nothing else; doing it twice is done once."""
        from stitch.lifecycle.folder import LEDGER_FILE

        names = tuple(trajectory.id for trajectory in trajectories)
        if names == self._holds:
            return
        self.close()
        folder = self._folder(names)
        started = time.perf_counter()
        memory = self._resources.enter_context(self._open_in(folder))
        for trajectory in trajectories:
            memory.add_many(trajectory.steps, trajectory=trajectory.id)
        memory.flush()  # a model may still wait for more steps before it labels
        self.seconds = time.perf_counter() - started
        charges = read_ledger(folder / LEDGER_FILE)
        self.spent = sum_up(charge for charge in charges if charge.stage in LABELING_STAGES)
        steps = sum(len(trajectory.steps) for trajectory in trajectories)
        self.stand_ins = steps - memory.status().labeled_by.get(memory.labeler, 0)
        self.memory, self._holds = memory, names

    def _folder(self, names: Sequence[str]) -> Path:
        if self._keep is None:
            return Path(self._resources.enter_context(tempfile.TemporaryDirectory(prefix="stitch-bench-")))
        folder = self._keep / hashlib.sha256("\0".join(names).encode()).hexdigest()[:16]
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def close(self) -> None:
        """Close the memory and remove its folder."""
        self._holds = None
        self._resources.close()


class MemoryMethod:
    """A method that searches a memory."""

    def __init__(self, name: str, shared: SharedMemory, choose: FilterChoice, *, retriever: str | None = None) -> None:
        self.name, self.shared = name, shared
        self._choose, self._retriever = choose, retriever

    def prepare(self, trajectories: Sequence[Trajectory]) -> None:
        """Store the trajectories."""
        self.shared.take_in(trajectories)

    def search(self, inquiry: Inquiry, *, k: int, budget_tokens: int) -> MethodResult:
        """Ask the memory; recall is told for other budgets too, for in fewer tokens other sentences are shown."""

        def ask(tokens: int) -> RetrievalResult:
            return self.shared.memory.search(
                inquiry.text, trajectory=inquiry.trajectory, k=k, budget_tokens=tokens, asked_at=inquiry.asked_at,
                intent_filter=self._choose(self.shared.memory, inquiry), retriever=self._retriever, min_relevance=0.0,
                min_share=0.0 if self.shared.fills and self._retriever is None else None,
            )  # fmt: skip

        started = time.perf_counter()
        result = ask(budget_tokens)
        found = found_in(result, milliseconds=(time.perf_counter() - started) * 1000)
        others = [budget for budget in BUDGETS if budget != budget_tokens]
        inside = {each: _steps_in(ask(each) if result.pieces else _in_budget(result, each)) for each in others}
        return found.model_copy(update={"shown": {**inside, budget_tokens: found.context_steps}})

    def texts(self, trajectory: str) -> dict[str, str]:
        """Resolved text and summary of each step, by step id."""
        snippets = (entry.snippet() for entry in self.shared.memory.steps(trajectory))
        return {snippet.step: f"{snippet.resolved}\n{snippet.summary}" for snippet in snippets}

    def labels(self, trajectory: str) -> dict[str, frozenset[tuple[str, str]]]:
        """The labels of each step, by step id, each with its kind and after merges."""
        canonical = self.shared.memory.inventory(trajectory).vocabulary().canonical_label
        snippets = (entry.snippet() for entry in self.shared.memory.steps(trajectory))
        return {
            snippet.step: frozenset((own.kind.value, own.value) for own in map(canonical, snippet.intent.labels()))
            for snippet in snippets
        }

    def labeled(self, trajectory: str) -> LabeledTrajectory:
        """The scopes of a trajectory over its steps."""
        memory = self.shared.memory
        scopes = tuple(map(ScopeSpans.model_validate, memory.inventory(trajectory).scopes))
        return LabeledTrajectory(steps=tuple(entry.id for entry in memory.steps(trajectory)), scopes=scopes)

    def close(self) -> None:
        """Remove the memory; other methods that share it have to be prepared again."""
        self.shared.close()


def found_in(result: RetrievalResult, *, milliseconds: float) -> MethodResult:
    """The answer of a memory in the form of the benchmark."""
    first = result.hits[:MATCHED_SHOWN]
    return MethodResult(
        steps=tuple(hit.snippet.step for hit in result.hits),
        milliseconds=round(milliseconds, 3),
        context=_without_clock(result.context_text),
        context_tokens=result.context_tokens,
        context_steps=_steps_in(result),
        labels={kind: tuple(own) for kind, own in matched_by_kind(result.intent_filter.labels()).items()},
        matched={
            hit.snippet.step: {kind: tuple(own) for kind, own in matched_by_kind(hit.matched).items() if own}
            for hit in first
            if hit.matched
        },
        parts={hit.snippet.step: {name: round(own, 4) for name, own in hit.parts.items()} for hit in first},
        decided_by=result.decided_by.value,
    )


def _steps_in(result: RetrievalResult) -> tuple[str, ...]:
    """The steps of which at least a part stands in the context."""
    step_of = {hit.snippet.id: hit.snippet.step for hit in result.hits}
    for piece in result.pieces:
        step_of.update(zip(piece.snippets, piece.steps, strict=True))
    return tuple(step_of[own] for own in result.context_hits if own in step_of)


def _in_budget(result: RetrievalResult, budget_tokens: int) -> RetrievalResult:
    """The answer that the same search gives in another budget: the order of hits is none of the budget's business."""
    from stitch.retrieve.context.answer import with_context

    request = result.request.model_copy(update={"budget_tokens": budget_tokens})
    return with_context(replace(result, request=request, trace=()))


_HEADER = re.compile(r"<step [^<>]*>")
_RECORDED = re.compile(r" recorded (?:\d{1,2} [A-Z][a-z]{2}(?: \d{4})?(?: \d\d:\d\d)?|\d\d:\d\d)")


def _without_clock(context: str) -> str:
    """A context without when steps were taken in: that is not the data's, and with it no two runs have one prompt."""
    return _HEADER.sub(lambda header: _RECORDED.sub("", header[0], count=1), context)


def as_selected(memory: Memory, inquiry: Inquiry) -> None:
    """Leave the choice of labels to the memory."""


def default_opener(labels: str) -> Opener:
    """Makes memories as `stitch ingest` does, labeled as settings say, or by files of written labels (`labels`)."""
    if labels not in LABELERS:
        return opener(labeler_named(labels))

    def open_in(folder: Path) -> Memory:
        from stitch.factory import open_memory

        given: Any = labels
        return open_memory(folder, tenant=TENANT, labels=given)

    return open_in


def opener(labeler: Labeler) -> Opener:
    """Makes memories as `default_opener` does, but with another labeler."""

    def open_in(folder: Path) -> Memory:
        from stitch.config import load_settings
        from stitch.factory import open_parts
        from stitch.memory import Memory

        settings = load_settings(memory=folder, labels="local", filter="local", recall_log=0)
        return Memory(open_parts(settings, labeler=labeler), tenant=TENANT)

    return open_in
