"""The journal as it is read: steps by name, by page, as a tenant has or said them."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from stitch.core import KeptTrajectory, Moment, Redaction, StepState
from stitch.errors import JournalError
from stitch.journal.entries import Encoded, Entry, IngestCounts, KeptStep, Selected
from stitch.journal.sqlite.compact import EVENT_TYPES, MADE_BY, SCOPE
from stitch.journal.sqlite.connection import PAGE
from stitch.journal.sqlite.history import SqliteHistory
from stitch.journal.sqlite.schema import checksum, is_sound, revision_checksum, step_checksum
from stitch.journal.sqlite.writing import ENTRIES, GIVEN, entry_of

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


class SqliteReading(SqliteHistory):
    """Reading of a journal; the rest of it is `Journal`."""

    def entry(self, tenant: str, trajectory: str, step: str) -> Entry | None:
        """One step by its id; None if there is none."""
        query = f"{ENTRIES} WHERE t.tenant = ? AND t.name = ? AND s.step = ?"
        rows = self._file.rows(query, tenant, trajectory, step)
        return entry_of(rows[0]) if rows else None

    def entries(
        self,
        tenant: str,
        trajectory: str,
        *,
        start: int = 0,
        stop: int | None = None,
        states: Collection[StepState] = tuple(StepState),
    ) -> Iterator[Entry]:
        """Iterate over a trajectory's steps from position `start` to before `stop`; over none if it is unknown."""
        query = (
            f"{ENTRIES} WHERE t.tenant = ? AND t.name = ? AND s.position >= ? AND s.position < ?"
            f" AND states.state IN {GIVEN} ORDER BY s.position LIMIT ?"
        )
        end = 1 << 60 if stop is None else stop
        while rows := self._file.rows(query, tenant, trajectory, start, end, _values(states), PAGE):
            yield from map(entry_of, rows)
            start = rows[-1][3] + 1

    def every_entry(self, tenant: str | None = None, *, state: StepState | None = None) -> Iterator[Entry]:
        """Iterate over the steps of a tenant, or of all, in the order in which they were accepted."""
        query = f"{ENTRIES} WHERE s.seq > ? AND (? IS NULL OR t.tenant = ?) {_in_state(state)} ORDER BY s.seq LIMIT ?"
        wanted = () if state is None else (state.value,)
        last = 0
        while rows := self._file.rows(query, last, tenant, tenant, *wanted, PAGE):
            yield from map(entry_of, rows)
            last = rows[-1][0]

    def entries_of(self, seqs: Sequence[int]) -> Iterator[Entry]:
        """Iterate over the steps with these numbers, in the order of acceptance; those there are."""
        wanted = sorted(seqs)
        for start in range(0, len(wanted), PAGE):
            page = json.dumps(wanted[start : start + PAGE])
            yield from map(entry_of, self._file.rows(f"{ENTRIES} WHERE s.seq IN {GIVEN} ORDER BY s.seq", page))

    def select(
        self,
        tenant: str,
        *,
        trajectory: str | None = None,
        step: str | None = None,
        accepted_before: float | None = None,
        scopes: Collection[str] | None = None,
        event_types: Collection[str] | None = None,
    ) -> list[Selected]:
        """The steps of a tenant to which all applies that is given, in the order of acceptance."""
        labels = (None if values is None else json.dumps(sorted(values)) for values in (scopes, event_types))
        given = (trajectory, step, accepted_before, *labels)
        rows = self._file.rows(_SELECTED, tenant, *(value for value in given for _ in range(2)))
        return [Selected(seq, name, known, bool(labeled)) for seq, name, known, labeled in rows]

    def accepted_at(self, tenant: str) -> dict[int, float]:
        """Times of acceptance of a tenant's steps, in Unix seconds, by their numbers."""
        query = "SELECT s.seq, s.recorded FROM steps s JOIN trajectories t ON t.number = s.trajectory"
        return dict(self._file.rows(f"{query} WHERE t.tenant = ?", tenant))

    def tenants(self) -> list[str]:
        """All tenants that have steps or records, the oldest first; those that have records alone are the last."""
        rows = self._file.rows("SELECT tenant FROM trajectories GROUP BY tenant ORDER BY min(number)")
        others = self._file.rows("SELECT tenant FROM records GROUP BY tenant ORDER BY min(number)")
        return list(dict.fromkeys(name for (name,) in (*rows, *others)))

    def trajectories(self, tenant: str) -> list[KeptTrajectory]:
        """The names of a tenant's trajectories with their lengths and times, the oldest first."""
        query = (
            "SELECT t.name, count(s.seq), coalesce(min(s.recorded), 0.0), coalesce(max(s.recorded), 0.0)"
            " FROM trajectories t LEFT JOIN steps s ON s.trajectory = t.number"
            " WHERE t.tenant = ? GROUP BY t.number ORDER BY t.number"
        )
        rows = self._file.rows(query, tenant)
        return [KeptTrajectory(name, steps=steps, began=began, ended=ended) for name, steps, began, ended in rows]

    def unfinished(self, states: Collection[StepState]) -> list[tuple[str, str]]:
        """The trajectories that have steps in one of `states` (which must not be `STORED`), with their tenants."""
        query = (
            "SELECT t.tenant, t.name FROM states JOIN steps s USING (seq)"
            " JOIN trajectories t ON t.number = s.trajectory"
            f" WHERE states.state <> 'stored' AND states.state IN {GIVEN} GROUP BY t.number ORDER BY min(s.seq)"
        )
        return [(tenant, name) for tenant, name in self._file.rows(query, _values(states))]

    def has_any(self, state: StepState, *, tenant: str | None = None, trajectory: str | None = None) -> bool:
        """Whether any step is in a state: of a trajectory, of a tenant, or of all."""
        query = (
            "SELECT 1 FROM states JOIN steps s USING (seq) JOIN trajectories t ON t.number = s.trajectory"
            f" WHERE (? IS NULL OR t.tenant = ?) AND (? IS NULL OR t.name = ?) {_in_state(state)} LIMIT 1"
        )
        return bool(self._file.rows(query, tenant, tenant, trajectory, trajectory, state.value))

    def number_in(self, state: StepState, *, tenant: str | None = None) -> int:
        """The number of steps in a state: of a tenant, or of all."""
        query = (
            "SELECT count(*) FROM states JOIN steps s USING (seq) JOIN trajectories t ON t.number = s.trajectory"
            f" WHERE (? IS NULL OR t.tenant = ?) {_in_state(state)}"
        )
        return int(self._file.rows(query, tenant, tenant, state.value)[0][0])

    def length(self, tenant: str, trajectory: str) -> int:
        """The position after the last step of a trajectory; 0 if there is none."""
        query = (
            "SELECT coalesce(max(s.position) + 1, 0) FROM trajectories t JOIN steps s ON s.trajectory = t.number"
            " WHERE t.tenant = ? AND t.name = ?"
        )
        return int(self._file.rows(query, tenant, trajectory)[0][0])

    def labeled(self, tenant: str, trajectory: str) -> int:
        """The number of labeled steps of a trajectory. They are its first ones: labels are made in order."""
        query = (
            "SELECT s.position + 1 FROM trajectories t JOIN steps s ON s.trajectory = t.number JOIN labels USING (seq)"
            " WHERE t.tenant = ? AND t.name = ? ORDER BY s.position DESC LIMIT 1"
        )
        rows = self._file.rows(query, tenant, trajectory)
        return int(rows[0][0]) if rows else 0

    def lengths_at(self, moment: Moment, *, tenant: str, trajectory: str | None = None) -> dict[str, tuple[int, int]]:
        """Numbers of steps of each trajectory, now and at a moment."""
        query = (
            "SELECT t.name, count(*), sum(s.recorded <= ? AND NOT (t.name IS ? AND s.position > ?)) FROM trajectories t"
            " JOIN steps s ON s.trajectory = t.number"
            " WHERE t.tenant = ? AND (? IS NULL OR t.name = ?) GROUP BY t.number"
        )
        given = (moment.recorded, moment.trajectory, moment.position, tenant, trajectory, trajectory)
        return {name: (steps, known) for name, steps, known in self._file.rows(query, *given)}

    def counts(self, tenant: str | None = None) -> IngestCounts:
        """Counts of the steps of a tenant, or of all, by how far they have come."""
        query = (
            "SELECT count(*), count(labels.seq), coalesce(sum(state = 'stored'), 0),"
            " coalesce(sum(state = 'failed'), 0), count(DISTINCT t.number), coalesce(sum(state = 'retired'), 0)"
            " FROM trajectories t JOIN steps s ON s.trajectory = t.number JOIN states USING (seq)"
            " LEFT JOIN labels USING (seq) WHERE ? IS NULL OR t.tenant = ?"
        )
        return IngestCounts(*self._file.rows(query, tenant, tenant)[0])

    def makers(self, tenant: str) -> dict[str, int]:
        """The makers of labels of a tenant's steps, with how many, the most diligent first."""
        query = (
            f"SELECT {MADE_BY.format('CAST(labels.labels AS TEXT)')} AS maker, count(*) FROM labels"
            " JOIN steps s USING (seq) JOIN trajectories t ON t.number = s.trajectory WHERE t.tenant = ?"
            " GROUP BY maker ORDER BY count(*) DESC, maker"
        )
        return {str(maker): count for maker, count in self._file.rows(query, tenant)}

    def redactions(self, tenant: str) -> dict[int, tuple[Redaction, ...]]:
        """Secrets that were taken out of the steps of a tenant, by their numbers."""
        query = (
            "SELECT seq, kind, count, place FROM redactions JOIN steps s USING (seq)"
            " JOIN trajectories t ON t.number = s.trajectory WHERE t.tenant = ? ORDER BY redactions.rowid"
        )
        found: dict[int, tuple[Redaction, ...]] = {}
        for seq, kind, count, place in self._file.rows(query, tenant):
            found[seq] = (*found.get(seq, ()), Redaction(kind=kind, count=count, place=place))
        return found

    def kept(self, tenant: str, trajectory: str | None = None) -> Iterator[KeptStep]:
        """Iterate over all that is kept of a tenant's steps, or of one trajectory's, in the order of acceptance."""
        redactions = self.redactions(tenant)
        last = 0
        query = "SELECT seq, at, made_by, payload, expand(labels, payload) FROM history"
        query = f"{query} WHERE seq IN {GIVEN} ORDER BY number"
        steps = _KEPT.format(join=_ORDERED if trajectory is None else "JOIN")
        while rows := self._file.rows(steps, last, tenant, trajectory, trajectory, PAGE):
            last = rows[-1][0]
            revisions: dict[int, tuple[Any, ...]] = {}
            for seq, *revision in self._file.rows(query, json.dumps([row[0] for row in rows])):
                revisions[seq] = (*revisions.get(seq, ()), tuple(revision))
            for *fields, state, reason, retired_at in rows:
                seq, name, position, recorded, digest, step, labels = fields
                yield KeptStep(
                    seq, name, position, recorded, digest, step, labels, StepState(state), reason, retired_at,
                    revisions.get(seq, ()), redactions.get(seq, ()),
                )  # fmt: skip

    def encoded(self, tenant: str, trajectory: str) -> list[Encoded]:
        """The steps of a trajectory as JSON, in order."""
        query = (
            "SELECT s.seq, s.payload, expand(labels.labels, s.payload) FROM steps s"
            " JOIN trajectories t ON t.number = s.trajectory LEFT JOIN labels USING (seq)"
            " WHERE t.tenant = ? AND t.name = ? ORDER BY s.position"
        )
        return [Encoded(*row) for row in self._file.rows(query, tenant, trajectory)]

    def said(self, tenant: str) -> Iterator[bytes]:
        """All that a tenant's steps, their revisions and records say, with names of trajectories, keys and of it."""
        return self._said(tenant, "t.tenant = ?")

    def said_by_others(self, tenant: str) -> Iterator[bytes]:
        """The same of all other tenants, with what was made of it: labels, and what labeling remembers."""
        return self._said(tenant, "t.tenant <> ?", others=True)

    def damage(self) -> list[str]:
        """Damages of what is kept; nothing if it is sound."""
        try:
            messages = [str(message) for (message,) in self._file.rows("PRAGMA integrity_check(20)")]
            query = "SELECT trajectory, session, inventory, checksum FROM checkpoints"
            for number, session, inventory, check in self._file.rows(query):
                if not is_sound(check, session, inventory):
                    messages.append(
                        f"what the labeling of trajectory number {number} remembers is not as it was written"
                    )
            query = "SELECT number FROM trajectories WHERE learned = 1"
            for (number,) in self._file.rows(f"{query} AND number NOT IN (SELECT trajectory FROM checkpoints)"):
                messages.append(f"what the labeling of trajectory number {number} remembers is missing")
            for (number,) in self._file.rows("SELECT number FROM history WHERE seq NOT IN (SELECT seq FROM steps)"):
                messages.append(f"revision {number} is of a step that there is not")
        except JournalError as error:  # so much that the check itself gave up
            return [error.message]
        return [message for message in messages if message != "ok"]

    def damaged(self, tenant: str) -> dict[int, str]:
        """The steps of a tenant that are not as they were written, by their numbers.

        What of them is damaged: `step`, `labels`, or, if both are sound, `history`.
        """
        query = (
            "SELECT s.seq, s.step, s.payload, s.checksum, labels.labels, labels.checksum FROM steps s"
            f" {_ORDERED} trajectories t ON t.number = s.trajectory LEFT JOIN labels USING (seq)"
            " WHERE s.seq > ? AND t.tenant = ? ORDER BY s.seq LIMIT ?"
        )
        found: dict[int, str] = {}
        last = 0
        while rows := self._file.rows(query, last, tenant, PAGE):
            last = rows[-1][0]
            for seq, step, payload, check, labels, labels_check in rows:
                if not isinstance(payload, bytes) or step_checksum(step, payload) != check:
                    found[seq] = "step"
                elif labels is not None and (not isinstance(labels, bytes) or checksum(labels) != labels_check):
                    found[seq] = "labels"
        query = (
            "SELECT h.number, h.seq, h.at, h.made_by, h.payload, h.labels, h.checksum"
            f" FROM history h {_ORDERED} steps s USING (seq) JOIN trajectories t ON t.number = s.trajectory"
            " WHERE h.number > ? AND t.tenant = ? ORDER BY h.number LIMIT ?"
        )
        last = 0
        while rows := self._file.rows(query, last, tenant, PAGE):
            last = rows[-1][0]
            for _, seq, at, by, payload, labels, check in rows:
                written = isinstance(at, float) and isinstance(payload, bytes) and isinstance(labels, bytes | None)
                if not written or revision_checksum(seq, at, by, payload, labels) != check:
                    found.setdefault(seq, "history")
        return found

    def _said(self, tenant: str, whose: str, *, others: bool = False) -> Iterator[bytes]:
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
            f"SELECT h.number, CAST(h.labels AS TEXT) {of_history} WHERE h.number > ? AND {whose}"
            " AND h.labels IS NOT NULL ORDER BY h.number LIMIT ?"
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
            while rows := self._file.rows(query, last, tenant, page):
                yield "\n".join(text for _, text in rows).encode()
                last = rows[-1][0]


def _values(states: Collection[StepState]) -> str:
    return json.dumps([state.value for state in states])


def _in_state(state: StepState | None) -> str:
    """A condition; the first half of it lets SQLite use the index of `states`, which leaves out what is stored."""
    if state is None:
        return ""
    return "AND states.state = ?" if state is StepState.STORED else "AND states.state <> 'stored' AND states.state = ?"
