"""Where nobody chose labels, the scope counts in which the steps most like the question stand, if a model named it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from doubles.scoring import pool_of, snippet
from stitch.bench.memories import opener
from stitch.core import FilterMaker, IntentFilter, Selection, Step
from stitch.label.local import LocalLabeler
from stitch.label.model.written import WrittenLabeler, WrittenStep
from stitch.retrieve import SCORERS, Candidate

SAID = {
    "car": ("It leaks oil.", "Fine, until Friday.", "How much?", "Two hundred."),
    "boat": ("Is there a cabin?", "There is, for two.", "We take it.", "See you at the pier."),
}


def candidates(*scopes: str | None, by: str | None = "gpt-x") -> list[Candidate]:
    return [
        Candidate(snippet(position=n, scope=scope, labeled_by=by), frozenset(), 0.0, 1.0 - n / 100)
        for n, scope in enumerate(scopes)
    ]


@pytest.mark.parametrize(
    ("hits", "scope"),
    [
        (candidates("car", "boat"), "car"),  # the better hit has more of a vote
        (candidates("car", *["boat"] * 4), "boat"),
        (candidates("car", "boat", "house", "tree"), None),  # none has half of the votes
        (candidates("car", *["boat"] * 2, "car", *["boat"] * 25), "boat"),
        (candidates(*["car"] * 2, "boat", "house", "tree", *["hill"] * 30), "car"),  # only the first ones have a vote
        (candidates("car", None, None), None),
        (candidates("car", "car", by="local-9"), None),
        (candidates("car", "car", by=None), None),
        ([], None),
    ],
)
def test_the_scope_of_most_of_the_first_hits_counts_if_a_model_named_it(
    hits: list[Candidate], scope: str | None
) -> None:
    added = SCORERS["scope"](pool_of("x", hits))
    assert {hit.snippet.intent.scope for hit, each in zip(hits, added or (), strict=False) if each} == {scope} - {None}


def test_a_filter_that_somebody_chose_is_left_alone() -> None:
    chosen = Selection(IntentFilter(), made_by=FilterMaker.PERSON)
    assert SCORERS["scope"](replace(pool_of("x", candidates("car", "car")), selection=chosen)) is None


def test_steps_of_that_scope_come_before_others_that_are_as_like(tmp_path: Path) -> None:
    steps = [Step(id=f"{scope} {n}", role="user", content=text) for scope in SAID for n, text in enumerate(SAID[scope])]
    written = {
        ("t", str(step.id)): WrittenStep(
            trajectory="t", id=str(step.id), scope=str(step.id).split()[0], event_types=("tell",),
            asks=("Which vehicle goes to the workshop?",) if str(step.id) in ("car 0", "car 2") else (),
        )
        for step in steps
    }  # fmt: skip
    with opener(WrittenLabeler(written, fallback=LocalLabeler()))(tmp_path) as memory:
        memory.add_many(steps, trajectory="t")
        memory.flush()
        found = memory.search("Which vehicle is in the workshop?", trajectory="t", k=8)
    assert {hit.snippet.step for hit in found.hits[:2]} == {"car 0", "car 2"}
    assert len(found.hits) == 8
    assert {hit.snippet.intent.scope for hit in found.hits if hit.parts.get("scope")} in ({"car"}, {"boat"})
