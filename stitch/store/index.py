"""An embedded store's index in process: which snippets carry which labels, and so every label density at once.

More than 400 lines because whoever adds, removes, buries and counts goes by the same slots of all columns.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from stitch.core.intent import Label, LabelKind
from stitch.core.protocols import DensityQuery
from stitch.core.ranking import DensityCount
from stitch.core.snippets import Moment
from stitch.core.trust import Trust
from stitch.store.columns import Column, Ids, Texts, narrowed, with_gaps, without_gaps
from stitch.store.words import PackedWords, TenantWords

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Slots = NDArray[np.int64]
    Levels = NDArray[np.signedinteger[Any] | np.unsignedinteger[Any]]


_TOO_MANY_DEAD = 1000
"""How many slots there must be before dead ones are worth a rebuild."""


_FEW_LEVELS = 16
"""So many densities are counted one by one: to count all at once takes as long as that."""

_FIRST_POSITION, _LAST_POSITION = -(2**63), 2**63 - 1
"""No step stands before or behind them: a store refuses it."""


class Held(NamedTuple):
    """Where a store has a snippet."""

    row: int
    """The number of its vector in the engine."""
    start: int
    """Where its record begins in the file of snippets."""
    size: int


class IndexEntry(NamedTuple):
    """What the index knows of a snippet."""

    id: str
    tenant: str
    trajectory: str
    position: int
    step: str
    labels: tuple[Label, ...]
    trust: Trust = Trust.LOW
    recorded: float = 0.0


class Cut(NamedTuple):
    """Where a ranking is decided by labels, and where similarity has to decide."""

    certain: Slots
    """Slots whose density alone puts them among the first k."""
    tier: Slots
    """Slots of equal density below those, too many for the places that are left: similarity chooses among them."""
    level: Levels
    """For every slot of the tenant, the place of its density in `densities`."""
    densities: NDArray[np.float64]
    """The distinct densities, ascending."""


class TenantLabels:
    """The labels of one tenant. A snippet has a slot, numbered as they come; a replaced one leaves a dead slot."""

    def __init__(self) -> None:
        self.words = TenantWords()
        self.rows = Column(np.int64)
        """The number of the vector of the snippet in each slot."""
        self._starts = Column(np.int64)
        self._sizes = Column(np.int32)
        self._ids = Ids()
        self._live = Column(np.bool_)
        self._living = 0
        self._trajectory = Column(np.int32)
        self._position = Column(np.int64)
        self._trust = Column(np.int8)
        self._recorded = Column(np.float64)
        self._steps = Texts()
        self._names: dict[str, int] = {}
        self._first, self._last = array("q"), array("q")
        """Of each trajectory, by its number, its first and its last slot; others may stand between."""
        self._places: NDArray[np.int64] | None = None
        self._postings: dict[Label, array[int]] = {}

    def __len__(self) -> int:
        return self._living

    def find(self, snippet: str) -> Held | None:
        """Where a snippet is; None if it is not stored."""
        slot = self._ids.find(snippet)
        return None if slot is None else self.held([slot])[0]

    def slots_of(self, snippets: Sequence[str]) -> list[int]:
        """The slots of those of these snippets that are stored."""
        found = self._ids.find_all(snippets)
        return [found[name] for name in snippets if name in found]

    def carried(self, snippets: Sequence[str], words: Collection[int]) -> dict[str, frozenset[int]]:
        """Which of these words each of these snippets has; those that are not stored are left out."""
        found = self._ids.find_all(snippets)
        return dict(zip(found, self.words.carried(words, np.array([*found.values()], np.int64)), strict=True))

    def held(self, slots: Sequence[int] | Slots) -> list[Held]:
        """Where the snippets of these slots are."""
        return list(map(Held, self.rows.values[slots].tolist(), *self.spans(slots)))

    def spans(self, slots: Sequence[int] | Slots) -> tuple[list[int], list[int]]:
        """Where the records of these slots begin, and how long they are."""
        return self._starts.values[slots].tolist(), self._sizes.values[slots].tolist()

    def move(self, slots: Slots, starts: Sequence[int]) -> None:
        """Note where the records of these slots begin now."""
        self._starts.values[slots] = starts

    def ids(self, slots: Slots) -> list[str]:
        """The ids of these slots."""
        return self._ids.names(slots)

    def record_bytes(self) -> int:
        """How long the records of the living are together."""
        return int(self._sizes.values[self._live.values].sum(dtype=np.int64))

    def place(self, snippet: str) -> tuple[str, str]:
        """The trajectory and the step of a snippet.

        Raises:
            KeyError: It is not stored.
        """
        slot = self._ids.find(snippet)
        if slot is None:
            raise KeyError(snippet)
        number = int(self._trajectory.values[slot])
        return next(name for name, own in self._names.items() if own == number), self._steps[slot]

    def extend(
        self, entries: Sequence[tuple[Held, IndexEntry]], words: PackedWords, *, replaced: Mapping[str, bytes]
    ) -> None:
        """Add snippets, or replace those with their ids, whose packed words are given.

        No id may stand twice among them.
        """
        if gone := {entry.id: replaced[entry.id] for _, entry in entries if entry.id in replaced}:
            self.remove(gone)
        for _, entry in entries:
            self._list(entry, self._ids.append(entry.id))
        self._living += len(entries)
        self.rows.extend([held.row for held, _ in entries])
        self._starts.extend([held.start for held, _ in entries])
        self._sizes.extend([held.size for held, _ in entries])
        self._live.extend([True] * len(entries))
        self._trajectory.extend([self._names[entry.trajectory] for _, entry in entries])
        self._position.extend([entry.position for _, entry in entries])
        self._trust.extend([entry.trust.level for _, entry in entries])
        self._recorded.extend([entry.recorded for _, entry in entries])
        self._steps.extend(entry.step for _, entry in entries)
        self.words.extend(words)

    def _list(self, entry: IndexEntry, slot: int) -> None:
        """Note a slot, behind all others, with its trajectory and its labels."""
        number = self._names.get(entry.trajectory)
        if number is None:
            self._names[entry.trajectory], self._places = len(self._names), None
            self._first.append(slot)
            self._last.append(slot)
        else:
            self._last[number] = slot
        for label in entry.labels:
            postings = self._postings.get(label)
            if postings is None:
                postings = self._postings[label] = array("I")
            postings.append(slot)

    def dump(self) -> tuple[dict[str, Any], list[NDArray[Any]]]:
        """All of it, as names and arrays, for `load`; what is dead is left out."""
        if len(self._live) > self._living:
            self._bury()
        self._forget_names()
        names = {
            "trajectories": list(self._names),
            "labels": [[label.kind.value, label.value] for label in self._postings],
        }
        own = [narrowed(column.values) for column in self._columns]
        lengths = narrowed(np.array([len(postings) for postings in self._postings.values()], np.int64))
        postings = with_gaps(np.frombuffer(b"".join(self._postings.values()), np.uint32))
        return names, [*own, *self._ids.dump(), *self._steps.dump(), lengths, *postings, *self.words.dump()]

    @classmethod
    def load(cls, names: dict[str, Any], arrays: Iterator[NDArray[Any]]) -> TenantLabels:
        """What was dumped; takes as many of the arrays as it needs."""
        labels = cls()
        labels._names = {name: number for number, name in enumerate(names["trajectories"])}
        for column in labels._columns:
            column.extend(next(arrays))
        labels._living = len(labels.rows)
        labels._live.extend(np.ones(labels._living, dtype=bool))
        labels._ids, labels._steps = Ids.load(arrays), Texts.load(arrays)
        ends = np.cumsum(next(arrays), dtype=np.int64).tolist()
        postings = without_gaps(arrays)
        for (kind, value), start, end in zip(names["labels"], [0, *ends], ends, strict=False):
            labels._postings[Label(LabelKind(kind), value)] = array("I", postings[start:end].tobytes())
        labels.words = TenantWords.load(arrays)
        labels._find_reach()
        return labels

    def remove(self, packed: Mapping[str, bytes]) -> None:
        """Forget snippets, whose packed words are given."""
        for snippet in packed:
            self._live.values[self._ids.remove(snippet)] = False
        self._living -= len(packed)
        self.words.remove(PackedWords(list(packed.values())))
        if len(self._live) > _TOO_MANY_DEAD and len(self._live) > 2 * self._living:
            self._bury()

    @property
    def _columns(self) -> tuple[Column, ...]:
        """What is there of every slot, beside whether it lives."""
        return (
            self.rows, self._starts, self._sizes, self._trajectory, self._position, self._trust, self._recorded,
        )  # fmt: skip

    def _forget_names(self) -> None:
        """Forget the names of trajectories of which no snippet is left."""
        used = np.unique(self._trajectory.values)
        if len(used) < len(self._names):
            names = list(self._names)
            self._names, self._places = {names[old]: now for now, old in enumerate(used.tolist())}, None
            self._trajectory.values[:] = np.searchsorted(used, self._trajectory.values)
            self._find_reach()

    def _find_reach(self) -> None:
        numbers, slots = self._trajectory.values, np.arange(len(self._trajectory))
        first, last = np.zeros(len(self._names), np.int64), np.full(len(self._names), -1, np.int64)
        last[numbers] = slots  # of a number that stands there more than once, the last counts
        first[numbers[::-1]] = slots[::-1]
        self._first, self._last = array("q", first.tobytes()), array("q", last.tobytes())

    def _bury(self) -> None:
        alive = self._live.values.copy()
        for column in (*self._columns, self._live):
            column.keep(alive)
        for part in (self._ids, self._steps, self.words):
            part.keep(alive)
        slot_now = np.cumsum(alive) - 1
        for label, postings in list(self._postings.items()):
            slots = np.array(postings)
            self._postings[label] = array("I", slot_now[slots[alive[slots]]].astype(np.uint32).tobytes())
            if not self._postings[label]:
                del self._postings[label]
        self._find_reach()

    def slots(
        self,
        trajectory: str | None = None,
        *,
        min_trust: Trust | None = None,
        as_of: Moment | None = None,
        having: Collection[int] = (),
    ) -> Slots:
        """The living slots of one trajectory, or of all: those trusted enough, there at a moment, having all words."""
        found = self.words.slots(having) if having else None
        if found is not None and not len(found):
            return found
        seen = self._seen(trajectory, min_trust=min_trust, as_of=as_of)
        if seen is None:
            return np.arange(len(self._live)) if found is None else found
        return np.flatnonzero(seen) if found is None else found[seen[found]]

    def _seen(
        self, trajectory: str | None, *, min_trust: Trust | None, as_of: Moment | None
    ) -> NDArray[np.bool_] | None:
        """Of every slot, whether it lives, and belongs to what is asked; None if all do."""
        if self._living == len(self._live) and trajectory is None and min_trust is None and as_of is None:
            return None
        alive: NDArray[np.bool_] = self._live.values
        if trajectory is not None:
            alive = alive & (self._trajectory.values == self._names.get(trajectory, -1))
        if min_trust is not None:
            alive = alive & (self._trust.values >= min_trust.level)
        if as_of is not None:
            alive = alive & (self._recorded.values <= as_of.recorded)
            here = self._trajectory.values == self._names.get(as_of.trajectory or "", -1)
            alive &= ~(here & (self._position.values > as_of.position))
        return alive

    def near(self, places: Sequence[tuple[str, int]], *, reach: int, among: DensityQuery) -> Slots:
        """The living slots that stand up to `reach` positions from these places, of those that a query sees."""
        found = set[int]()
        for trajectory, position in places:
            number = self._names.get(trajectory) if among.trajectory in (None, trajectory) else None
            if number is not None:
                lowest, highest = max(position - reach, _FIRST_POSITION), min(position + reach, _LAST_POSITION)
                part = slice(self._first[number], self._last[number] + 1)
                there = self._position.values[part]
                here = (there >= lowest) & (there <= highest) & (self._trajectory.values[part] == number)
                found.update((np.flatnonzero(here) + part.start).tolist())
        slots = np.array(sorted(found), dtype=np.int64)
        seen = self._seen(None, min_trust=among.min_trust, as_of=among.as_of)
        return slots if seen is None else slots[seen[slots]]

    def ordered(self, slots: Slots, *, first: int | None = None) -> Slots:
        """Return slots by trajectory, position and step; only the `first` ones if a number is given."""
        return slots[self.order(slots)[:first]]

    def order(self, slots: Slots) -> NDArray[np.int64]:
        """Where among these slots those stand that come first, second, ... by trajectory, position and step."""
        if self._places is None:
            self._places = np.empty(len(self._names), dtype=np.int64)
            self._places[[self._names[name] for name in sorted(self._names)]] = np.arange(len(self._names))
        trajectory, position = self._places[self._trajectory.values[slots]], self._position.values[slots]
        order = np.lexsort((position, trajectory))
        same = np.flatnonzero((np.diff(position[order]) == 0) & (np.diff(trajectory[order]) == 0))
        if len(same):  # two steps in one place: the rare case in which the step's own name decides
            steps = [self._steps[slot] for slot in slots.tolist()]
            keys = zip(trajectory.tolist(), position.tolist(), steps, range(len(steps)), strict=True)
            order = np.array([number for _, _, _, number in sorted(keys)], dtype=np.int64)
        return order

    def cut(self, query: DensityQuery) -> Cut:
        """Return which snippets label density puts first, and between which it cannot decide."""
        slots = self.slots(query.trajectory, min_trust=query.min_trust, as_of=query.as_of, having=query.required_words)
        level, densities = self._density(query)
        if len(slots) <= query.k:
            return Cut(slots, slots[:0], level, densities)
        if len(densities) == 1:
            return Cut(slots[:0], slots, level, densities)
        everything = len(slots) == len(level)
        own = level if everything else level[slots]
        lowest = _deciding(own, query.k)
        certain, tier = np.flatnonzero(own > lowest), np.flatnonzero(own == lowest)
        if not everything:
            certain, tier = slots[certain], slots[tier]
        return Cut(certain, tier, level, densities)

    def _density(self, query: DensityQuery) -> tuple[Levels, NDArray[np.float64]]:
        size = len(self._live)
        carried = {label: self._carrying(label, aliases) for label, aliases in query.labels.items()}
        carried = {label: slots for label, slots in carried.items() if len(slots)}
        if not carried:
            return np.zeros(size, dtype=np.uint8), np.zeros(1)
        groups = list(carried.values())
        if query.count is DensityCount.KINDS:
            kinds = sorted({label.kind for label in carried})
            groups = [
                np.unique(np.concatenate([slots for label, slots in carried.items() if label.kind is kind]))
                for kind in kinds
            ]
        matches = np.zeros(size, dtype=np.min_scalar_type(len(groups)))  # the fewer bytes, the sooner it is read
        for slots in groups:
            matches[slots] += 1
        return matches, np.arange(len(groups) + 1, dtype=np.float64)

    def _carrying(self, label: Label, aliases: frozenset[str]) -> Slots:
        lists = (self._postings.get(Label(label.kind, value)) for value in aliases)
        slots = [np.array(postings, dtype=np.int64) for postings in lists if postings]
        if not slots:
            return np.empty(0, dtype=np.int64)
        return slots[0] if len(slots) == 1 else np.unique(np.concatenate(slots))


def _deciding(level: Levels, k: int) -> int:
    """The level of the kth of the highest; there are more than k."""
    highest = int(level.max())
    if highest > _FEW_LEVELS:
        at_least = np.cumsum(np.bincount(level)[::-1])[::-1]
        return int(np.flatnonzero(at_least >= k)[-1])
    for lowest in range(highest, 0, -1):
        k -= np.count_nonzero(level == lowest)
        if k <= 0:
            return lowest
    return 0


class LabelIndex:
    """The labels and words of all tenants of a store."""

    def __init__(self) -> None:
        self.next_row = 0
        self.reclaimed = 0
        """How many of the numbers before it the engine has no place for any more."""
        self._tenants: dict[str, TenantLabels] = {}

    def __len__(self) -> int:
        return sum(map(len, self._tenants.values()))

    def of(self, tenant: str) -> TenantLabels:
        """The labels of one tenant; empty if nothing was stored for it."""
        return self._tenants.get(tenant) or TenantLabels()

    def find(self, tenant: str, snippet: str) -> Held | None:
        """Where a tenant's snippet is; None if it is not stored, or not this tenant's."""
        return self.of(tenant).find(snippet)

    def tenants(self) -> list[str]:
        """Whoever has snippets."""
        return list(self._tenants)

    def add(
        self,
        entries: Sequence[tuple[Held, IndexEntry]],
        packed: Sequence[bytes],
        *,
        replaced: Mapping[str, bytes] | None = None,
    ) -> None:
        """Add snippets with their packed words, or replace those with their ids.

        Args:
            entries: No id may stand twice among them.
            packed: What `pack` gave of each.
            replaced: The packed words of those that are replaced, by id.
        """
        groups: dict[str, list[int]] = {}
        for number, (held, entry) in enumerate(entries):
            groups.setdefault(entry.tenant, []).append(number)
            self.next_row = max(self.next_row, held.row + 1)
        for tenant, numbers in groups.items():
            words = PackedWords([packed[number] for number in numbers])
            labels = self._tenants.setdefault(tenant, TenantLabels())
            labels.extend([entries[number] for number in numbers], words, replaced=replaced or {})

    def remove(self, tenant: str, packed: Mapping[str, bytes]) -> None:
        """Forget a tenant's snippets, whose packed words are given by id."""
        labels = self._tenants[tenant]
        labels.remove(packed)
        if not len(labels):
            del self._tenants[tenant]

    def dump(self) -> tuple[dict[str, Any], list[NDArray[Any]]]:
        """All of it, as names and arrays, for `load`."""
        names: dict[str, Any] = {}
        arrays: list[NDArray[Any]] = []
        for tenant, labels in self._tenants.items():
            names[tenant], own = labels.dump()
            arrays += own
        return {"next_row": self.next_row, "reclaimed": self.reclaimed, "tenants": names}, arrays

    @classmethod
    def load(cls, names: dict[str, Any], arrays: Iterator[NDArray[Any]]) -> LabelIndex:
        """What was dumped."""
        index = cls()
        index.next_row, index.reclaimed = names["next_row"], names["reclaimed"]
        index._tenants = {tenant: TenantLabels.load(own, arrays) for tenant, own in names["tenants"].items()}
        return index
