"""Where contexts end, small memories, and the scope of the hits where nobody chose labels."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.worlds import make_record
from stitch import Memory, open_memory
from stitch.bench.memories import opener
from stitch.core import DENSITY, ScoredSnippet, Step
from stitch.core.ranking import SIMILARITY
from stitch.errors import InputError, SettingsError
from stitch.label.local import LocalLabeler
from stitch.label.model.written import WrittenLabeler, WrittenStep
from stitch.retrieve.context.stopping import densest, leading

QUESTION = "What does the hotel Aurora in Oslo cost a night?"
ANSWER = "The hotel Aurora in Oslo costs $120 a night and breakfast is included."
TALK = [
    "The weather was awful on {}, we stayed inside, read the paper and drank two pots of tea with lemon.",
    "My neighbor {} keeps talking about his new tractor, as if anybody wanted to buy one from him this spring.",
    "I still have to water the tomatoes and to call {} because of the roof, which leaks again near the window.",
    "{} sang in the choir yesterday, and everybody clapped for a long time, although the piano was out of tune.",
]
NAMES = [f"{first}anna" for first in "ABCDEFGHIJKLMNOPQRS"]


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    texts = [talk.format(name) for name in NAMES for talk in TALK]
    texts.insert(20, ANSWER)
    with open_memory(tmp_path_factory.mktemp("stopping") / "m", tenant="t") as memory:
        memory.add_many([{"role": "user", "content": text} for text in texts], trajectory="x")
        yield memory


def hit_of(place: int, score: float, *, text: str = "A step.", similarity: float | None = None) -> ScoredSnippet:
    record = make_record(step=str(place), position=place, trajectory="x", text=text)
    parts = {SIMILARITY: score if similarity is None else similarity}
    return ScoredSnippet(record.snippet, frozenset(), parts, score)


@pytest.mark.parametrize("query", [QUESTION, "Summarize what was said of the hotel.", "Was kostet das Hotel?"])
def test_a_context_goes_on_while_there_is_room(memory: Memory, query: str) -> None:
    found = memory.search(query)
    assert found.context_tokens > 0.9 * 2_000
    assert not found.trace
    assert memory.search(query, budget_tokens=100_000).context_tokens > found.context_tokens


def test_a_share_is_from_0_to_1_and_of_scores_that_compare(memory: Memory) -> None:
    with pytest.raises(InputError, match="min_share"):
        memory.search(QUESTION, min_share=1.5)
    with pytest.raises(SettingsError, match="cannot tell") as told:
        memory.search(QUESTION, retriever="lexical", min_share=0.5)
    assert "min_share" in (told.value.hint or "")


def test_a_memory_without_likeness_keeps_its_hits() -> None:
    hits = [hit_of(0, 0.0), hit_of(1, -0.1)]
    assert leading(hits, share=0.5) == tuple(hits)
    assert leading([], share=0.5) == ()


@given(st.lists(st.integers(0, 5), max_size=12))
def test_where_labels_decide_a_context_shows_the_best_density_and_one_less_and_no_step_without_a_label(
    densities: list[int],
) -> None:
    hits = [hit_of(place, 0.5)._replace(parts={DENSITY: float(count)}) for place, count in enumerate(densities)]
    shown = [densities[hit.snippet.position] for hit in densest(hits)]
    best = max(densities, default=0)
    assert shown == [count for count in densities if not best or count >= max(1, best - 1)]


SAID = {
    "car": ("It leaks oil.", "Fine, until Friday.", "How much?", "Two hundred."),
    "boat": ("Is there a cabin?", "There is, for two.", "We take it.", "See you at the pier."),
}


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
    assert {hit.snippet.intent.scope for hit in found.hits if hit.parts.get("goal")} in ({"car"}, {"boat"})
