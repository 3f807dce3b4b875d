"""What must survive a loss of power is on the disk, whole, before it takes its place."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from stitch.store.array_file import remove_for_good
from stitch.store.index import LabelIndex
from stitch.store.made_with import write_facts
from stitch.store.pending import PendingVectors
from stitch.store.saved_index import save_index
from stitch.store.snippet_file import SnippetFile, encode_record

pytestmark = pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="open files have no names there")
RECORD = encode_record({"step": "a"}, words=b"", vectors=[])


def flush(folder: Path) -> None:
    with closing(SnippetFile(folder / "snippets.bin", layout=3, dimension=2)) as file:
        file.append([RECORD])
        file.flush()


def write_anew(folder: Path) -> None:
    with closing(SnippetFile(folder / "snippets.bin", layout=3, dimension=2)) as file:
        file.rewrite(file.append([RECORD]))


def facts(folder: Path) -> None:
    write_facts(folder / "store.json", {"layout": 3})


def log_and_clear(folder: Path) -> None:
    with closing(PendingVectors(folder / "pending.bin", dimension=2)) as log:
        log.append([1], np.ones((1, 2), dtype=np.float32))
        log.clear()


def remove_twice(folder: Path) -> None:
    (folder / "index.bin").touch()
    remove_for_good(folder / "index.bin")
    remove_for_good(folder / "index.bin")


@pytest.mark.parametrize(
    ("doing", "synced"),
    [
        (facts, [("store.new", b'{"layout": 3}'), ("", None)]),
        (lambda folder: save_index(folder / "index.bin", LabelIndex()), [("index.new", ...)]),
        (flush, [("snippets.bin", ...)]),
        (write_anew, [("snippets.new", ...)]),
        (log_and_clear, [("pending.bin", bytes(20))]),
        (remove_twice, [("", None)]),
    ],
    ids=["facts", "index", "snippets", "snippets anew", "pending", "removed"],
)  # fmt: skip
def test_what_is_synced_is_whole(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    doing: Callable[[Path], object],
    synced: list[tuple[str, object]],
) -> None:
    folder, sync = tmp_path / "store", os.fsync
    folder.mkdir()
    found: list[tuple[str, object]] = []

    def watch(file: int) -> None:
        path = Path(os.readlink(f"/proc/self/fd/{file}"))
        found.append(("", None) if path == folder else (path.name, path.read_bytes()))
        sync(file)

    monkeypatch.setattr(os, "fsync", watch)
    doing(folder)
    assert [name for name, _ in found] == [name for name, _ in synced]
    for (_, there), (_, wanted) in zip(found, synced, strict=True):
        if wanted is ...:  # as it is in the end
            (wanted,) = (path.read_bytes() for path in folder.iterdir())
        assert there == wanted
