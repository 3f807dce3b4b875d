"""Scorers: how likely it is that a node fulfils a condition in words."""

import sys
from functools import partial
from pathlib import Path

import pytest

from contracts.path_scorer import PathScorerContract
from doubles.golden import compare_phrases
from stitch.embed import HashingEmbedder
from stitch.errors import ReplyError, SettingsError
from stitch.retrieve.path import Forest, select
from stitch.retrieve.path.scorers import Passage, embedder_scorer, rated_scorer, scorer_named, static_scorer
from stitch.retrieve.path.scorers.reading import denied
from stitch.retrieve.path.scorers.similarity import best_cut
from stitch.retrieve.path.semantics import ScorerSemantics
from stitch.trees import Node, Tree
from stitch.trees.core.edits import apply

HERE = Path(__file__).parent


def passages_of(*texts):
    return [Passage(tuple(part for part in text.split(" | ") if part)) for text in texts]


DISHES = passages_of(
    "Chickpea stew | chickpeas, tomatoes, cumin", "Roast duck | duck, red cabbage, orange",
    "Apple crumble | apples, oats, coconut milk", "Cheese toast | bread, cheddar",
    "Carrot soup | carrots, ginger, onions", "Rice pudding | rice, milk, cinnamon",
)  # fmt: skip
ASKED = {
    "dishes": DISHES,
    "places": passages_of("Royal Ontario Museum", "Art Gallery of Ontario", "CN Tower"),
    "foods": passages_of("mushroom omelette, eggs", "toast with honey", "oat milk", "almonds, coconut milk",
                         "peanut butter", "butter", "lentils", "beef"),
    "tasks": passages_of("Fix the crash of the app | software, old phones", "Water the plants | twice a day",
                         "Write the speech | two pages, for the wedding", ""),
    "tagged": passages_of("Oat bowl | nut-free, no milk", "Walnut cake | cream", "Soup | soup"),
}  # fmt: skip


def holding(scorer, condition, passages):
    judgement = scorer.judge(condition, passages)
    return [passages[place].own[0] for place, score in enumerate(judgement.scores) if score >= judgement.cut]


class TestScorers(PathScorerContract):
    @pytest.fixture(params=["static", "lexical", "exact", "embedder", "model"])
    def path_scorer(self, request):
        if request.param == "embedder":
            return embedder_scorer(HashingEmbedder())
        if request.param == "model":
            return rated_scorer(
                lambda condition, texts: [by_shared_words(condition, text) for text in texts], model="w"
            )
        return scorer_named(request.param)


def by_shared_words(condition, text):
    said, asked = set(text.lower().replace(";", " ").replace(".", " ").split()), set(condition.lower().split())
    return len(said & asked) / max(1, len(asked))


def test_a_category_finds_what_is_of_its_kind_and_says_another_word():
    for condition, dish in (
        ("poultry", "Roast duck"),
        ("legumes", "Chickpea stew"),
        ("root vegetables", "Carrot soup"),
    ):
        scores = dict(
            zip([each.own[0] for each in DISHES], static_scorer().judge(condition, DISHES).scores, strict=True)
        )
        assert scores.pop(dish) > 0.6, condition
        assert max(scores.values()) < 0.5, condition


def test_kinds_initials_absence_and_denial_are_understood_without_a_model():
    """Absence is decided by what is named, and not by what is near; who says nothing of a thing fulfills no denial."""
    scorer = static_scorer()
    compare_phrases(HERE / "scored.txt", lambda of, words: ", ".join(holding(scorer, words, ASKED[of])))


@pytest.mark.parametrize("condition", ["note", "normal", "no", "without", "free", "eats no animals", "nothing"])
def test_words_that_only_begin_like_a_denial_deny_nothing(condition):
    assert denied(condition) is None


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


def test_a_model_is_asked_once_a_condition_with_each_text_once():
    calls = []

    def rate(condition, texts):
        calls.append((condition, list(texts)))
        return [0.9] * len(texts)

    scorer = rated_scorer(rate, model="counting")
    scorer.judge("meat", [*DISHES, DISHES[0], Passage(())])
    scorer.judge("meat", [*DISHES, DISHES[0], Passage(())])
    assert [(condition, len(texts)) for condition, texts in calls] == [("meat", len(DISHES))]


def test_a_commit_lets_only_what_it_changed_be_scored():
    calls = []

    def rate(condition, texts):
        calls.append(list(texts))
        return [0.9] * len(texts)

    semantics = ScorerSemantics(rated_scorer(rate, model="counting"))
    plan = Tree(Node("p", "Plan", children=[Node(f"d{n}", "Dish", fields={"name": f"dish {n}"}) for n in range(5)]))
    edited = apply(plan, [{"op": "set", "id": "d3", "field": "name", "value": "duck"}])
    for tree in (plan, edited, plan):
        assert len(select('//Dish[node ~= "meat"]', forest=Forest(tree), semantics=semantics)) == 5
    assert [len(texts) for texts in calls] == [5, 1]
    assert calls[1] == ["duck"]


class CountingEmbedder(HashingEmbedder):
    """Says how many texts it was given."""

    texts = 0

    def embed(self, texts):
        self.texts += len(texts)
        return super().embed(texts)


def test_texts_that_stood_in_the_version_before_are_not_embedded_again():
    embedder = CountingEmbedder()
    semantics = ScorerSemantics(embedder_scorer(embedder))
    plan = Tree(
        Node("p", "Plan", children=[Node(f"d{n}", "Dish", fields={"name": f"dish {n} x{n}y"}) for n in range(50)])
    )
    select('//Dish[node ~= "meat"]', forest=Forest(plan), semantics=semantics)
    before = embedder.texts
    edited = apply(plan, [{"op": "set", "id": "d3", "field": "name", "value": "roast duck"}])
    select('//Dish[node ~= "meat"]', forest=Forest(edited), semantics=semantics)
    assert 0 < embedder.texts - before < 20 < before


def saying(reply, condition, texts):
    return reply


def test_a_reply_that_does_not_judge_each_text_is_refused():
    for reply in ([0.5], [2.0] * len(DISHES)):
        with pytest.raises(ReplyError, match="were to be judged"):
            rated_scorer(partial(saying, reply), model="bad").judge("meat", DISHES)


def test_a_scorer_that_needs_a_model_says_so():
    for name in ("sentence-transformers", "nli"):
        with pytest.raises(SettingsError, match="needs a"):
            scorer_named(name)
    assert scorer_named("sentence-transformers", embedder=HashingEmbedder()).name.startswith("sentence-transformers")


CROSS_ENCODER = '''
import numpy as np


class CrossEncoder:
    """Says of a pair what its folder is called: how likely each class is."""

    def __init__(self, model, *, local_files_only):
        assert local_files_only
        if model.endswith("missing"):
            raise OSError("nothing there")
        self.labels = ["relevant"] if model.endswith("reranker") else ["contradiction", "ENTAILMENT", "neutral"]

    @property
    def config(self):
        labels = dict(enumerate(self.labels))
        return type("Config", (), {"id2label": labels})

    def predict(self, pairs, *, apply_softmax):
        assert apply_softmax
        return np.array([[0.1, 0.3, 0.6] if "soup" in premise else [0.9, 0.05, 0.05] for premise, _ in pairs])
'''


def test_a_cross_encoder_is_read_from_its_folder_and_neutral_is_a_class_of_its_own(tmp_path, monkeypatch):
    (tmp_path / "sentence_transformers.py").write_text(CROSS_ENCODER)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "sentence_transformers", raising=False)
    scorer = scorer_named("nli", model="/models/entails")
    assert scorer.name == "nli /models/entails"
    judged = scorer.judge("something warm", [Passage(("Pea soup",)), Passage(("Ice cream",)), Passage(())])
    assert judged.scores[:2] == pytest.approx((0.3, 0.05))  # .3 of three classes; .75 if neutral were left out
    with pytest.raises(SettingsError, match="no cross-encoder of the entailment kind: it knows \\['relevant'\\]"):
        scorer_named("nli", model="/models/reranker")
    with pytest.raises(SettingsError, match="no cross-encoder can be read from '/models/missing'"):
        scorer_named("nli", model="/models/missing")
    monkeypatch.delitem(sys.modules, "sentence_transformers", raising=False)
