"""The files of an embedded store, each by itself: what was written is read, and what was freed or torn is told."""

from __future__ import annotations

import errno
import json
import os
import resource
import shutil
from contextlib import closing
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pytest

import stitch.store
from stitch.core import DensityQuery
from stitch.errors import StoreError, StoreLockedError, StoreMismatchError
from stitch.store import EdgeStore
from stitch.store.bounds import VectorBounds
from stitch.store.checks import check_records, check_vector, check_words
from stitch.store.checksums import changed_files, write_checksums
from stitch.store.edge_engine import EdgeEngine, engine_error
from stitch.store.index import Held, IndexEntry, LabelIndex
from stitch.store.made_with import compare_facts, write_facts
from stitch.store.pending import PendingVectors
from stitch.store.reserve import reserve
from stitch.store.saved_index import load_index, save_index
from stitch.store.snippet_file import Freed, Place, Record, SnippetFile, VectorMark, encode_record, holds_snippets
from stitch.store.vectors import as_kept
from stitch.store.words import pack
from stitch.testing.contracts.worlds import DIMENSION, EMBEDDER, make_record

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


def test_records_are_found_by_their_places_and_in_their_order(tmp_path: Path) -> None:
    path, steps = tmp_path / "snippets.bin", ["a", "bb", "ccc", "dddd"]
    with closing(open_snippets(path)) as file:
        assert (file.size, path.stat().st_size) == (HEADER_BYTES, HEADER_BYTES)
        places = file.append([record("a"), record("bb")]) + file.append([record("ccc")])
    with closing(open_snippets(path)) as file:
        places += file.append([record("dddd")])
        file.flush()
        sizes = [len(record(step)) for step in steps]
        assert places == [Place(HEADER_BYTES + sum(sizes[:n]), size) for n, size in enumerate(sizes)]
        assert file.size == path.stat().st_size == HEADER_BYTES + sum(sizes)
        assert path.read_bytes()[HEADER_BYTES:] == b"".join(map(record, steps))
        assert [file.read(place) for place in places] == list(map(told, steps))
        assert list(file.scan()) == list(zip(places, map(told, steps), strict=True))
        for wrong in (Place(places[1].start + 1, places[1].size), Place(places[1].start, places[1].size + 1)):
            with pytest.raises(StoreError, match="a record is damaged"):
                file.read(wrong)


@pytest.mark.parametrize("about", [{"layout": 4}, {"dimension": 9}, {"vectors": "int8"}])
def test_a_file_of_another_kind_is_refused_and_not_touched(tmp_path: Path, about: dict[str, Any]) -> None:
    path = tmp_path / "snippets.bin"
    with closing(open_snippets(path)) as file:
        file.append([record("a")])
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"snippets.bin' is damaged, or of another version"):
        open_snippets(path, **about)
    assert path.read_bytes() == before


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


def test_what_is_no_record_is_cleared_in_the_middle_and_cut_off_at_the_end(tmp_path: Path) -> None:
    path, steps = tmp_path / "snippets.bin", ["a", "bb", "ccc"]
    with closing(open_snippets(path)) as file:
        places = file.append(list(map(record, steps)))
        file.clear(places[1])
        assert list(file.scan()) == [(places[0], told("a")), (places[1], Freed(True)), (places[2], told("ccc"))]
        file.clear(places[2])
        assert file.size == path.stat().st_size == places[2].start
        file.append([b"\x01" * (HEAD_BYTES - 1), record("a")])
        short = Place(places[2].start, HEAD_BYTES - 1)
        file.clear(short)
        assert path.read_bytes()[short.start : short.start + short.size] == bytes(short.size)
        last = Place(short.start + short.size, len(record("a")))
        assert list(file.scan())[2:] == [(short, None), (last, told("a"))]
        file.append([b"\x01" * HEAD_BYTES, record("a")])
        exact = Place(last.start + last.size, HEAD_BYTES)
        file.clear(exact)
        assert list(file.scan())[4] == (exact, Freed(True))


def test_a_file_written_anew_has_these_records_alone(tmp_path: Path) -> None:
    path, steps = tmp_path / "snippets.bin", ["a", "bb", "ccc"]
    (tmp_path / "snippets.new").write_bytes(b"of somebody who died")
    with closing(open_snippets(path)) as file:
        places = file.append(list(map(record, steps)))
        now = file.rewrite([places[2], places[0]])
        end = HEADER_BYTES + len(record("ccc"))
        assert now == [Place(HEADER_BYTES, len(record("ccc"))), Place(end, len(record("a")))]
        assert file.size == path.stat().st_size == end + len(record("a"))
        file.append([record("bb")])
        assert [found for _, found in file.scan()] == [told("ccc"), told("a"), told("bb")]
    assert [each.name for each in tmp_path.iterdir()] == ["snippets.bin"]


def test_a_store_takes_back_what_is_freed_in_its_file_when_that_is_more_than_it_holds(tmp_path: Path) -> None:
    def open_store() -> EdgeStore:
        return EdgeStore(tmp_path, embedder_name=EMBEDDER, dimension=DIMENSION)

    def size() -> int:
        return (tmp_path / "store" / "snippets.bin").stat().st_size

    large = [make_record(f"large {n}", position=n, text="x" * 4_500_000) for n in range(2)]
    small = [make_record(str(n), tenant="tu"[n % 2], position=n, vector=vector) for n, vector in enumerate(units(6, 8))]
    query = DensityQuery(tenant="t", vector=small[0].vector, k=9)
    with closing(open_store()) as store:
        store.put([*small[:3], large[0], *small[3:], large[1]])
        store.delete("t", [large[0].snippet.id])
        before = size()
        store.flush()
        assert size() == before > 8 * 2**20, "less is freed than 8 MB"
        store.delete("t", [large[1].snippet.id])
        store.flush()
        assert size() < 10_000
        hits = store.rank(query)
        assert {hit.snippet.step for hit in hits} == {"0", "2", "4"}
        assert (store.check("t"), store.check("u")) == ([], [])
        store.put([make_record("more", position=9)])
        snippets = [list(store.scroll(tenant)) for tenant in "tu"]
        assert [[each.step for each in part] for part in snippets] == [["0", "2", "4", "more"], ["1", "3", "5"]]
    with closing(open_store()) as store:
        assert [list(store.scroll(tenant)) for tenant in "tu"] == snippets
        store.delete("t", [store.get("t", [each.id for each in snippets[0]])[-1].id])
        assert store.rank(query) == hits


def test_the_engine_is_flushed_when_enough_is_pending(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stitch.store.indexed._PENDING_BYTES", 2 * 32)
    with closing(EdgeStore(tmp_path, embedder_name=EMBEDDER, dimension=DIMENSION)) as store:
        sizes = []
        for number in range(5):
            store.put([make_record(str(number))])
            sizes.append((tmp_path / "store" / "pending.bin").stat().st_size)
    assert sizes == [32, 64, 0, 32, 64]


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


def test_a_log_that_has_no_room_for_vectors_stays_as_it_was(tmp_path: Path) -> None:
    path, vectors = tmp_path / "pending.bin", units(2, 3)
    with closing(PendingVectors(path, dimension=3)) as log:
        log.append([1], vectors[:1])
        size = log.size
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 10, before[1]))
        try:
            with pytest.raises(OSError, match="No space left") as full:
                log.append([2], vectors[1:])
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        assert (full.value.errno, log.size) == (errno.ENOSPC, size)
        assert [rows for rows, _ in log.read()] == [[1]]
        log.append([2], vectors[1:])
        assert [rows for rows, _ in log.read()] == [[1], [2]]


@pytest.mark.parametrize("dimension", [5, 32, 48])
def test_bounds_hold_of_all_vectors_and_are_close(tmp_path: Path, dimension: int) -> None:
    vectors, (asked,) = units(60, dimension), units(1, dimension)
    rows = np.arange(60)
    bounds = VectorBounds(tmp_path, dimension=dimension)
    bounds.put(rows.tolist(), vectors)
    cosines = (vectors.astype(np.float64) @ asked.astype(np.float64)).tolist()
    head, rest = vectors[:, :32] @ asked[:32], np.linalg.norm(vectors[:, 32:], axis=1) * np.linalg.norm(asked[32:])
    most = head + rest + 1e-5
    for part in (rows, rows[50:], rows[:1], rows[5:9][::-1]):
        wanted = [cosines[row] for row in part.tolist()]
        assert bounds.at_most(part, asked).tolist() == pytest.approx(most[part].tolist(), abs=0.05)
        assert (bounds.at_most(part, asked) > wanted).all()
        about, errors = bounds.near(part, asked)
        off = np.abs(about - wanted)
        assert (off <= errors).all()
        assert (errors < 0.04).all()
    assert bounds.at_most(rows[:0], asked).tolist() == []
    assert bounds.agree(rows.tolist(), vectors).all()
    changed = vectors.copy()
    changed[3] = -changed[3]
    assert np.flatnonzero(~bounds.agree(rows.tolist(), changed)).tolist() == [3]
    bounds.clear([3, 5])
    assert np.flatnonzero(~bounds.agree(rows.tolist(), vectors)).tolist() == [3, 5]
    assert bounds.near(np.array([3]), asked)[0].tolist() == [0.0]
    bounds.put([5], vectors[5:6])
    bounds.flush()
    bounds.close()
    again = VectorBounds(tmp_path, dimension=dimension)
    assert np.flatnonzero(~again.agree(rows.tolist(), vectors)).tolist() == [3]
    assert again.at_most(rows, asked).tolist() == bounds.at_most(rows, asked).tolist()


def test_there_is_room_for_bounds_by_the_4096(tmp_path: Path) -> None:
    bounds = VectorBounds(tmp_path, dimension=2)
    lengths = [len(bounds)]
    for row in (0, 4095, 4096, 8191, 20_000):
        bounds.put([row], units(1, 2))
        lengths.append(len(bounds))
    bounds.put([], units(0, 2))
    assert lengths == [0, 4096, 4096, 8192, 8192, 20_480]
    assert (tmp_path / "sketches.bin").stat().st_size == 20_480 * 10


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


def test_the_engine_is_not_written_anew_where_there_is_no_room_for_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(EdgeEngine(tmp_path, dimension=2, create=True, what="the memory", hint="mend it")) as engine:
        engine.put([1], units(1, 2))
        needed = sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file())
        usage = shutil.disk_usage(tmp_path)
        monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=needed))
        engine.shrink()
        monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=1))
        with pytest.raises(StoreError, match=r"^cannot purge the memory: No space left for \d+ MB$") as caught:
            engine.shrink()
        assert caught.value.hint == "free some disk space and run the command again"


def test_only_what_the_engine_itself_raises_is_its_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class PanicException(BaseException):
        """What the engine raises where it panics."""

    class Broken:
        """A shard that raises."""

        error: BaseException

        def flush(self) -> None:
            """Raise."""
            raise self.error

        close = flush

    about: dict[str, Any] = {"dimension": 2, "what": "the memory", "hint": "mend it"}
    with closing(EdgeEngine(tmp_path, create=True, **about)) as engine, monkeypatch.context() as patched:
        broken = Broken()
        patched.setattr(engine, "_shard", broken)
        for error in (Exception("Service runtime error: lost"), PanicException("lost")):
            broken.error = error
            for call, doing in ((engine.flush, "flush"), (engine.close, "close")):
                with pytest.raises(StoreError) as caught:
                    call()
                assert (caught.value.message, caught.value.hint) == (f"cannot {doing} the memory: lost", "mend it")
        for other in (KeyError("x"), KeyboardInterrupt()):
            broken.error = other
            with pytest.raises(type(other)):
                engine.flush()


def test_what_an_engine_says_becomes_an_error_of_our_own() -> None:
    said = {
        "Service runtime error:  No space left\n on device": (
            StoreError, "cannot x: No space left on device", "free some disk space and run the command again"
        ),
        "Read-only file system": (
            StoreError, "cannot x: Read-only file system", "choose a folder on a disk that can be written"
        ),
        "Permission denied (os error 13)": (
            StoreError, "cannot x: Permission denied (os error 13)",
            "choose a folder that you may write, or change its owner",
        ),
        "WouldBlock": (StoreLockedError, "cannot x: another process uses it", "wait until that process has ended"),
        "Resource temporarily unavailable": (
            StoreLockedError, "cannot x: another process uses it", "wait until that process has ended"
        ),
        "else": (StoreError, "cannot x: else", "mend it"),
    }  # fmt: skip
    made = {reason: engine_error("cannot x", reason, hint="mend it") for reason in said}
    assert {reason: (type(error), error.message, error.hint) for reason, error in made.items()} == said


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


def test_records_that_no_engine_should_see_are_refused_by_name() -> None:
    def said(**about: Any) -> str:
        with pytest.raises(StoreError) as caught:
            check_records([make_record("good"), make_record("bad", **about)], dimension=DIMENSION)
        return caught.value.message

    assert said(vector=[1.0] * 7) == "the vector of step 'bad' has shape (7,), not (8,)"
    assert said(vector=[[1.0] * 8]) == "the vector of step 'bad' has shape (1, 8), not (8,)"
    for value in (np.nan, np.inf, -np.inf):
        assert said(vector=[0.0] * 7 + [value]) == "the vector of step 'bad' holds a value that is not a finite number"
    for index, weight in ((-1, 1.0), (2**32, 1.0), (7, -0.5), (7, np.inf), (7, np.nan)):
        assert said(words={3: 1.0, index: weight}) == (
            f"the lexical weights of step 'bad' hold {weight!r} at index {index!r}"
        )
    vectors = check_records([make_record("a", words={0: 0.0, 2**32 - 1: 1.0}), make_record("b")], dimension=8)
    assert (str(vectors.dtype), vectors.tolist()) == ("float32", [[1.0] + [0.0] * 7] * 2)
    empty = check_records([], dimension=3)
    assert (str(empty.dtype), empty.shape) == ("float32", (0, 3))
    check_words({}, what="nothing")
    check_vector([1.0, 2.0], dimension=2, what="a question")
    with pytest.raises(StoreError, match=r"^the vector of a question has dimension 3, not 2$"):
        check_vector([1.0, 2.0, 3.0], dimension=2, what="a question")
    with pytest.raises(StoreError, match=r"^the vector of a question holds a value that is not a finite number$"):
        check_vector([1.0, np.nan], dimension=2, what="a question")


def test_what_a_store_was_made_with_is_compared_fact_by_fact(tmp_path: Path) -> None:
    file = tmp_path / "store.json"
    facts: dict[str, int | str] = {"layout": 3, "embedder": "e", "schema_version": 2}
    write_facts(file, facts)
    assert [path.name for path in tmp_path.iterdir()] == ["store.json"]
    assert json.loads(file.read_text()) == facts
    compare_facts(file, facts, what="the memory", hint="mend it")
    compare_facts(file, {"embedder": "e"}, what="the memory", hint="mend it")

    def refused(**wanted: int | str) -> tuple[type, str, str]:
        with pytest.raises(StoreError) as caught:
            compare_facts(file, {**facts, **wanted}, what="the memory", hint="mend it")
        return type(caught.value), caught.value.message, caught.value.hint

    newer = (StoreMismatchError, "the memory was written by a newer version of stitch", "pip install -U stitch")
    other = (StoreMismatchError, "the memory was written with schema version 2, not 1", "mend it")
    assert (refused(layout=2), refused(schema_version=1)) == (newer, other)
    assert refused(layout=4) == (StoreMismatchError, "the memory was written with layout 3, not 4", "mend it")
    silent = (StoreError, f"the memory does not say what it was made with: {str(file)!r} is damaged", "mend it")
    assert refused(more=1) == silent
    for text in ("[]", "{", "null"):
        file.write_text(text)
        assert refused() == silent


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="places cannot be reserved there")
def test_places_are_reserved_from_the_first_hole_and_no_byte_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "posix_fallocate", lambda file, start, size: asked.append((start, size)))

    def made(name: str, *, size: int, written: int) -> Path:
        path = tmp_path / name
        path.write_bytes(b"x" * written)
        os.truncate(path, size)
        return path

    reserve(made("small", size=2**20, written=8192), ahead_bytes=4096)
    reserve(made("large", size=2**22, written=8192), ahead_bytes=4096)
    reserve(made("beyond", size=2**22, written=8192), ahead_bytes=2**23)
    reserve(made("full", size=8192, written=8192), ahead_bytes=4096)
    assert asked == [(8192, 2**20 - 8192), (8192, 4096), (8192, 2**22 - 8192)]

    def refuse(*_: int) -> None:
        raise OSError(number, "no")

    monkeypatch.setattr(os, "posix_fallocate", refuse)
    for number in (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSPC):
        if number == errno.ENOSPC:
            with pytest.raises(OSError, match="no"):
                reserve(tmp_path / "large", ahead_bytes=4096)
        else:
            reserve(tmp_path / "large", ahead_bytes=4096)


def test_the_room_of_stores_has_two_names() -> None:
    assert stitch.store.EdgeStore is EdgeStore
    with pytest.raises(AttributeError, match=r"^module 'stitch.store' has no attribute 'Shelf'$"):
        stitch.store.Shelf  # noqa: B018


def test_a_file_holds_snippets_as_long_as_one_is_not_freed(tmp_path: Path) -> None:
    path = tmp_path / "snippets.bin"
    assert not holds_snippets(path)
    path.touch()
    assert not holds_snippets(path)
    with closing(open_snippets(path)) as file:
        assert not holds_snippets(path)
        places = file.append([record("a"), record("bb")])
        file.free(places[:1])
        assert holds_snippets(path)
        file.free(places[1:])
        assert not holds_snippets(path)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="only Linux lists the files that a process has open")
def test_writing_what_a_store_was_made_with_leaves_no_file_open(tmp_path: Path) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    for number in range(3):
        write_facts(tmp_path / f"{number}.json", {"layout": number})
    assert len(list(Path("/proc/self/fd").iterdir())) == before
