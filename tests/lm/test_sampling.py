"""How a model is to answer reaches its provider, and answers come back with how sure it was of them."""

from __future__ import annotations

from typing import Any

import dspy
import pytest

from stitch.errors import ModelUnavailableError, SettingsError
from stitch.lm import LanguageModel, Limits, Purpose, Sample, Sampling
from stitch.signatures import AnswerQuestion
from stitch.testing.model import LoopbackProvider, failure

PURPOSE = Purpose("test")


def test_settings_of_sampling_reach_the_provider_and_the_rest_is_its_own_choice() -> None:
    with LoopbackProvider(lambda system, user: {"answer": "a"}) as provider:
        for sampling in (Sampling(temperature=0.0, top_p=0.9, effort="low", seed=7), None):
            model = LanguageModel("m", base_url=provider.base_url, sampling=sampling)
            model.run(dspy.Predict(AnswerQuestion), purpose=PURPOSE, setting="s", quoted_steps="q", question="q")
            model.close()
    told, own = (request.body for request in provider.requests)
    assert {name: told[name] for name in ("temperature", "top_p", "reasoning_effort", "seed")} == {
        "temperature": 0.0, "top_p": 0.9, "reasoning_effort": "low", "seed": 7
    }  # fmt: skip
    assert not {"temperature", "top_p", "reasoning_effort", "seed"} & own.keys()


@pytest.mark.parametrize("odd", [{"temperature": 2.5}, {"top_p": 0.0}, {"effort": "huge"}])
def test_what_no_provider_takes_is_refused(odd: dict[str, Any]) -> None:
    with pytest.raises(SettingsError):
        Sampling(**odd)


def test_sampling_says_what_is_set() -> None:
    assert str(Sampling(temperature=0.0, top_p=0.9, seed=3)) == "temperature=0 top_p=0.9 seed=3"
    assert str(Sampling()) == ""


def test_samples_come_with_log_probabilities_where_a_provider_has_them() -> None:
    with LoopbackProvider(lambda system, user: f"{user} indeed") as provider:
        model = LanguageModel("m", base_url=provider.base_url)
        first, second = model.sample(
            "yes", purpose=PURPOSE, system="be brief", count=2, temperature=1.0, log_probabilities=True
        )
        plain = model.sample("no", purpose=PURPOSE)[0]
        model.close()
    assert first == second == Sample("yes indeed", (-0.25, -0.25))
    assert first.mean_log_probability == -0.25
    assert (plain.log_probabilities, plain.mean_log_probability) == (None, None)
    assert provider.requests[0].body["temperature"] == 1.0
    assert "logprobs" not in provider.requests[2].body
    assert model.ledger.stages()["test"].calls == 3


def test_a_provider_that_refuses_log_probabilities_is_asked_without_from_then_on() -> None:
    with LoopbackProvider(lambda system, user: "text", faults=[failure(400)]) as provider:
        model = LanguageModel("m", base_url=provider.base_url)
        samples = model.sample("x", purpose=PURPOSE, count=2, log_probabilities=True)
        model.close()
    assert [sample.log_probabilities for sample in samples] == [None, None]
    assert ["logprobs" in request.body for request in provider.requests] == [True, False, False]


def test_a_provider_that_is_down_is_no_provider_that_refuses() -> None:
    with LoopbackProvider(lambda system, user: "text", faults=[failure(500)]) as provider:
        model = LanguageModel("m", base_url=provider.base_url, limits=Limits(retries=0))
        with pytest.raises(ModelUnavailableError):
            model.sample("x", purpose=PURPOSE, log_probabilities=True)
        model.close()
