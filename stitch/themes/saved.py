"""What was derived, as a file: so that a process that opens a memory need not derive it again.

The file is a copy of nothing: it can be removed at any time, and what it says is derived anew. It holds words, so it is
removed before a step is erased, and is not written again before what was erased is gone from all that is derived.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import orjson

from stitch.core.files import make_private_folder
from stitch.store.array_file import load_arrays, remove_for_good, save_arrays

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stitch.journal import Record

_VERSION = 1


class State(NamedTuple):
    """What a file says."""

    named: dict[str, Any]
    arrays: Iterator[NDArray[Any]]


class SavedState:
    """The file of a hierarchy.

    Args:
        file: Where it is; None keeps nothing.
    """

    def __init__(self, file: Path | None) -> None:
        self._file = file

    def is_there(self) -> bool:
        """Whether something is saved."""
        return self._file is not None and self._file.exists()

    def write(self, named: dict[str, Any], arrays: list[NDArray[Any]]) -> None:
        """Save a state in the place of the one that was."""
        if self._file is not None:
            make_private_folder(self._file.parent)
            words = np.frombuffer(orjson.dumps(named), np.uint8)
            save_arrays(self._file, [words, *arrays], version=_VERSION)

    def read(self) -> State | None:
        """The state that was saved; None if there is none that can be used."""
        loaded = None if self._file is None else load_arrays(self._file, version=_VERSION)
        if loaded is None:
            return None
        _, arrays = loaded
        return State(orjson.loads(next(arrays).data), arrays)

    def remove(self) -> None:
        """Remove what was saved, and what of it an interruption has left."""
        if self._file is not None:
            remove_for_good(self._file)
            remove_for_good(self._file.with_suffix(".new"))


def mark_of_record(record: Record | None) -> list[Any]:
    """What tells that a journal still has the record with which a state was saved."""
    return [] if record is None else [record.number, hashlib.blake2b(record.payload, digest_size=16).hexdigest()]
