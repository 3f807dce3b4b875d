"""Weights and constants of the search are fitted again, each set left out once."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

pytest.importorskip("scipy")

from doubles.sets import write_set
from stitch.bench.data.types import DataSet, Question
from stitch.bench.fit import relevance
from stitch.bench.fit.__main__ import FITS, group
from stitch.bench.fit.ranking import in_other_words
from stitch.bench.fit.solvers import listwise
from stitch.errors import InputError
from stitch.retrieve import FEATURES
from stitch.retrieve.relevance import Evidence


def gossip(folder: Path, *, who: str) -> Path:
    """Many speak of somebody and the matter, one of the matter in other words: who it is tells that this is meant."""
    steps = [{"id": f"{n}", "role": "Bob", "content": f"{who} was at the picnic by lake {n}."} for n in range(14)]
    steps.insert(7, {"id": "own", "role": who, "content": "There were sandwiches, cold tea and little else."})
    question = {"id": "q", "trajectory": "t", "question": f"What did {who} say of the picnic by the lake?"}
    return write_set(folder, {"t": steps}, [{**question, "evidence": ["own"]}])


TALKS = {
    "boat": ["The boat leaves the pier at nine.", "A ticket for the boat is $12.", "The captain is called Nils."],
    "garden": ["The roses need pruning in March.", "Compost is behind the shed.", "The hedge is two meters high."],
    "choir": ["The choir meets on Tuesdays.", "We sing Brahms in autumn.", "Our conductor moved to Graz."],
}
ASKED = {
    "boat": ("When does the boat leave the pier?", "0"),
    "garden": ("Where is the compost?", "1"),
    "choir": ("When does the choir meet?", "0"),
}


def talks(folder: Path) -> Path:
    """Three memories, each with a question that it answers and one about its own matters that nothing answers."""
    steps = {
        talk: [{"id": str(n), "role": "user", "content": f"{text} ({folder.name})"} for n, text in enumerate(texts)]
        for talk, texts in TALKS.items()
    }
    questions: list[dict[str, Any]] = []
    for talk, (text, step) in ASKED.items():
        questions.append({"id": talk, "trajectory": talk, "question": text, "evidence": [step]})
        none = {"id": f"{talk} none", "trajectory": talk, "type": "abstention", "question": f"Who owns the {talk}?"}
        questions.append({**none, "evidence": []})
    return write_set(folder, steps, questions)


def fit(name: str, *arguments: object) -> str:
    done = CliRunner().invoke(group, [name, *map(str, arguments)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def rows(told: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in told.splitlines() if line.startswith("{")]


@pytest.fixture
def two_of(tmp_path: Path) -> Any:
    def make(kind: Any, **named: tuple[str, str]) -> list[Any]:
        [(key, values)] = named.items() if named else [("", ("one", "two"))]
        folders = [kind(tmp_path / value, **({key: value} if key else {})) for value in values]
        return [part for folder in folders for part in ("--data", folder)]

    return make


@pytest.mark.parametrize("name", FITS)
def test_every_fit_says_how_it_is_called(name: str) -> None:
    assert "--help" in fit(name, "--help")


def test_each_set_is_told_by_the_weights_that_the_others_gave(two_of: Any) -> None:
    told = fit("ranking", *two_of(gossip, who=("Gina", "Caroline")))
    [weights] = rows(told)
    assert weights.keys() == FEATURES.keys()
    assert weights["speaker"] > 0.1  # who it is tells that this is meant
    assert weights["time"] == 0.0  # nobody asks when
    for name in ("Gina", "Caroline", "mean"):
        assert re.search(rf"{name} .*1\.000.*1\.000", told)


def test_a_listwise_fit_puts_right_rows_first_and_no_weight_below_none() -> None:
    rows_of = np.array([[1.0, 0.2, 0.0], [0.0, 0.9, 1.0], [0.5, 0.1, 1.0]])
    weights = listwise([[(rows_of, np.array([True, False, False]))] * 5], ridge=0.01)
    assert (rows_of @ weights).argmax() == 0
    assert (weights >= 0).all()
    assert weights[2] == 0.0


def test_a_weight_that_a_fit_would_make_smaller_stays_at_its_least_and_the_others_follow() -> None:
    rows_of = np.array([[1.0, 0.0], [0.9, 1.0], [0.2, 0.3]])
    lists = [[(rows_of, np.array([True, False, False]))] * 5]
    free, held = (listwise(lists, ridge=0.01, least=least) for least in (None, np.array([0.0, 2.0])))
    assert free[1] == 0.0
    assert held[1] == 2.0
    assert held[0] > free[0]


def test_a_question_in_other_words_keeps_its_evidence_and_says_something_else() -> None:
    question = Question(
        id="conv-26#108", trajectory="t", type="", text="What is running good for?", answer=None, evidence=("1",)
    )
    [other] = in_other_words(DataSet("locomo", (), (question, replace(question, id="never asked")), digest=""))
    assert other.evidence == question.evidence
    assert other.text != question.text


def test_one_set_is_refused(tmp_path: Path) -> None:
    one = ["--data", gossip(tmp_path / "one", who="Gina")]
    for name in ("relevance", "ranking"):
        with pytest.raises(InputError, match="two names"):
            fit(name, *one)


@pytest.mark.slow
def test_chances_are_judged_by_what_the_others_gave(two_of: Any) -> None:
    *sets, shipped = rows(fit("relevance", *two_of(talks)))
    assert [row["set"] for row in sets] == ["one", "two"]
    for row in sets:
        assert row["auc"] > 0.8
        assert row["hits"] > 0.8
        assert 0 <= row["near_misses"] <= 1
    assert shipped["shipped"]["answered"]["near"] > 0


def asked(*, own: bool, similarity: float, right: tuple[bool, ...]) -> relevance.JudgedQuestion:
    hits = tuple(similarity - 0.1 * place for place in range(len(right)))
    evidence = Evidence(similarities=hits, covered=hits, near=similarity, absent=1 - similarity, words=4)
    return relevance.JudgedQuestion(own, near_miss=False, evidence=evidence, right=right)


def test_what_is_told_of_chances_follows_from_the_questions() -> None:
    own = [asked(own=True, similarity=0.6 + n / 100, right=(True, False, False)) for n in range(20)]
    others = [asked(own=False, similarity=0.2 + n / 100, right=(False,) * 3) for n in range(20)]
    model = relevance.fit([[*own, *others]])
    judged = relevance.judge([*own, *others], model)
    assert judged == {"auc": 1, "caught": 1, "lost": 0.05, "reworded": None, "hits": 1, "near_misses": None}


def test_the_least_chance_loses_few_of_those_that_ask_in_other_words() -> None:
    own = [asked(own=True, similarity=0.6 + n / 100, right=(True, False, False)) for n in range(20)]
    reworded = [asked(own=True, similarity=0.4 + n / 100, right=(True,))._replace(reworded=True) for n in range(20)]
    others = [asked(own=False, similarity=0.2 + n / 100, right=(False,) * 3) for n in range(20)]
    judged = relevance.judge([*own, *reworded, *others], relevance.fit([[*own, *reworded, *others]]))
    assert (judged["lost"], judged["reworded"], judged["caught"]) == (0, 0.05, 1)
