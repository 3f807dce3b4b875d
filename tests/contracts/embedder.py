"""What every `Embedder` must pass."""

import numpy as np
import pytest

from stitch.core import Embedder

TEXTS = [
    "The Olympus Summit serves breakfast from seven.",
    "How much is a room at the Harbor Hotel per night?",
    "Der Zug fährt um 9:15 Uhr ab.",
    "x",
    "I moved the meeting to Thursday. " * 200,
]


class EmbedderContract:
    """Inherit, name the class `Test…`, and override the fixture `embedder`."""

    @pytest.fixture
    def embedder(self) -> Embedder:
        raise NotImplementedError

    def test_it_is_an_embedder(self, embedder: Embedder) -> None:
        assert isinstance(embedder, Embedder)
        assert embedder.name
        assert embedder.dimension > 0

    def test_vectors_are_unit_rows_of_float32(self, embedder: Embedder) -> None:
        vectors = embedder.embed(TEXTS)
        assert vectors.shape == (len(TEXTS), embedder.dimension)
        assert vectors.dtype == np.float32
        assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-5)

    def test_no_texts_make_no_rows(self, embedder: Embedder) -> None:
        vectors = embedder.embed([])
        assert vectors.shape == (0, embedder.dimension)
        assert vectors.dtype == np.float32

    def test_a_text_without_words_has_no_direction(self, embedder: Embedder) -> None:
        vectors = embedder.embed(["", TEXTS[0], " \n\t", TEXTS[1], "?! ... --"])
        assert vectors.any(axis=1).tolist() == [False, True, False, True, False]
        assert np.allclose(vectors[[1, 3]], embedder.embed(TEXTS[:2]), atol=1e-5)

    def test_order_follows_the_texts(self, embedder: Embedder) -> None:
        assert np.allclose(embedder.embed(TEXTS[::-1]), embedder.embed(TEXTS)[::-1], atol=1e-5)

    def test_the_same_text_has_the_same_vector(self, embedder: Embedder) -> None:
        twice = embedder.embed([TEXTS[0], TEXTS[0]])
        assert np.array_equal(twice[0], twice[1])
        assert np.array_equal(twice, embedder.embed([TEXTS[0], TEXTS[0]]))

    def test_a_question_is_nearer_to_its_own_words(self, embedder: Embedder) -> None:
        asked, near, far = embedder.embed(["What does the hotel room cost?", TEXTS[1], TEXTS[2]])
        assert asked @ near > asked @ far
