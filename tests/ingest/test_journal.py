"""The journal: what it accepts, what it refuses, what it keeps."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.journal import JournalContract, MakeJournal
from doubles.journal_lives import append, say
from stitch.errors import JournalError, StepRejectedError
from stitch.journal import Journal


class TestSqliteJournal(JournalContract):
    @pytest.fixture
    def make_journal(self, tmp_path: Path) -> MakeJournal:
        names = (f"journal-{number}.sqlite" for number in count())
        return lambda: Journal(tmp_path / next(names))


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    journal = Journal(tmp_path / "journal.sqlite")
    yield journal
    journal.close()


names = st.text(st.characters(blacklist_categories=["Cs", "Cc"]), min_size=1, max_size=8).filter(
    lambda name: name.strip() == name and "\u2028" not in name and "\u2029" not in name
)


@given(st.lists(st.tuples(names, names, names, st.text(min_size=1, max_size=30)), max_size=20))
def test_every_step_is_accepted_once_whatever_names_say(given_steps: list[tuple[str, str, str, str]]) -> None:
    journal = Journal(":memory:")
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
