"""The hashing embedder."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stitch.embed import HashingEmbedder
from stitch.testing.contracts.embedder import EmbedderContract


class TestHashingEmbedder(EmbedderContract):
    @pytest.fixture
    def embedder(self):
        return HashingEmbedder()


def test_the_name_says_the_dimension():
    assert HashingEmbedder(64).name == "hashing-64-v1"
    assert HashingEmbedder(64).embed(["a room"]).shape == (1, 64)


def test_there_is_no_space_without_dimensions():
    with pytest.raises(ValueError, match="at least 1"):
        HashingEmbedder(0)


def test_a_misspelled_word_is_nearer_than_another_word():
    right, wrong, other = HashingEmbedder().embed(["restaurant", "restuarant", "airplane"])
    assert right @ wrong > right @ other + 0.2


def test_letter_case_and_punctuation_do_not_count():
    one, other = HashingEmbedder().embed(["A Room!", "a room"])
    assert np.array_equal(one, other)


@given(st.lists(st.sampled_from(["room", "hotel", "day", "price"]), min_size=1, max_size=6), st.randoms())
def test_the_order_of_words_does_not_count(spoken, random):
    shuffled = random.sample(spoken, len(spoken))
    one, other = HashingEmbedder(32).embed([" ".join(spoken), " ".join(shuffled)])
    assert np.allclose(one, other, atol=1e-6)


@pytest.mark.parametrize("seed", ["0", "1"])
def test_vectors_do_not_depend_on_the_hash_seed_of_a_process(seed):
    code = "from stitch.embed import HashingEmbedder; print(HashingEmbedder(16).embed(['two rooms']).tobytes().hex())"
    run = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, env={"PYTHONHASHSEED": seed}
    )
    assert run.stdout.strip() == HashingEmbedder(16).embed(["two rooms"]).tobytes().hex()
