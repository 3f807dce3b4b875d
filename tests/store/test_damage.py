"""Damage of an embedded store's files is told when they are opened, read or checked, and never ranks silently."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from contracts.worlds import DIMENSION, EMBEDDER, make_record, random_query, random_records
from stitch.core import ContextualIntent, DensityQuery, SnippetRecord
from stitch.errors import StoreError, StoreMismatchError
from stitch.store import EdgeStore
from stitch.store.indexed import LAYOUT

PLACES = int(os.environ.get("STITCH_TEST_PLACES", "1"))
"""In how many places of each file a byte is changed; `make test-long` takes 50."""


def open_store(path: Path) -> EdgeStore:
    return EdgeStore(path, embedder_name=EMBEDDER, dimension=DIMENSION, create=False)


def fill(path: Path, records: list[SnippetRecord]) -> None:
    with closing(EdgeStore(path, embedder_name=EMBEDDER, dimension=DIMENSION)) as store:
        store.put(records)
        store.delete("t", [record.snippet.id for record in records[:9]])


def places(file: Path, rng: random.Random) -> Iterator[int]:
    """Places to damage: evenly where something was written, for most of a file may be empty."""
    written = np.flatnonzero(np.frombuffer(file.read_bytes(), np.uint8)).tolist()
    yield from rng.sample(written, min(len(written), PLACES))


def files(path: Path) -> list[Path]:
    return sorted(each for each in path.rglob("*") if each.is_file())


def flip(file: Path, at: int, bits: int) -> None:
    with open(file, "r+b") as stream:
        stream.seek(at)
        (byte,) = stream.read(1)
        stream.seek(at)
        stream.write(bytes([byte ^ bits]))


@pytest.mark.parametrize("closed", [True, False])
def test_a_changed_byte_is_told_or_changes_no_ranking(tmp_path: Path, closed: bool) -> None:
    rng = random.Random(4)
    records = random_records(rng, 60)
    queries = [random_query(rng)[0] for _ in range(6)]
    whole = tmp_path / "whole"
    fill(whole, records)
    if not closed:  # as after a kill, when nothing was saved
        for name in ("checksums.json", "index.bin"):
            (whole / "store" / name).unlink()

    def ranked(store: EdgeStore) -> list[object]:
        return [[(hit.snippet, hit.density, hit.similarity) for hit in store.rank(query)] for query in queries]

    def held(store: EdgeStore) -> list[object]:
        return [list(store.scroll(tenant)) for tenant in ("t", "u")]

    copy = tmp_path / "copy"
    shutil.copytree(whole, copy)
    with closing(open_store(copy)) as store:
        wanted, snippets = ranked(store), held(store)
        assert store.check("t") == store.check("u") == []
    told: dict[str, int] = {}
    for file in files(whole / "store"):
        path = file.relative_to(whole)
        for at in places(file, rng):
            shutil.rmtree(copy)
            shutil.copytree(whole, copy)
            flip(copy / path, at, 1 << rng.randrange(8))
            try:
                with closing(open_store(copy)) as store:
                    clean = store.check("t") == store.check("u") == [] and held(store) == snippets
                    assert not clean or ranked(store) == wanted, (path, at)
            except StoreError:
                clean = False
            told[file.name] = told.get(file.name, 0) + (not clean)
    assert told["snippets.bin"] >= PLACES * 0.9
    assert told["store.json"] > 0
    assert told["chunk_0.mmap"] >= PLACES * 0.9


@pytest.mark.parametrize("file", ["snippets.bin", "chunk_0.mmap"])
def test_damaged_snippets_are_named_and_mended_by_putting_them_again(tmp_path: Path, file: str) -> None:
    rng = random.Random(8)
    records = [record for record in random_records(rng, 40, tenants=("t",)) if any(record.vector)]
    with closing(EdgeStore(tmp_path, embedder_name=EMBEDDER, dimension=DIMENSION)) as store:
        store.put(records)
    queries = [random_query(rng, tenants=("t",))[0] for _ in range(20)]
    (damaged,) = (path for path in files(tmp_path) if path.name == file)
    flip(damaged, 300, 4)
    with closing(open_store(tmp_path)) as store:
        (damage,) = store.check("t")
        assert damage.what.startswith("its ")
        by_place = {(record.snippet.trajectory, record.snippet.step): record for record in records}
        lost = by_place[damage.trajectory, damage.step]
        if file == "snippets.bin":
            with pytest.raises(StoreError, match="is damaged") as caught:
                store.get("t", [lost.snippet.id])
            assert "verify --repair" in caught.value.hint
        assert store.mend("t") == 1
        assert store.check("t") == []
        assert store.get("t", [lost.snippet.id]) == []
        store.put([lost])
        with closing(EdgeStore(tmp_path / "other", embedder_name=EMBEDDER, dimension=DIMENSION)) as other:
            other.put(records)
            assert [store.rank(query) for query in queries] == [other.rank(query) for query in queries]


def test_a_store_of_a_newer_version_is_refused_and_not_touched(tmp_path: Path) -> None:
    fill(tmp_path, [make_record("1")])
    about = tmp_path / "store" / "store.json"
    about.write_text(about.read_text().replace(f'"layout": {LAYOUT}', f'"layout": {LAYOUT + 1}'))
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in files(tmp_path)}
    with pytest.raises(StoreMismatchError, match="newer version") as caught:
        open_store(tmp_path)
    assert "pip install" in caught.value.hint
    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in files(tmp_path)} == before


def test_no_word_of_what_was_deleted_is_in_any_file_of_a_closed_store(tmp_path: Path) -> None:
    intent = ContextualIntent(
        scope="scope zorblatt", event_types=("event zorblatt",), entity_types=("entity zorblatt",)
    )
    gone = make_record("step zorblatt", trajectory="trip zorblatt", text="text zorblatt", intent=intent)
    gone = gone._replace(vector=np.array([0.5, -0.5, 0.5, -0.5, 0, 0, 0, 0], dtype=np.float32))
    bits = gone.vector.astype(np.float16).tobytes()[:8]
    kept = [make_record(str(n), position=n, text=f"text {n}") for n in range(50)]

    def holders(text: bytes) -> list[str]:
        return [path.name for path in files(tmp_path) if text in path.read_bytes()]

    for again in range(2):
        with closing(EdgeStore(tmp_path, embedder_name=EMBEDDER, dimension=DIMENSION)) as store:
            store.put([*kept, gone])
            assert "snippets.bin" in holders(b"zorblatt")
            if again:
                store.flush()
                assert "chunk_0.mmap" in holders(bits), "what is looked for could be found"
            store.delete("t", [gone.snippet.id])
            store.purge()
            assert holders(b"zorblatt") == holders(bits) == []
        assert holders(b"zorblatt") == holders(bits) == []
    query = DensityQuery(tenant="t", k=100)
    with closing(open_store(tmp_path)) as store:
        assert len(store.rank(query)) == 50
