"""The index of a store as one file: written when a store is closed, so that opening it need not read every snippet."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from stitch.store.array_file import load_arrays, save_arrays
from stitch.store.index import LabelIndex

_VERSION = 5


def save_index(file: Path, index: LabelIndex) -> None:
    """Write an index; the file is whole, or not there."""
    names, arrays = index.dump()
    save_arrays(file, arrays, version=_VERSION, names=names)


def load_index(file: Path) -> LabelIndex | None:
    """Read an index; None if there is none, or not one that this version wrote, or not as it was written."""
    loaded = load_arrays(file, version=_VERSION)
    try:
        with _without_collecting():
            return None if loaded is None else LabelIndex.load(*loaded)
    except (ValueError, KeyError, TypeError, StopIteration):
        return None


@contextmanager
def _without_collecting() -> Iterator[None]:
    """Let no garbage be looked for: what is loaded is all kept, and looking takes longer than loading it."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()
