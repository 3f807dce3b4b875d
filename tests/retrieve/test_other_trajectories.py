"""What else a memory holds does not change how a talk is ranked: only words become rarer or more frequent by it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from stitch import Memory, open_memory
from stitch.core import Step

Read = Callable[[Path], list[tuple[str, Step]]]
CONVERSATIONS = Path(__file__).parents[1] / "label" / "golden"
QUESTIONS = (
    "What did we plan for breakfast on day 1?",
    "How much is the second restaurant for breakfast?",
    "Which hotels did we compare?",
    "What was decided about the museum on day 2?",
    "I want to see a museum.",
    "Which call failed?",
)
K = 10


def first(memory: Memory, question: str, *, named: bool) -> list[str]:
    """The first steps of the trip, by a search of it alone or of all."""
    found = memory.search(question, k=K if named else 1_000, trajectory="trip" if named else None, min_relevance=0.0)
    return [hit.snippet.step for hit in found if hit.snippet.trajectory == "trip"][:K]


@pytest.mark.parametrize("named", [True, False])
def test_runs_of_agents_beside_a_talk_leave_its_order(named: bool, tmp_path: Path, conversation: Read) -> None:
    with open_memory(tmp_path / "alone") as alone, open_memory(tmp_path / "all") as every:
        for memory, names in ((alone, ("trip",)), (every, ("trip", "desk", "generated_runs"))):
            for name in names:
                steps = [step for _, step in conversation(CONVERSATIONS / f"{name}.txt")]
                memory.add_many(steps, trajectory=name)
        for question in QUESTIONS:
            own, beside = (first(memory, question, named=named) for memory in (alone, every))
            assert own[0] in beside[:3]
            assert len(set(own) & set(beside)) >= K - 3
