"""The hashing embedder."""

import subprocess
import sys

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


@pytest.mark.slow
@pytest.mark.parametrize("seed", ["0", "1"])
def test_vectors_do_not_depend_on_the_hash_seed_of_a_process(seed):
    code = "from stitch.embed import HashingEmbedder; print(HashingEmbedder(16).embed(['two rooms']).tobytes().hex())"
    run = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, env={"PYTHONHASHSEED": seed}
    )
    assert run.stdout.strip() == HashingEmbedder(16).embed(["two rooms"]).tobytes().hex()
