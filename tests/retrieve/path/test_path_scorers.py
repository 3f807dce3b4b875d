"""Scorers: how likely it is that a node fulfils a condition in words."""

import pytest

from stitch.embed import HashingEmbedder
from stitch.errors import SettingsError
from stitch.retrieve.path.scorers import (
    ExactScorer,
    Passage,
    embedder_scorer,
    lexical_scorer,
    scorer_named,
    static_scorer,
)
from stitch.retrieve.path.scorers.protocol import best_cut
from stitch.testing.contracts.path_scorer import PathScorerContract

DISHES = [
    Passage(("Chickpea stew", "chickpeas, tomatoes, cumin")),
    Passage(("Roast duck", "duck, red cabbage, orange")),
    Passage(("Apple crumble", "apples, oats, coconut milk")),
    Passage(("Cheese toast", "bread, cheddar")),
    Passage(("Carrot soup", "carrots, ginger, onions")),
    Passage(("Rice pudding", "rice, milk, cinnamon")),
]


def holding(scorer, condition, passages=DISHES):
    judgement = scorer.judge(condition, passages)
    return [passages[place].own[0] for place, score in enumerate(judgement.scores) if score >= judgement.cut]


class TestStaticScorer(PathScorerContract):
    @pytest.fixture
    def path_scorer(self):
        return static_scorer()


class TestLexicalScorer(PathScorerContract):
    @pytest.fixture
    def path_scorer(self):
        return lexical_scorer()


class TestExactScorer(PathScorerContract):
    @pytest.fixture
    def path_scorer(self):
        return ExactScorer()


class TestEmbedderScorer(PathScorerContract):
    @pytest.fixture
    def path_scorer(self):
        return embedder_scorer(HashingEmbedder())


def test_a_category_finds_what_is_of_its_kind_and_says_another_word():
    assert holding(static_scorer(), "poultry") == ["Roast duck"]
    assert holding(static_scorer(), "legumes") == ["Chickpea stew"]
    assert "Carrot soup" in holding(static_scorer(), "root vegetables")


def test_of_alternatives_one_is_enough():
    assert {"Roast duck", "Chickpea stew"} <= set(holding(static_scorer(), "poultry or legumes"))


def test_initials_stand_for_a_name():
    places = [Passage(("Royal Ontario Museum",)), Passage(("Art Gallery of Ontario",)), Passage(("CN Tower",))]
    assert holding(static_scorer(), "ROM", places) == ["Royal Ontario Museum"]
    assert holding(static_scorer(), "AGO", places) == ["Art Gallery of Ontario"]


def test_absence_is_decided_by_what_is_named_and_not_by_what_is_near():
    assert holding(static_scorer(), "vegan") == ["Chickpea stew", "Apple crumble", "Carrot soup"]
    assert "Roast duck" not in holding(static_scorer(), "vegetarian")
    assert "Cheese toast" in holding(static_scorer(), "vegetarian")
    assert "Cheese toast" not in holding(static_scorer(), "dairy-free")
    assert holding(static_scorer(), "without milk")[:2] == ["Chickpea stew", "Roast duck"]
    assert "Rice pudding" not in holding(static_scorer(), "without milk")


def test_what_texts_say_of_absence_themselves_is_looked_for():
    tagged = [Passage(("Oat bowl", "nut-free")), Passage(("Walnut cake", "cake")), Passage(("Soup", "soup"))]
    assert holding(static_scorer(), "nut-free", tagged) == ["Oat bowl"]


def test_a_cut_is_where_most_is_gained_and_never_below_what_is_unlikely():
    assert best_cut([0.9, 0.8, 0.1, 0.05]) == 0.5
    assert best_cut([0.45, 0.44, 0.02]) == 0.44
    assert best_cut([0.05, 0.04]) == 0.2
    assert best_cut([]) == 0.5
    assert best_cut([0.0]) == 0.5


def test_a_scorer_is_found_by_its_name_and_an_unknown_one_is_refused():
    assert [scorer_named(name).name for name in ("static", "lexical", "exact")] == ["static", "lexical", "exact"]
    with pytest.raises(SettingsError, match="no scorer 'dense'"):
        scorer_named("dense")
