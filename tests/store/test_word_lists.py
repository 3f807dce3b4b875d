"""Lists of words are what was added to them, whether it was put together, saved, or partly forgotten."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stitch.store.columns import with_gaps, without_gaps
from stitch.store.word_lists import WordLists

ADDED = st.lists(st.dictionaries(st.sampled_from([0, 1, 7, 2**32 - 1]), st.integers(1, 5).map(float)), max_size=20)


def add(lists: WordLists, slot: int, words: dict[int, float]) -> None:
    for word, weight in words.items():
        numbers = lists.numbers_of(np.array([weight], np.float32))
        lists.add(word, np.array([slot], np.uint32), numbers)


def told(lists: WordLists) -> dict[int, list[tuple[int, float]]]:
    words = (0, 1, 7, 2**32 - 1, 5)
    found = {word: list(zip(lists.slots(word).tolist(), lists.weights(word).tolist(), strict=True)) for word in words}
    assert [lists.count(word) for word in words] == [len(own) for own in found.values()]
    return {word: own for word, own in found.items() if own}


@given(added=ADDED, dead=st.frozensets(st.integers(0, 19)), settle_after=st.integers(0, 20), saved=st.booleans())
def test_a_list_has_every_slot_of_its_word_in_order(
    added: list[dict[int, float]], dead: frozenset[int], settle_after: int, saved: bool
) -> None:
    lists, expected = WordLists(), dict[int, list[tuple[int, float]]]()
    for slot, words in enumerate(added):
        add(lists, slot, words)
        for word, weight in words.items():
            expected.setdefault(word, []).append((slot, weight))
        if slot == settle_after:
            lists.settle(all_of_them=True)
    assert told(lists) == expected
    if saved:
        lists = WordLists.load(iter(lists.dump()))
        assert told(lists) == expected
    alive = np.array([slot not in dead for slot in range(len(added))], dtype=bool)
    now = {slot: place for place, slot in enumerate(np.flatnonzero(alive).tolist())}
    lists.keep(alive)
    left = {word: [(now[slot], weight) for slot, weight in own if slot in now] for word, own in expected.items()}
    assert told(lists) == {word: own for word, own in left.items() if own}
    add(lists, len(now), {7: 2.5})
    assert told(lists)[7] == [*left.get(7, ()), (len(now), 2.5)]


@given(st.lists(st.integers(0, 2**32 - 1), max_size=30))
def test_numbers_come_back_from_their_gaps(values: list[int]) -> None:
    arrays = with_gaps(np.array(values, np.uint32))
    assert arrays[0].dtype == np.uint8
    assert without_gaps(iter(arrays)).tolist() == values
