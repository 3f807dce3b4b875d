"""The configured model as answerer and judge, in the place of a provider that is scripted."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import dspy
import pytest
from click.testing import CliRunner

from doubles.sets import write_came
from stitch.bench.commands import group
from stitch.bench.metrics.scores import Unscored
from stitch.bench.models import ModelAnswerer, ModelJudge, Sampling, configured_model, prompts_sha256
from stitch.bench.records import Answered, Record
from stitch.bench.scoring import answer_measures, summarize
from stitch.errors import BudgetSpentError
from stitch.lm import LanguageModel, Limits, Price, Purpose
from stitch.signatures import AnswerQuestion
from stitch.testing.model import LoopbackProvider, ScriptedCompletion, fields_of


def reply(system: str, user: str) -> Any:
    """Answers with the price in the context; judges by equality."""
    fields = fields_of(user)
    if "quoted_steps" in fields:
        price = next(iter(re.findall(r"\$[\d.]+\d", fields["quoted_steps"])), "none")
        return {"reasoning": "it stands there", "answer": f"{price}; x" if "debate" in system else price}
    if "reference_entries" in fields:
        wanted, given = json.loads(fields["reference_entries"]), json.loads(fields["given_entries"])
        return {"reasoning": "compared", "correct_entries": len(set(wanted) & set(given))}
    if "reference_plan" in fields:
        return {"reasoning": "compared", "correct_slots": 1, "given_slots": 2}
    same = fields["reference_answer"] in fields["given_answer"]
    return {"reasoning": "compared", "verdict": "CORRECT" if same else "WRONG"}


def model(**changes: Any) -> LanguageModel:
    return LanguageModel("scripted/m", **{"completion": ScriptedCompletion(reply), "price": Price(1.0, 2.0), **changes})


def test_an_answer_comes_from_the_context() -> None:
    answerer = ModelAnswerer(model())
    assert answerer.answer("How much?", context="It is $76.22 a night.", domain="travel") == "$76.22"
    assert answerer.answer("How much?", context="$55", domain="debate") == "$55; x"


def test_the_judge_counts_sets_and_accepts_single_answers() -> None:
    judge = ModelJudge(model())
    assert judge.count("q", gold="a; b", generated="b, c").correct == 1
    assert judge.accept("q", gold="Apollo", generated="The Apollo").correct == 1
    assert judge.accept("q", gold="Apollo", generated="Hermes").correct == 0
    assert judge.accept("q", gold="Apollo", generated="Hermes").reason == "compared"
    verdict = judge.fill("q", gold="Stay at A; Lunch at B", generated="Stay at A; Lunch at C")
    assert (verdict.correct, verdict.given) == (1, 2)


def test_a_useless_reply_is_no_answer_and_no_verdict_and_a_spent_budget_stops_the_run() -> None:
    broken = model(completion=ScriptedCompletion(lambda system, user: '{"answer": "tor'), limits=Limits(retries=0))
    answer = ModelAnswerer(broken).answer("q", context="c", domain="")
    assert isinstance(answer, Unscored)
    assert answer.reason.startswith("no answer: ")
    assert isinstance(ModelJudge(broken).accept("q", gold="a", generated="b").correct, Unscored)
    poor = model(limits=Limits(budget_tokens=1))
    for ask in (
        lambda: ModelAnswerer(poor).answer("q", context="c", domain=""),
        lambda: ModelJudge(poor).count("q", gold="a", generated="b"),
    ):
        with pytest.raises(BudgetSpentError):
            ask()


def test_without_a_setting_there_is_no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("STITCH_MODEL", raising=False)
    assert configured_model() is None
    assert len(prompts_sha256()) == 64


GOLDS = (("type_2", "$76.22"), ("type_2", "$1"))


def test_answers_can_be_judged_without_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = [
        "came",
        "--data",
        str(write_came(tmp_path / "toy", GOLDS)),
        "--methods",
        "stitch",
        "--json",
        "--answers",
    ]
    with LoopbackProvider(reply) as provider:
        given = {"MODEL": "openai/m", "BASE_URL": provider.base_url, "MODEL_KEY": "k", "OFFLINE": "true"}
        for name, value in {**given, "FILTER": "local"}.items():
            monkeypatch.setenv(f"STITCH_{name}", value)
        result = CliRunner().invoke(group, [*arguments, "--judge", "containment"], catch_exceptions=False)
    row = json.loads(result.stdout)["methods"]["stitch"]
    assert row["f1"] == 0.5
    assert row["model_calls"] == 2


def test_single_answers_are_measured_against_gold() -> None:
    fields = {"trajectory": "t", "type": "x", "text": "?", "evidence": (), "steps": (),
              "milliseconds": 1.0}  # fmt: skip
    answered = [
        Answered(answer="the hat", correct=1),
        Answered(answer="a dog", correct=0),
        Answered(answer=None, reason="cut"),
    ]
    records = [
        Record(question=str(n), gold_answer="the red hat", answered=own, **fields) for n, own in enumerate(answered)
    ]
    row = summarize([*records, Record(question="9", gold_answer=None, **fields)], answer_measures())
    assert row["accuracy"] == 0.5
    assert row["token_f1"] == pytest.approx(1 / 3, abs=1e-6)
    assert 0 < row["token_f1"] < 1


def test_labels_that_stand_in_for_those_of_a_model_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = str(write_came(tmp_path / "toy", GOLDS))
    arguments = ["came", "--data", data, "--methods", "stitch", "--labels", "model", "--json"]
    with LoopbackProvider(lambda system, user: "I would rather not.") as provider:
        given = {"MODEL": "openai/m", "BASE_URL": provider.base_url, "MODEL_KEY": "k", "OFFLINE": "true"}
        for name, value in {**given, "FILTER": "local"}.items():
            monkeypatch.setenv(f"STITCH_{name}", value)
        result = CliRunner().invoke(group, arguments, catch_exceptions=False)
    ingest = json.loads(result.stdout)["ingest"]
    assert ingest["stand_ins"] == ingest["steps"] == 2
    assert ingest["unusable_replies"] == ingest["model_calls"] > 0


PURPOSE = Purpose("test")


def test_settings_of_sampling_reach_the_provider_and_the_rest_is_its_own_choice() -> None:
    with LoopbackProvider(lambda system, user: {"answer": "a"}) as provider:
        for sampling in (Sampling(temperature=0.0, top_p=0.9, effort="low", seed=7), None):
            model = LanguageModel("m", base_url=provider.base_url, sampling=sampling)
            model.run(dspy.Predict(AnswerQuestion), purpose=PURPOSE, setting="s", quoted_steps="q", question="q")
            model.complete("q", purpose=PURPOSE, temperature=1.0)
            model.close()
    told, otherwise, own, _ = (request.body for request in provider.requests)
    assert {name: told[name] for name in ("temperature", "top_p", "reasoning_effort", "seed")} == {
        "temperature": 0.0, "top_p": 0.9, "reasoning_effort": "low", "seed": 7
    }  # fmt: skip
    assert not {"temperature", "top_p", "reasoning_effort", "seed"} & own.keys()
    assert (otherwise["temperature"], otherwise["seed"]) == (1.0, 7), "what a request says itself stays"
    assert str(Sampling(temperature=0.0, top_p=0.9, seed=3)) == "temperature=0 top_p=0.9 seed=3"
    assert str(Sampling()) == ""
