"""Words in process score as BM25 does, whatever was forgotten before, and never promise less than they hold."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

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
