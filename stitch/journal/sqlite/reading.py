"""What is read page by page: a whole tenant, as it is kept or as it was said."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from stitch.core import Redaction, StepState
from stitch.errors import JournalError
from stitch.journal.entries import KeptStep, Selected
from stitch.journal.sqlite.compact import EVENT_TYPES, SCOPE
from stitch.journal.sqlite.connection import Connection
from stitch.journal.sqlite.schema import checksum, is_sound, revision_checksum, step_checksum
from stitch.journal.sqlite.writing import GIVEN

PAGE = 512
"""How many rows are read at a time: an iteration holds no more, and no lock between them."""
_PAGE_OF_RECORDS = 8
"""A record may be a whole tree."""

_KEPT = """
SELECT s.seq, t.name, s.position, s.recorded, s.digest, s.payload, expand(labels.labels, s.payload), states.state,
       states.reason, states.retired_at
FROM steps s {join} trajectories t ON t.number = s.trajectory JOIN states USING (seq) LEFT JOIN labels USING (seq)
WHERE s.seq > ? AND t.tenant = ? AND (? IS NULL OR t.name = ?) ORDER BY s.seq LIMIT ?
"""
_ORDERED = "CROSS JOIN"
"""SQLite reads the table on the left first: pages of a whole tenant follow each other in the order of the file. Left to
itself it would gather and sort all of the tenant's steps for each page."""

_LABELS = "CAST(labels.labels AS TEXT)"
_SELECTED = f"""
SELECT s.seq, t.name, s.step, labels.seq IS NOT NULL
FROM trajectories t JOIN steps s ON s.trajectory = t.number LEFT JOIN labels USING (seq)
WHERE t.tenant = ? AND (? IS NULL OR t.name = ?) AND (? IS NULL OR s.step = ?) AND (? IS NULL OR s.recorded < ?)
  AND (? IS NULL OR {SCOPE.format(_LABELS)} IN (SELECT value FROM json_each(?)))
  AND (? IS NULL OR EXISTS (SELECT 1 FROM {EVENT_TYPES.format(_LABELS)} e
                            WHERE e.value IN (SELECT value FROM json_each(?))))
ORDER BY s.seq
"""


def kept(
    file: Connection, tenant: str, trajectory: str | None, *, redactions: Mapping[int, tuple[Redaction, ...]]
) -> Iterator[KeptStep]:
    """See `Journal.kept`."""
    last = 0
    query = (
        f"SELECT seq, at, made_by, payload, expand(labels, payload) FROM history WHERE seq IN {GIVEN} ORDER BY number"
    )
    steps = _KEPT.format(join=_ORDERED if trajectory is None else "JOIN")
    while rows := file.rows(steps, last, tenant, trajectory, trajectory, PAGE):
        last = rows[-1][0]
        revisions: dict[int, tuple[Any, ...]] = {}
        for seq, *revision in file.rows(query, json.dumps([row[0] for row in rows])):
            revisions[seq] = (*revisions.get(seq, ()), tuple(revision))
        for *fields, state, reason, retired_at in rows:
            seq, name, position, recorded, digest, step, labels = fields
            yield KeptStep(
                seq, name, position, recorded, digest, step, labels, StepState(state), reason, retired_at,
                revisions.get(seq, ()), redactions.get(seq, ()),
            )  # fmt: skip


def said(file: Connection, tenant: str, *, others: bool = False) -> Iterator[bytes]:
    """See `Journal.said`; with `others`, `Journal.said_by_others`."""
    whose = "t.tenant <> ?" if others else "t.tenant = ?"
    steps = (
        "SELECT s.seq, CAST(s.payload AS TEXT) || char(10) || t.name || char(10) || t.tenant FROM steps s"
        f" {_ORDERED} trajectories t ON t.number = s.trajectory WHERE s.seq > ? AND {whose} ORDER BY s.seq LIMIT ?"
    )
    of_history = f"FROM history h {_ORDERED} steps s USING (seq) JOIN trajectories t ON t.number = s.trajectory"
    revisions = (
        f"SELECT h.number, CAST(h.payload AS TEXT) {of_history} WHERE h.number > ? AND {whose}"
        " ORDER BY h.number LIMIT ?"
    )
    labels = (
        f"SELECT s.seq, CAST(labels.labels AS TEXT) FROM steps s {_ORDERED} labels USING (seq)"
        f" {_ORDERED} trajectories t ON t.number = s.trajectory WHERE s.seq > ? AND {whose} ORDER BY s.seq LIMIT ?"
    )
    labels_before = (
        f"SELECT h.number, CAST(h.labels AS TEXT) {of_history} WHERE h.number > ? AND {whose} AND h.labels IS NOT NULL"
        " ORDER BY h.number LIMIT ?"
    )
    remembered = (
        "SELECT t.number, CAST(c.session AS TEXT) || CAST(c.inventory AS TEXT) FROM checkpoints c"
        f" JOIN trajectories t ON t.number = c.trajectory WHERE t.number > ? AND {whose} ORDER BY t.number LIMIT ?"
    )
    replied = (
        "SELECT r.rowid, CAST(r.reply AS TEXT) FROM replies r JOIN trajectories t ON t.number = r.trajectory"
        f" WHERE r.rowid > ? AND {whose} ORDER BY r.rowid LIMIT ?"
    )
    records = (
        "SELECT t.number, CAST(t.payload AS TEXT) || char(10) || t.key || char(10) || t.tenant FROM records t"
        f" WHERE t.number > ? AND {whose} ORDER BY t.number LIMIT ?"
    )
    made = (labels, labels_before, remembered, replied) if others else ()
    for query in (steps, revisions, records, *made):
        last, page = 0, _PAGE_OF_RECORDS if query is records else PAGE
        while rows := file.rows(query, last, tenant, page):
            yield "\n".join(text for _, text in rows).encode()
            last = rows[-1][0]


def select(
    file: Connection,
    tenant: str,
    trajectory: str | None,
    step: str | None,
    accepted_before: float | None,
    scopes: Collection[str] | None,
    event_types: Collection[str] | None,
) -> list[Selected]:
    """See `Journal.select`."""
    labels = (None if values is None else json.dumps(sorted(values)) for values in (scopes, event_types))
    given = (trajectory, step, accepted_before, *labels)
    rows = file.rows(_SELECTED, tenant, *(value for value in given for _ in range(2)))
    return [Selected(seq, name, known, bool(labeled)) for seq, name, known, labeled in rows]


def damage(file: Connection) -> list[str]:
    """See `Journal.damage`."""
    try:
        messages = [str(message) for (message,) in file.rows("PRAGMA integrity_check(20)")]
        query = "SELECT trajectory, session, inventory, checksum FROM checkpoints"
        for number, session, inventory, check in file.rows(query):
            if not is_sound(check, session, inventory):
                messages.append(f"what the labeling of trajectory number {number} remembers is not as it was written")
        query = (
            "SELECT number FROM trajectories WHERE learned = 1 AND number NOT IN (SELECT trajectory FROM checkpoints)"
        )
        for (number,) in file.rows(query):
            messages.append(f"what the labeling of trajectory number {number} remembers is missing")
        for (number,) in file.rows("SELECT number FROM history WHERE seq NOT IN (SELECT seq FROM steps)"):
            messages.append(f"revision {number} is of a step that there is not")
    except JournalError as error:  # so much that the check itself gave up
        return [error.message]
    return [message for message in messages if message != "ok"]


def damaged(file: Connection, tenant: str) -> dict[int, str]:
    """See `Journal.damaged`."""
    query = (
        "SELECT s.seq, s.step, s.payload, s.checksum, labels.labels, labels.checksum FROM steps s"
        f" {_ORDERED} trajectories t ON t.number = s.trajectory LEFT JOIN labels USING (seq)"
        " WHERE s.seq > ? AND t.tenant = ? ORDER BY s.seq LIMIT ?"
    )
    found: dict[int, str] = {}
    last = 0
    while rows := file.rows(query, last, tenant, PAGE):
        last = rows[-1][0]
        for seq, step, payload, check, labels, labels_check in rows:
            if not isinstance(payload, bytes) or step_checksum(step, payload) != check:
                found[seq] = "step"
            elif labels is not None and (not isinstance(labels, bytes) or checksum(labels) != labels_check):
                found[seq] = "labels"
    query = (
        f"SELECT h.number, h.seq, h.at, h.made_by, h.payload, h.labels, h.checksum FROM history h {_ORDERED} steps s"
        " USING (seq)"
        " JOIN trajectories t ON t.number = s.trajectory WHERE h.number > ? AND t.tenant = ? ORDER BY h.number LIMIT ?"
    )
    last = 0
    while rows := file.rows(query, last, tenant, PAGE):
        last = rows[-1][0]
        for _, seq, at, by, payload, labels, check in rows:
            written = isinstance(at, float) and isinstance(payload, bytes) and isinstance(labels, bytes | None)
            if not written or revision_checksum(seq, at, by, payload, labels) != check:
                found.setdefault(seq, "history")
    return found


def redactions(file: Connection, tenant: str) -> dict[int, tuple[Redaction, ...]]:
    """See `Journal.redactions`."""
    query = (
        "SELECT seq, kind, count, place FROM redactions JOIN steps s USING (seq)"
        " JOIN trajectories t ON t.number = s.trajectory WHERE t.tenant = ? ORDER BY redactions.rowid"
    )
    found: dict[int, tuple[Redaction, ...]] = {}
    for seq, kind, count, place in file.rows(query, tenant):
        found[seq] = (*found.get(seq, ()), Redaction(kind=kind, count=count, place=place))
    return found
