"""Labels stand in a journal without names of fields and without words of their step, and come back byte for byte."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stitch import open_memory
from stitch.core import ContextualIntent, EntityMention, ReferenceRewrite, Step, StepLabels, Trust
from stitch.journal.entries import encode_labels, encode_step
from stitch.journal.sqlite import SqliteJournal
from stitch.journal.sqlite.compact import expand, shrink
from stitch.journal.sqlite.schema import checksum, revision_checksum

TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12)
NAMES = st.lists(st.sampled_from(["ask", "answer", "price of a room", "hotel"]), unique=True, max_size=3).map(tuple)
REFERENCES = st.builds(
    ReferenceRewrite,
    start=st.integers(0, 5), end=st.integers(5, 9), replacement=TEXTS, antecedent=st.none() | TEXTS,
    confidence=st.sampled_from([1.0, 0.6]),
)  # fmt: skip
LABELS = st.builds(
    StepLabels,
    intent=st.builds(
        ContextualIntent,
        scope=st.none() | st.sampled_from(["day 1", "day 2 price"]), event_types=NAMES, entity_types=NAMES,
        targets=NAMES,
    ),
    made_by=st.sampled_from(["local-1", "a model", "ann"]),
    references=st.lists(REFERENCES, max_size=2).map(tuple),
    summary=st.just("") | TEXTS,
    mentions=st.lists(st.builds(EntityMention, entity_type=TEXTS, value=TEXTS), max_size=3).map(tuple),
    context=st.just("") | TEXTS,
    asks=st.lists(TEXTS, max_size=3).map(tuple),
    trust=st.none() | st.sampled_from(Trust),
)  # fmt: skip


@given(LABELS, TEXTS, TEXTS, TEXTS, st.booleans())
def test_labels_come_back_byte_for_byte(labels: StepLabels, role: str, before: str, said: str, told: bool) -> None:
    step = Step(id="s", role=f"a{role}", content=f"b{before}{said}")
    intent = labels.intent
    head = f"{step.role}: {' and '.join(intent.event_types)} ({intent.scope})"
    if told:
        labels = labels.model_copy(update={"summary": f"{head}: {said}"})
    made, (payload, _) = encode_labels(labels, step="s"), encode_step(step, max_chars=10**6)
    row = shrink(made, payload)
    assert expand(row, payload) == made
    assert len(row) < len(made)
    if told:
        assert isinstance(orjson.loads(row)[6], list)


@pytest.mark.parametrize(
    "made",
    [
        b'{"intent":{"scope":"day 1"},"made_by":"m","unknown":1}',
        b'{"made_by":"m","intent":{"scope":"day 1"}}',
        b'{"intent":{"scope":null},"made_by":"m"}',
        b'{"intent": {}, "made_by": "m"}',
        b'{"intent":3,"made_by":"m"}',
        b'{"intent":{},"made_by":"m","summary":"\\u001F"}',
        b"no labels",
    ],
)
def test_labels_that_would_not_come_back_stand_as_they_are(made: bytes) -> None:
    assert shrink(made, b'{"role":"user","content":"x","id":"1"}') == made


@pytest.mark.parametrize("row", [b"[", b"[1]", b'["x",["ask"],[],[],"m","low",[0,1]]', b"{}", b"", None, 3])
def test_a_row_that_is_damaged_is_given_as_it_is(row: object) -> None:
    assert expand(row, b'{"role":') is row or row == b"[1]"  # type: ignore[arg-type]  # whatever stands in the file


def talk(folder: Path) -> None:
    with open_memory(folder, share=False) as memory:
        said = ["Let us plan day 1. What does the Olympus Inn cost?", "It is 80 for a night.", "And what about day 2?"]
        memory.add_many(
            [Step(role="user" if n % 2 == 0 else "agent", content=text) for n, text in enumerate(said)],
            trajectory="trip",
        )
        memory.lifecycle.correct("1", trajectory="trip", text="It is 90 for a night.")


def labels_of(folder: Path) -> list[object]:
    with open_memory(folder, share=False) as memory:
        past = memory.lifecycle.history("1", trajectory="trip")
        return [*(entry.labels for entry in memory.steps("trip")), *((each.step, each.labels) for each in past)]


def rows(folder: Path) -> list[bytes]:
    with closing(sqlite3.connect(folder / "journal.sqlite")) as db:
        return [row for (row,) in db.execute("SELECT labels FROM labels UNION ALL SELECT labels FROM history")]


def as_before(folder: Path) -> None:
    """Make it a journal of version 5, which had labels with all names."""
    with closing(sqlite3.connect(folder / "journal.sqlite", isolation_level=None)) as db:
        for seq, row, step in db.execute("SELECT seq, labels, payload FROM labels JOIN steps USING (seq)").fetchall():
            made = expand(row, step) or b""
            db.execute("UPDATE labels SET labels = ?, checksum = ? WHERE seq = ?", (made, checksum(made), seq))
        kept = db.execute("SELECT number, seq, at, made_by, payload, labels FROM history").fetchall()
        for number, seq, at, by, step, row in kept:
            whole = expand(row, step)
            check = revision_checksum(seq, at, by, step, whole)
            db.execute("UPDATE history SET labels = ?, checksum = ? WHERE number = ?", (whole, check, number))
        db.execute("PRAGMA user_version = 5")


def test_a_journal_of_the_version_before_has_the_same_labels_in_fewer_bytes(tmp_path: Path) -> None:
    talk(tmp_path)
    short, wanted = rows(tmp_path), labels_of(tmp_path)
    as_before(tmp_path)
    long = rows(tmp_path)
    assert all(row.startswith(b"{") for row in long)
    assert sum(map(len, short)) < 0.6 * sum(map(len, long))
    assert labels_of(tmp_path) == wanted
    assert rows(tmp_path) == short
    with open_memory(tmp_path, share=False) as memory:
        assert memory.lifecycle.verify().disagreements == ()


def test_what_was_damaged_before_is_told_and_not_made_sound(tmp_path: Path) -> None:
    talk(tmp_path)
    as_before(tmp_path)
    with closing(sqlite3.connect(tmp_path / "journal.sqlite", isolation_level=None)) as db:
        db.execute("UPDATE labels SET labels = replace(CAST(labels AS TEXT), 'local', 'lokal') WHERE seq = 1")
        db.execute("UPDATE history SET made_by = 'eve', at = 'long ago'")
    with closing(SqliteJournal(tmp_path / "journal.sqlite")) as journal:
        assert journal.damaged("default") == {1: "labels", 2: "history"}


def test_steps_are_selected_by_labels_however_their_rows_are_written(tmp_path: Path) -> None:
    talk(tmp_path)
    with closing(sqlite3.connect(tmp_path / "journal.sqlite", isolation_level=None)) as db:
        ((row, step),) = db.execute(
            "SELECT labels, payload FROM labels JOIN steps USING (seq) WHERE seq = 1"
        ).fetchall()
        made = expand(row, step) or b""
        db.execute("UPDATE labels SET labels = ?, checksum = ? WHERE seq = 1", (made, checksum(made)))
    with closing(SqliteJournal(tmp_path / "journal.sqlite")) as journal:
        entries = [entry for entry in journal.entries("default", "trip") if entry.labels is not None]
        assert len(entries) == 3
        for entry in entries:
            assert entry.labels is not None
            intent = entry.labels.intent
            by_scope = journal.select("default", scopes=[intent.scope or ""])
            by_event = journal.select("default", event_types=intent.event_types)
            assert entry.seq in {each.seq for each in by_scope} & {each.seq for each in by_event}
        assert journal.select("default", scopes=["no such scope"]) == []
        assert sum(journal.makers("default").values()) == 3
