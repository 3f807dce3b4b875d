"""Settings of sampling reach the provider."""

from __future__ import annotations

from typing import Any

import dspy
import pytest

from stitch.errors import SettingsError
from stitch.lm import LanguageModel, Purpose, Sampling
from stitch.signatures import AnswerQuestion
from stitch.testing.model import LoopbackProvider

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


def test_a_text_is_answered_as_it_was_said() -> None:
    with LoopbackProvider(lambda system, user: f"{user} indeed") as provider:
        model = LanguageModel("m", base_url=provider.base_url, sampling=Sampling(temperature=0.5))
        said = model.complete("yes", purpose=PURPOSE, system="be brief", temperature=1.0)
        model.complete("no", purpose=PURPOSE)
        model.close()
    assert said == "yes indeed"
    assert [request.body["temperature"] for request in provider.requests] == [1.0, 0.5]
    assert model.ledger.stages()["test"].calls == 2
