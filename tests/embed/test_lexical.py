"""The lexical encoder: BM25 weights as sparse vectors."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stitch.embed import LexicalEncoder
from stitch.embed.lexical import index_of
from stitch.text.languages import language_of
from stitch.text.words import stem, stems, words

texts = st.text(alphabet=st.sampled_from("abcdeé ’'.,5\n-_中"), max_size=80).filter(
    lambda text: language_of(text) in (None, "en")
)


def test_inflections_and_the_possessive_share_a_stem():
    assert stems("Hotels hotel's HOTEL") == ["hotel"] * 3
    assert stem("booked") == stem("booking")


@given(texts, texts)
def test_weights_are_positive_and_bounded_by_saturation(text, context):
    encoder = LexicalEncoder()
    weights = encoder.document(text, context=context)
    assert all(0 < weight < encoder.k1 + 1 for weight in weights.values())


@given(texts)
def test_a_text_asks_for_exactly_the_places_it_is_found_at(text):
    encoder = LexicalEncoder()
    assert set(encoder.query(text)) == set(encoder.document(text))


@given(texts, st.integers(1, 30))
def test_a_longer_text_gives_its_words_lower_weights(text, more):
    encoder = LexicalEncoder()
    short = encoder.document(text)
    long = encoder.document(text + " zz" * more)
    other = index_of("zz")
    assert all(long[index] < weight for index, weight in short.items() if index != other)


@given(texts.filter(words))
def test_a_word_of_the_context_weighs_less_than_one_of_the_text(text):
    encoder = LexicalEncoder()
    inside = encoder.document(f"{text} zz")[index_of("zz")]
    beside = encoder.document(text, context="zz")[index_of("zz")]
    assert 0 < beside < inside


def test_the_weight_is_the_second_factor_of_bm25():
    encoder = LexicalEncoder()
    weights = encoder.document("red red wine")
    norm = 1.2 * (1 - 0.75 + 0.75 * 3 / 40)
    assert weights[index_of("red")] == pytest.approx(2 * 2.2 / (2 + norm))
    assert weights[index_of("wine")] == pytest.approx(1 * 2.2 / (1 + norm))


def test_a_question_counts_how_often_a_word_is_asked_for_and_function_words_for_less():
    assert LexicalEncoder().query("Day one or day two?") == {
        index_of("day"): 2,
        index_of("one"): 1,
        index_of("or"): 0.2,
        index_of("two"): 1,
    }


def shared(question: str, text: str) -> float:
    """What the words of a text are worth to a question."""
    encoder = LexicalEncoder()
    weights = encoder.document(text)
    return sum(weights.get(index, 0.0) * weight for index, weight in encoder.query(question).items())


@pytest.mark.parametrize(
    ("question", "said", "other"),
    [
        ("Wann kommt die neue Waschmaschine an?", "Die Maschine kommt am Donnerstag.", "Der Zug ist am Montag voll."),
        (
            "¿Cuánto cuesta la reserva del hotel?",
            "Las reservas de los hoteles están hechas.",
            "La caldera no arranca y no sé qué hacer.",
        ),
        ("火车几点开？我们要去吗", "我们的火车八点开", "酒店的早餐很好吃"),
    ],
)
def test_in_other_languages_inflected_compound_and_unspaced_words_are_found(question, said, other):
    assert shared(question, said) > shared(question, other)
