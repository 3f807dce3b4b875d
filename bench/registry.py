"""All methods, by the names under which they are chosen."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from pathlib import Path

from stitch.bench import memories, methods
from stitch.bench.data.types import DataSet
from stitch.bench.labelers import (
    FilterChoice,
    GoldLabeler,
    Without,
    as_written,
    gold_filter,
    labeler_named,
    read_filters,
)
from stitch.bench.memories import MemoryMethod, SharedMemory, opener
from stitch.bench.methods import Ranker
from stitch.core import LabelKind
from stitch.errors import InputError, require_extra

DEFAULT_METHODS = ("stitch", "stitch-unlabeled", "bm25", "dense", "hybrid")
GOLD_METHOD = "stitch-gold"

Method = Ranker | MemoryMethod
"""One way to find the steps that answer a question: it prepares trajectories, and searches them."""


class Bench:
    """The ground of methods: the data set, and memories that several of them share."""

    def __init__(self, data: DataSet, labels: str, *, keep: Path | None, filters: Path | None) -> None:
        self.data, self._labels, self._keep, self._filters = data, labels, keep, filters
        self._shared: dict[str, SharedMemory] = {}

    def plain(self, name: str, *, retriever: str | None = None) -> MemoryMethod:
        """A method on the memory with default labels, and with the filters that are given."""
        choose: FilterChoice = memories.as_selected
        if self._filters is not None and retriever is None:
            choose = as_written(read_filters(self._filters))
        return self._method(name, "default", lambda: memories.default_opener(self._labels), choose, retriever=retriever)

    def without(self, name: str, *, kinds: Collection[LabelKind]) -> MemoryMethod:
        """The same memory without the labels of some kinds; what else a labeler says of a step stays."""
        return self._method(name, name, lambda: opener(Without(frozenset(kinds), labeler_named(self._labels))))

    def with_gold(self, name: str) -> MemoryMethod:
        """Gold labels on steps and questions: the ceiling."""
        chosen = {q.id: gold_filter(q, self.data.gold.get(q.trajectory, {})) for q in self.data.questions}
        return self._method(name, name, lambda: opener(GoldLabeler(self.data.gold)), as_written(chosen))

    def _method(
        self, name: str, memory: str, make: Callable[[], memories.Opener],
        choose: FilterChoice = memories.as_selected, *, retriever: str | None = None,
    ) -> MemoryMethod:  # fmt: skip
        if memory not in self._shared:
            keep, of_the_paper = self._keep / memory if self._keep else None, any(q.domain for q in self.data.questions)
            self._shared[memory] = SharedMemory(make(), keep=keep, fills=of_the_paper)
        return MemoryMethod(name, self._shared[memory], choose, retriever=retriever)


METHODS: dict[str, Callable[[Bench, str], Method]] = {
    "stitch": Bench.plain,
    "stitch-no-scope": partial(Bench.without, kinds=[LabelKind.SCOPE]),
    "stitch-no-event": partial(Bench.without, kinds=[LabelKind.EVENT_TYPE]),
    "stitch-no-entity": partial(Bench.without, kinds=[LabelKind.ENTITY_TYPE]),
    "stitch-unlabeled": partial(Bench.without, kinds=tuple(LabelKind)),
    "themes": partial(Bench.plain, retriever="themes"),
    "auto": partial(Bench.plain, retriever="auto"),
    GOLD_METHOD: Bench.with_gold,
    "bm25": lambda bench, name: methods.Lexical(),
    "dense": lambda bench, name: methods.Dense(),
    "hybrid": lambda bench, name: methods.Hybrid(),
    "full-context": lambda bench, name: methods.FullContext(),
    "recent": lambda bench, name: methods.Recent(),
    "oracle": lambda bench, name: methods.Oracle({q.id: q.evidence for q in bench.data.questions}),
}
"""How each method is made."""


def method_names(text: str | None) -> tuple[str, ...]:
    """The methods named in a comma-separated list; `all` names all, nothing the default ones.

    Raises:
        InputError: A name is not known, or named twice.
        SettingsError: A method needs an extra that is not installed.
    """
    if text is None:
        return method_names(",".join(DEFAULT_METHODS))
    names = list(METHODS) if text.strip() == "all" else [name.strip() for name in text.split(",") if name.strip()]
    for place, name in enumerate(names):
        if name not in METHODS:
            raise InputError(f"no method {name!r}", hint=f"one of {', '.join(METHODS)}")
        if name in names[:place]:
            raise InputError(f"method {name!r} is named twice", hint="name each method once")
        if name in ("bm25", "hybrid"):
            require_extra("bench", package="bm25s", needed_by=f"the method {name!r}")
    if not names:
        raise InputError("no method is named", hint=f"one of {', '.join(METHODS)}")
    return tuple(names)


def missing_for(name: str, data: DataSet) -> str | None:
    """The reason a method cannot be run on a set; None if it can."""
    return "the set has no gold labels" if name == GOLD_METHOD and not any(data.gold.values()) else None


def make_methods(
    names: Sequence[str], data: DataSet, *, labels: str = "local", filters: Path | None = None, keep: Path | None = None
) -> list[Method]:
    """The methods of these names for a set, in order; those that can share a memory do; `keep` is where they stay."""
    bench = Bench(data, labels, keep=keep, filters=filters)
    return [METHODS[name](bench, name) for name in names]
