"""What every `Journal` must do: subclass `JournalContract`, give it a `make_journal` fixture, run pytest."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from doubles.journal_lives import ENCODED, LABELS, MERGE, OTHERS, append, nested, say
from stitch.core import Change, ChangeKind, LabelInventory, Moment, Redaction, Step, StepState, ToolCall
from stitch.errors import ConflictError, JournalError, StepRejectedError
from stitch.journal import Checkpoint, Entry, Journal, NewRecord
from stitch.journal.entries import encode_labels, retirements

MakeJournal = Callable[[], Journal]


class JournalContract:
    """The tests every journal passes. A subclass gives a fixture `make_journal`: a function that returns a new one."""

    @pytest.fixture
    def journal(self, make_journal: MakeJournal) -> Iterator[Journal]:
        journal = make_journal()
        yield journal
        journal.close()

    def test_what_was_accepted_is_read_again_as_it_was(self, journal: Journal) -> None:
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

    def test_a_known_step_changes_nothing_and_comes_back_as_it_was(self, journal: Journal) -> None:
        append(journal, say("one", id="1", metadata={"b": 1, "a": 2}))
        journal.record_labels([(1, ENCODED)])
        (again,) = append(journal, say("one", id="1", metadata={"a": 2, "b": 1}), recorded=99.0)
        assert again.repeated
        assert (again.recorded, again.state, again.position) == (1.5, StepState.LABELED, 0)
        assert journal.counts().accepted == 1

    def test_a_step_given_twice_at_once_is_accepted_once(self, journal: Journal) -> None:
        first, second = append(journal, say("one", id="1"), say("one", id="1"))
        assert (first.repeated, second.repeated) == (False, True)
        assert second.seq == first.seq
        assert journal.counts().accepted == 1

    def test_a_known_id_with_other_content_is_rejected_and_the_rest_is_accepted(self, journal: Journal) -> None:
        append(journal, say("one", id="1"))
        rejected, taken = append(journal, say("other", id="1"), say("two", id="2"))
        assert isinstance(rejected, StepRejectedError)
        assert "'1'" in rejected.message
        assert "known with other content" in rejected.message
        assert (taken.id, taken.position) == ("2", 1)
        assert [entry.step.content for entry in journal.entries("a", "t")] == ["one", "two"]

    def test_of_a_whole_batch_all_is_accepted_or_nothing(self, journal: Journal) -> None:
        append(journal, say("one", id="1"))
        with pytest.raises(StepRejectedError):
            append(journal, say("two", id="2"), say("other", id="1"), whole=True)
        assert [entry.id for entry in journal.entries("a", "t")] == ["1"]

    @pytest.mark.parametrize(
        "fields",
        [
            {"metadata": {"a": "\ud800"}},
            {"metadata": {"deep": nested(210)}},
            {"metadata": {"a": [1.0, float("nan")]}},
            {"timestamp": float("inf")},
        ],
    )
    def test_what_json_cannot_carry_is_rejected(self, journal: Journal, fields: Any) -> None:
        (rejected,) = append(journal, say("one", id="1", **fields))
        assert isinstance(rejected, StepRejectedError)
        assert "cannot be written as JSON" in rejected.message

    def test_steps_without_an_id_are_named_after_their_position(self, journal: Journal) -> None:
        entries = append(journal, say("one"), say("two", id="x"), say("three"))
        assert [entry.id for entry in entries] == ["0", "x", "2"]
        assert [entry.id for entry in append(journal, say("one"))] == ["3"]

    def test_positions_and_ids_are_of_one_trajectory(self, journal: Journal) -> None:
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
        append(journal, say("two"), trajectory="t", recorded=6.5)
        kept = [(each, each.steps, each.ended - each.began) for each in journal.trajectories("a")]
        assert kept == [("t", 2, 5.0), ("u", 1, 0.0)]
        assert journal.trajectories("nobody") == []
        assert journal.counts("a").trajectories == 2
        assert journal.counts().accepted == 4

    def test_entries_are_given_by_position_and_state(self, journal: Journal) -> None:
        append(journal, *(say(f"step {n}") for n in range(6)))
        journal.record_labels([(seq, ENCODED) for seq in (1, 2, 3)])
        journal.record_stored([1, 2])
        journal.record_failed([5], "no model")
        assert [e.position for e in journal.entries("a", "t", start=2, stop=5)] == [2, 3, 4]
        open_states = (StepState.LABELED, StepState.FAILED)
        assert [e.position for e in journal.entries("a", "t", states=open_states)] == [2, 4]
        assert [e.id for e in journal.every_entry("a", state=StepState.STORED)] == ["0", "1"]
        assert list(journal.entries("a", "unknown")) == []
        assert journal.counts("a") == (6, 3, 2, 1, 1, 0)
        assert journal.counts("nobody") == (0, 0, 0, 0, 0, 0)
        assert journal.labeled("a", "t") == 3
        assert journal.labeled("a", "unknown") == 0

    def test_an_iteration_over_many_pages_misses_nothing(self, journal: Journal) -> None:
        append(journal, *(say(f"step {n}") for n in range(1100)))
        append(journal, say("other"), trajectory="u")
        assert [e.position for e in journal.entries("a", "t")] == list(range(1100))
        assert [e.seq for e in journal.every_entry()] == list(range(1, 1102))

    def test_the_last_checkpoint_is_kept(self, journal: Journal) -> None:
        append(journal, say("one"))
        assert journal.checkpoint("a", "t") is None
        for position in (1, 2):
            inventory = LabelInventory(event_types={"ask": position}, steps=position)
            journal.save_checkpoint("a", "t", Checkpoint("local", position, b"\x00saved", inventory))
        assert journal.checkpoint("a", "t") == Checkpoint(
            "local", 2, b"\x00saved", LabelInventory(event_types={"ask": 2}, steps=2)
        )

    def test_several_threads_may_write(self, journal: Journal) -> None:
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

    def test_a_closed_journal_says_so(self, journal: Journal) -> None:
        journal.close()
        journal.close()
        with pytest.raises(JournalError, match="it is closed"):
            append(journal, say("one"))
        with pytest.raises(JournalError, match="it is closed"):
            journal.counts()

    def test_changes_are_followed_from_any_position(self, journal: Journal) -> None:
        append(journal, say("one", id="1"), say("two", id="2"))
        append(journal, say("other"), tenant="b")
        journal.record_labels([(1, ENCODED), (2, ENCODED)])
        journal.correct(2, step=say("right", id="2"), labels=OTHERS, at=2.0, by="ann", checkpoint=None)
        journal.save_checkpoint("a", "t", Checkpoint("local", 2, b"", LabelInventory(steps=2, merges=(MERGE,))))
        journal.retire([2], at=3.0, reason="old")
        told = [
            Change(1, ChangeKind.ACCEPTED, "a", "t", range(1, 3)),
            Change(2, ChangeKind.ACCEPTED, "b", "t", range(3, 4)),
            Change(3, ChangeKind.LABELED, "a", "t", range(1, 3)),
            Change(4, ChangeKind.CORRECTED, "a", "t", range(2, 3)),
            Change(5, ChangeKind.MERGED, "a", "t", range(0)),
            Change(6, ChangeKind.RETIRED, "a", "t", range(2, 3)),
        ]
        for after in range(7):
            assert list(journal.changes(after=after)) == told[after:]
        assert list(journal.changes(tenant="b")) == told[1:2]
        assert journal.last_change() == 6

    def test_what_changes_nothing_is_no_change(self, journal: Journal) -> None:
        append(journal, say("one", id="1"))
        append(journal, say("one", id="1"))
        journal.record_labels([(1, ENCODED)])
        journal.record_stored([1])
        journal.retire([1], at=1.0, reason="old")
        assert journal.retire([1], at=2.0, reason="older") == 0
        assert [change.kind.value for change in journal.changes()] == ["accepted", "labeled", "retired"]

    def test_changes_name_nothing_that_is_gone(self, journal: Journal) -> None:
        append(journal, say("one"), say("two"))
        append(journal, say("other"), trajectory="u")
        journal.erase([1, 2], tenant="a", trajectory="t")
        assert [
            (change.kind.value, change.tenant, change.trajectory, change.steps) for change in journal.changes()
        ] == [
            ("accepted", "a", None, range(1, 3)),
            ("accepted", "a", "u", range(3, 4)),
            ("erased", "a", None, range(1, 3)),
        ]
        append(journal, say("again"), trajectory="t")
        assert [change.trajectory for change in journal.changes()] == [None, "u", None, "t"]
        assert [entry.seq for entry in journal.entries("a", "t")] == [4], "a number is given once"
        journal.erase([3], tenant="a", trajectory="u")
        journal.erase([4], tenant="a", trajectory="t")
        assert {change.tenant for change in journal.changes()} == {""}
        assert journal.tenants() == []

    def test_cuts_and_replies_are_kept_until_labels_are(self, journal: Journal) -> None:
        append(journal, say("one"), say("two"))
        append(journal, say("other"), trajectory="u")
        assert (journal.cut("a", "t"), journal.replies("a", "t")) == (0, {})
        journal.record_cut("a", "t", 1)
        journal.record_cut("a", "t", 2)
        journal.keep_reply("a", "t", request=b"1", reply=b"\x00")
        journal.keep_reply("a", "t", request=b"2", reply=b"no")
        journal.keep_reply("a", "t", request=b"2", reply=b"yes")
        journal.keep_reply("a", "u", request=b"1", reply=b"other")
        assert (journal.cut("a", "t"), journal.replies("a", "t")) == (2, {b"1": b"\x00", b"2": b"yes"})
        saved = Checkpoint("local", 2, b"saved", LabelInventory(steps=2))
        journal.record_labels([(1, ENCODED), (2, ENCODED)], checkpoint=saved)
        assert (journal.checkpoint("a", "t"), journal.replies("a", "t")) == (saved, {})
        assert journal.replies("a", "u") == {b"1": b"other"}
        journal.drop_replies("a", "u")
        assert journal.replies("a", "u") == {}
        journal.keep_reply("a", "t", request=b"3", reply=b"late")
        journal.forget_checkpoint("a", "t")
        assert (journal.cut("a", "t"), journal.replies("a", "t"), journal.checkpoint("a", "t")) == (0, {}, None)

    def test_records_are_kept_beside_steps(self, journal: Journal) -> None:
        first = journal.append_record("a", kind="tree", key="x", payload=b"\x00one")
        journal.append_record("a", kind="tree", key="y", payload=b"two")
        journal.append_record("b", kind="tree", key="x", payload=b"other")
        journal.append_record("a", kind="event", key="x", payload=b"three")
        assert [record.payload for record in journal.records("a", kind="tree")] == [b"\x00one", b"two"]
        assert [record.payload for record in journal.records("a", kind="tree", key="y")] == [b"two"]
        assert [record.key for record in journal.records("a", kind="tree", after=first)] == ["y"]
        journal.record_purged()
        assert journal.erase_records("a", kind="tree", key="x") == 1
        assert journal.owes_purge()
        assert journal.erase_records("a", kind="tree", key="x") == 0
        assert [record.payload for record in journal.records("b", kind="tree")] == [b"other"]
        assert journal.append_record("a", kind="tree", key="x", payload=b"new") > first + 3

    def test_records_come_all_or_none_and_only_after_the_last_that_is_known(self, journal: Journal) -> None:
        one, two = NewRecord("tree", "x", b"one"), NewRecord("snapshot", "y", b"two")
        numbers = journal.append_records("a", [one, two], last=0)
        assert numbers[0] < numbers[1]
        for last in (0, numbers[1]):
            with pytest.raises(ConflictError):
                journal.append_records("a", [one, two], last=last)
        third = journal.append_records("a", [one._replace(payload=b"three"), two], last=numbers[0])
        assert [record.payload for record in journal.records("a", kind="tree")] == [b"one", b"three"]
        assert len(list(journal.records("a", kind="snapshot"))) == 2
        assert journal.append_records("a", [one], last=None)[0] > third[1]
        assert journal.append_records("b", [one], last=0)
        assert journal.append_records("a", []) == []

    def test_what_records_say_counts_as_said_and_whoever_has_any_is_a_tenant(self, journal: Journal) -> None:
        append(journal, say("one", id="1"))
        journal.append_record("b", kind="tree", key="kkey", payload=b"pay")
        assert journal.tenants() == ["a", "b"]
        told, told_of_others = b"\n".join(journal.said("b")), b"\n".join(journal.said_by_others("a"))
        for word in (b"pay", b"kkey", b"b"):
            assert word in told
            assert word in told_of_others
        assert b"pay" not in b"\n".join([*journal.said("a"), *journal.said_by_others("b")])

    def test_a_corrected_step_keeps_what_it_was(self, journal: Journal) -> None:
        append(journal, say("wrong", id="1"))
        journal.record_labels([(1, ENCODED)])
        journal.correct(1, step=say("right", id="1"), labels=OTHERS, at=5.0, by="ann", checkpoint=None)
        journal.correct(1, step=say("right now", id="1"), labels=OTHERS, at=6.0, by="bob", checkpoint=None)
        (entry,) = journal.entries("a", "t")
        assert (entry.step.content, entry.labels, entry.state) == ("right now", OTHERS, StepState.LABELED)
        first, second = journal.revisions([1])[1]
        assert (first.replaced, first.by, first.step.content, first.labels) == (5.0, "ann", "wrong", LABELS)
        assert second.step.content == "right"
        assert journal.as_they_were("a", at=5.0) == {1: second}
        assert journal.as_they_were("a", at=4.0) == {1: first}
        assert journal.as_they_were("a", at=6.0) == {}
        assert journal.correctors("a") == {(1, "ann"), (1, "bob")}
        assert journal.correctors("b") == frozenset()
        (again,) = append(journal, say("wrong", id="1"))
        assert again.repeated, "the source goes on giving the step as it was"

    def test_a_step_that_is_put_back_keeps_from_when_to_when_it_was_retired(self, journal: Journal) -> None:
        append(journal, say("one", id="1"))
        journal.record_labels([(1, ENCODED)])
        for since in (2.0, 6.0):
            journal.retire([1], at=since, reason="old")
            assert journal.unretire([1], at=since + 1, by="ann") == 1
        assert journal.unretire([1], at=9.0, by="ann") == 0
        journal.correct(1, step=say("right", id="1"), labels=LABELS, at=9.0, by="ann", checkpoint=None)
        (entry,) = journal.entries("a", "t")
        assert (entry.state, entry.retired_at, entry.reason) == (StepState.LABELED, None, "")
        past = journal.revisions([1])[1]
        assert retirements(past) == {1: (2.0, 3.0), 3: (6.0, 7.0)}
        assert [change.kind.value for change in journal.changes()][-3:] == ["retired", "restored", "corrected"]

    def test_a_retired_step_says_when_and_why(self, journal: Journal) -> None:
        append(journal, say("one", id="1"), say("two", id="2"))
        journal.record_labels([(1, ENCODED), (2, ENCODED)])
        journal.record_stored([1, 2])
        assert not journal.number_in(StepState.RETIRED)
        assert journal.retire([1], at=0.25, reason="a: b") == 1
        (entry,) = journal.every_entry("a", state=StepState.RETIRED)
        assert (entry.retired_at, entry.reason) == (0.25, "a: b")
        assert entry.receipt().reason == "retired 1970-01-01T00:00:00.250000+00:00: a: b"
        assert (entry.was_retired(0.2), entry.was_retired(0.25)) == (False, True)
        assert journal.number_in(StepState.RETIRED, tenant="a", trajectory="t")
        assert not journal.number_in(StepState.RETIRED, tenant="a", trajectory="u")

    def test_of_an_erased_step_nothing_is_told(self, journal: Journal) -> None:
        redacted = {0: [Redaction(kind="password", count=1, place="content")]}
        append(journal, say("secret", id="1"), say("other", id="2"), redacted=redacted)
        journal.record_labels([(1, ENCODED), (2, ENCODED)])
        journal.correct(1, step=say("secret too", id="1"), labels=LABELS, at=1.0, by="ann", checkpoint=None)
        journal.correct(2, step=say("other", id="2"), labels=LABELS, at=1.0, by="ann", checkpoint=None)
        ((number, *_),) = [past for kept in journal.kept("a") for past in kept.revisions if b"other" in past.step]
        clean = encode_labels(OTHERS, step="2")
        journal.erase([1], tenant="a", trajectory="t", labels=[(2, clean)], revisions=[(number, clean)])
        assert b"secret" not in b"".join(journal.said("a"))
        assert [kept.labels for kept in journal.kept("a")] == [clean]
        assert [made for kept in journal.kept("a") for *_, made in kept.revisions] == [clean]
        assert journal.redactions("a") == {}
        assert journal.entry("a", "t", "1") is None
        assert journal.owes_purge()
        journal.record_purged()
        assert not journal.owes_purge()
        assert journal.record_removed([1, 2]) == [2]

    def test_an_erased_step_is_not_accepted_again_unless_that_is_asked_for(self, journal: Journal) -> None:
        append(journal, say("one", id="1"), say("two", id="2"))
        append(journal, say("one", id="1"), trajectory="u")
        append(journal, say("one", id="1"), tenant="b")
        (kept, _, _) = journal.kept("a")
        journal.erase([1], tenant="a", trajectory="t")
        refused, held, new = append(
            journal, say("something else", id="1"), say("two", id="2"), say("three", id="3"), whole=True
        )
        assert (refused.state, refused.seq, refused.position, refused.id) == (StepState.ERASED, 0, -1, "1")
        assert refused.receipt().reason == "was erased"
        assert (held.repeated, new.id, new.position) == (True, "3", 2)
        for elsewhere in ({"trajectory": "u"}, {"tenant": "b"}):
            assert append(journal, say("one", id="1"), **elsewhere)[0].repeated, "only this one was erased"
        (refused,) = journal.restore([kept._replace(seq=journal.take_seqs(1))], tenant="a")
        assert isinstance(refused, Entry)
        assert refused.state is StepState.ERASED
        assert [entry.id for entry in journal.entries("a", "t")] == ["2", "3"]
        (taken,) = append(journal, say("something else", id="1"), again=True)
        assert (taken.state, taken.repeated, taken.position) == (StepState.ACCEPTED, False, 3)
        (known,) = append(journal, say("something else", id="1"))
        assert known.repeated

    def test_no_step_is_named_as_one_that_was_erased(self, journal: Journal) -> None:
        append(journal, say("one"), say("two"))
        journal.erase([2], tenant="a", trajectory="t")
        (entry,) = append(journal, say("three"))
        assert (entry.id, entry.state) == ("1-2", StepState.ACCEPTED)
        journal.erase([1, entry.seq], tenant="a", trajectory="t")
        assert [entry.id for entry in append(journal, say("four"), say("five"))] == ["0-2", "1-3"]

    def test_of_a_forgotten_tenant_nothing_is_known(self, journal: Journal) -> None:
        append(journal, say("one", id="1"))
        append(journal, say("one", id="1"), tenant="b")
        for tenant, seq in (("a", 1), ("b", 2)):
            journal.append_record(tenant, kind="tree", key="x", payload=b"one")
            journal.erase([seq], tenant=tenant, trajectory="t")
        journal.forget_tenant("a")
        journal.forget_tenant("c")
        assert append(journal, say("one", id="1"))[0].state is StepState.ACCEPTED
        assert append(journal, say("one", id="1"), tenant="b")[0].state is StepState.ERASED
        assert (list(journal.records("a", kind="tree")), len(list(journal.records("b", kind="tree")))) == ([], 1)

    def test_lengths_are_known_at_a_moment(self, journal: Journal) -> None:
        append(journal, say("one"), say("two"), recorded=1.0)
        append(journal, say("three"), recorded=2.0)
        append(journal, say("four"), trajectory="u", recorded=3.0)
        assert journal.lengths_at(Moment(1.0), tenant="a") == {"t": (3, 2), "u": (1, 0)}
        assert journal.lengths_at(Moment(2.0, "t", 0), tenant="a", trajectory="t") == {"t": (3, 1)}
        assert journal.lengths_at(Moment(2.0), tenant="b") == {}
