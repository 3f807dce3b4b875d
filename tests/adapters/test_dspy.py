"""A memory for DSPy programs, tried on programs whose model is a script."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dspy
import pytest
from dspy.utils import DummyLM

from stitch import Memory, Step, open_memory
from stitch.adapters.dspy import Recall, Recorder, Remembering

LOOK = {"next_thought": "look", "next_tool_name": "recall", "next_tool_args": {"query": "hotel in Porto"}}
DONE = {"next_thought": "enough", "next_tool_name": "finish", "next_tool_args": {}}
SAY = {"reasoning": "it says so", "answer": "Casa Azul"}


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with open_memory(tmp_path / "m") as opened:
        opened.add(Step(id="h", role="user", content="The hotel in Porto is Casa Azul."), trajectory="old")
        opened.add(Step(id="b", role="assistant", content="The boat leaves at nine."), trajectory="old")
        yield opened


def told(memory: Memory, trajectory: str = "run") -> list[tuple[str, str]]:
    memory.flush()
    return [
        (entry.step.role, entry.step.content or f"calls {entry.step.tool_calls[0].name}")
        for entry in memory.steps(trajectory)
    ]


def test_an_agent_with_a_memory_in_two_lines_is_recorded_and_recalls(memory: Memory) -> None:
    agent = dspy.ReAct("question -> answer", tools=[Recall(memory).tool])
    agent = Remembering(agent, memory, trajectory="run")
    with dspy.context(lm=DummyLM([LOOK, DONE, SAY])):
        assert agent(question="Which hotel is in Porto?").answer == "Casa Azul"
    assert told(memory) == [
        ("user", "Which hotel is in Porto?"),
        ("assistant", "next_thought: look\nnext_tool_name: recall\nnext_tool_args: {'query': 'hotel in Porto'}"),
        ("assistant", "calls recall"),
        ("tool", "[recalled: 5 steps]"),
        ("assistant", "next_thought: enough\nnext_tool_name: finish\nnext_tool_args: {}"),
        ("assistant", "calls finish"),
        ("tool", "Completed."),
        ("assistant", "reasoning: it says so\nanswer: Casa Azul"),
        ("assistant", "Casa Azul"),
    ]
    entries = list(memory.steps("run"))
    assert len({entry.step.session for entry in entries}) == 1
    assert (entries[3].step.tool_name, entries[2].step.tool_calls[0].arguments) == (
        "recall", {"query": "hotel in Porto"})  # fmt: skip
    assert memory.search("Which hotel did the agent find?", trajectory="run").hits


def test_what_fails_is_recorded_as_it_failed(memory: Memory) -> None:
    def broken(place: str) -> str:
        """Look something up."""
        raise KeyError(place)

    call = {"next_thought": "look", "next_tool_name": "broken", "next_tool_args": {"place": "Porto"}}
    agent = Remembering(dspy.ReAct("question -> answer", tools=[broken]), memory, trajectory="run")
    with dspy.context(lm=DummyLM([call, DONE, SAY])):
        agent(question="Where?")
    assert ("tool", "KeyError: 'Porto'") in told(memory)

    class Failing(dspy.Module):  # type: ignore[misc]
        def forward(self, question: str) -> Any:
            raise ValueError("no way")

    with pytest.raises(ValueError, match="no way"):
        Remembering(Failing(), memory, trajectory="bad")(question="Where?")
    assert told(memory, "bad") == [("user", "Where?"), ("assistant", "ValueError: no way")]


def test_runs_in_several_threads_at_once_have_sessions_of_their_own(memory: Memory) -> None:
    recorder = Recorder(memory, trajectory="run")
    predict = dspy.Predict("question -> answer")
    questions = [f"question {number}" for number in range(6)]
    with dspy.context(lm=DummyLM({f"question {n}": {"answer": f"answer {n}"} for n in range(6)}), callbacks=[recorder]):
        dspy.Parallel(num_threads=3, disable_progress_bar=True)([(predict, {"question": each}) for each in questions])
    memory.flush()
    sessions: dict[Any, list[str]] = {}
    for entry in memory.steps("run"):
        sessions.setdefault(entry.step.session, []).append(entry.step.content)
    assert sorted(sessions.values()) == [[f"question {n}", f"answer {n}"] for n in range(6)]


def test_a_program_is_saved_loaded_and_copied_as_if_it_had_no_memory(memory: Memory, tmp_path: Path) -> None:
    class Answering(dspy.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.recall = Recall(memory)
            self.answer = dspy.Predict("context, question -> answer")

        def forward(self, question: str) -> Any:
            return self.answer(context=self.recall(query=question).context, question=question)

    program = Answering()
    assert list(program.dump_state()) == ["answer"]
    program.save(tmp_path / "program.json")
    program.load(tmp_path / "program.json")
    for again in (program.deepcopy(), copy.deepcopy(program)):
        assert again.recall.memory is memory
    other = Remembering(program, memory, trajectory="run").deepcopy()
    assert other.recorder.memory is memory
    with dspy.context(lm=DummyLM([{"answer": "Casa Azul"}])):
        assert other(question="Which hotel?").answer == "Casa Azul"
    assert told(memory)[0] == ("user", "Which hotel?")
