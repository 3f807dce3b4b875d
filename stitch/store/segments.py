"""The files in which the engine keeps payloads and vectors: what is freed in them is overwritten in place.

The engine leaves the bytes of what is deleted or replaced, and to let it write all its files anew takes a second for
50,000 snippets. Where the living values stand is read from the engine's pointers, and believed only if the engine's map
of used blocks says exactly the same and no file is there that is not known. Otherwise nothing is touched.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_PAYLOADS, _VECTORS = "payload_storage", "vector_storage-text"
_KNOWN = frozenset(
    {
        "segment.json", "version.info", "mutable_id_tracker.mappings", "mutable_id_tracker.versions",
        "payload_index/config.json",
        *(f"{_PAYLOADS}/{name}" for name in ("config.json", "bitmask.dat", "gaps.dat", "tracker.dat",
                                             "tracker_journal.dat")),
        *(f"{_VECTORS}/vectors/{name}" for name in ("config.json", "status.dat")),
        *(f"{_VECTORS}/deleted/{name}" for name in ("flags_a.dat", "flags_b.dat", "status.dat")),
    }
)  # fmt: skip
"""The files of a segment beside pages of payloads and chunks of vectors; in none of them words are written."""

_FIELDS = 4
"""Of a pointer, 4 bytes each: whether there is a value, its page, its first block there, its length in bytes."""


class SegmentFiles:
    """The files of one segment of a flushed engine that nobody writes to.

    Args:
        folder: Of the segment.

    Raises:
        ValueError: They are not as they are expected to be.
        OSError: They cannot be read.
    """

    def __init__(self, folder: Path) -> None:
        self._pages = _numbered(folder / _PAYLOADS, "page_*.dat")
        self._chunks = _numbered(folder / _VECTORS / "vectors", "chunk_*.mmap")
        known = {*(folder / name for name in _KNOWN), *self._pages, *self._chunks}
        if strange := [path for path in folder.rglob("*") if path.is_file() and path not in known]:
            raise ValueError(f"{strange[0].name} is not known")
        about = json.loads((folder / _PAYLOADS / "config.json").read_text())
        self._block, self._page = int(about["block_size_bytes"]), int(about["page_size_bytes"])
        self._packed = about["compression"] == "LZ4"
        pointers = np.fromfile(folder / _PAYLOADS / "tracker.dat", "<u4")
        count = int(pointers[0])
        pointers = pointers[1 : 1 + count * _FIELDS].reshape(count, _FIELDS).astype(np.int64)
        self._dead: NDArray[np.bool_] = pointers[:, 0] == 0
        living = pointers[~self._dead]
        order = np.lexsort((living[:, 2], living[:, 1]))
        self._starts = (living[:, 1] * self._page + living[:, 2] * self._block)[order]
        self._lengths = living[order, 3]
        self._used = self._read_used(folder / _PAYLOADS / "bitmask.dat")
        vectors = json.loads((folder / _VECTORS / "vectors" / "config.json").read_text())
        self._width, self._rows = int(vectors["dim"]) * 4, int(vectors["chunk_size_vectors"])
        status = (folder / _VECTORS / "vectors" / "status.dat").read_bytes()
        room = [path.stat().st_size for path in self._chunks]
        if int.from_bytes(status, "little") != count or room != [self._width * self._rows] * len(room):
            raise ValueError("the vectors are not those of the payloads")

    def __len__(self) -> int:
        """How many places there are for points, freed ones included."""
        return len(self._dead)

    @property
    def freed(self) -> int:
        """How many of these places are freed."""
        return int(np.count_nonzero(self._dead))

    def overwrite_freed(self) -> None:
        """Overwrite with zeros what belongs to no living point, and wait until the disk has it."""
        free = ~self._used.reshape(len(self._pages), self._page // self._block)
        ends = self._starts + self._lengths
        unused = -ends % self._block
        # Of the last block of each value, what is behind the value: a longer one may have stood there.
        behind = np.repeat(ends, unused) + _counted(unused)
        of_page = np.split(behind, np.searchsorted(behind, np.arange(1, len(self._pages)) * self._page))
        for number, path in enumerate(self._pages):
            page = np.memmap(path, np.uint8, "r+")
            blocks = page.reshape(-1, self._block)
            places = np.flatnonzero(free[number])
            written = _clear(blocks, places[blocks[places].any(axis=1)])
            places = of_page[number] - number * self._page
            if _clear(page, places[page[places] != 0]) or written:
                page.flush()
        dead = np.flatnonzero(self._dead)
        for number, path in enumerate(self._chunks):
            chunk = np.memmap(path, np.uint8, "r+")
            rows = chunk.reshape(-1, self._width)
            places = dead[dead // self._rows == number] % self._rows
            if _clear(rows, places[rows[places].any(axis=1)]):
                chunk.flush()

    def holding(self, file: Path, texts: set[bytes]) -> set[bytes]:
        """Those of some texts, in lower case, that a page of payloads really holds where it seems to.

        Values are compressed: between two of their parts stand bytes of another meaning, which may look like one
        character more of a text.
        """
        data = file.read_bytes().lower()
        page = self._pages.index(file) * self._page
        return {text for text in texts if any(self._says(text, page + place, data) for place in _places(text, data))}

    def _says(self, text: bytes, place: int, data: bytes) -> bool:
        at = int(np.searchsorted(self._starts, place, side="right")) - 1
        if at < 0 or place >= self._starts[at] + self._lengths[at] or not self._packed:
            return True  # freed, or as it was said
        start = int(self._starts[at])
        with self._pages[start // self._page].open("rb") as file:
            file.seek(start % self._page)
            value = file.read(int(self._lengths[at]))
        return text in unpacked(value).lower()

    def _read_used(self, bitmask: Path) -> NDArray[np.bool_]:
        bits: NDArray[np.bool_] = np.unpackbits(np.fromfile(bitmask, np.uint8), bitorder="little").astype(bool)
        first = self._starts // self._block
        last = (self._starts + self._lengths - 1) // self._block
        change = np.bincount(first, minlength=len(bits) + 1) - np.bincount(last + 1, minlength=len(bits) + 1)
        depth = np.cumsum(change)[:-1]
        pages = len(self._pages) * (self._page // self._block)
        if depth.max(initial=0) > 1 or len(bits) != pages or not np.array_equal(depth == 1, bits):
            raise ValueError("the pointers are not those of the used blocks")
        return bits


def unpacked(packed: bytes) -> bytes:
    """What a block of LZ4 holds, before which its length stands in 4 bytes.

    Raises:
        ValueError: It is no such block.
    """
    out, at = bytearray(), 4

    def length(short: int) -> int:
        nonlocal at
        more = 255 if short == 15 else 0
        while more == 255:
            more = packed[at]
            short, at = short + more, at + 1
        return short

    try:
        while at < len(packed):
            token = packed[at]
            at += 1
            literals = length(token >> 4)
            out += packed[at : at + literals]
            at += literals
            if at >= len(packed):
                break
            back = packed[at] | packed[at + 1] << 8
            at += 2
            start, size = len(out) - back, length(token & 15) + 4
            for place in range(start, start + size):  # it may reach into what it writes
                out.append(out[place])
    except IndexError:
        raise ValueError("a compressed value ends too early") from None
    if len(out) != int.from_bytes(packed[:4], "little"):
        raise ValueError("a compressed value has another length than it says")
    return bytes(out)


def _numbered(folder: Path, pattern: str) -> list[Path]:
    found = sorted(folder.glob(pattern), key=lambda path: int(path.stem.rpartition("_")[2]))
    if [path.stem.rpartition("_")[2] for path in found] != [str(number) for number in range(len(found))]:
        raise ValueError(f"of {pattern} one is missing")
    return found


def _counted(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """0, 1, 2, ... for each of the counts, one after the other."""
    return np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)


def _clear(rows: NDArray[Any], places: NDArray[np.int64]) -> bool:
    if len(places):
        rows[places] = 0
    return bool(len(places))


def _places(text: bytes, data: bytes) -> Iterator[int]:
    at = data.find(text)
    while at >= 0:
        yield at
        at = data.find(text, at + 1)
