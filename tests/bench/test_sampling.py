"""Settings of sampling reach the provider."""

from __future__ import annotations

import dspy

from stitch.bench.sampling import Sampling
from stitch.lm import LanguageModel, Purpose
from stitch.signatures import AnswerQuestion
from stitch.testing.model import LoopbackProvider

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
