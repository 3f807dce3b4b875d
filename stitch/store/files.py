"""The files of a store and its vectors as one: written together, and made to agree again when that was interrupted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np

from stitch.core.snippets import snippet_id
from stitch.errors import StoreError
from stitch.store.bounds import VectorBounds
from stitch.store.index import Held, IndexEntry, LabelIndex
from stitch.store.mapped import give_back_pages
from stitch.store.payload import Payload, from_payload, labels_of, origin_and_trust
from stitch.store.pending import PendingVectors
from stitch.store.snippet_file import Place, Record, SnippetFile, VectorMark
from stitch.store.vectors import VectorEngine

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BATCH = 2000
"""How many snippets are read at a time."""
_MANY_ROWS = 10_000
"""Of fewer vectors a process may hold the pages: to look for them takes longer than all else of a flush."""


class StoreFiles:
    """Snippets, their vectors, and what is derived from these.

    A snippet is there when its record is, and the engine has the vector that the record names.

    Args:
        folder: Where they are.
        layout: The version of their format.
        dimension: The length of a vector.
        hint: How a damaged one is mended.
        open_engine: Makes the engine of their vectors, or opens it if it is told that it is there.
    """

    def __init__(
        self, folder: Path, *, layout: int, dimension: int, hint: str, open_engine: Callable[[bool], VectorEngine]
    ) -> None:
        self._folder = folder
        self._layout, self._dimension = layout, dimension
        self._hint, self._open_engine = hint, open_engine
        self._opened = ExitStack()
        self.snippets: SnippetFile
        self.pending: PendingVectors
        self.bounds: VectorBounds
        self.engine: VectorEngine
        self.lacking = 0
        """How many snippets a durable engine had no vector of when these files were made to agree."""

    def open(self, *, create: bool) -> None:
        """Open them.

        Raises:
            StoreError: One is damaged, or the engine cannot open its own.
            OSError: One cannot be used.
        """
        folder, dimension = self._folder, self._dimension
        with ExitStack() as opened:
            try:
                self.snippets = SnippetFile(folder / "snippets.bin", layout=self._layout, dimension=dimension)
            except StoreError as error:
                raise StoreError(error.message, hint=self._hint) from error
            opened.callback(self.snippets.close)
            self.pending = PendingVectors(folder / "pending.bin", dimension=dimension)
            opened.callback(self.pending.close)
            self.bounds = VectorBounds(folder, dimension=dimension)
            opened.callback(self.bounds.close)
            self.engine = self._open_engine(create)
            opened.callback(self.engine.close)
            self._opened = opened.pop_all()

    def close(self) -> None:
        """Let go of them; closing twice is harmless."""
        self._opened.close()

    def put(self, records: Sequence[bytes], rows: Sequence[int], units: NDArray[np.float32]) -> list[Place]:
        """Write records and their vectors, unless the engine is durable and has these; return where the records are."""
        self.pending.append(rows, units)
        places = self.snippets.append(records)
        if not self.engine.durable:
            self.engine.put(rows, units)
        self.bounds.put(rows, units)
        return places

    def free(self, found: Iterable[Held]) -> None:
        """Overwrite the records of snippets."""
        self.snippets.free([Place(held.start, held.size) for held in found])

    def delete_vectors(self, rows: Sequence[int]) -> None:
        """Overwrite vectors and what is derived from them."""
        self.engine.delete(rows)
        self.bounds.clear([row for row in rows if row < len(self.bounds)])

    def records(self, found: Mapping[str, Held]) -> dict[str, Record]:
        """The records of snippets, by id."""
        return {name: self.snippets.read(Place(held.start, held.size)) for name, held in found.items()}

    def flush(self) -> None:
        """Make everything written survive a loss of power."""
        self.snippets.flush()
        self.engine.flush()
        self.bounds.flush()
        self.pending.clear()
        if len(self.bounds) >= _MANY_ROWS:
            give_back_pages(self._folder)

    def are_of(self, index: LabelIndex) -> bool:
        """Whether nothing was interrupted since this index was saved, and nobody else has changed the engine."""
        whole = not self.pending.size and len(self.bounds) >= index.next_row
        return whole and (not self.engine.durable or len(self.engine) == len(index))

    def recover(self, *, bounds: bool) -> LabelIndex:
        """Make the index from the file of snippets, and the rest agree with it; finish what was interrupted.

        A snippet whose vector is not in the engine as it was written is forgotten; where the engine is durable, that
        was no interruption, and such snippets stay, as `lacking`.

        Args:
            bounds: Whether what bounds vectors may be wrong: it is made again from all of them.
        """
        index, marks = self._read_index()
        put = self.bounds.put if self.engine.durable else self.engine.put
        for rows, units in self.pending.read():
            keep = [at for at, row in enumerate(rows) if _is_of(units[at], marks.get(row))]
            put([rows[at] for at in keep], units[keep])
        there = self.engine.rows()
        if strays := [row for row in there if row not in marks]:
            self.delete_vectors(strays)
        self.lacking = len(marks.keys() - set(there)) if self.engine.durable else 0
        if bounds or not self.engine.durable or len(self.bounds) < index.next_row:
            self._match_vectors(index, marks)
        return index

    def rewrite(self, index: LabelIndex) -> None:
        """Take back what is freed in the file of snippets."""
        slots = {tenant: index.of(tenant).slots() for tenant in index.tenants()}
        places = [Place(*held[1:]) for tenant, own in slots.items() for held in index.of(tenant).held(own)]
        now = iter(self.snippets.rewrite(places))
        for tenant, own in slots.items():
            index.of(tenant).move(own, [next(now).start for _ in own])

    def damage(self, held: Held, vector: NDArray[np.float32] | None, *, name: str) -> str:
        """What is wrong with a snippet whose vector was read; empty if nothing is."""
        try:
            record = self.snippets.read(Place(held.start, held.size))
        except StoreError:
            return "its record is damaged"
        if from_payload(record.payload).id != name:
            return "its record is that of another step"
        if vector is None:
            return "its vector is missing"
        if record.vectors != (VectorMark(held.row, crc32(vector.tobytes())),):
            return "its vector is damaged"
        if not self.bounds.agree([held.row], vector[None])[0]:
            return "what bounds its similarity is damaged"
        return ""

    def _read_index(self) -> tuple[LabelIndex, dict[int, VectorMark]]:
        """The index of what the file of snippets holds, and its vectors by row.

        Of several records of a snippet the last counts; earlier ones are freed, and what is no record is overwritten.
        """
        index, marks = LabelIndex(), dict[int, VectorMark]()
        batch: list[tuple[Held, IndexEntry, bytes]] = []
        waiting = set[str]()

        def add() -> None:
            index.add([(held, entry) for held, entry, _ in batch], [words for _, _, words in batch])
            batch.clear()
            waiting.clear()

        unclear: list[Place] = []
        for place, found in self.snippets.scan():
            if not isinstance(found, Record):
                if found is None or not found.cleared:
                    unclear.append(place)
                continue
            mark = found.vectors[0]
            entry = _stored_entry(found.payload)
            if entry.id in waiting:
                add()
            if (earlier := index.find(entry.tenant, entry.id)) is not None:  # replacing it was interrupted
                index.remove(entry.tenant, {entry.id: self.records({entry.id: earlier})[entry.id].words})
                self.free([earlier])
                del marks[earlier.row]
            marks[mark.row] = mark
            batch.append((Held(mark.row, *place), entry, found.words))
            waiting.add(entry.id)
            if len(batch) == _BATCH:
                add()
        add()
        for place in reversed(unclear):  # what is cut off stands at the end
            self.snippets.clear(place)
        return index, marks

    def _match_vectors(self, index: LabelIndex, marks: dict[int, VectorMark]) -> None:
        """Make what bounds each vector; forget the snippets whose vector is not there as it was written."""
        lost: set[int] = set()
        rows = sorted(marks)
        for start in range(0, len(rows), _BATCH):
            part = rows[start : start + _BATCH]
            there = {row: vector for row, vector in self.engine.vectors(part).items() if _is_of(vector, marks[row])}
            if not self.engine.durable:
                lost.update(set(part) - there.keys())
            if there:
                self.bounds.put(list(there), np.stack(list(there.values())))
        for tenant in index.tenants() if lost else ():
            labels = index.of(tenant)
            slots = labels.slots()
            gone = {
                name: held for name, held in zip(labels.ids(slots), labels.held(slots), strict=True) if held.row in lost
            }
            if gone:
                index.remove(tenant, {name: record.words for name, record in self.records(gone).items()})
                self.free(gone.values())


def _is_of(vector: NDArray[np.float32], mark: VectorMark | None) -> bool:
    return mark is not None and crc32(vector.tobytes()) == mark.checksum


def _stored_entry(payload: Payload) -> IndexEntry:
    _, trust = origin_and_trust(payload)
    tenant, trajectory, position, step = (payload[field] for field in ("tenant", "trajectory", "position", "step"))
    name = snippet_id(tenant, trajectory, step)
    return IndexEntry(name, tenant, trajectory, position, step, tuple(labels_of(payload)), trust, payload["recorded"])
