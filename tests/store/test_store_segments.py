"""What is freed in the engine's files is overwritten in place, and nothing else is touched."""

from __future__ import annotations

import random
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stitch.store import EdgeStore
from stitch.store.segments import SegmentFiles, unpacked
from stitch.testing.contracts.worlds import DIMENSION, EMBEDDER, make_record


def open_store(path: Path) -> EdgeStore:
    return EdgeStore(path, embedder_name=EMBEDDER, dimension=DIMENSION)


def segments_of(path: Path) -> list[Path]:
    return sorted((path / "store" / "shard" / "segments").iterdir())


def files_with(path: Path, text: bytes) -> list[str]:
    return sorted(file.name for file in path.rglob("*") if file.is_file() and text in file.read_bytes())


def word(rng: random.Random) -> str:
    return "".join(rng.choices("bcdfghjklmnpqrstvwxz", k=16))


def said(rng: random.Random) -> str:
    """Words that stand nowhere else, as a few hundred bytes or as some thousand."""
    return " ".join(word(rng) for _ in range(rng.choice([1, 9, 90])))


@settings(deadline=None, max_examples=4)
@given(seed=st.integers(0, 2**32), rounds=st.integers(1, 2))
def test_after_any_writes_a_purge_leaves_the_living_alone_and_of_the_dead_no_word(
    tmp_path_factory: pytest.TempPathFactory, seed: int, rounds: int
) -> None:
    path, rng = tmp_path_factory.mktemp("store"), random.Random(seed)
    living: dict[str, str] = {}
    dead: list[str] = []
    store = open_store(path)
    store.put([make_record(f"anchor {number}") for number in range(200)])
    for _ in range(rounds):
        for _ in range(rng.randrange(12)):
            step = f"s{rng.randrange(4)}"
            if step in living:
                dead.append(living.pop(step))
            if rng.random() < 0.6:
                living[step] = said(rng)
                vector = [rng.random() + 0.1 for _ in range(DIMENSION)]
                store.put([make_record(step, text=living[step], vector=vector)])
            else:
                store.delete("t", [make_record(step).snippet.id])
        if rng.random() < 0.3:
            store.close()
            store = open_store(path)
        store.purge()
        written = b"".join(file.read_bytes().rstrip(b"\0 ") for file in path.rglob("*") if file.is_file())
        assert [canary for text in dead for canary in text.split() if canary.encode() in written] == []
        held = {snippet.step: snippet.text for snippet in store.scroll("t") if snippet.step[0] == "s"}
        assert held == living
    (segment,) = segments_of(path)  # the first one, or the one that the engine wrote where its files did not agree
    chunk = segment / "vector_storage-text" / "vectors" / "chunk_0.mmap"
    rows = np.fromfile(chunk, np.float32).reshape(-1, DIMENSION)
    assert np.count_nonzero(rows.any(axis=1)) == store.count()
    store.close()
    with closing(open_store(path)) as reopened:
        assert {s.step: s.text for s in reopened.scroll("t") if s.step[0] == "s"} == living


@pytest.mark.parametrize("strange", ["much is freed", "a file", "a used block"])
def test_what_is_not_as_expected_is_written_anew_by_the_engine(tmp_path: Path, strange: str) -> None:
    with closing(open_store(tmp_path)) as store:
        store.put([make_record(f"s{number}", text=f"canary{number:06}") for number in range(12)])
        gone = range(3, 9) if strange == "much is freed" else [3]
        store.delete("t", [make_record(f"s{number}").snippet.id for number in gone])
        store.flush()
        (segment,) = segments_of(tmp_path)
        if strange == "a file":
            (segment / "payload_index" / "0.dat").write_bytes(b"canary000003")
        elif strange == "a used block":
            np.memmap(segment / "payload_storage" / "bitmask.dat", np.uint8, "r+")[99] = 1
        store.purge()
        assert segments_of(tmp_path) != [segment]
        assert files_with(tmp_path, b"canary000003") == []
        left = {f"s{number}" for number in range(12) if number not in gone}
        assert {snippet.step for snippet in store.scroll("t")} == left


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("payload_storage/page_7.dat", b""),
        ("payload_index/0.dat", b""),
        ("payload_storage/bitmask.dat", b"\xff" * 64),
        ("vector_storage-text/vectors/status.dat", bytes(8)),
    ],
)
def test_files_that_do_not_agree_are_not_believed(tmp_path: Path, file: str, content: bytes) -> None:
    with closing(open_store(tmp_path)) as store:
        store.put([make_record(f"s{number}") for number in range(12)])
    (segment,) = segments_of(tmp_path)
    files = SegmentFiles(segment)
    assert (len(files), files.freed) == (12, 0)
    (segment / file).write_bytes(content)
    with pytest.raises(ValueError, match=r"is not known|is missing|are not those"):
        SegmentFiles(segment)


def test_of_what_stands_in_compressed_bytes_by_chance_it_is_known_that_nobody_says_it(tmp_path: Path) -> None:
    text = "linden court 66 and linden court 6 and a linden tree in the court of the lindens " * 3
    with closing(open_store(tmp_path)) as store:
        store.put([make_record("s", text=text), make_record("gone", text="Quetzalcoatlus")])
        store.flush()
        (segment,) = segments_of(tmp_path)
        page = segment / "payload_storage" / "page_0.dat"
        start, length = next(
            (at, size) for at, size in zip(*_values(SegmentFiles(segment)), strict=True) if _says(page, at, size, text)
        )
        packed = page.read_bytes()[start : start + length]
        value = unpacked(packed).lower()
        slices = [packed[at : at + 8].lower() for at in range(length - 8)]
        said = next(each for each in slices if each in value)
        chance = next(each for each in slices if each not in value and each.count(0) == 0)
        assert store.holding(page, {said, chance, b"quetzalcoatlus"}) == {said, b"quetzalcoatlus"}
        store.delete("t", [make_record("gone").snippet.id])
        assert store.holding(page, {b"quetzalcoatlus"}) == {b"quetzalcoatlus"}, "freed, and not overwritten"
        assert store.holding(tmp_path / "store" / "store.json", {chance}) == {chance}
        page.with_name("page_9.dat").write_bytes(b"")
        assert store.holding(page, {chance}) == {chance}, "what cannot be understood is told"


def _values(files: SegmentFiles) -> tuple[list[int], list[int]]:
    return files._starts.tolist(), files._lengths.tolist()


def _says(page: Path, start: int, length: int, text: str) -> bool:
    return text.encode() in unpacked(page.read_bytes()[start : start + length])


def test_a_compressed_value_is_read_as_it_was_written() -> None:
    assert unpacked(b"\x05\x00\x00\x00\x50hello") == b"hello"
    assert unpacked(b"\x0c\x00\x00\x00\x14a\x01\x00\x30end") == b"a" * 9 + b"end"
    assert unpacked(b"\x14\x00\x00\x00\xf0\x05" + b"x" * 20) == b"x" * 20
    for wrong in (
        b"\x09\x00\x00\x00\x50hello",
        b"\x05\x00\x00\x00\x14a",
        b"\x05\0\0\0\xf0",
    ):
        with pytest.raises(ValueError, match="a compressed value"):
            unpacked(wrong)
