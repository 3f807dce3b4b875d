"""What workers label: all of it, once, in order, as one process would."""

import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from stitch import Memory, Step, open_memory
from stitch.core import StepState
from stitch.errors import JournalError, SettingsError, StoreMismatchError

TALK = ["Day 1: let's plan the trip to Kyoto.", "The Harbor Inn costs 90 dollars a night.", "Book it for two nights.",
        "Day 2: what about dinner?", "A table at Kikunoi for four at 7 pm."]  # fmt: skip


def say(content: str, name: str) -> Step:
    return Step(id=name, role="user", content=content)


def told(memory: Memory, trajectory: str) -> list[object]:
    return [(entry.step, entry.labels) for entry in memory.steps(trajectory)]


def test_workers_label_as_one_process_would_and_a_search_finds_it(
    open_shared: Callable[..., Memory], worker: None, tmp_path: Path
) -> None:
    with open_shared() as one, open_shared() as two, open_memory(tmp_path / "alone") as alone:
        for number, text in enumerate(TALK):
            adder = one if number % 2 else two
            assert adder.add(say(text, str(number)), trajectory="t").state is StepState.ACCEPTED
            adder.add(say(f"Of another trip: {text}", str(number)), trajectory="u")
            alone.add(say(text, str(number)), trajectory="t")
        one.flush()
        assert one.status().stored == 2 * len(TALK)
        assert told(one, "t") == told(alone, "t")
        assert list(two.inventory("t").scopes) == list(alone.inventory("t").scopes)
        assert "Harbor" in two.search("What does the inn cost a night?").hits[0].snippet.text
        assert one.lifecycle.verify().disagreements == ()


def test_what_is_corrected_and_erased_beside_workers_stays_so(open_shared: Callable[..., Memory], worker: None) -> None:
    with open_shared() as memory:
        memory.add_many([say(text, str(number)) for number, text in enumerate(TALK)], trajectory="t")
        memory.flush()
        memory.lifecycle.correct("1", trajectory="t", text="The Palm Court costs 70 dollars a night.")
        memory.delete("4", trajectory="t")
        memory.add(say("And breakfast.", "5"), trajectory="t")
        memory.flush()
        assert [entry.id for entry in memory.steps("t")] == ["0", "1", "2", "3", "5"]
        assert {entry.state for entry in memory.steps("t")} == {StepState.STORED}
        assert "Palm" in memory.search("What does the inn cost a night?").context()
        assert memory.lifecycle.verify().disagreements == ()


def test_without_a_worker_steps_wait_and_who_waits_for_them_is_told(
    open_shared: Callable[..., Memory], request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stitch.journal.queue.ALIVE_S", 0.2)
    with open_shared() as memory:
        memory.add(say(TALK[0], "0"), trajectory="t")
        with pytest.raises(JournalError, match=r"no worker of journal .* is there, and 1 trajectories wait") as refused:
            memory.flush()
        assert "stitch worker" in refused.value.hint
        monkeypatch.setattr("stitch.journal.queue.ALIVE_S", 60.0)
        request.getfixturevalue("worker")
        memory.flush()
        assert memory.status().stored == 1


def test_a_worker_ends_when_it_is_told_to_and_another_one_goes_on(
    open_shared: Callable[..., Memory],
    start_worker: Callable[..., subprocess.Popen[bytes]],
    request: pytest.FixtureRequest,
) -> None:
    first = start_worker()
    with open_shared() as memory:
        memory.add_many([say(text, str(number)) for number, text in enumerate(TALK)], trajectory="t")
        first.send_signal(signal.SIGTERM)
        assert first.wait(timeout=120) == 0
        request.getfixturevalue("worker")
        memory.add(say("And breakfast.", "5"), trajectory="t")
        memory.flush()
        assert memory.status().stored == len(TALK) + 1


def test_a_worker_that_labels_otherwise_is_refused_while_others_are_there(
    open_shared: Callable[..., Memory], worker: None
) -> None:
    with pytest.raises(StoreMismatchError, match="do not label as") as refused:
        open_shared(labels="model", model="openai/gpt-5-mini", model_key="k")
    assert "same labels" in refused.value.hint


def test_workers_need_a_journal_that_they_share(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="workers label in a journal that they share"):
        open_memory(tmp_path / "m", workers=True)
