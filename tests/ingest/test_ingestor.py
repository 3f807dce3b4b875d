"""The way of a step into the journal and the store, by what it is found, and what happens when a part fails."""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from doubles.journal_lives import append, say
from doubles.labeling import ScriptedLabeler, label_from_the_past
from doubles.observing import RecordingObserver
from stitch.core import ContextualIntent, MemorySnippet, Step, StepLabels, StepsAccepted, StepsFailed, StepsStored
from stitch.core.snippets import MAX_ASK_CHARS, MAX_ASKS
from stitch.embed import LexicalEncoder, StaticEmbedder
from stitch.errors import JournalError, ModelUnavailableError, StoreError
from stitch.ingest.records import make_records
from stitch.journal import Journal

Make = Callable[..., Any]

NO_MODEL = ModelUnavailableError("no answer from the provider", hint="try again later")
NO_STORE = StoreError("the disk is full")


def test_a_failing_flush_still_closes_store_and_journal(world: Any, steps: Make) -> None:
    world.add(*steps(1))
    world.store.fail_next(NO_STORE)
    with pytest.raises(StoreError):
        world.ingestor.close()
    assert world.store.closed
    with pytest.raises(JournalError):
        world.journal.counts()


def test_events_tell_what_happened(worlds: Make, steps: Make) -> None:
    def two_makers(step: Step, past: Sequence[Step]) -> StepLabels:
        made_by = "local" if len(past) == 1 else "gpt"
        return label_from_the_past(step, past).model_copy(update={"made_by": made_by})

    observer = RecordingObserver()
    world = worlds(observer=observer, labeler=ScriptedLabeler(two_makers))
    world.add(*steps(3))
    world.labeler.fail_next(NO_MODEL)
    world.add(*steps(1, start=3))
    of = {"tenant": "a", "trajectory": "t"}
    assert observer.events == [
        StepsAccepted(**of, steps=("s0", "s1", "s2")),
        StepsStored(**of, steps=("s0",), made_by="gpt"),
        StepsStored(**of, steps=("s1",), made_by="local"),
        StepsStored(**of, steps=("s2",), made_by="gpt"),
        StepsAccepted(**of, steps=("s3",)),
        StepsFailed(**of, steps=("s3",), reason="no answer from the provider (try again later)"),
    ]


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    journal = Journal(tmp_path / "journal.sqlite")
    yield journal
    journal.close()


def test_a_second_owner_is_refused(tmp_path: Path) -> None:
    first = Journal(tmp_path / "j")
    with pytest.raises(JournalError, match="another process owns it") as caught:
        Journal(tmp_path / "j")
    assert caught.value.hint
    first.close()
    Journal(tmp_path / "j").close()


def test_another_database_is_left_alone(tmp_path: Path) -> None:
    database = sqlite3.connect(tmp_path / "j")
    database.execute("CREATE TABLE mine (x)")
    database.close()
    with pytest.raises(JournalError, match="it is not a journal"):
        Journal(tmp_path / "j")


def test_a_torn_last_write_loses_only_what_it_wrote(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j")
    append(journal, say("one"), say("two"))
    before = (tmp_path / "j-wal").read_bytes()
    append(journal, say("three " + "x" * 9000))
    after = (tmp_path / "j-wal").read_bytes()
    torn = tmp_path / "torn"
    torn.write_bytes((tmp_path / "j").read_bytes())
    (tmp_path / "torn-wal").write_bytes(after[: (len(before) + len(after)) // 2])
    journal.close()
    reopened = Journal(torn)
    assert [entry.step.content for entry in reopened.every_entry()] == ["one", "two"]
    assert [entry.position for entry in append(reopened, say("three"))] == [2]
    reopened.close()


SUMMARY = "Tomek asks for a quieter room on the courtyard side of the Hotel Bristol."
LOCAL_SUMMARY = "user: ask and state (day 1): Could we have the other one?"


def snippet(**fields: object) -> MemorySnippet:
    given = {"text": "Could we have the other one?", "resolved": "Could we have the other one?", "role": "user"}
    return MemorySnippet(tenant="t", trajectory="trip", step="1", position=0, recorded=1.0, **{**given, **fields})


def likeness(question: str, made: MemorySnippet) -> tuple[float, float]:
    """How alike a question and a snippet are: by vectors, and by the words they share."""
    embedder, words = StaticEmbedder(), LexicalEncoder().query(question)
    (record,) = make_records([made], embedder=embedder)
    shared = sum(weight * record.words.get(index, 0.0) for index, weight in words.items())
    return float(record.vector @ embedder.embed([question])[0]), shared


def test_a_local_summary_adds_nothing() -> None:
    own = snippet(summary=LOCAL_SUMMARY, intent=ContextualIntent(scope="day 1", event_types=("ask", "state")))
    renamed = own.model_copy(update={"intent": ContextualIntent(scope="Warsaw")})  # a person corrected the scope
    for question in ("day 1", "Could we have the other one?"):
        assert likeness(question, own) == likeness(question, renamed) == likeness(question, snippet())


def test_a_summary_stands_in_for_what_a_step_leans_on() -> None:
    context = "Would you rather have the attic?"
    leaning, summed = snippet(context=context), snippet(context=context, summary=SUMMARY)
    assert likeness("attic", leaning) > likeness("attic", snippet())
    assert likeness("attic", summed) == likeness("attic", snippet(summary=SUMMARY))


def test_asks_are_few_and_short() -> None:
    given = ("  who   pays? ", "", "who pays?", "x" * (MAX_ASK_CHARS + 1), *(f"word {n}" for n in range(20)))
    asks = StepLabels(intent=ContextualIntent(), made_by="m", asks=given).asks
    assert asks[:2] == ("who pays?", "word 0")
    assert len(asks) == MAX_ASKS
