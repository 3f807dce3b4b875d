"""Words in process score as BM25 does, whatever was forgotten before, and never promise less than they hold."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stitch.store import words as store_words
from stitch.store.words import PackedWords, TenantWords, pack

WORDS = st.dictionaries(st.sampled_from([1, 2, 3, 40, 2**32 - 1]), st.integers(1, 8).map(float), max_size=5)


@given(
    snippets=st.lists(WORDS, min_size=1, max_size=30),
    later=st.lists(WORDS, max_size=5),
    dead=st.frozensets(st.integers(0, 29)),
    asked=WORDS,
    buried=st.booleans(),
    saved=st.booleans(),
)
def test_scores_are_those_of_the_definition(
    snippets: list[dict[int, float]],
    later: list[dict[int, float]],
    dead: frozenset[int],
    asked: dict[int, float],
    buried: bool,
    saved: bool,
) -> None:
    tenant = TenantWords()
    for part in (snippets[:3], snippets[3:]):
        tenant.extend(PackedWords([pack(words) for words in part]))
    gone = [words for slot, words in enumerate(snippets) if slot in dead]
    tenant.remove(PackedWords([pack(words) for words in gone]))
    if buried:
        tenant.keep(np.array([slot not in dead for slot in range(len(snippets))]))
    tenant.extend(PackedWords([pack(words) for words in later]))
    if buried and saved:
        tenant = TenantWords.load(iter(tenant.dump()))
    there = [words for slot, words in enumerate(snippets) if slot not in dead] + later
    with_words = sum(map(bool, there))
    idf = {}
    for word in asked:
        carrying = sum(word in words for words in there)
        idf[word] = math.log(1 + (with_words - carrying + 0.5) / (carrying + 0.5)) ** 1.3
        assert tenant.carrying(word) == carrying
    expected = [sum(asked[word] * idf[word] * words.get(word, 0.0) for word in asked) for words in there]
    scores = tenant.asked(asked)
    slots = np.arange(len(snippets) + len(later))
    if buried:
        slots = slots[: len(there)]
    else:
        slots = slots[[slot not in dead or slot >= len(snippets) for slot in slots.tolist()]]
    assert scores.scores(slots).tolist() == pytest.approx(expected)
    assert scores.scores(slots[::-2]).tolist() == pytest.approx(expected[::-2])
    for slot in slots[:3]:
        assert scores.scores(slots[slot : slot + 1]).tolist() == pytest.approx(expected[slot : slot + 1])


@given(snippets=st.lists(WORDS, min_size=1, max_size=60), among=st.frozensets(st.integers(0, 59), max_size=60))
def test_words_are_counted_among_some_slots_however_few_these_are(
    snippets: list[dict[int, float]], among: frozenset[int]
) -> None:
    tenant = TenantWords()
    tenant.extend(PackedWords([pack(words) for words in snippets]))
    slots = sorted(slot for slot in among if slot < len(snippets))
    counted = {word: sum(word in snippets[slot] for slot in slots) for word in (1, 2, 3, 40, 7)}
    assert tenant.counted(counted, np.array(slots, dtype=np.int64)) == (len(slots), counted)


def test_a_word_that_nearly_all_have_is_counted_in_one_slot() -> None:
    tenant = TenantWords()
    tenant.extend(PackedWords([pack({1: 1.0, **({2: 1.0} if slot == 7 else {})}) for slot in range(200)]))
    assert tenant.counted([1, 2, 3], np.array([7])) == (1, {1: 1, 2: 1, 3: 0})
    assert tenant.counted([1, 2, 3], np.array([8])) == (1, {1: 1, 2: 0, 3: 0})


@given(st.dictionaries(st.integers(0, 2**32 - 1), st.floats(0.015625, 64.0, width=32), max_size=40))
def test_what_is_packed_comes_back_to_the_last_bit(words: dict[int, float]) -> None:
    packed = PackedWords([pack({9: 1.5}), pack(words), pack({})])
    assert packed.counts.tolist() == [1, len(words), 0]
    assert (packed.words.tolist(), packed.weights.tolist()) == ([9, *words], [1.5, *words.values()])


def test_a_word_takes_five_bytes_where_weights_are_few_and_more_weights_than_a_byte_tells_are_kept() -> None:
    few, many = {word: 1.0 + word % 2 for word in range(600)}, {word: 1.0 + word for word in range(600)}
    assert (len(pack(few)), len(pack(many))) == (1 + 2 * 4 + 5 * 600, 1 + 8 * 600)
    packed = PackedWords([pack(many), pack(few)])
    assert packed.words.tolist() == [*many, *few]
    assert packed.weights.tolist() == [*many.values(), *few.values()]


def test_words_that_wait_to_be_sorted_in_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_words, "_PENDING_WORDS", 4)
    tenant = TenantWords()
    for word in range(1, 30):
        tenant.extend(PackedWords([pack({0: 1.0, word: 2.0})]))
        assert sum(len(each.words) for each in tenant._pending) <= 4
    assert tenant.carrying(0) == 29
    assert tenant.carried([0, 7], np.array([6, 3])) == [{0, 7}, {0}]
