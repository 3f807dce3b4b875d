"""Hits that say different things."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from stitch import Memory, open_memory


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    texts = [
        "The hotel in Oslo costs $120 a night.",
        "The hotel in Oslo costs $120 a night, they say.",
        "Yes, the hotel in Oslo costs $120 a night.",
        "The hotel has a pool on the roof and a garden with old trees.",
        "Guests of the hotel complained about loud music from the street.",
    ]
    with open_memory(tmp_path / "m", tenant="t") as memory:
        memory.add_many([{"role": "user", "content": text} for text in texts], trajectory="x")
        yield memory


@pytest.mark.parametrize("retriever", ["intent", "dense", "lexical", "hybrid"])
def test_hits_that_repeat_the_first_stand_behind_what_is_new(memory: Memory, retriever: str) -> None:
    question = "What about the hotel in Oslo that costs $120 a night?"
    plain = {hit.snippet.step for hit in memory.search(question, k=3, retriever=retriever)}
    diverse = {hit.snippet.step for hit in memory.search(question, k=3, retriever=retriever, diverse=True)}
    assert plain == {"0", "1", "2"}
    assert len(diverse & {"3", "4"}) == 2


def test_the_order_is_that_of_the_rule_and_the_trace_tells_of_it(memory: Memory) -> None:
    result = memory.search("the hotel in Oslo", k=3, diverse=True)
    assert list(result) == sorted(result, key=result.rule.key)
    assert result.trace[-1].what == "diverse"
    assert result.trace[-1].figures["among"] == 5


def test_what_covers_already_is_left_as_it_is(memory: Memory) -> None:
    themes = memory.search("the hotel in Oslo", retriever="themes")
    assert memory.search("the hotel in Oslo", retriever="themes", diverse=True).context() == themes.context()
