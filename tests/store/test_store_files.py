"""The files of an embedded store, each by itself: what was written is read, and what was freed or torn is told."""

from __future__ import annotations

import json
import os
from contextlib import closing
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pytest

from stitch.errors import StoreError
from stitch.store.checksums import changed_files, write_checksums
from stitch.store.edge_engine import EdgeEngine
from stitch.store.index import Held, IndexEntry, LabelIndex
from stitch.store.pending import PendingVectors
from stitch.store.saved_index import load_index, save_index
from stitch.store.snippet_file import Freed, Place, Record, SnippetFile, VectorMark, encode_record
from stitch.store.vectors import as_kept
from stitch.store.words import pack

HEADER_BYTES, HEAD_BYTES = 32, 20
ROWS = np.random.default_rng(7)


def record(step: str) -> bytes:
    return encode_record({"tenant": "t", "step": step}, words=pack({1: 2.0}), vectors=[VectorMark(len(step), 9)])


def told(step: str) -> Record:
    return Record((VectorMark(len(step), 9),), pack({1: 2.0}), {"tenant": "t", "step": step})


def open_snippets(path: Path, **about: Any) -> SnippetFile:
    return SnippetFile(path, **{"layout": 3, "dimension": 8, **about})


def units(rows: int, dimension: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    vectors = ROWS.normal(size=(rows, dimension))
    return as_kept(vectors)


def test_what_is_freed_is_zeros_and_what_is_torn_is_told_by_its_place(tmp_path: Path) -> None:
    path, steps = tmp_path / "snippets.bin", ["a", "bb", "ccc", "dddd", "eeeee"]
    with closing(open_snippets(path)) as file:
        places = file.append(list(map(record, steps)))
        file.free([places[1], places[2]])
        for place in places[1:3]:
            assert not any(path.read_bytes()[place.start + HEAD_BYTES : place.start + place.size])
        data = bytearray(path.read_bytes())
        data[places[2].start + places[2].size - 1] = 1  # freeing it was interrupted
        data[places[3].start] ^= 1  # its head
        data[-1] ^= 1  # its body
        path.write_bytes(data)
        assert list(file.scan()) == [
            (places[0], told("a")), (places[1], Freed(True)), (places[2], Freed(False)), (places[3], None),
            (places[4], None),
        ]  # fmt: skip
        for place in places[1:]:
            with pytest.raises(StoreError, match="a record is damaged"):
                file.snippet(*place)
        path.write_bytes(data[:-1])
        torn = Place(places[4].start, places[4].size - 1)
        assert list(file.scan())[-1] == (torn, None)


def test_pending_vectors_are_read_up_to_where_writing_was_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, vectors = tmp_path / "pending.bin", units(5, 3)

    def read() -> list[tuple[list[int], list[list[float]]]]:
        with closing(PendingVectors(path, dimension=3)) as log:
            return [(rows, found.tolist()) for rows, found in log.read()]

    with closing(PendingVectors(path, dimension=3)) as log:
        log.append([7, 2**40], vectors[:2])
        first = log.size
        log.append([8], vectors[2:3])
    with closing(PendingVectors(path, dimension=3)) as log:
        assert log.size == path.stat().st_size == first + 8 + 8 + 6
        log.append([9, 10], vectors[3:])
    whole = path.read_bytes()
    expected = [([7, 2**40], vectors[:2].tolist()), ([8], vectors[2:3].tolist()), ([9, 10], vectors[3:].tolist())]
    assert read() == expected
    for size, blocks in ((len(whole) - 1, 2), (first + 22, 2), (first + 21, 1), (first + 7, 1), (first, 1), (0, 0)):
        path.write_bytes(whole[:size])
        assert read() == expected[:blocks]
    path.write_bytes(whole[: first + 9] + bytes([whole[first + 9] ^ 1]) + whole[first + 10 :])
    assert read() == expected[:1]
    on_disk: list[bytes] = []
    monkeypatch.setattr(os, "fsync", lambda file: on_disk.append(path.read_bytes()))
    with closing(PendingVectors(path, dimension=3)) as log:
        log.clear()
        assert (log.size, path.stat().st_size, on_disk) == (0, 0, [bytes(len(whole))])
        log.clear()
        assert len(on_disk) == 1
        log.append([1], vectors[:1])
    assert read() == [([1], vectors[:1].tolist())]


def test_the_engine_has_the_vectors_it_was_given_and_no_other(tmp_path: Path) -> None:
    vectors, (asked,) = units(1100, 2), units(1, 2)
    rows = list(range(5, 1105))
    about: dict[str, Any] = {"dimension": 2, "what": "the memory", "hint": "mend it"}
    with closing(EdgeEngine(tmp_path, create=True, **about)) as engine:
        engine.put(rows, vectors)
        gone = rows[::2]
        engine.delete(gone)
        left = rows[1::2]
        assert engine.rows() == left
        found = engine.vectors(rows)
        assert list(found) == left
        assert np.stack(list(found.values())).tobytes() == vectors[1::2].tobytes()
        wanted = vectors[1::2].astype(np.float64) @ asked.astype(np.float64)
        assert engine.cosines(left[::-1], asked.tolist()).tolist() == pytest.approx(wanted[::-1].tolist(), abs=1e-6)
        assert engine.cosines([], asked.tolist()).tolist() == []
        with pytest.raises(StoreError, match=r"^the memory lacks vectors$") as caught:
            engine.cosines(rows[:2], asked.tolist())
        assert caught.value.hint == "mend it"
        engine.shrink()
        engine.flush()
    with closing(EdgeEngine(tmp_path, create=False, **about)) as engine:
        assert engine.rows() == left
        engine.put([7, 8], vectors[:2])
        assert engine.vectors([7, 8])[7].tobytes() == vectors[:1].tobytes()


@pytest.mark.parametrize("damage", [3e4, float("inf"), float("nan")])
def test_a_damaged_vector_is_named_and_ranks_nothing(tmp_path: Path, damage: float) -> None:
    vectors = units(3, 2)
    about: dict[str, Any] = {"dimension": 2, "what": "the memory", "hint": "mend it"}
    with closing(EdgeEngine(tmp_path, create=True, **about)) as engine:
        engine.put([1, 2, 3], vectors)
        engine.flush()
    (chunk,) = (path for path in tmp_path.rglob("chunk_0.mmap"))
    with chunk.open("r+b") as file:
        file.seek(file.read().index(vectors[1].astype(np.float16).tobytes()))
        file.write(np.float16(damage).tobytes())
    with closing(EdgeEngine(tmp_path, create=False, **about)) as engine:
        with pytest.raises(StoreError, match=r"^the memory (is damaged: a vector|lacks vectors)") as caught:
            engine.cosines([1, 2], [1.0, 0.0])
        assert caught.value.hint == "mend it"
        assert len(engine.cosines([1, 3], [1.0, 0.0])) == 2


def test_files_that_changed_since_they_were_noted_are_named(tmp_path: Path) -> None:
    note, files = tmp_path / "checksums.json", [tmp_path / name for name in ("a", "b", "sub/c", "d")]
    (tmp_path / "sub").mkdir()
    for file in files:
        file.write_bytes(file.name.encode() * 700_000)
    large = tmp_path / "large"
    large.touch()
    os.truncate(large, 32 * 2**20)
    assert changed_files(note) == set()
    write_checksums(note, [*files, large, tmp_path / "missing", tmp_path / "sub"])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b", "checksums.json", "d", "large", "sub"]
    assert sorted(json.loads(note.read_text().partition("\n")[2])) == ["a", "b", "d", "sub/c"]
    assert changed_files(note) == set()
    files[0].write_bytes(b"a" * 700_001)
    with files[2].open("r+b") as stream:
        stream.seek(699_999)
        stream.write(b"x")
    files[3].unlink()
    os.truncate(large, 5)
    assert changed_files(note) == {files[0], files[2], files[3]}
    note.write_text(note.read_text().replace("sub", "suB"))
    assert changed_files(note) == {note}
    note.write_text("1\nnot json")
    assert changed_files(note) == {note}


def test_a_saved_index_is_read_whole_or_not_at_all(tmp_path: Path) -> None:
    index, file = LabelIndex(), tmp_path / "index.bin"
    for n in range(3):
        name = f"00000000-0000-0000-0000-00000000000{n}"
        index.add([(Held(n, 10 * n, 10), IndexEntry(name, "tu"[n % 2], "x", n, str(n), ()))], [pack({n: 1.0})])
    index.reclaimed = 1
    save_index(file, index)
    assert [path.name for path in tmp_path.iterdir()] == ["index.bin"]
    read = load_index(file)
    assert read is not None
    (names, arrays), (names_read, arrays_read) = index.dump(), read.dump()
    assert names_read == names
    assert [array.tolist() for array in arrays_read] == [array.tolist() for array in arrays]
    assert [array.dtype for array in arrays_read] == [array.dtype for array in arrays]
    data = file.read_bytes()
    other = data[8:].replace(b'"version": 5', b'"version": 6')
    for harmed in (
        b"", data[:7], data[:-1], bytes([data[0] ^ 1]) + data[1:], data[:-1] + bytes([data[-1] ^ 1]),
        crc32(other).to_bytes(8, "little") + other, crc32(b"").to_bytes(8, "little"),
    ):  # fmt: skip
        file.write_bytes(harmed)
        assert load_index(file) is None
    file.unlink()
    assert load_index(file) is None
