"""What an index remembers of snippets in few bytes is what it was told, whatever was removed, kept or saved."""

from __future__ import annotations

from uuid import UUID

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stitch.store.columns import Column, Ids, Texts

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
