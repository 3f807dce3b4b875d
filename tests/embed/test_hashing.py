"""The hashing embedder."""

import pytest

from contracts.embedder import EmbedderContract
from stitch.embed import HashingEmbedder


class TestHashingEmbedder(EmbedderContract):
    @pytest.fixture
    def embedder(self):
        return HashingEmbedder()


def test_a_misspelled_word_is_nearer_than_another_word():
    right, wrong, other = HashingEmbedder().embed(["restaurant", "restuarant", "airplane"])
    assert right @ wrong > right @ other + 0.2
