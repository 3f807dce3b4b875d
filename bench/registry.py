"""All methods, by the names under which they are chosen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from stitch.bench import memories, methods
from stitch.bench.data.types import DataSet
from stitch.bench.labelers import (
    ChangedLabeler,
    GoldLabeler,
    gold_filter,
    labeler_named,
    with_targets,
)
from stitch.bench.memories import LessSelector, MemoryMethod, SharedMemory, TargetSelector
from stitch.bench.methods import Method
from stitch.bench.written import as_written, read_filters
from stitch.core import DensityCount, LabelKind
from stitch.errors import InputError, require_extra

DEFAULT_METHODS = ("stitch", "stitch-unlabeled", "bm25", "dense", "hybrid")
GOLD_METHOD = "stitch-gold"


@dataclass
class Bench:
    """What methods are made from: the data set, and memories that several of them share."""

    data: DataSet
    labels: str
    keep: Path | None = None
    """Where memories stay when they are closed; None if they are removed."""
    filters: Path | None = None
    """The labels chosen for each question; the memory chooses if it is None."""

    def __post_init__(self) -> None:
        self._shared: dict[str, SharedMemory] = {}

    def stitch(self, name: str, choose: memories.FilterChoice | None = None) -> MemoryMethod:
        """A method on the memory with default labels."""
        if choose is None:
            choose = memories.as_selected if self.filters is None else as_written(read_filters(self.filters))
        return MemoryMethod(name, self._memory("default", lambda: memories.default_opener(self.labels)), choose)

    def lens(self, name: str) -> MemoryMethod:
        """Another retriever of the memory with default labels."""
        memory = self._memory("default", lambda: memories.default_opener(self.labels))
        return MemoryMethod(name, memory, memories.as_selected, retriever=name)

    def without(self, name: str, kind: LabelKind) -> MemoryMethod:
        """The default labels, of which questions choose none of a kind."""
        from stitch.retrieve import LocalFilterSelector

        selector = LessSelector(LocalFilterSelector(), kind)
        make = memories.opener(labeler_named(self.labels), selector=selector)
        return MemoryMethod(name, self._memory(name, lambda: make), memories.as_selected)

    def by_kind(self, name: str) -> MemoryMethod:
        """Density that counts kinds, with targets as the fourth: the authors' code."""
        from stitch.retrieve import LocalFilterSelector

        labeler = ChangedLabeler(labeler_named(self.labels), with_targets, name="targets")
        selector = TargetSelector(LocalFilterSelector())
        make = memories.opener(labeler, selector=selector, count=DensityCount.KINDS)
        return MemoryMethod(name, self._memory(name, lambda: make), memories.as_selected)

    def with_gold(self, name: str) -> MemoryMethod:
        """Gold labels on steps and questions: the ceiling."""
        chosen = {q.id: gold_filter(q, self.data.gold.get(q.trajectory, {})) for q in self.data.questions}
        make = memories.opener(GoldLabeler(self.data.gold))
        return MemoryMethod(name, self._memory(name, lambda: make), memories.given(chosen))

    def _memory(self, name: str, make: Callable[[], memories.Opener]) -> SharedMemory:
        if name not in self._shared:
            keep, of_the_paper = self.keep / name if self.keep else None, any(q.domain for q in self.data.questions)
            self._shared[name] = SharedMemory(make(), keep=keep, fills=of_the_paper)
        return self._shared[name]


METHODS: dict[str, Callable[[Bench], Method]] = {
    "stitch": lambda bench: bench.stitch("stitch"),
    "stitch-no-scope": lambda bench: bench.without("stitch-no-scope", LabelKind.SCOPE),
    "stitch-no-event": lambda bench: bench.without("stitch-no-event", LabelKind.EVENT_TYPE),
    "stitch-no-entity": lambda bench: bench.without("stitch-no-entity", LabelKind.ENTITY_TYPE),
    "stitch-unlabeled": lambda bench: bench.stitch("stitch-unlabeled", memories.no_labels),
    "themes": lambda bench: bench.lens("themes"),
    "auto": lambda bench: bench.lens("auto"),
    GOLD_METHOD: lambda bench: bench.with_gold(GOLD_METHOD),
    "density-by-kind": lambda bench: bench.by_kind("density-by-kind"),
    "bm25": lambda bench: methods.Lexical(),
    "dense": lambda bench: methods.Dense(),
    "hybrid": lambda bench: methods.Hybrid(),
    "full-context": lambda bench: methods.FullContext(),
    "recent": lambda bench: methods.Recent(),
    "oracle": lambda bench: methods.Oracle({q.id: q.evidence for q in bench.data.questions}),
}
"""How each method is made."""
_BY_WORDS = frozenset({"bm25", "hybrid"})
"""The methods that the library bm25s is needed for."""


def method_names(text: str | None) -> tuple[str, ...]:
    """The methods named in a comma-separated list; `all` names all, nothing the default ones.

    Raises:
        InputError: A name is not known, or named twice.
        SettingsError: A method needs an extra that is not installed.
    """
    if text is None:
        text = ",".join(DEFAULT_METHODS)
    if text.strip() == "all":
        text = ",".join(METHODS)
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in METHODS:
            raise InputError(f"no method {name!r}", hint=f"one of {', '.join(METHODS)}")
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(f"method {repeated[0]!r} is named twice", hint="name each method once")
    if not names:
        raise InputError("no method is named", hint=f"one of {', '.join(METHODS)}")
    for name in names:
        if name in _BY_WORDS:
            require_extra("bench", package="bm25s", needed_by=f"the method {name!r}")
    return tuple(names)


def missing_for(name: str, data: DataSet) -> str | None:
    """Why a method cannot be run on a set; None if it can."""
    if name == GOLD_METHOD and not any(data.gold.values()):
        return "the set has no gold labels"
    return None


def make_methods(
    names: Sequence[str],
    data: DataSet,
    *,
    labels: str = "local",
    filters: Path | None = None,
    keep: Path | None = None,
) -> list[Method]:
    """The methods of these names for a set, in order; those that can share a memory do; `keep` is where they stay."""
    bench = Bench(data, labels, keep, filters)
    return [METHODS[name](bench) for name in names]
