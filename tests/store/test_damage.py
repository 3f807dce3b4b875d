"""Points that are not as they were written are told, and put again."""

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from qdrant_edge import EdgeShard, PointVectors, UpdateOperation

from contracts.worlds import DIMENSION, EMBEDDER, make_record
from stitch.core import DensityQuery
from stitch.errors import StoreError, StoreMismatchError
from stitch.store import QdrantStore
from stitch.store.folder import LAYOUT

RECORDS = [make_record(str(n), position=n) for n in range(5)]


def open_store(path: Path) -> QdrantStore:
    return QdrantStore(path, embedder_name=EMBEDDER, dimension=DIMENSION)


def files(path: Path) -> list[Path]:
    return sorted(each for each in path.rglob("*") if each.is_file())


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    with closing(open_store(tmp_path)) as store:
        store.put(RECORDS)
    return tmp_path


CHANGES: dict[str, Any] = {
    "a field less": lambda name: UpdateOperation.delete_payload([name], ["text"]),
    "a value of another type": lambda name: UpdateOperation.set_payload([name], {"position": "three"}),
    "a value that is none": lambda name: UpdateOperation.set_payload([name], {"origin": "moon"}),
    "another step": lambda name: UpdateOperation.set_payload([name], {"step": "77"}),
    "another vector": lambda name: UpdateOperation.update_vectors([PointVectors(name, {"dense": [9.0] * DIMENSION})]),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_point_that_another_tool_changed_is_named_and_mended_by_putting_it_again(filled: Path, change: Any) -> None:
    lost = RECORDS[2]
    shard = EdgeShard.load(str(filled / "store" / "shard"))
    shard.update(change(lost.snippet.id))
    shard.flush()
    shard.close()
    with closing(open_store(filled)) as store:
        (damage,) = store.check("t")
        assert damage.trajectory == "trip"
        assert damage.what
        assert store.mend("t") == 1
        assert store.check("t") == []
        store.put([lost])
        assert list(store.scroll("t")) == [record.snippet for record in RECORDS]


def test_what_cannot_be_read_is_an_error_with_the_command_that_mends_it(filled: Path) -> None:
    shard = EdgeShard.load(str(filled / "store" / "shard"))
    shard.update(CHANGES["a field less"](RECORDS[0].snippet.id))
    shard.flush()
    shard.close()
    with closing(open_store(filled)) as store, pytest.raises(StoreError, match="is damaged: a stored") as caught:
        store.rank(DensityQuery(tenant="t"))
    assert caught.value.hint == f"stitch verify --repair --memory {filled}"


def test_a_store_of_a_newer_version_is_refused_and_not_touched(tmp_path: Path) -> None:
    open_store(tmp_path).close()
    about = tmp_path / "store" / "store.json"
    about.write_text(about.read_text().replace(f'"layout": {LAYOUT}', f'"layout": {LAYOUT + 1}'))
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in files(tmp_path)}
    with pytest.raises(StoreMismatchError, match="newer version") as caught:
        open_store(tmp_path)
    assert "pip install" in caught.value.hint
    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in files(tmp_path)} == before
