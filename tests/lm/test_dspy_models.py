"""A `dspy.LM` of the caller's own labels and chooses filters, within our limits, and leaves nothing elsewhere."""

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dspy
import pytest
from dspy import lm15
from dspy.clients.call_result import attributes
from dspy.utils.callback import BaseCallback
from dspy.utils.dummies import DummyLM

from stitch import Step, open_memory
from stitch.errors import ModelUnavailableError, ReplyError, SettingsError
from stitch.lifecycle.selection import Selector
from stitch.lm import LanguageModel, Purpose
from stitch.testing.model import LoopbackProvider, ScriptedCompletion, label_by_rules

PREDICT = dspy.Predict("question -> answer")
PURPOSE = Purpose("test")


class Scripted(ScriptedCompletion):
    """An engine of DSPy."""


def scripted(script: Any = label_by_rules, **options: Any) -> tuple[dspy.LM, Scripted]:
    engine = Scripted(script)
    return dspy.LM("fake/scripted", engine=engine, **options), engine


def at(provider: LoopbackProvider, **options: Any) -> dspy.LM:
    return dspy.LM("openai/small", api_base=provider.base_url, api_key="secret", **options)


def answered(system: str, user: str) -> Any:
    return {"answer": "yes"}


@pytest.fixture
def _cache_in_memory() -> Iterator[None]:
    before = dspy.cache
    dspy.configure_cache(enable_disk_cache=False, enable_memory_cache=True)
    yield
    dspy.cache = before


def test_three_lines_of_a_dspy_user_label_and_choose_filters(tmp_path: Path) -> None:
    lm, engine = scripted()
    with open_memory(tmp_path / "m", labels="model", lm=lm) as memory:
        memory.add_many([Step(role="user", content=f"Is day {n} free?") for n in range(3)], trajectory="t")
        memory.flush()
        assert memory.labeler.startswith("fake/scripted windowed")
        assert {entry.labels.made_by for entry in memory.steps("t") if entry.labels} == {memory.labeler}
        memory.search("What is planned for day 2?")
        assert set(memory.ledger.stages()) == {"window", "filter"}
    assert lm.history == []
    assert len(engine.prompts) == 2


def test_its_key_address_settings_and_callbacks_hold() -> None:
    heard: list[str] = []

    class Listening(BaseCallback):  # type: ignore[misc]
        def on_lm_end(self, call_id: str, outputs: Any, exception: BaseException | None = None) -> None:
            heard.append("end")

    with LoopbackProvider(answered) as provider:
        lm = at(
            provider, temperature=0.4, max_tokens=77, top_k=5, extra_body={"thinking": False}, callbacks=[Listening()]
        )
        model = LanguageModel(lm, offline=True)
        assert model.run(PREDICT, purpose=PURPOSE, question="q").answer == "yes"
        lm.close()
    [request] = provider.requests
    assert request.headers["authorization"] == "Bearer secret"
    assert (request.body["model"], request.body["temperature"], request.body["thinking"]) == ("small", 0.4, False)
    assert 77 in request.body.values()
    assert request.body["response_format"]["type"] == "json_schema"
    assert heard == ["end"]


def test_what_fails_is_an_error_of_the_model_whatever_raises_it() -> None:
    lm, engine = scripted(answered)
    engine.fail_next(lm15.AuthError("no such key"), KeyError("oops"))
    model = LanguageModel(lm)
    for words in ("no such key", "oops"):
        with pytest.raises(ModelUnavailableError, match=words):
            model.run(PREDICT, purpose=PURPOSE, question="q")
    with pytest.raises(ModelUnavailableError, match=r"API_KEY|credential|key"):
        LanguageModel(dspy.LM("groq/none", api_key=None)).run(PREDICT, purpose=PURPOSE, question="q")


SAID = '{"answer": "old"}'
CHOICE = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": SAID}}
BODY = {"model": "m", "usage": {"prompt_tokens": 9, "completion_tokens": 5}, "choices": [CHOICE]}


def without_usage(body: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if name != "usage"}


class Legacy(dspy.BaseLM):  # type: ignore[misc]
    """A model of the time when a model had a `forward`."""

    def __init__(self, gives: Any) -> None:
        super().__init__("legacy", callbacks=[])
        self.gives, self.asked = gives, list[dict[str, Any]]()

    def forward(self, prompt: Any = None, messages: Any = None, **kwargs: Any) -> Any:
        self.asked.append({"messages": messages, **kwargs})
        return self.gives


class Called(Legacy):
    """One that is called instead."""

    def __call__(self, prompt: Any = None, *, messages: Any = None, **kwargs: Any) -> Any:
        return self.forward(prompt, messages, **kwargs)


class Modern(dspy.LM):  # type: ignore[misc]
    """A `dspy.LM` whose `forward` is its own."""

    def forward(self, prompt: Any = None, messages: Any = None, **kwargs: Any) -> Any:
        return BODY


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(
    ("lm", "tokens"),
    [
        (Legacy(BODY), 14),
        (Legacy(attributes(BODY)), 14),
        (Legacy(attributes(without_usage(BODY))), None),
        (Called([SAID]), None),
        (Called([{"text": SAID, "logprobs": None}]), None),
        (Called([{"text": None, "reasoning_content": SAID}]), None),
        (Modern("openai/m"), 14),
        (DummyLM([{"answer": "old"}], adapter=dspy.JSONAdapter()), 0),
    ],
)
def test_what_a_legacy_model_gives_is_taken_as_dspy_takes_it(lm: Any, tokens: int | None) -> None:
    model = LanguageModel(lm)
    assert model.run(PREDICT, purpose=PURPOSE, question="q").answer == "old"
    spent = model.ledger.total()
    assert spent.calls == 1
    assert spent.tokens > 0 if tokens is None else spent.tokens == tokens
    for asked in getattr(lm, "asked", []):  # it takes no `response_format`: the schema stands in the prompt
        assert "response_format" not in asked
        assert "JSON schema" in asked["messages"][0]["content"]
    assert lm.history == []


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_legacy_reply_that_was_cut_or_is_empty_is_of_no_use() -> None:
    cut = {**BODY, "choices": [{"finish_reason": "length", "message": {"content": SAID}}]}
    for gives, reason in ((attributes(cut), "was cut"), ({**BODY, "choices": []}, "has no choices")):
        with pytest.raises(ReplyError, match=reason):
            LanguageModel(Legacy(gives)).run(PREDICT, purpose=PURPOSE, question="q")


@pytest.mark.usefixtures("_cache_in_memory")
def test_the_response_cache_is_bypassed_unless_it_is_asked_for(tmp_path: Path) -> None:
    step = Step(id="a", role="user", content="Is the Zephyr Mill of day 1 free?")
    for name, cached in (("without", False), ("with", True)):
        for round_ in (1, 2):
            lm, engine = scripted(cache=True)
            with open_memory(tmp_path / f"{name}{round_}", labels="model", lm=lm, lm_cache=cached) as memory:
                memory.add(step, trajectory="t")
                memory.flush()
            assert len(engine.prompts) == (0 if cached and round_ == 2 else 1)
    for name, told in (("without1", 0), ("with1", 1)):
        with open_memory(tmp_path / name) as memory:  # whoever erases need not know that it was used
            proof = memory.lifecycle.erase(Selector(trajectory="t", step="a")).proof
            assert sum("DSPy's cache" in place for place in proof.not_searched) == told


def test_the_model_that_dspy_is_configured_with_is_used_only_where_a_setting_says_model(tmp_path: Path) -> None:
    lm, engine = scripted()
    with dspy.context(lm=lm):
        with open_memory(tmp_path / "local") as memory:
            memory.add(Step(role="user", content="Is day 1 free?"), trajectory="t")
            memory.search("day 1")
            assert memory.labeler.startswith("local")
        assert engine.prompts == []
        memory = open_memory(tmp_path / "model", labels="model")
    with memory, dspy.context(lm=None):  # it was read when the memory was opened
        memory.add(Step(role="user", content="Is day 1 free?"), trajectory="t")
        memory.flush()
        memory.search("day 1")
        assert set(memory.ledger.stages()) == {"window"}


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"model": "m", "lm": scripted()[0]}, "'m' is named, and lm is given"),
        ({"model": "m", "lm_cache": True}, "lm_cache"),
        ({"lm": scripted()[0], "offline": True}, "network is off"),
        ({"lm": scripted()[0], "base_url": "http://localhost:1/v1"}, "base_url and model_key are of no use beside lm"),
        ({"lm": "openai/small"}, "a name goes into model="),
        ({}, "no model is named"),
    ],
)
def test_what_does_not_go_together_is_refused(given: dict[str, Any], reason: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=reason):
        open_memory(tmp_path, labels="model", **given)


def test_a_second_process_uses_the_owners_model_and_says_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (owners, asked), (others, unasked) = scripted(), scripted()
    with (
        open_memory(tmp_path, labels="model", lm=owners),
        caplog.at_level(logging.WARNING),
        open_memory(tmp_path, labels="model", lm=others) as second,
    ):
        second.add(Step(role="user", content="Is day 1 free?"), trajectory="t")
        second.flush()
    assert (len(asked.prompts), len(unasked.prompts)) == (1, 0)
    assert "its model is used, and not the lm given here" in caplog.text


def test_a_second_process_that_names_a_model_is_told_of_the_owners(tmp_path: Path) -> None:
    for owner, there in (({"labels": "model", "lm": scripted()[0]}, "'fake/scripted \\(given as lm\\)'"), ({}, "none")):
        folder = tmp_path / there[:3].strip("'")
        with (
            open_memory(folder, **owner),
            pytest.raises(SettingsError, match=f"with another model: {there} there, 'm' here"),
        ):
            open_memory(folder, model="m", base_url="http://localhost:1/v1")
