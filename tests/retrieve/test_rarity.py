"""The vector of a question: what all steps say counts little in it, counted where is searched."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from contracts.retriever import snippet
from doubles.storing import ListStore
from stitch.core import LabelInventory, SearchRequest, SnippetRecord, WordCounts
from stitch.embed import HashingEmbedder, LexicalEncoder, StaticEmbedder
from stitch.embed.lexical import index_of
from stitch.retrieve import DenseRetriever
from stitch.retrieve.rarity import rare_words_first
from stitch.text.words import stem

EMBEDDER, LEXICAL = StaticEmbedder(), LexicalEncoder()


def counting(snippets, **carrying):
    having = {index_of(stem(word)): count for word, count in carrying.items()}
    return lambda words: WordCounts(snippets, {word: having.get(word, 0) for word in words}, {})


def stored(*said, embedder=EMBEDDER):
    """A store of what was said, each with its trajectory."""
    store = ListStore()
    for number, (trajectory, text) in enumerate(said):
        kept = snippet(text, step=str(number), trajectory=trajectory)
        store.put([SnippetRecord(kept, embedder.embed([text])[0], LEXICAL.document(text))])
    return store


def found(store, query, *, embedder=EMBEDDER, trajectory=None):
    retriever = DenseRetriever(store=store, embedder=embedder, inventories=lambda tenant, trajectory: LabelInventory())
    hits = retriever.search(SearchRequest(query=query, tenant="a", trajectory=trajectory)).hits
    return [hit.snippet.text for hit in hits]


@given(text=st.text(max_size=40))
def test_it_is_of_length_one_or_says_nothing(text):
    vector = rare_words_first(text, embedder=EMBEDDER, count=counting(5, the=5))
    assert vector.shape == (EMBEDDER.dimension,)
    assert np.isclose(np.linalg.norm(vector), 1, atol=1e-5) or not vector.any()


GREETINGS = ("Good morning", "Thanks", "See you soon", "That is nice", "Good night", "How are you")
SAID = [("chat", f"Caroline: {greeting}.") for greeting in GREETINGS]
TELLS = "Clay and sand came on a truck this morning."
QUESTION = "Did Caroline get clay?"


def test_whom_all_steps_name_does_not_decide_what_is_found():
    assert found(stored(*SAID, ("chat", TELLS)), QUESTION)[0] == TELLS
    asked, *every = EMBEDDER.embed([QUESTION, TELLS, *(text for _, text in SAID)])
    assert asked @ every[0] < max(asked @ each for each in every)  # where all words count alike, a greeting is nearer


def test_words_are_counted_in_the_trajectory_that_is_searched():
    elsewhere = [("work", f"Clay {number}.") for number in range(60)]
    store = stored(*SAID, ("chat", TELLS), *elsewhere)
    assert found(store, QUESTION, trajectory="chat")[0] == TELLS
    clay = index_of(stem("clay"))
    assert store.word_counts("a", [clay], trajectory="chat") == (7, {clay: 1}, {})


def test_an_embedder_whose_vectors_are_no_sums_is_asked_for_the_whole_question():
    class Listening(HashingEmbedder):
        asked = []

        def embed(self, texts):
            self.asked += texts
            return super().embed(texts)

    embedder = Listening()
    store = stored(("chat", "A bowl."), embedder=embedder)
    assert found(store, "Which bowl, Caroline?", embedder=embedder) == ["A bowl."]
    assert embedder.asked[-1] == "Which bowl, Caroline?"
