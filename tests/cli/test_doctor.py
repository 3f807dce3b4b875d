"""`stitch doctor` says what is wrong, and what to type."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from doubles.qdrant import LoopbackQdrant
from stitch import open_memory
from stitch.cli.doctor import command
from stitch.testing.servers import LoopbackServer, Reply


def told(*arguments: str) -> tuple[Result, dict[str, dict[str, object]]]:
    result = CliRunner().invoke(command, [*arguments, "--json"], catch_exceptions=False)
    return result, {row["what"]: row for row in json.loads(result.stdout)}


def test_a_memory_that_is_well(tmp_path: Path) -> None:
    with open_memory(tmp_path / "m") as memory:
        memory.add("The keys are under the mat.")
    result, checks = told("--memory", str(tmp_path / "m"))
    assert result.exit_code == 0
    assert "1 step of 1 trajectory" in str(checks["memory"]["told"])
    assert "GiB free" in str(checks["disk"]["told"])
    assert not list(tmp_path.glob("other*"))
    result, checks = told("--memory", str(tmp_path / "other"))
    assert result.exit_code == 0
    assert "no memory yet" in str(checks["memory"]["told"])
    assert not (tmp_path / "other").exists()


def test_a_setting_a_server_and_a_model_that_are_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STITCH_MODEL_RETRIES", "0")
    result, checks = told("--memory", "http://127.0.0.1:1", "--model", "small", "--base-url", "http://127.0.0.1:1/v1")
    assert result.exit_code == 1
    assert (checks["store"]["ok"], checks["model"]["ok"]) == (False, False)
    assert "memory" not in checks
    assert "base-url" in str(checks["model"]["next"])
    monkeypatch.setenv("STITCH_K", "many")
    result, checks = told()
    assert result.exit_code == 1
    assert "STITCH_K" in str(checks["settings"]["told"])


def saying(text: str) -> Reply:
    return Reply({"choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
                  "usage": {"prompt_tokens": 9, "completion_tokens": 1}})  # fmt: skip


def test_a_model_that_does_not_do_as_asked() -> None:
    with LoopbackServer(lambda request: saying("Sure!\nHow may I help you?")) as model:
        result, checks = told("--model", "small", "--base-url", f"{model.url}/v1")
    assert result.exit_code == 1
    assert not checks["model"]["ok"]
    assert "JSON" in str(checks["model"]["told"])
    assert str(checks["model"]["told"]).endswith("Sure! How may I help you?")


def test_a_server_and_a_model_that_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = saying('Here you are: {"answer": "ok"}')
    monkeypatch.setenv("STITCH_JOURNAL", str(tmp_path / "journal"))
    unreached = "http://127.0.0.1:1"
    with LoopbackQdrant() as qdrant, LoopbackServer(lambda request: answer) as model:
        result, checks = told("--memory", qdrant.url, "--model", "small", "--base-url", f"{model.url}/v1")
        result_without, _ = told("--memory", qdrant.url, "--model", "small", "--base-url", unreached, "--no-call")
    assert result.exit_code == result_without.exit_code == 0, checks
    assert "Qdrant" in str(checks["store"]["told"])
    assert "10 tokens" in str(checks["model"]["told"])
