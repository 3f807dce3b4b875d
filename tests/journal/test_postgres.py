"""What is promised of a journal in PostgreSQL alone: many writers, a server that fails, a copy in a file."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator

import psycopg
import pytest

from doubles.journal_lives import ENCODED, append, say
from doubles.postgres import MakeUrl
from stitch.errors import JournalError, SettingsError, StoreMismatchError
from stitch.journal import Journal

WRITERS, STEPS = 2, 40
ADDING = """
import sys
from stitch.core import Step
from stitch.journal import Journal

journal = Journal(sys.argv[1])
for number in range(int(sys.argv[2])):
    (entry,) = journal.append_many(
        [Step(role="user", content=f"{sys.argv[3]} {number}", id=f"{sys.argv[3]}-{number}")],
        tenant="a", trajectory=f"t{number % 2}", recorded=1.0)
    print(entry.id, flush=True)
"""


@pytest.fixture
def url(new_url: MakeUrl) -> str:
    return new_url()


@pytest.fixture
def journal(url: str) -> Iterator[Journal]:
    journal = Journal(url)
    yield journal
    journal.close()


@pytest.mark.slow
def test_of_what_many_processes_add_at_once_nothing_is_lost_or_given_a_place_twice(journal: Journal, url: str) -> None:
    seen: list[int] = []
    done = threading.Event()

    def follow() -> None:
        while not done.is_set() or journal.last_change() > len(seen):
            seen.extend(change.number for change in journal.changes(after=seen[-1] if seen else 0))

    follower = threading.Thread(target=follow)
    follower.start()
    command = [sys.executable, "-c", ADDING, url, str(STEPS)]
    adding = [subprocess.Popen([*command, f"p{n}"], stdout=subprocess.DEVNULL) for n in range(WRITERS)]
    assert [each.wait(timeout=120) for each in adding] == [0] * WRITERS
    done.set()
    follower.join(timeout=120)
    entries = [*journal.entries("a", "t0"), *journal.entries("a", "t1")]
    assert {entry.id for entry in entries} == {f"p{n}-{number}" for n in range(WRITERS) for number in range(STEPS)}
    assert sorted(entry.seq for entry in entries) == list(range(1, WRITERS * STEPS + 1))
    for name in ("t0", "t1"):
        positions = [entry.position for entry in journal.entries("a", name)]
        assert positions == list(range(len(positions)))
    assert seen == sorted(seen)
    assert len(seen) == WRITERS * STEPS, "a change that was committed late was passed over"


@pytest.mark.slow
def test_what_a_killed_process_was_told_is_there_and_nobody_waits_for_it(journal: Journal, url: str) -> None:
    command = [sys.executable, "-c", ADDING, url, "100000", "p"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as adding:
        assert adding.stdout is not None
        told = [adding.stdout.readline().strip() for _ in range(20)]
        os.kill(adding.pid, signal.SIGKILL)
        told += [line.strip() for line in adding.stdout if line.endswith("\n")]
    append(journal, say("one", id="after"), trajectory="t0")
    assert {*told, "after"} <= {entry.id for name in ("t0", "t1") for entry in journal.entries("a", name)}


def test_a_server_that_comes_back_is_used_again(url: str) -> None:
    journal = Journal(f"{url}&application_name=lost")
    append(journal, say("one"))
    with psycopg.connect(url, autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE application_name = 'lost'")
    append(journal, say("two"))
    assert journal.counts().accepted == 2
    journal.close()


@pytest.mark.parametrize(
    ("change", "error", "said"),
    [
        ("DROP TABLE steps", JournalError, "its tables 'steps' are not there"),
        ("UPDATE about SET value = '99' WHERE name = 'version'", StoreMismatchError, "journal version 99"),
        ("UPDATE about SET value = '1' WHERE name = 'version'", StoreMismatchError, "journal version 1"),
        ("DROP TABLE about", JournalError, "of others"),
    ],
)
def test_tables_that_are_none_of_this_version_are_refused_in_one_line(
    journal: Journal, url: str, change: str, error: type[JournalError], said: str
) -> None:
    append(journal, say("one"))
    with psycopg.connect(url, autocommit=True) as other:
        other.execute(change)
    with pytest.raises(error, match=said) as refused:
        Journal(url)
    assert "\n" not in refused.value.message
    assert refused.value.hint


def test_a_table_that_goes_while_it_is_used_is_told_in_one_line(journal: Journal, url: str) -> None:
    with psycopg.connect(url, autocommit=True) as other:
        other.execute("DROP TABLE labels")
    with pytest.raises(JournalError, match="a table is not there"):
        list(journal.every_entry())


def test_a_server_that_can_only_be_read_is_refused(journal: Journal, url: str) -> None:
    append(journal, say("one"))
    with pytest.raises(JournalError, match="can only be read") as refused:
        Journal(f"{url}%20-cdefault_transaction_read_only%3Don")
    assert "primary" in (refused.value.hint or "")


@pytest.mark.parametrize(
    ("url", "error", "said"),
    [
        ("postgresql://nobody@127.0.0.1:9/none?connect_timeout=2", JournalError, "cannot be reached"),
        ("postgresql://host:port/none", SettingsError, "cannot be read"),
    ],
)
def test_a_wrong_url_is_told_without_its_password(url: str, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        Journal(url.replace("nobody@", "nobody:secret@"))


def test_a_database_that_is_not_there_is_told(postgres: str) -> None:
    with pytest.raises(JournalError, match="no such database"):
        Journal(postgres.replace("/postgres?", "/missing?"))


def test_one_holds_a_name_at_a_time(journal: Journal, url: str) -> None:
    other = Journal(url)
    held, order = threading.Event(), list[str]()

    def hold() -> None:
        with other.exclusive("a", "t"):
            held.set()
            with other.exclusive("a", "u"):  # of several
                append(other, say("one"))
            order.append("first")

    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(timeout=120)
    with journal.exclusive("a", "t"):
        order.append("second")
        (entry,) = journal.entries("a", "t")
        journal.record_labels([(entry.seq, ENCODED)])
    thread.join(timeout=120)
    other.close()
    assert order == ["first", "second"]
