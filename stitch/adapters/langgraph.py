"""A memory as the store of LangGraph: `compile(store=MemoryStore(memory))`.

A namespace is a trajectory and an item is a step: its key is the id, what is indexed of its value is the text, and the
value stands beside it. Put over a key that is there, a value is corrected, and `versions` tells what it was before.
"""

from __future__ import annotations

import asyncio
import json
import math
import operator
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from urllib.parse import quote, unquote

from stitch.errors import missing_extra

try:
    from langgraph.store import base
    from langgraph.store.base.embed import get_text_at_path
except ImportError as error:
    raise missing_extra("langgraph", needed_by=__name__) from error

from stitch.core import Step, StepState, clean_name
from stitch.lifecycle.selection import Selector
from stitch.retrieve.context.recalled import without_recalled

if TYPE_CHECKING:
    from stitch.journal import Entry
    from stitch.memory import Memory

ITEM = "langgraph"
"""Under this name the metadata of a step hold its item: `value`, times, whether it is indexed, when it expires."""

_MOST_FOUND = 10_000
_MINUTE_S = 60.0
_LEAST_REFRESH = 0.1
"""A time that is read anew less than so much of its minutes later is not written down again."""
_NOT_IN_NAMES = re.compile(r"[%\x00-\x1f\x7f-\x9f\u2028\u2029]|^\s|\s$")
"""Signs that the name of a trajectory would lose, or would not tell from its encoding."""
_NOT_INDEXED = "[an item that is not indexed]"


class _Held(NamedTuple):
    """An item as the memory has it."""

    namespace: tuple[str, ...]
    key: str
    entry: Entry

    @property
    def about(self) -> dict[str, Any]:
        """The metadata of its step."""
        return cast("dict[str, Any]", self.entry.step.metadata[ITEM])

    def expired(self, now: float) -> bool:
        """Whether its time is over."""
        until = self.about.get("expires")
        return until is not None and until <= now

    def fields(self) -> dict[str, Any]:
        """Fields of an `Item`."""
        made, changed = (datetime.fromtimestamp(self.about[name], timezone.utc) for name in ("created", "updated"))
        return {"value": self.about["value"], "key": self.key, "namespace": self.namespace, "created_at": made,
                "updated_at": changed}  # fmt: skip


class MemoryStore(base.BaseStore):
    """A store of LangGraph in a memory, searched as the memory is searched.

    Keys, tokens and passwords are taken out of values as out of all that a memory keeps, unless its settings say else.

    Args:
        memory: Where items are kept. Whose it is, is decided by whoever opened it, and by no namespace.
        fields: Which parts of a value are indexed where a `put` does not say: paths such as `a.b[*].c`; `$` is all.
        ttl: `default_ttl`, `refresh_on_read` and `omit_expired`, in minutes; what has expired is erased when its
            namespace is searched or `sweep` is called.
        root: How the trajectories of the store begin, so that conversations in the same memory are no namespaces.
        clock: Gives Unix seconds.
    """

    supports_ttl = True

    def __init__(
        self,
        memory: Memory,
        *,
        fields: Sequence[str] = ("$",),
        ttl: base.TTLConfig | None = None,
        root: str = "store",
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.memory = memory
        self.ttl_config = ttl
        self._fields, self._root, self._clock = tuple(fields), f"{root}/", clock
        self._lock = threading.RLock()

    def batch(self, ops: Iterable[base.Op]) -> list[base.Result]:
        """Answer operations in their order: what they read is as it was before what they put."""
        given = list(ops)
        for op in given:
            base.validate_op_namespace(op)
        with self._lock:
            results: list[base.Result] = [None if isinstance(op, base.PutOp) else self._answer(op) for op in given]
            last = {(op.namespace, op.key): op for op in given if isinstance(op, base.PutOp)}
            for op in last.values():
                self._put(op)
        return results

    async def abatch(self, ops: Iterable[base.Op]) -> list[base.Result]:
        """As `batch`, for asyncio."""
        return await asyncio.to_thread(self.batch, list(ops))

    def versions(self, namespace: tuple[str, ...], key: str) -> list[dict[str, Any]]:
        """Earlier values of a key, oldest first."""
        held = self._item(namespace, key)
        if held is None:
            return []
        past = self.memory.lifecycle.history(held.entry.id, trajectory=held.entry.trajectory)
        values = [cast("dict[str, Any]", each.step.metadata[ITEM])["value"] for each in past]
        later = [*values[1:], held.about["value"]]  # a time that was read anew is no other value
        return [value for value, following in zip(values, later, strict=False) if value != following]

    def sweep(self) -> int:
        """Erase what has expired; return how many items that were."""
        now = self._clock()
        with self._lock:
            over = [held for name in self._namespaces() for held in self._items(name) if held.expired(now)]
            for held in over:
                self._erase(held.namespace, held.key)
        return len(over)

    def _answer(self, op: base.Op) -> base.Result:
        if isinstance(op, base.GetOp):
            held = self._item(op.namespace, op.key)
            if held is None or self._omitted(held):
                return None
            self._refresh([held], wanted=op.refresh_ttl)
            return base.Item(**held.fields())
        if isinstance(op, base.SearchOp):
            return self._search(op)
        if isinstance(op, base.ListNamespacesOp):
            return self._listed(op)
        raise ValueError(f"unknown operation {type(op).__name__}")

    def _search(self, op: base.SearchOp) -> list[base.SearchItem]:
        inside = [name for name in self._namespaces() if name[: len(op.namespace_prefix)] == tuple(op.namespace_prefix)]
        there = {
            (held.entry.trajectory, held.entry.id): held for name in inside for held in self._present(name, op.filter)
        }
        scores = self._scores(op.query, inside) if op.query else {}
        indexed = {place: score for place, score in scores.items() if place in there and there[place].about["indexed"]}
        ordered = [*indexed, *(place for place in there if place not in indexed)]  # those without a score fill the page
        page = [(there[place], indexed.get(place)) for place in ordered[op.offset : op.offset + op.limit]]
        self._refresh([held for held, _ in page], wanted=op.refresh_ttl)
        return [base.SearchItem(**held.fields(), score=score) for held, score in page]

    def _scores(self, query: str, inside: Sequence[tuple[str, ...]]) -> dict[tuple[str, str], float]:
        """Similarities of steps to a query, best first as the memory ranks them."""
        if not inside:
            return {}
        alone = self._trajectory(inside[0]) if len(inside) == 1 else None
        found = self.memory.search(query, trajectory=alone, k=_MOST_FOUND, budget_tokens=1, min_relevance=0.0)
        return {(hit.snippet.trajectory, hit.snippet.step): hit.similarity for hit in found}

    def _listed(self, op: base.ListNamespacesOp) -> list[tuple[str, ...]]:
        names = {
            name[: op.max_depth]
            for name in self._namespaces()
            if all(_fits(condition, name) for condition in op.match_conditions or ()) and any(self._present(name))
        }
        return sorted(names)[op.offset : op.offset + op.limit]

    def _put(self, op: base.PutOp) -> None:
        held = self._item(op.namespace, op.key)
        if op.value is None:
            if held is not None:
                self._erase(op.namespace, op.key)
            return
        value, now = json.loads(json.dumps(op.value)), self._clock()
        text = self._text(value, op.index)
        about = {
            "value": value, "created": now if held is None else held.about["created"], "updated": now,
            "indexed": text is not None, "ttl": op.ttl, "expires": None if op.ttl is None else now + op.ttl * _MINUTE_S,
        }  # fmt: skip
        content, where = text or _NOT_INDEXED, self._trajectory(op.namespace)
        if held is None:
            step = Step(id=_id_of(op.key), role="note", content=content, metadata={ITEM: about})
            self.memory.add(step, trajectory=where, again=True)
        else:
            self._correct(held, content if content != held.entry.step.content else None, about)

    def _correct(self, held: _Held, text: str | None, about: Mapping[str, Any]) -> None:
        entry = held.entry
        self.memory.lifecycle.correct(
            entry.id, trajectory=entry.trajectory, text=text, metadata={ITEM: about}, by="langgraph"
        )

    def _text(self, value: Mapping[str, Any], index: Sequence[str] | bool | None) -> str | None:
        """The text by which a value is found; None if nothing is searched."""
        if index is False:
            return None
        paths = self._fields if index is None or index is True else index
        texts = [text for path in paths for text in (_said(value) if path == "$" else get_text_at_path(value, path))]
        said = without_recalled("\n".join(dict.fromkeys(text for text in texts if text.strip())))
        return said or None

    def _item(self, namespace: tuple[str, ...], key: str) -> _Held | None:
        entry = self.memory.get(self._trajectory(namespace), _id_of(key))
        return None if entry is None or not _is_item(entry) else _Held(namespace, key, entry)

    def _items(self, namespace: tuple[str, ...]) -> Iterator[_Held]:
        for entry in self.memory.steps(self._trajectory(namespace)):
            if _is_item(entry):
                coded = entry.id.startswith("%")
                yield _Held(namespace, unquote(entry.id[1:]) if coded else entry.id, entry)

    def _present(self, namespace: tuple[str, ...], wanted: Mapping[str, Any] | None = None) -> Iterator[_Held]:
        """The items of a namespace that are not treated as gone, and that a filter wants."""
        for held in self._items(namespace):
            if not self._omitted(held) and _matches(held.about["value"], wanted or {}):
                yield held

    def _namespaces(self) -> list[tuple[str, ...]]:
        """All namespaces, the oldest first."""
        names = (name for name in self.memory.trajectories() if name.startswith(self._root))
        return [tuple(unquote(label) for label in name[len(self._root) :].split(".")) for name in names]

    def _trajectory(self, namespace: tuple[str, ...]) -> str:
        names = (_NOT_IN_NAMES.sub(lambda sign: quote(sign[0], safe=""), label) for label in namespace)
        return self._root + ".".join(names)

    def _erase(self, namespace: tuple[str, ...], key: str) -> None:
        self.memory.lifecycle.erase(Selector(trajectory=self._trajectory(namespace), step=_id_of(key)))

    def _omitted(self, held: _Held) -> bool:
        """Whether an item is treated as gone."""
        return (self.ttl_config or {}).get("omit_expired", True) and held.expired(self._clock())

    def _refresh(self, read: Sequence[_Held], *, wanted: bool) -> None:
        """Restart the time to live of items that are read, unless it began just now."""
        for held in read if wanted else ():
            if held.about["ttl"] is None:
                continue
            lasts_s = held.about["ttl"] * _MINUTE_S
            until = self._clock() + lasts_s
            if until - held.about["expires"] >= _LEAST_REFRESH * lasts_s:
                self._correct(held, None, {**held.about, "expires": until})


def _is_item(entry: Entry) -> bool:
    return entry.state is not StepState.RETIRED and isinstance(entry.step.metadata.get(ITEM), Mapping)


def _id_of(key: str) -> str:
    """The id of a step for a key: the key itself, if a step may be called so."""
    try:
        plain = clean_name(key) == key and not key.startswith("%")
    except ValueError:
        plain = False
    return key if plain else f"%{quote(key, safe='')}"


def _said(value: Any, name: str = "") -> Iterator[str]:
    """The lines of a value: `name: text`, or the text alone where its name says nothing."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _said(inner, str(key))
    elif isinstance(value, list):
        for inner in value:
            yield from _said(inner, name)
    elif value is not None and str(value).strip():
        yield str(value) if name in ("", "content", "text", "memory", "data", "value") else f"{name}: {value}"


def _fits(condition: base.MatchCondition, name: tuple[str, ...]) -> bool:
    if condition.match_type not in ("prefix", "suffix"):
        raise ValueError(f"unknown match type {condition.match_type!r}")
    path, begins = tuple(condition.path), condition.match_type == "prefix"
    pairs = zip(path, name, strict=False) if begins else zip(reversed(path), reversed(name), strict=False)
    return len(path) <= len(name) and all(wanted in ("*", label) for wanted, label in pairs)


_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "$eq": operator.eq, "$ne": operator.ne, "$gt": operator.gt, "$gte": operator.ge, "$lt": operator.lt,
    "$lte": operator.le,
}  # fmt: skip


def _matches(value: Any, wanted: Any) -> bool:
    """Whether a value is what a filter wants: equal, inside the bounds of `$gt` and its kind, and so for each field.

    `$and` and `$or` take a list of filters, `$not` takes one.

    Raises:
        ValueError: The filter has an operator that is not known.
    """
    if isinstance(wanted, Mapping):
        return (bool(wanted) or isinstance(value, Mapping)) and all(
            _holds(str(key), value, each) for key, each in wanted.items()
        )
    if isinstance(wanted, list | tuple):
        alike = isinstance(value, list) and len(value) == len(wanted)
        return alike and all(map(_matches, value, wanted))
    return bool(value == wanted)


def _holds(key: str, value: Any, wanted: Any) -> bool:
    """Whether one field of a value, or the value under an operator, is what a filter wants."""
    if not key.startswith("$"):
        return isinstance(value, Mapping) and _matches(value.get(key), wanted)
    if key in _COMPARISONS:
        return _compares(key, value, wanted)
    if key == "$not":
        return not _matches(value, wanted)
    if key not in ("$and", "$or") or not isinstance(wanted, list | tuple):
        raise ValueError(
            f"unsupported operator {key!r}; there are {', '.join(_COMPARISONS)},"
            " $not with a filter, $and and $or with a list of them"
        )
    return (all if key == "$and" else any)(_matches(value, each) for each in wanted)


def _compares(name: str, value: Any, bound: Any) -> bool:
    texts = isinstance(value, str) and isinstance(bound, str)
    same = name in ("$eq", "$ne") or texts
    return _COMPARISONS[name](*((value, bound) if same else (_number(value), _number(bound))))


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return math.nan  # what is no number is in no bounds
