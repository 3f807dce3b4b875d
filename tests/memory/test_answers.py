"""Answers in words, by a model that names the steps on which they stand."""

from pathlib import Path
from typing import Any

import dspy
import pytest
from dspy.utils import DummyLM

from stitch import open_memory
from stitch.errors import ModelError
from stitch.testing.model import LoopbackProvider, fields_of, label_by_rules

SAID = ("The Maple Inn costs 120 dollars.", "The train to Nara leaves at 9:40.", "Correction: the Maple Inn costs 95.")


def scripted(answer: Any) -> LoopbackProvider:
    def script(system: str, user: str) -> Any:
        return answer(fields_of(user)) if "cited" in system else label_by_rules(system, user)

    return LoopbackProvider(script)


def test_an_answer_names_the_steps_that_say_it_and_no_others(tmp_path: Path) -> None:
    asked: list[dict[str, str]] = []

    def answer(fields: dict[str, str]) -> dict[str, Any]:
        asked.append(fields)
        return {"answer": " 95 dollars ", "cited": ["trip/2", "step trip/0", "trip/77", "home/2", "nonsense"]}

    with scripted(answer) as provider, open_memory(tmp_path / "m", model="m", base_url=provider.base_url) as memory:
        assert str(memory.ask("What does the Maple Inn cost?")) == "", "of an empty memory no model is asked"
        for text in SAID:
            memory.add(text, trajectory="trip")
        found = memory.ask("What does the Maple Inn cost?")
        with open_memory(tmp_path / "m", model="m", base_url=provider.base_url) as other:
            again = other.ask("What does the Maple Inn cost?")
            assert (again.text, again.cited) == (found.text, found.cited), "so does whoever uses it elsewhere"
    assert found.text == "95 dollars"
    assert {hit.snippet.position for hit in found.cited} == {0, 2}
    assert asked[0]["question"] == "What does the Maple Inn cost?"
    assert SAID[2] in asked[0]["quoted_steps"]
    assert "95 dollars" in found._repr_html_()


def test_where_no_model_is_set_the_one_that_dspy_is_configured_with_answers(tmp_path: Path) -> None:
    script = [{"answer": "95", "cited": '["trip/2"]'}]
    with open_memory(tmp_path / "m") as memory, dspy.context(lm=DummyLM(script, adapter=dspy.JSONAdapter())):
        for text in SAID:
            memory.add(text, trajectory="trip")
        found = memory.ask("What does the Maple Inn cost?")
    assert (found.text, [hit.snippet.position for hit in found.cited]) == ("95", [2])


def test_an_answer_may_stand_on_any_step_that_the_context_shows(tmp_path: Path) -> None:
    every = [f"trip/{position}" for position in range(20)]
    with (
        scripted(lambda fields: {"answer": "yes", "cited": every}) as provider,
        open_memory(tmp_path / "m", model="m", base_url=provider.base_url) as memory,
    ):
        said = (f"Train {number} to Nara leaves at {number}:40." for number in range(20))
        memory.add_many([{"role": "user", "content": text} for text in said], trajectory="trip")
        assert len(memory.ask("When does the train to Nara leave?").cited) > 10
        assert len(memory.ask("When does the train to Nara leave?", k=3).cited) == 3


def test_a_model_that_is_away_is_told_of(tmp_path: Path) -> None:
    away: dict[str, Any] = {"model": "m", "base_url": "http://127.0.0.1:9/v1", "model_retries": 0, "filter": "local"}
    with open_memory(tmp_path / "m", labels="model", **away) as memory:
        memory.add("The lamp is green.")
        with pytest.raises(ModelError):
            memory.ask("Which color has the lamp?")
        assert memory.search("lamp")
