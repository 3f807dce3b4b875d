"""The journal: what it accepts, what it refuses, what it keeps."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stitch.core import ContextualIntent, LabelInventory, Step, StepLabels, StepState, ToolCall
from stitch.errors import JournalError, StepRejectedError, StoreMismatchError
from stitch.journal import Checkpoint, Entry, SqliteJournal
from stitch.journal.entries import encode_labels

LABELS = StepLabels(intent=ContextualIntent(scope="day 1", event_types=("ask",)), made_by="local", summary="short")
ENCODED = encode_labels(LABELS, step="1")


def append(journal: SqliteJournal, *steps: Step, trajectory: str = "t", tenant: str = "a", **options: Any) -> list[Any]:
    options.setdefault("recorded", 1.5)
    return journal.append_many(steps, tenant=tenant, trajectory=trajectory, **options)


def say(content: str, **fields: Any) -> Step:
    return Step(role="user", content=content, **fields)


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[SqliteJournal]:
    journal = SqliteJournal(tmp_path / "journal.sqlite")
    yield journal
    journal.close()


def test_what_was_accepted_is_read_again_as_it_was(journal: SqliteJournal) -> None:
    step = Step(
        role="assistant",
        content="Booking it",
        id="x",
        timestamp=3.5,
        session="1",
        tool_calls=(ToolCall(name="book", arguments={"z": 1, "a": [None, {"deep": "ä"}]}),),
        parent="w",
        metadata={"large": 2**70, "b": 1, "a": 2},
    )
    append(journal, step)
    (entry,) = journal.entries("a", "t")
    assert entry == Entry(1, "a", "t", 0, step, 1.5, StepState.ACCEPTED)
    assert list(entry.step.metadata) == ["large", "b", "a"]


def test_steps_outlive_the_journal_object(tmp_path: Path) -> None:
    first = SqliteJournal(tmp_path / "j")
    append(first, say("one", id="1"), say("two", id="2"))
    first.record_labels([(1, ENCODED)])
    first.record_stored([1])
    first.record_failed([2], "no model", put=False)
    first.close()
    second = SqliteJournal(tmp_path / "j", power_safe=True)
    one, two = second.entries("a", "t")
    second.close()
    assert (one.state, one.labels, one.reason) == (StepState.STORED, LABELS, "")
    assert (two.state, two.labels, two.reason) == (StepState.FAILED, None, "no model")


def test_a_known_step_changes_nothing_and_comes_back_as_it_was(journal: SqliteJournal) -> None:
    append(journal, say("one", id="1", metadata={"b": 1, "a": 2}))
    journal.record_labels([(1, ENCODED)])
    (again,) = append(journal, say("one", id="1", metadata={"a": 2, "b": 1}), recorded=99.0)
    assert again.repeated
    assert (again.recorded, again.state, again.position) == (1.5, StepState.LABELED, 0)
    assert journal.counts().accepted == 1


def test_a_step_given_twice_at_once_is_accepted_once(journal: SqliteJournal) -> None:
    first, second = append(journal, say("one", id="1"), say("one", id="1"))
    assert (first.repeated, second.repeated) == (False, True)
    assert second.seq == first.seq
    assert journal.counts().accepted == 1


def test_a_known_id_with_other_content_is_rejected_and_the_rest_is_accepted(journal: SqliteJournal) -> None:
    append(journal, say("one", id="1"))
    rejected, taken = append(journal, say("other", id="1"), say("two", id="2"))
    assert isinstance(rejected, StepRejectedError)
    assert "'1'" in rejected.message
    assert "known with other content" in rejected.message
    assert (taken.id, taken.position) == ("2", 1)
    assert [entry.step.content for entry in journal.entries("a", "t")] == ["one", "two"]


def test_of_a_whole_batch_all_is_accepted_or_nothing(journal: SqliteJournal) -> None:
    append(journal, say("one", id="1"))
    with pytest.raises(StepRejectedError):
        append(journal, say("two", id="2"), say("other", id="1"), whole=True)
    assert [entry.id for entry in journal.entries("a", "t")] == ["1"]


def test_a_trajectory_of_which_nothing_was_accepted_does_not_begin(tmp_path: Path) -> None:
    journal = SqliteJournal(tmp_path / "j", max_step_chars=80)
    (rejected,) = append(journal, say("x" * 100, id="1"))
    assert isinstance(rejected, StepRejectedError)
    assert journal.trajectories("a") == []
    assert journal.tenants() == []
    assert append(journal) == []
    journal.close()


@pytest.mark.parametrize(("content", "accepted"), [("ä" * 60, True), ("ä" * 90, False), ("a" * 90, False)])
def test_length_is_counted_in_characters(tmp_path: Path, content: str, accepted: bool) -> None:
    journal = SqliteJournal(tmp_path / "j", max_step_chars=100)
    (result,) = append(journal, say(content, id="1"))
    journal.close()
    assert isinstance(result, Entry) is accepted
    if isinstance(result, StepRejectedError):
        assert "at most 100" in result.message


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    "fields",
    [
        {"metadata": {"a": "\ud800"}},
        {"metadata": {"deep": nested(210)}},
        {"metadata": {"a": [1.0, float("nan")]}},
        {"timestamp": float("inf")},
    ],
)
def test_what_json_cannot_carry_is_rejected(journal: SqliteJournal, fields: Any) -> None:
    (rejected,) = append(journal, say("one", id="1", **fields))
    assert isinstance(rejected, StepRejectedError)
    assert "cannot be written as JSON" in rejected.message


def test_an_id_that_is_no_text_is_rejected(journal: SqliteJournal) -> None:
    (rejected,) = append(journal, say("one", id="x\udfff"))
    assert isinstance(rejected, StepRejectedError)


def test_steps_without_an_id_are_named_after_their_position(journal: SqliteJournal) -> None:
    entries = append(journal, say("one"), say("two", id="x"), say("three"))
    assert [entry.id for entry in entries] == ["0", "x", "2"]
    assert [entry.id for entry in append(journal, say("one"))] == ["3"]


def test_a_name_after_a_position_avoids_names_that_are_taken(journal: SqliteJournal) -> None:
    append(journal, say("one", id="1"))
    entries = append(journal, say("two"), say("three"), say("four", id="2"), say("five", id="1-2"))
    assert [entry.id for entry in entries] == ["1-3", "2-2", "2", "1-2"]


def test_positions_and_ids_are_of_one_trajectory(journal: SqliteJournal) -> None:
    append(journal, say("one", id="1"), trajectory="t")
    append(journal, say("uno", id="1"), trajectory="u")
    append(journal, say("eins", id="1"), trajectory="t", tenant="b")
    assert [(e.tenant, e.trajectory, e.position) for e in journal.every_entry()] == [
        ("a", "t", 0),
        ("a", "u", 0),
        ("b", "t", 0),
    ]
    assert journal.tenants() == ["a", "b"]
    assert journal.trajectories("a") == ["t", "u"]
    assert journal.trajectories("nobody") == []
    assert journal.counts("a").trajectories == 2
    assert journal.counts().accepted == 3


def test_entries_are_given_by_position_and_state(journal: SqliteJournal) -> None:
    append(journal, *(say(f"step {n}") for n in range(6)))
    journal.record_labels([(seq, ENCODED) for seq in (1, 2, 3)])
    journal.record_stored([1, 2])
    journal.record_failed([5], "no model", put=True)
    assert [e.position for e in journal.entries("a", "t", start=2, stop=5)] == [2, 3, 4]
    open_states = (StepState.LABELED, StepState.FAILED)
    assert [e.position for e in journal.entries("a", "t", states=open_states)] == [2, 4]
    assert [e.id for e in journal.every_entry("a", state=StepState.STORED)] == ["0", "1"]
    assert list(journal.entries("a", "unknown")) == []
    assert journal.counts("a") == (6, 3, 2, 1, 1, 0)
    assert journal.counts("nobody") == (0, 0, 0, 0, 0, 0)
    assert journal.labeled("a", "t") == 3
    assert journal.labeled("a", "unknown") == 0


def test_an_iteration_over_many_pages_misses_nothing(journal: SqliteJournal) -> None:
    append(journal, *(say(f"step {n}") for n in range(1100)))
    append(journal, say("other"), trajectory="u")
    assert [e.position for e in journal.entries("a", "t")] == list(range(1100))
    assert [e.seq for e in journal.every_entry()] == list(range(1, 1102))


def test_unfinished_trajectories_come_in_the_order_of_their_steps(journal: SqliteJournal) -> None:
    for name in ("t", "u", "v"):
        append(journal, say("one"), trajectory=name)
    journal.record_stored([2])
    journal.record_failed([1], "no model", put=False)
    assert journal.unfinished([StepState.ACCEPTED]) == [("a", "v")]
    assert journal.unfinished([StepState.ACCEPTED, StepState.FAILED]) == [("a", "t"), ("a", "v")]


def test_puts_are_remembered_until_the_store_is_flushed(journal: SqliteJournal) -> None:
    append(journal, *(say(f"step {n}") for n in range(4)))
    journal.record_stored([2, 1])
    journal.record_failed([3], "no model", put=True)
    journal.record_failed([4], "no store", put=False)
    assert [(n, e.seq) for n, e in journal.unflushed()] == [(1, 2), (2, 1), (3, 3)]
    assert [e.seq for _, e in journal.unflushed(after=2)] == [3]
    assert journal.last_put() == 3
    journal.record_flushed(2)
    assert [e.seq for _, e in journal.unflushed()] == [3]
    journal.record_flushed(3)
    assert journal.last_put() == 0


def test_the_last_checkpoint_is_kept(journal: SqliteJournal) -> None:
    append(journal, say("one"))
    assert journal.checkpoint("a", "t") is None
    for position in (1, 2):
        inventory = LabelInventory(event_types={"ask": position}, steps=position)
        journal.save_checkpoint("a", "t", Checkpoint("local", position, b"\x00saved", inventory))
    assert journal.checkpoint("a", "t") == Checkpoint(
        "local", 2, b"\x00saved", LabelInventory(event_types={"ask": 2}, steps=2)
    )


names = st.text(st.characters(blacklist_categories=["Cs", "Cc"]), min_size=1, max_size=8).filter(
    lambda name: name.strip() == name and "\u2028" not in name and "\u2029" not in name
)


@settings(deadline=None, max_examples=40)
@given(st.lists(st.tuples(names, names, names, st.text(min_size=1, max_size=30)), max_size=20))
def test_every_step_is_accepted_once_whatever_names_say(given_steps: list[tuple[str, str, str, str]]) -> None:
    journal = SqliteJournal(":memory:")
    expected: dict[tuple[str, str, str], str] = {}
    for tenant, trajectory, name, content in given_steps:
        step = say(f"said: {content}", id=name)
        (result,) = append(journal, step, tenant=tenant, trajectory=trajectory)
        key = (tenant, trajectory, step.id or "")
        if expected.setdefault(key, step.content) != step.content:
            assert isinstance(result, StepRejectedError)
        else:
            assert result.step == step
    found = {(e.tenant, e.trajectory, e.id): e.step.content for e in journal.every_entry()}
    journal.close()
    assert found == expected


def test_several_threads_may_write(journal: SqliteJournal) -> None:
    def write(trajectory: str) -> None:
        for n in range(20):
            append(journal, say(f"step {n}"), trajectory=trajectory)

    threads = [threading.Thread(target=write, args=(f"t{n % 3}",)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for n in range(3):
        assert [e.position for e in journal.entries("a", f"t{n}")] == list(range(40))


def test_a_second_owner_is_refused(tmp_path: Path) -> None:
    first = SqliteJournal(tmp_path / "j")
    with pytest.raises(JournalError, match="another process owns it") as caught:
        SqliteJournal(tmp_path / "j")
    assert caught.value.hint
    first.close()
    SqliteJournal(tmp_path / "j").close()


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match=r"nowhere.*missing or not accessible"):
        SqliteJournal(tmp_path / "nowhere" / "j")


def test_a_closed_journal_says_so(journal: SqliteJournal) -> None:
    journal.close()
    journal.close()
    with pytest.raises(JournalError, match="it is closed"):
        append(journal, say("one"))
    with pytest.raises(JournalError, match="it is closed"):
        journal.counts()


def test_a_later_schema_is_refused(tmp_path: Path) -> None:
    SqliteJournal(tmp_path / "j").close()
    database = sqlite3.connect(tmp_path / "j")
    database.execute("PRAGMA user_version = 99")
    database.close()
    with pytest.raises(StoreMismatchError, match="schema version 99") as caught:
        SqliteJournal(tmp_path / "j")
    assert "later" in caught.value.hint


def test_another_database_is_left_alone(tmp_path: Path) -> None:
    database = sqlite3.connect(tmp_path / "j")
    database.execute("CREATE TABLE mine (x)")
    database.close()
    with pytest.raises(JournalError, match="it is not a journal"):
        SqliteJournal(tmp_path / "j")


def test_a_file_that_is_no_database_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "j").write_text("dear diary, " * 100)
    with pytest.raises(JournalError, match="it is not a journal"):
        SqliteJournal(tmp_path / "j")
    assert (tmp_path / "j").read_text().startswith("dear diary")


def test_a_damaged_page_is_reported(tmp_path: Path) -> None:
    journal = SqliteJournal(tmp_path / "j")
    append(journal, *(say(f"step {n} " + "x" * 200) for n in range(200)))
    journal.close()
    data = bytearray((tmp_path / "j").read_bytes())
    data[8 * 4096 :] = b"\xff" * (len(data) - 8 * 4096)
    (tmp_path / "j").write_bytes(data)
    damaged = SqliteJournal(tmp_path / "j")
    with pytest.raises(JournalError, match="it is damaged") as caught:
        list(damaged.every_entry())
    damaged.close()
    assert "backup" in caught.value.hint


def test_a_torn_last_write_loses_only_what_it_wrote(tmp_path: Path) -> None:
    journal = SqliteJournal(tmp_path / "j")
    append(journal, say("one"), say("two"))
    before = (tmp_path / "j-wal").read_bytes()
    append(journal, say("three " + "x" * 9000))
    after = (tmp_path / "j-wal").read_bytes()
    torn = tmp_path / "torn"
    torn.write_bytes((tmp_path / "j").read_bytes())
    (tmp_path / "torn-wal").write_bytes(after[: (len(before) + len(after)) // 2])
    journal.close()
    reopened = SqliteJournal(torn)
    assert [entry.step.content for entry in reopened.every_entry()] == ["one", "two"]
    assert [entry.position for entry in append(reopened, say("three"))] == [2]
    reopened.close()


def test_a_full_disk_loses_nothing_accepted(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource", reason="a limit on the size of files is a matter of POSIX")
    journal = SqliteJournal(tmp_path / "j")
    append(journal, say("one", id="1"))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    size = (tmp_path / "j-wal").stat().st_size
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 6000, limits[1]))
    try:
        with pytest.raises(JournalError) as caught:
            append(journal, say("two " + "x" * 20_000, id="2"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert caught.value.hint
    assert [entry.id for entry in journal.entries("a", "t")] == ["1"]
    append(journal, say("three", id="3"))
    journal.sync()
    journal.close()
    reopened = SqliteJournal(tmp_path / "j")
    assert [entry.id for entry in reopened.entries("a", "t")] == ["1", "3"]
    reopened.close()


class Interrupt(BaseException):
    pass


def test_an_interrupted_transaction_is_taken_back(journal: SqliteJournal) -> None:
    class Steps(list[Step]):
        def __iter__(self) -> Iterator[Step]:
            yield say("one", id="1")
            if self.interrupt:
                raise Interrupt

        interrupt = False

    steps = Steps()
    journal.append_many(steps, tenant="a", trajectory="t", recorded=1.0)
    steps.interrupt = True
    with pytest.raises(Interrupt):
        journal.append_many(steps, tenant="a", trajectory="u", recorded=1.0)
    assert journal.counts().accepted == 1
    assert [entry.position for entry in append(journal, say("two"))] == [1]


def test_sync_moves_the_log_into_the_file(journal: SqliteJournal) -> None:
    append(journal, say("a needle in the log"))
    assert b"a needle in the log" not in journal.path.read_bytes()
    journal.sync()
    assert b"a needle in the log" in journal.path.read_bytes()
