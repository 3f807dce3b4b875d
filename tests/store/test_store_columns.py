"""What an index remembers of snippets in few bytes is what it was told, whatever was removed, kept or saved."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stitch.store.columns import Column, Ids, Texts
from stitch.store.read_ahead import read_ahead

# Few places and many ids that want the same one: the last digits say where an id goes first.
NUMBERS = st.builds(lambda high, low: high << 64 | low, st.integers(0, 3), st.sampled_from([0, 1, 2, 2**64 - 1]))


def name(number: int) -> str:
    return str(UUID(int=number))


@given(changes=st.lists(st.tuples(NUMBERS, st.booleans()), max_size=200), saved=st.booleans())
def test_ids_are_found_as_in_a_dictionary(changes: list[tuple[int, bool]], saved: bool) -> None:
    ids, slots, size = Ids(), dict[int, int](), 0
    for number, adds in changes:
        assert ids.find(name(number)) == slots.get(number)
        if number in slots:
            assert ids.remove(name(number)) == slots.pop(number)
        if adds:
            slots[number] = ids.append(name(number))
            assert slots[number] == size
            size += 1
    alive = np.isin(np.arange(size), list(slots.values()))
    ids.keep(alive)
    if saved:
        ids = Ids.load(iter(ids.dump()))
    now = np.cumsum(alive) - 1
    assert [ids.find(name(number)) for number, _ in changes] == [
        int(now[slots[number]]) if number in slots else None for number, _ in changes
    ]
    some = [name(number) for number, _ in changes[:: 1 + saved]]
    assert ids.find_all(some) == {each: slot for each in some if (slot := ids.find(each)) is not None}


def test_many_ids_are_found_after_the_table_has_grown() -> None:
    ids = Ids()
    names = [name(number * 2**60 + number // 7) for number in range(600)]
    assert [ids.append(each) for each in names] == list(range(600))
    assert [ids.find(each) for each in names] == list(range(600))
    assert ids.find(name(5)) is None
    assert ids.find_all([name(5), *names]) == {each: slot for slot, each in enumerate(names)}


@pytest.mark.parametrize(
    "text", ["", "x", name(1).upper() + "A", name(11).upper(), name(1).replace("-", ""), " 1", "1_2"]
)
def test_what_is_no_id_is_not_found(text: str) -> None:
    ids = Ids()
    ids.append(name(1))
    ids.append(name(11))
    assert ids.find(text) is None
    assert ids.find_all([name(1), text] * 20) == {name(1): 0}
    with pytest.raises(KeyError):
        ids.remove(text)
    with pytest.raises(ValueError, match="not the id of a snippet"):
        ids.append(text)


@given(
    parts=st.lists(st.lists(st.text(st.characters(codec="utf-8"), max_size=4), max_size=5), max_size=4), data=st.data()
)
def test_texts_and_numbers_are_kept_by_slot(parts: list[list[str]], data: st.DataObject) -> None:
    texts, column, expected = Texts(), Column(np.int64), list[str]()
    for part in parts:
        texts.extend(part)
        column.extend([len(text) for text in part])
        expected += part
    alive = [data.draw(st.booleans()) for _ in expected]
    texts.keep(np.array(alive, dtype=bool))
    column.keep(np.array(alive, dtype=bool))
    expected = [text for text, lives in zip(expected, alive, strict=True) if lives]
    texts = Texts.load(iter(texts.dump()))
    texts.extend(["last"])
    column.extend([9])
    assert [texts[slot] for slot in range(len(column))] == [*expected, "last"]
    assert column.values.tolist() == [*map(len, expected), 9]


def test_files_are_read_ahead_up_to_a_bound_and_missing_ones_left_out(tmp_path: Path) -> None:
    files = [tmp_path / "a", tmp_path / "missing", tmp_path / "b"]
    for file in (files[0], files[2]):
        file.write_bytes(b"x" * 2**20)
    asked = read_ahead(files)
    assert asked == 0 or asked >= 2 * 2**20
    assert read_ahead(files, most_bytes=2**20 + 1) in (0, 2**20 + 1)
