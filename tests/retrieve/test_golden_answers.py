"""Questions to whole conversations, with what is found and why: what changed in it is looked at, not missed.

Each file of `golden` names a conversation of `tests/label/golden` and how it is searched (`trip.themes.txt`), and asks
questions, a line each. Under each stands what decided, which steps are found with the parts of their scores, and the
context.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from doubles.golden import compare_answers
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
    yield f"by {result.decided_by.value}: {labels}"
    yield from (f"because {reason}" for reason in result.reasons)
    for each in result.trace:
        figures = ", ".join(f"{name} {figure:.2f}" for name, figure in each.figures.items())
        yield f"{each.what}, {each.reason}: {figures}"
    for hit in result.hits:
        parts = ", ".join(f"{name} {value:.2f}" for name, value in sorted(hit.parts.items()) if value)
        yield f"step {hit.snippet.step}: {parts}"
    for piece in result.pieces:
        yield f"piece of {', '.join(piece.steps)}, {piece.tokens} tokens: {piece.text}"
    yield from (f"| {_RECORDED.sub('', line)}" for line in result.context_text.splitlines())


@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_what_is_found_and_why_is_what_was_looked_at(file: Path, tmp_path: Path, conversation: Read) -> None:
    name, _, how = file.stem.partition(".")

    def answer(question: str) -> list[str]:
        if how == "why":
            return [str(memory.why_not(each, query=question, trajectory="t", k=3)) for each in ("3", "9", "14")]
        options: dict[str, Any] = {"trajectory": "t", "k": K, "budget_tokens": BUDGET_TOKENS} | HOW[how]
        return list(shown(memory.search(question, **options)))

    with told([step for _, step in conversation(CONVERSATIONS / f"{name}.txt")], tmp_path / "m") as memory:
        compare_answers(file, answer)
