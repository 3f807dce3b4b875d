"""What a step answers in other words: it is found by that, shown nowhere, and goes with the step."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from doubles.files import content_of
from stitch import open_memory
from stitch.bench.memories import opener
from stitch.core import Step
from stitch.label.local import LocalLabeler
from stitch.label.model.written import WrittenLabeler, read_written
from stitch.lifecycle.selection import Selector
from stitch.memory import Memory

ASKED = "When does the mechanic hand the vehicle back to Gwendolyn?"
SUMMARY = "Workshop manager Abernathy pledges that the repair ends before the weekend."
WRITTEN_ASKS = ("Which railway destination?",)
STEPS = (
    Step(id="0", role="user", content="The green one makes a noise when it turns left."),
    Step(id="1", role="assistant", content="Friday, five o'clock, and not later."),
    Step(id="2", role="user", content="Then we take the train to Radom."),
)
WRITTEN = [
    {"id": "0", "scope": "repair", "event_types": ["complain"], "summary": "The car is noisy."},
    {
        "id": "1", "scope": "repair", "event_types": ["promise"], "summary": SUMMARY, "asks": [ASKED],
        "words": ["pick-up appointment"],
    },
    {"id": "2", "scope": "repair", "event_types": ["plan"], "asks": [*WRITTEN_ASKS]},
]  # fmt: skip


def fill(folder: Path) -> Memory:
    """A memory whose steps have such labels."""
    written = read_written(json.dumps({"trajectory": "t", **line}).encode() for line in WRITTEN)
    memory = opener(WrittenLabeler(written, name="gpt-x", fallback=LocalLabeler()))(folder)
    memory.add_many(STEPS, trajectory="t")
    memory.flush()
    return memory


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with fill(tmp_path) as made:
        yield made


def first(memory: Memory, question: str) -> str:
    hit = memory.search(question, trajectory="t").hits[0]
    return hit.snippet.step


def all_bytes(path: Path) -> bytes:
    return b"\n".join(content_of(file).lower() for file in sorted(path.rglob("*")) if file.is_file())


@pytest.mark.parametrize("question", [ASKED, "vehicle pick-up appointment", "What did Abernathy pledge?"])
def test_a_step_is_found_by_its_summary_and_by_other_words_and_shows_neither(memory: Memory, question: str) -> None:
    found = memory.search(question, trajectory="t", k=3, budget_tokens=4000)
    assert found.hits[0].snippet.step == "1"
    assert STEPS[1].content in found.context()
    for word in ("mechanic", "vehicle", "Gwendolyn", "pick-up", "railway"):
        assert word not in found.context()


def test_asks_come_back_after_the_memory_was_closed_and_through_an_export(memory: Memory, tmp_path: Path) -> None:
    (entry,) = [each for each in memory.steps("t") if each.id == "1"]
    assert entry.snippet().asks == (ASKED, "pick-up appointment")
    lines, labels = list(memory.lifecycle.export()), [each.labels for each in memory.steps("t")]
    folder = memory._parts.folder
    memory.close()
    with opener(LocalLabeler())(folder) as again:
        assert first(again, ASKED) == "1"
    with open_memory(tmp_path / "other") as other:
        other.lifecycle.import_lines(lines)
        assert first(other, ASKED) == "1"
        assert [each.labels for each in other.steps("t")] == labels


def test_another_text_has_other_answers(memory: Memory) -> None:
    memory.lifecycle.correct("1", trajectory="t", text="We cannot repair it.")
    (entry,) = [each for each in memory.steps("t") if each.id == "1"]
    assert entry.labels is not None
    assert (entry.labels.asks, entry.labels.summary) == ((), "")
    hit = next(hit for hit in memory.search(ASKED, trajectory="t", min_relevance=0.0).hits if hit.snippet.step == "1")
    assert hit.snippet.asks == ()
    memory.lifecycle.correct("2", trajectory="t", labels={"scope": "journey"})  # its text is what it was
    (entry,) = [each for each in memory.steps("t") if each.id == "2"]
    assert entry.snippet().asks == WRITTEN_ASKS


def test_nothing_of_them_is_left_of_an_erased_step(memory: Memory) -> None:
    folder = memory._parts.folder
    memory.lifecycle.correct("1", trajectory="t", asks=["Who has the wheelbarrow?"])
    assert first(memory, "wheelbarrow") == "1"
    memory.flush()
    assert b"gwendolyn" in all_bytes(folder)
    erased = memory.lifecycle.erase(Selector(trajectory="t", step="1"))
    assert not erased.proof.found
    left = all_bytes(folder)
    for word in (b"wheelbarrow", b"gwendolyn", b"mechanic", b"abernathy", b"pick-up"):
        assert word not in left
    assert b"railway destination" in left
