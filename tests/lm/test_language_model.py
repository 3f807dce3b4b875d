"""The language model over real HTTP on this machine, and by scripted replies: limits, errors, places, the ledger."""

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import dspy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stitch.errors import (
    BudgetSpentError,
    CallInterruptedError,
    JournalError,
    ModelUnavailableError,
    ReplyError,
    SettingsError,
)
from stitch.lm import Charge, LanguageModel, Ledger, Limits, Price, Purpose, read_ledger, sum_up
from stitch.lm.limits import Calls
from stitch.testing.model import LoopbackProvider, ScriptedCompletion, completion, failure, fields_of
from stitch.testing.servers import Reply, Silence


class Question(dspy.Signature):  # type: ignore[misc]  # DSPy is not typed
    """Answer."""

    question: str = dspy.InputField()
    answer: str = dspy.OutputField()
    points: list[int] = dspy.OutputField()


PREDICT = dspy.Predict(Question)
PURPOSE = Purpose("test", trajectory="t", position=3, steps=2)


def answer(system: str, user: str) -> Any:
    return {"answer": fields_of(user)["question"].upper(), "points": [1, 2]}


def ask(model: LanguageModel, question: str = "why") -> Any:
    return model.run(PREDICT, purpose=PURPOSE, question=question)


def scripted(script: Callable[[str, str], Any] = answer, **options: Any) -> LanguageModel:
    return LanguageModel("scripted", completion=ScriptedCompletion(script), **options)


def test_a_reply_comes_back_as_a_prediction_over_http_with_a_schema_and_no_key() -> None:
    with LoopbackProvider(answer) as provider:
        model = LanguageModel("openai/qwen3-8b", base_url=provider.base_url, offline=True)
        prediction = ask(model)
        model.close()
        model.close()
    assert (prediction.answer, prediction.points) == ("WHY", [1, 2])
    request = provider.requests[0]
    assert request.path == "/v1/chat/completions"
    assert request.body["model"] == "qwen3-8b"
    assert request.body["response_format"]["type"] == "json_schema"


def test_the_key_reaches_the_provider_and_a_text_is_answered_as_it_was_said() -> None:
    with LoopbackProvider(lambda system, user: f"{user} indeed") as provider:
        model = LanguageModel("m", base_url=provider.base_url, api_key="secret")
        assert model.complete("yes", purpose=PURPOSE, system="be brief") == "yes indeed"
        model.close()
    assert provider.requests[0].headers["authorization"] == "Bearer secret"
    assert [one["content"] for one in provider.requests[0].body["messages"]] == ["be brief", "yes"]


@pytest.mark.parametrize("variable", ["OPENAI_BASE_URL", "OPENAI_API_BASE"])
def test_the_address_in_the_environment_is_asked_with_the_key_that_stands_beside_it(
    variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "of the gateway")
    with LoopbackProvider(answer) as gateway, LoopbackProvider(answer) as own:
        monkeypatch.setenv(variable, f"{gateway.base_url}/")
        for model in (
            LanguageModel("openai/small", offline=True),
            LanguageModel("openai/small", base_url=own.base_url, offline=True),
            LanguageModel("m", base_url=own.base_url),
        ):
            assert ask(model).answer == "WHY"
            model.close()
        LanguageModel(dspy.LM("openai/small"), offline=True)  # DSPy goes there, too
        with pytest.raises(ModelUnavailableError, match="network is off"):
            LanguageModel("groq/small", offline=True)
    [request] = gateway.requests
    assert (request.path, request.body["model"]) == ("/v1/chat/completions", "small")
    assert request.headers["authorization"] == "Bearer of the gateway"
    assert {request.headers["authorization"] for request in own.requests} == {"Bearer none"}
    assert len(own.requests) == 2


@pytest.mark.parametrize("status", [429, 500, 503])
def test_what_is_transient_is_tried_again_after_the_pause_that_was_asked_for(
    status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(Calls, "pause", lambda self, seconds: pauses.append(seconds))
    with LoopbackProvider(answer, faults=[failure(status, retry_after_s=7), failure(status)]) as provider:
        model = LanguageModel("m", base_url=provider.base_url)
        assert ask(model).answer == "WHY"
        model.close()
    assert pauses == [7.0, 2.0]
    assert model.ledger.total().calls == 1


@pytest.mark.parametrize(("fault", "calls"), [(failure(500), 3), (Silence(), 2), (failure(401), 1)])
def test_a_provider_that_stays_down_is_unavailable_after_all_retries(
    fault: Reply | Silence, calls: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Calls, "pause", lambda self, seconds: None)
    limits = Limits(retries=2, timeout_s=0.2 if isinstance(fault, Silence) else 60)
    with LoopbackProvider(answer, faults=[fault] * 9) as provider:
        model = LanguageModel("m", base_url=provider.base_url, limits=limits)
        with pytest.raises(ModelUnavailableError) as caught:
            ask(model)
        model.close()
    assert len(provider.requests) == calls
    assert (caught.value.hint == "set STITCH_MODEL_KEY") == (calls == 1), "a refused key is not tried again"
    with pytest.raises(ModelUnavailableError, match="does not answer"):  # nobody is there any more
        ask(LanguageModel("m", base_url=provider.base_url, limits=Limits(retries=0)))


def test_who_waits_long_is_told_for_what_and_which_setting_ends_it(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("stitch.lm.limits._SLOW_S", 0.01)
    with LoopbackProvider(answer, faults=[Silence()]) as provider:
        model = LanguageModel("m", base_url=provider.base_url, limits=Limits(timeout_s=0.2, retries=0))
        with pytest.raises(ModelUnavailableError, match="model_timeout_s"):
            ask(model)
        model.close()
    [told] = [each.message for each in caplog.records if each.name == "stitch.lm.limits"]
    assert "'m' has not answered" in told
    assert "model_timeout_s" in told


@pytest.mark.parametrize(
    "fault",
    [
        completion('{"answer": "a", "points": [1', finish_reason="length"),
        completion('{"answer": "a", "points": [1'),
        completion('{"answer": "a", "points": [1, 2]}', finish_reason="length"),
        completion("I would rather not."),
        completion(""),
        completion("[1, 2]"),
        completion('{"answer": "a"}'),
        completion('{"answer": "a", "points": ["many"]}'),
    ],
    ids=["cut", "cut unsaid", "cut after the end", "garbage", "empty", "a list", "a field less", "wrong kind"],
)
def test_a_reply_that_cannot_be_used_is_an_error_and_is_paid_for(fault: Reply) -> None:
    with LoopbackProvider(answer, faults=[fault]) as provider:
        model = LanguageModel("m", base_url=provider.base_url)
        with pytest.raises(ReplyError):
            ask(model)
        model.close()
    assert model.ledger.total().calls == len(provider.requests) == 1


def test_the_network_is_refused_when_it_is_off() -> None:
    with pytest.raises(ModelUnavailableError, match="network is off"):
        LanguageModel("openai/gpt-5-mini", offline=True)
    with pytest.raises(ModelUnavailableError, match="network is off"):
        LanguageModel("m", base_url="https://example.com/v1", offline=True)
    LanguageModel("m", base_url="http://localhost:1/v1", offline=True)


def test_a_model_without_a_known_provider_or_without_a_key_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ModelUnavailableError, match="no provider is known") as caught:
        ask(LanguageModel("no-such-thing"))
    assert "--base-url" in caught.value.hint
    with pytest.raises(ModelUnavailableError, match="API_KEY"):
        ask(LanguageModel("openai/gpt-5-mini", limits=Limits(retries=0)))


@pytest.mark.parametrize("budget", [{"budget_tokens": 1_000}, {"budget_usd": 1.0}, {"budget_calls": 3}])
def test_a_budget_stops_before_the_call_that_would_break_it(budget: dict[str, Any]) -> None:
    model = scripted(price=Price(1_000.0, 2_000.0), limits=Limits(**budget))

    def ask_for_ever() -> None:
        for _ in range(100):
            ask(model)

    with pytest.raises(BudgetSpentError) as caught:
        ask_for_ever()
    spent = model.ledger.total()
    assert 0 < spent.calls < 20
    assert spent.tokens <= 1_000 + 20
    assert caught.value.hint


def test_a_budget_in_dollars_needs_a_price() -> None:
    with pytest.raises(SettingsError):
        scripted(limits=Limits(budget_usd=1.0))


def test_nothing_is_kept_between_calls() -> None:
    before = len(dspy.settings.trace or ())  # noqa: TID251 - read, not changed; other programs may have left something
    model = scripted()
    ask(model)
    lm = model._binding["lm"]
    assert lm.history == []
    assert len(dspy.settings.trace or ()) == before  # noqa: TID251 - read, not changed


def test_the_ledger_tells_stages_apart_and_survives_in_its_file(tmp_path: Path) -> None:
    file = tmp_path / "ledger.jsonl"
    assert list(read_ledger(file)) == []
    model = scripted(ledger=Ledger(file), price=Price(1.0, 1.0))
    ask(model)
    model.run(PREDICT, purpose=Purpose("other stage"), question="x")
    with file.open("ab") as lines:
        lines.write(b'{"model": "torn')
    charges = list(read_ledger(file))
    assert [charge.stage for charge in charges] == ["test", "other stage"]
    assert (charges[0].trajectory, charges[0].position, charges[0].steps) == ("t", 3, 2)
    assert set(model.ledger.stages()) == {"test", "other stage"}
    total = sum_up(charges)
    assert total == model.ledger.total()
    assert total.cost_usd == pytest.approx(total.tokens / 1e6)


def test_the_cost_is_unknown_as_soon_as_one_price_is() -> None:
    ledger = Ledger()
    for cost in (1.0, None, 2.0):
        ledger.charge(Charge(model="m", stage="s", prompt_tokens=1, reply_tokens=1, cost_usd=cost))
    assert ledger.total().cost_usd is None


def test_a_ledger_that_cannot_be_written_does_not_stop_the_work(tmp_path: Path) -> None:
    model = scripted(ledger=Ledger(tmp_path / "missing" / "ledger.jsonl"))
    assert ask(model).answer == "WHY"
    with pytest.raises(JournalError):
        list(read_ledger(tmp_path))


def order_of(positions: Iterable[int | None]) -> list[int | None]:
    """In which order those that wait for the only place get it."""
    calls, order, ended = Calls("m", most=1), list[int | None](), threading.Event()
    with ThreadPoolExecutor(9) as pool:
        first = pool.submit(calls.run, ended.wait)
        while calls._free:
            pass
        waiting: list[Future[Any]] = []
        for n, position in enumerate(positions, start=1):
            waiting.append(pool.submit(calls.run, lambda own=position: order.append(own), position=position))
            while len(calls._waiting) < n:  # so that they queue up in this order
                pass
        ended.set()
        assert {each.exception() for each in waiting} | {first.exception()} == {None}
    return order


@given(st.lists(st.none() | st.integers(0, 5), max_size=6))
def test_questions_go_first_then_who_is_furthest_behind(positions: list[int | None]) -> None:
    assert order_of(positions) == sorted(positions, key=lambda position: -1 if position is None else position)


def test_never_more_are_under_way_than_there_are_places_and_one_that_fails_gives_its_place_back() -> None:
    calls, inside, most, lock = Calls("m", most=3), 0, 0, threading.Lock()

    def work() -> None:
        nonlocal inside, most
        with lock:
            inside += 1
            most = max(most, inside)
        with lock:
            inside -= 1
        raise ValueError

    with ThreadPoolExecutor(8) as pool:
        made = [pool.submit(calls.run, work, position=n) for n in range(100)]
    assert all(isinstance(each.exception(), ValueError) for each in made)
    assert 1 <= most <= 3
    assert calls._free == 3


def test_what_is_given_up_ends_at_once_wherever_it_waits() -> None:
    calls, ended = Calls("m", most=1), threading.Event()
    with ThreadPoolExecutor(3) as pool:
        made = [pool.submit(calls.run, ended.wait) for _ in range(3)]
        while calls._free > 0 or len(calls._waiting) != 2:
            pass
        calls.interrupt()
        assert all(isinstance(each.exception(), CallInterruptedError) for each in made)
    with pytest.raises(CallInterruptedError):
        calls.run(lambda: 1)
    with pytest.raises(CallInterruptedError):
        calls.pause(60)
    ended.set()
    assert calls._free == 1


def test_who_is_interrupted_while_waiting_takes_no_place(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = Calls("m", most=0)

    def press(*_: object) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(calls._changed, "wait_for", press)
    with pytest.raises(KeyboardInterrupt):
        calls.run(lambda: 1)
    assert (calls._waiting, calls._free) == ([], 0)
