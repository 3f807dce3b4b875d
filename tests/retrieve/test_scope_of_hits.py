"""Where nobody chose labels, the scope counts in which the steps most like the question stand, if a model named it."""

from __future__ import annotations

from pathlib import Path

import pytest

from stitch.bench.memories import opener
from stitch.core import ContextualIntent, FilterMaker, MemorySnippet, Step
from stitch.label.local import LocalLabeler
from stitch.label.model.written import WrittenLabeler, WrittenStep
from stitch.memory import Memory
from stitch.retrieve.question.scope_of_hits import scope_of_hits

SAID = {
    "car": ("It leaks oil.", "Fine, until Friday.", "How much?", "Two hundred."),
    "boat": ("Is there a cabin?", "There is, for two.", "We take it.", "See you at the pier."),
}


def snippets(*scopes: str | None, by: str | None = "gpt-x") -> list[MemorySnippet]:
    return [
        MemorySnippet(
            tenant="t", trajectory="t", step=str(n), position=n, role="user", text="x", resolved="x", recorded=1.0,
            intent=ContextualIntent(scope=scope), labeled_by=by,
        )
        for n, scope in enumerate(scopes)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("hits", "scope"),
    [
        (snippets("car", "boat", "boat"), "boat"),
        (snippets("car", "boat"), "car"),  # of two with as many, that of the better hit
        (snippets(*["car"] * 5, *["boat"] * 5, *["boat"] * 20), "car"),  # only the first ones have a vote
        (snippets("car", None, None), None),
        (snippets("car", "car", by="local-9"), None),
        (snippets("car", "car", by=None), None),
        ([], None),
    ],
)
def test_the_scope_of_most_of_the_first_hits_is_chosen_if_a_model_named_it(
    hits: list[MemorySnippet], scope: str | None
) -> None:
    chosen = scope_of_hits(hits)
    assert (chosen and chosen.intent_filter.scopes) == (scope and (scope,))
    assert chosen is None or (chosen.likely and chosen.made_by is FilterMaker.WORDS)


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    steps = [Step(id=f"{scope} {n}", role="user", content=text) for scope in SAID for n, text in enumerate(SAID[scope])]
    written = {
        ("t", str(step.id)): WrittenStep(
            trajectory="t", id=str(step.id), scope=str(step.id).split()[0], event_types=("tell",),
            asks=("Which vehicle goes to the workshop?",) if str(step.id) in ("car 0", "car 2") else (),
        )
        for step in steps
    }  # fmt: skip
    made = opener(WrittenLabeler(written, fallback=LocalLabeler()))(tmp_path)
    made.add_many(steps, trajectory="t")
    made.flush()
    return made


def test_steps_of_that_scope_come_first_and_no_other_is_left_out(memory: Memory) -> None:
    with memory:
        found = memory.search("Which vehicle is in the workshop?", trajectory="t", k=8)
        assert [hit.snippet.step.split()[0] for hit in found.hits[:4]] == ["car"] * 4
        assert "of the 8 steps most like the question are in it" in found.reasons[0]
        assert len(found.hits) == 8
        assert "See you at the pier." in found.context()
        weighed = memory.search("Which vehicle is in the workshop?", trajectory="t", k=8, ranking="weighed")
        assert not weighed.intent_filter.scopes
