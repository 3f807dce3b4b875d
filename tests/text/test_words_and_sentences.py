"""Reading English without a model: sentences, forms, noun phrases."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from stitch.text.phrases import noun_phrases
from stitch.text.sentences import sentence_spans, sentences
from stitch.text.words import fold_case, places_of_stem, stems


def test_sentences_end_at_marks_and_line_breaks_but_not_at_abbreviations():
    text = "Dr. Lee called. Is 3.5 enough?\nYes"
    assert sentences(text) == ["Dr. Lee called.", "Is 3.5 enough?", "Yes"]
    assert sentences("Treffpunkt ist Lindenstr. 14 bzw. Nr. 16. Bis dann.") == [
        "Treffpunkt ist Lindenstr. 14 bzw. Nr. 16.", "Bis dann."
    ]  # fmt: skip


@given(st.text(max_size=200))
def test_spans_of_sentences_are_in_order_and_lose_no_word(text):
    spans = sentence_spans(text)
    assert all(a < b <= c < d for (a, b), (c, d) in pairwise(spans))
    kept = "".join(text[start:end] for start, end in spans)
    assert [c for c in kept if c.isalnum()] == [c for c in text if c.isalnum()]


@given(st.text(max_size=100))
def test_plain_text_keeps_every_character_at_its_place(text):
    assert len(fold_case(text)) == len(text)
    assert fold_case(fold_case(text)) == fold_case(text)


def test_noun_phrases_name_things_and_leave_verbs_out():
    phrases = noun_phrases("Could you find the cheapest flight to Pittsburgh, and check its check-in date?")
    assert [phrase.text for phrase in phrases] == ["cheapest flight", "pittsburgh", "check-in date"]
    assert [phrase.head for phrase in phrases] == ["flight", "pittsburgh", "date"]


SAID = st.lists(
    st.one_of(
        st.sampled_from(
            ["lying", "tied", "lie's", "happy", "happiness", "skies", "don’t", "l'order", "3.14", "U.S.", "a_b", "rise"]
        ),
        st.text(alphabet="abeilnsty'.\u2019_ -\u00e9\u4e2d", max_size=8),
    ),
    max_size=12,
)


@given(SAID, SAID, st.sampled_from([" ", "", ".", "'", "_", ", "]))
def test_whether_a_text_has_a_word_of_a_stem_is_told_without_cutting_it_into_words(said, others, between):
    text = between.join(said)
    found = set(stems(text))
    for stemmed in found | set(stems(" ".join(others))) | {"lie", "die", "happi"}:
        folded = text.lower().replace("’", "'")
        assert bool(places_of_stem(f"q\n{folded}\nq", stemmed)) == (stemmed in found)


def test_sentences_of_other_scripts_end_with_their_own_signs():
    assert sentences("好的。几点出发？我去。") == ["好的。", "几点出发？", "我去。"]
    assert sentences("मैं आऊँगा। कब?") == ["मैं आऊँगा।", "कब?"]
    assert sentences("他说：「好。」然后走了。") == ["他说：「好。", "然后走了。"]
