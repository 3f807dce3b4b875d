"""What a hit is said to have matched stands among the labels that it shows, and density counts no more than that."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from stitch import Step, open_memory
from stitch.api.asking import answer_of
from stitch.core import IntentFilter, RetrievalResult, goal_of
from stitch.testing.model import LoopbackProvider, fields_of

SCOPES = ("hotel of day 1", "hotel of day 2", "museum tickets", "dinner")
EVENTS = ("ask price", "query cost", "propose option", "decide", "confirm")
ENTITIES = ("price", "hotel name", "time")
SAID = (
    "What does the Zephyr Mill cost?", "It costs $41.80.", "I suggest Porto Gardens.", "Take the first one.",
    "We decided on Casa Verde for dinner.", "Two tickets for the museum at 9:00, please.", "All right.",
)  # fmt: skip
QUESTIONS = ("What was decided for dinner?", "Which hotels were proposed?", "What does the Zephyr Mill cost?", "museum")


def some(names: tuple[str, ...], most: int) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(names), max_size=most, unique=True)


READINGS = st.lists(
    st.fixed_dictionaries({
        "scope": st.sampled_from(SCOPES), "events": some(EVENTS, 2), "entities": some(ENTITIES, 2),
    }),
    min_size=2,
    max_size=12,
)  # fmt: skip


@pytest.mark.parametrize("density", ["values", "kinds"])
@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.too_slow], phases=[Phase.generate])
@given(
    readings=READINGS,
    said=st.lists(st.sampled_from(SAID), min_size=12, max_size=12),
    renamed=st.sampled_from([[], ["hotel of day 1 = hotels"], ["dinner = museum tickets"]]),
    wanted=st.tuples(some(SCOPES, 2), some(EVENTS, 3), some(ENTITIES, 2)),
    question=st.sampled_from(QUESTIONS),
)
def test_every_name_in_matched_stands_among_the_labels_that_are_shown(
    density: str, readings: Any, said: list[str], renamed: list[str], wanted: Any, question: str
) -> None:
    scopes, events, entities = wanted
    asked: list[int] = []

    def answer(system: str, user: str) -> Any:
        if "steps" not in (fields := fields_of(user)):
            return {"scopes": scopes, "event_types": events, "entity_types": entities, "why": "so"}
        count = len(fields["steps"].splitlines())
        asked.append(count)
        start = sum(asked) - count
        own = [{"n": n, **reading} for n, reading in enumerate(readings[start : start + count], start=1)]
        return {"readings": own, "renames": renamed if len(asked) == 2 else []}

    steps = [Step(id=str(n), role=("user", "assistant")[n % 2], content=said[n]) for n in range(len(readings))]
    chosen = IntentFilter(scopes=frozenset(scopes), event_types=frozenset(events), entity_types=frozenset(entities))
    with tempfile.TemporaryDirectory() as folder, LoopbackProvider(answer) as provider:
        given: dict[str, Any] = {"model": "m", "base_url": provider.base_url, "density": density, "window": 4}
        with open_memory(Path(folder), labels="model", **given) as memory:
            for step in steps:
                memory.add(step, trajectory="t")
            memory.flush()
            for ranking in ("strict", "weighed", "auto"):
                for found in (
                    memory.search(question, k=20, ranking=ranking),
                    memory.search(question, k=20, ranking=ranking, intent_filter=chosen),
                    memory.search(question, k=20, ranking=ranking, diverse=True),
                ):
                    _check(found, density, strict=ranking == "strict")
        with open_memory(Path(folder), labels="local", filter="local") as memory:
            _check(memory.search(question, k=20), "values", strict=False)


def _check(found: RetrievalResult, density: str, *, strict: bool) -> None:
    for hit in answer_of(found).hits:
        shown = {"scope": [hit.scope or ""], "event_type": hit.event_types, "entity_type": hit.entity_types}
        for kind, names in hit.matched.items():
            assert set(names) <= {*shown[kind], goal_of(shown["scope"][0])}
        values = [name for names in hit.matched.values() for name in names]
        counted = len(values) if density == "values" else sum(map(bool, hit.matched.values()))
        if strict or "density" in hit.parts:
            assert hit.density == counted
