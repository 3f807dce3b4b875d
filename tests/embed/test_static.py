"""The static embedder, the shipped table and tables that cannot be used; the hashing embedder."""

import shutil

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from contracts.embedder import EmbedderContract
from stitch.embed import HashingEmbedder, StaticEmbedder
from stitch.embed.static import TABLE, TokenReader
from stitch.errors import EmbedderError

SHIPPED = StaticEmbedder()
TOKENIZER = Tokenizer.from_file(str(TABLE / "tokenizer.json"))
READER = TokenReader(TABLE)


class TestStaticEmbedder(EmbedderContract):
    @pytest.fixture
    def embedder(self):
        return SHIPPED


@pytest.mark.parametrize(
    ("asked", "near", "far"),
    [
        ("What does the room cost per night?", "How much is the hotel?", "The dog runs in the park."),
        ("Which doctor did she see?", "Her appointment with the physician", "Fix the failing unit test"),
        ("The program crashes", "There is a bug in the software", "We walked along the beach"),
        ("My daughter is ill", "Her child has a fever", "The train leaves at nine"),
    ],
)
def test_meaning_counts_where_no_word_is_shared(asked, near, far):
    vectors = SHIPPED.embed([asked, near, far])
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.1


@given(st.lists(st.text(max_size=60), max_size=5))
def test_any_text_has_a_finite_vector_of_length_one_or_zero(texts):
    vectors = SHIPPED.embed(texts)
    lengths = np.linalg.norm(vectors, axis=1)
    assert vectors.dtype == np.float32
    assert np.all((lengths == 0) | (np.abs(lengths - 1) < 1e-5))


@given(st.text(st.characters(max_codepoint=130), max_size=30))
def test_a_text_has_the_tokens_of_the_tokenizer_though_it_is_read_by_its_words(text):
    known = set(TOKENIZER.encode(text, add_special_tokens=False).ids) - {TOKENIZER.token_to_id("[UNK]")}
    [found] = READER.read([text])
    assert set(found) == known
    assert len(found) == len(known)


@pytest.mark.parametrize("broken", ["model.safetensors", "tokenizer.json"])
@pytest.mark.parametrize("content", [None, b"", b"garbage" * 100])
def test_a_broken_table_is_an_error_at_first_use_and_at_every_use(tmp_path, broken, content):
    folder = tmp_path / "table"
    shutil.copytree(TABLE, folder)
    (folder / broken).unlink()
    if content is not None:
        (folder / broken).write_bytes(content)
    embedder = StaticEmbedder(folder)
    for _ in range(2):
        with pytest.raises(EmbedderError, match="cannot read the token vectors"):
            embedder.embed(["a"])


class TestHashingEmbedder(EmbedderContract):
    @pytest.fixture
    def embedder(self):
        return HashingEmbedder()


def test_a_misspelled_word_is_nearer_than_another_word():
    right, wrong, other = HashingEmbedder().embed(["restaurant", "restuarant", "airplane"])
    assert right @ wrong > right @ other + 0.2
