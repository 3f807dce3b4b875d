"""Questions to whole conversations, with what is found and why: what changed in it is looked at, not missed.

Each file of `golden` names a conversation of `tests/label/golden` and how it is searched (`trip.themes.txt`), and asks
questions, a line each. Under each stands
what decided, which steps are found with the parts of their scores, and the context. Run with STITCH_TEST_GOLDEN=write
to write that after a change that is meant.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from stitch import Memory, open_memory
from stitch.core import RetrievalResult, Step

Read = Callable[[Path], list[tuple[str, Step]]]
GOLDEN = Path(__file__).parent / "golden"
CONVERSATIONS = Path(__file__).parents[1] / "label" / "golden"
FILES = sorted(GOLDEN.glob("*.txt"))
K, BUDGET_TOKENS = 5, 160
TIME = "2025-03-01T10:00"
HOW: dict[str, dict[str, Any]] = {
    "": {},
    "themes": {"retriever": "themes"},
    "diverse": {"diverse": True, "asked_at": "2025-03-08"},
    "filled": {"k": None, "retriever": "auto"},
    "weighed": {"ranking": "weighed"},
    "strict": {"ranking": "strict"},
}
_RECORDED = re.compile(r' recorded="[^"]*"')


def told(steps: list[Step], folder: Path) -> Memory:
    memory = open_memory(folder)
    memory.add_many([step.model_copy(update={"timestamp": TIME}) for step in steps], trajectory="t")
    return memory


def shown(result: RetrievalResult) -> Iterator[str]:
    labels = ", ".join(f"{label.kind.value} {label.value}" for label in sorted(result.intent_filter.labels()))
    yield f"    by {result.decided_by.value}: {labels}"
    yield from (f"    because {reason}" for reason in result.reasons)
    for each in result.trace:
        figures = ", ".join(f"{name} {figure:.2f}" for name, figure in each.figures.items())
        yield f"    {each.what}, {each.reason}: {figures}"
    for hit in result.hits:
        parts = ", ".join(f"{name} {value:.2f}" for name, value in sorted(hit.parts.items()) if value)
        yield f"    step {hit.snippet.step}: {parts}"
    for piece in result.pieces:
        yield f"    piece of {', '.join(piece.steps)}, {piece.tokens} tokens: {piece.text}"
    yield from (f"    | {_RECORDED.sub('', line)}" for line in result.context_text.splitlines())


@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_what_is_found_and_why_is_what_was_looked_at(file: Path, tmp_path: Path, conversation: Read) -> None:
    asked = [line for line in file.read_text(encoding="utf-8").splitlines() if not line.startswith(" ")]
    lines: list[str] = []
    name, _, how = file.stem.partition(".")
    with told([step for _, step in conversation(CONVERSATIONS / f"{name}.txt")], tmp_path / "m") as memory:
        for question in asked:
            if how == "why":
                places = [
                    f"    {memory.why_not(step, query=question, trajectory='t', k=3)}" for step in ("3", "9", "14")
                ]
                lines += (question, *places)
                continue
            options: dict[str, Any] = {"trajectory": "t", "k": K, "budget_tokens": BUDGET_TOKENS} | HOW[how]
            lines += (question, *shown(memory.search(question, **options)))
    text = "\n".join(lines) + "\n"
    if os.environ.get("STITCH_TEST_GOLDEN") == "write":
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")
