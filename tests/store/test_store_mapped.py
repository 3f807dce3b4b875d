"""What a process holds of mapped files goes when they are flushed, and what they say stays."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from stitch.store import mapped
from stitch.store.mapped import give_back_pages

_SMAPS = Path("/proc/self/smaps")
COUNT = 1 << 20


def held_bytes(file: Path) -> int:
    """How much of a file's maps this process holds."""
    parts = re.split(r"^(?=[0-9a-f]+-[0-9a-f]+ )", _SMAPS.read_text(errors="replace"), flags=re.MULTILINE)
    own = [part for part in parts if part.partition("\n")[0].endswith(str(file))]
    return sum(int(size) * 1024 for part in own for size in re.findall(r"^Rss: +(\d+) kB", part, re.MULTILINE))


@pytest.mark.skipif(not _SMAPS.exists(), reason="only Linux tells what a process holds of a map")
def test_pages_of_a_folder_are_given_back_and_come_again(tmp_path: Path) -> None:
    folder, other = tmp_path / "store", tmp_path / "other"
    folder.mkdir()
    other.mkdir()
    numbers = np.arange(COUNT, dtype=np.int64)
    tables = [np.memmap(place / "table.bin", dtype=np.int64, mode="w+", shape=(COUNT,)) for place in (folder, other)]
    private = np.memmap(folder / "table.bin", dtype=np.int64, mode="c", shape=(COUNT,))
    private[0] = 7
    for table in tables:
        table[:] = numbers
    assert min(held_bytes(place / "table.bin") for place in (folder, other)) >= numbers.nbytes
    give_back_pages(folder)
    assert held_bytes(folder / "table.bin") < numbers.nbytes / 10
    assert held_bytes(other / "table.bin") >= numbers.nbytes
    assert private[0] == 7, "what is not shared is nowhere else"
    assert (tables[0] == numbers).all(), "what was written and not yet flushed is in the file"


def test_where_nobody_tells_what_is_mapped_nothing_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mapped, "_MAPS", tmp_path / "none")
    table = np.memmap(tmp_path / "table.bin", dtype=np.int64, mode="w+", shape=(8,))
    table[:] = 3
    give_back_pages(tmp_path)
    assert table.tolist() == [3] * 8
