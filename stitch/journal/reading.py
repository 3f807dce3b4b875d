"""The journal as it is read: steps by name, by page, as a tenant has or said them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence

from stitch.core import KeptTrajectory, Moment, Redaction, StepState
from stitch.errors import JournalError
from stitch.journal.database import PAGE
from stitch.journal.entries import Damaged, Entry, IngestCounts, KeptRevision, KeptStep, Selected
from stitch.journal.progress import REVISIONS
from stitch.journal.rows import (
    ENTRIES,
    IN_ORDER,
    LABELS,
    NAMED,
    STEPS,
    STEPS_AND_STATES,
    Part,
    entry_of,
    given,
    narrowed,
    read_labels,
)
from stitch.journal.tables import checksum, is_sound, named_checksum, revision_checksum

_LAST_POSITION = 1 << 60
_PAGE_OF_RECORDS = 8
"""A record may be a whole tree."""

_PAGE_IN_ORDER = "ORDER BY steps.seq LIMIT :size"
_OF_TENANT = "trajectories.tenant = :tenant"
_LABELED = f"{STEPS} JOIN labels ON labels.seq = steps.seq"
_ENTRY = f"{ENTRIES} WHERE {NAMED} AND steps.step = :step"
_ENTRIES = f"""
{ENTRIES} WHERE {NAMED} AND steps.position > :after AND steps.position < :stop AND states.state IN :given
ORDER BY steps.position LIMIT :size
"""
_EVERY_ENTRY = f"{ENTRIES} WHERE steps.seq > :after AND {{given}} {_PAGE_IN_ORDER}"
_ENTRIES_OF = f"{ENTRIES} WHERE steps.seq IN :given ORDER BY steps.seq"
_SELECTED = f"""
SELECT steps.seq, trajectories.name, steps.step, steps.recorded, labels.seq IS NOT NULL, states.state = 'retired', {{}}
FROM {STEPS_AND_STATES} {LABELS} WHERE {{{{given}}}} ORDER BY steps.seq
"""
_SELECTED_BY_NAME, _SELECTED_BY_LABELS = _SELECTED.format("NULL"), _SELECTED.format("labels.labels")
_TRAJECTORIES = f"""
SELECT name, count(*), min(steps.recorded), max(steps.recorded)
FROM {STEPS} WHERE {_OF_TENANT} GROUP BY trajectories.number, name ORDER BY min(steps.seq)
"""
_UNFINISHED = f"""
SELECT trajectories.tenant, trajectories.name FROM {STEPS_AND_STATES}
WHERE states.state <> 'stored' AND states.state IN :given
GROUP BY trajectories.number, trajectories.tenant, trajectories.name ORDER BY min(steps.seq)
"""
_END = "SELECT coalesce(max(steps.position) + 1, 0)"
_LENGTHS_AT = f"""
SELECT trajectories.name, count(*), count(*) FILTER (
    WHERE steps.recorded <= :at AND (trajectories.name <> :where OR steps.position <= :position)
) FROM {STEPS} WHERE {{given}} GROUP BY trajectories.number, trajectories.name
"""
_COUNTS = f"""
SELECT count(*), count(labels.seq), count(*) FILTER (WHERE states.state = 'stored'),
    count(*) FILTER (WHERE states.state = 'failed'), count(DISTINCT trajectories.number),
    count(*) FILTER (WHERE states.state = 'retired')
FROM {STEPS_AND_STATES} {LABELS} WHERE {{given}}
"""
_REDACTIONS = f"""
SELECT redactions.seq, redactions.kind, redactions.count, redactions.place
FROM {STEPS} JOIN redactions ON redactions.seq = steps.seq WHERE {_OF_TENANT} ORDER BY redactions.seq
"""
_KEPT = """
SELECT steps.seq, trajectories.name, steps.position, steps.recorded, steps.digest, steps.payload, labels.labels,
    states.state, states.reason, states.retired_at
FROM {} JOIN states ON states.seq = steps.seq {} WHERE steps.seq > :after AND {} ORDER BY steps.seq LIMIT :size
"""
_KEPT_OF_TENANT, _KEPT_OF_TRAJECTORY = _KEPT.format(IN_ORDER, LABELS, _OF_TENANT), _KEPT.format(STEPS, LABELS, NAMED)
_CHECKPOINTS = "SELECT trajectory, session, inventory, checksum FROM checkpoints"
_CHECKPOINTS_GONE = """
SELECT number FROM trajectories WHERE learned = 1 AND number NOT IN (SELECT trajectory FROM checkpoints)
"""
_REVISIONS_OF_NOTHING = "SELECT number FROM history WHERE seq NOT IN (SELECT seq FROM steps)"
_CHECKED = f"""
SELECT steps.seq, trajectories.name, steps.step, steps.payload, steps.checksum, labels.labels, labels.checksum
FROM {IN_ORDER} {LABELS} WHERE steps.seq > :after AND {_OF_TENANT} {_PAGE_IN_ORDER}
"""
_HISTORY = f"{IN_ORDER} JOIN history ON history.seq = steps.seq"
_REVISIONS_CHECKED = f"""
SELECT history.number, trajectories.name, steps.step, history.checksum,
    history.seq, history.at, history.made_by, history.payload, history.labels
FROM {_HISTORY} WHERE history.number > :after AND {_OF_TENANT} ORDER BY history.number LIMIT :size
"""
# Of all that is said: number, what it says, where, condition, and the size of a page; the last three are made of it.
_SAID = (
    ("steps.seq", "steps.payload, trajectories.name, trajectories.tenant", IN_ORDER, "", PAGE),
    ("history.number", "history.payload", _HISTORY, "", PAGE),
    ("records.number", "payload, key, tenant", "records", "", _PAGE_OF_RECORDS),
    ("steps.seq", "labels.labels", f"{IN_ORDER} JOIN labels ON labels.seq = steps.seq", "", PAGE),
    ("history.number", "history.labels", _HISTORY, "history.labels IS NOT NULL AND ", PAGE),
    ("trajectories.number", "session, inventory",
     "checkpoints JOIN trajectories ON trajectories.number = checkpoints.trajectory", "", PAGE),
)  # fmt: skip
_REPLIES_OF_OTHERS = """
SELECT reply FROM replies JOIN trajectories ON trajectories.number = replies.trajectory WHERE tenant <> :tenant
"""


class Lookups(Part):
    """Lookups of steps and records."""

    def entry(self, tenant: str, trajectory: str, step: str) -> Entry | None:
        """One step by its id; None if there is none."""
        rows = self._db.rows(_ENTRY, tenant=tenant, trajectory=trajectory, step=step)
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
        end, wanted = _LAST_POSITION if stop is None else stop, [state.value for state in states]
        if start >= end:
            return
        named = {"tenant": tenant, "trajectory": trajectory}
        for rows in self._db.pages(_ENTRIES, {**named, "stop": end, "given": wanted}, after=start - 1, by=3):
            yield from map(entry_of, rows)

    def every_entry(self, tenant: str | None = None, *, state: StepState | None = None) -> Iterator[Entry]:
        """Iterate over the steps of a tenant, or of all, in the order in which they were accepted."""
        asked = given(state, tenant=tenant)
        for rows in self._db.pages(narrowed(_EVERY_ENTRY, asked), asked):
            yield from map(entry_of, rows)

    def entries_of(self, seqs: Sequence[int]) -> Iterator[Entry]:
        """Iterate over the steps with these numbers, in the order of acceptance; those there are."""
        wanted = sorted(seqs)
        for start in range(0, len(wanted), PAGE):
            yield from map(entry_of, self._db.rows(_ENTRIES_OF, given=wanted[start : start + PAGE]))

    def select(
        self,
        tenant: str,
        *,
        trajectory: str | None = None,
        step: str | None = None,
        accepted_before: float | None = None,
        scopes: Callable[[str, str], bool] | None = None,
        event_types: Collection[str] | None = None,
    ) -> list[Selected]:
        """The steps of a tenant to which all applies, in their order; `scopes` tells trajectories and names that do."""
        asked = given(tenant=tenant, trajectory=trajectory, step=step, accepted_before=accepted_before)
        by_labels = scopes is not None or event_types is not None
        found = []
        rows = self._db.rows(narrowed(_SELECTED_BY_LABELS if by_labels else _SELECTED_BY_NAME, asked), **asked)
        for seq, name, known, recorded, labeled, retired, row in rows:
            scope, events, _ = read_labels(row) if row else (None, (), "")
            is_meant = scopes is None or (scope and scopes(name, scope))
            if is_meant and (event_types is None or not set(event_types).isdisjoint(events)):
                found.append(Selected(seq, name, known, recorded, bool(labeled), bool(retired)))
        return found

    def tenants(self) -> list[str]:
        """All tenants that have steps or records, the oldest first; those that have records alone are the last."""
        query = "SELECT tenant FROM {} GROUP BY tenant ORDER BY min(number)"
        found = [self._db.rows(query.format(table)) for table in ("trajectories", "records")]
        return list(dict.fromkeys(name for rows in found for (name,) in rows))

    def trajectories(self, tenant: str) -> list[KeptTrajectory]:
        """The names of a tenant's trajectories with their lengths and times, the oldest first."""
        rows = self._db.rows(_TRAJECTORIES, tenant=tenant)
        return [KeptTrajectory(name, steps=count, began=began, ended=ended) for name, count, began, ended in rows]

    def unfinished(self, states: Collection[StepState]) -> list[tuple[str, str]]:
        """The trajectories that have steps in one of `states` (which must not be `STORED`), with their tenants."""
        return [(tenant, name) for tenant, name in self._db.rows(_UNFINISHED, given=[each.value for each in states])]

    def number_in(self, state: StepState, *, tenant: str | None = None, trajectory: str | None = None) -> int:
        """The number of steps in a state: of a trajectory, of a tenant, or of all."""
        asked = given(state, tenant=tenant, trajectory=trajectory)
        return int(self._db.value(narrowed(f"SELECT count(*) FROM {STEPS_AND_STATES} WHERE {{given}}", asked), **asked))

    def length(self, tenant: str, trajectory: str) -> int:
        """The position after the last step of a trajectory; 0 if there is none."""
        return int(self._db.value(f"{_END} FROM {STEPS} WHERE {NAMED}", tenant=tenant, trajectory=trajectory))

    def labeled(self, tenant: str, trajectory: str) -> int:
        """The number of labeled steps of a trajectory. They are its first ones: labels are made in order."""
        return int(self._db.value(f"{_END} FROM {_LABELED} WHERE {NAMED}", tenant=tenant, trajectory=trajectory))

    def lengths_at(self, moment: Moment, *, tenant: str, trajectory: str | None = None) -> dict[str, tuple[int, int]]:
        """Numbers of steps of each trajectory, now and at a moment."""
        asked = given(tenant=tenant, trajectory=trajectory)
        of_moment = {"at": moment.recorded, "where": moment.trajectory or "", "position": moment.position}
        rows = self._db.rows(narrowed(_LENGTHS_AT, asked), **asked, **of_moment)
        return {name: (count, known) for name, count, known in rows}

    def counts(self, tenant: str | None = None) -> IngestCounts:
        """Counts of the steps of a tenant, or of all, by how far they have come."""
        asked = given(tenant=tenant)
        return IngestCounts(*self._db.rows(narrowed(_COUNTS, asked), **asked)[0])

    def makers(self, tenant: str) -> dict[str, int]:
        """The makers of labels of a tenant's steps, with how many, the most diligent first."""
        made = self._db.rows(f"SELECT labels.labels FROM {_LABELED} WHERE {_OF_TENANT}", tenant=tenant)
        counted = Counter(read_labels(row)[2] for (row,) in made)
        return dict(sorted(counted.items(), key=lambda each: (-each[1], each[0])))

    def redactions(self, tenant: str) -> dict[int, tuple[Redaction, ...]]:
        """Secrets that were taken out of the steps of a tenant, by their numbers."""
        found: dict[int, tuple[Redaction, ...]] = {}
        for seq, kind, count, place in self._db.rows(_REDACTIONS, tenant=tenant):
            found[seq] = (*found.get(seq, ()), Redaction(kind=kind, count=count, place=place))
        return found

    def kept(self, tenant: str, trajectory: str | None = None) -> Iterator[KeptStep]:
        """Iterate over all that is kept of a tenant's steps, or of one trajectory's, in the order of acceptance."""
        redacted = self.redactions(tenant)
        asked = given(tenant=tenant, trajectory=trajectory)
        for rows in self._db.pages(_KEPT_OF_TENANT if trajectory is None else _KEPT_OF_TRAJECTORY, asked):
            revisions: dict[int, tuple[KeptRevision, ...]] = {}
            for seq, *fields in self._db.rows(REVISIONS, given=[row[0] for row in rows]):
                revisions[seq] = (*revisions.get(seq, ()), KeptRevision(*fields))
            for seq, name, position, recorded, digest, step, row, state, reason, retired_at in rows:
                yield KeptStep(
                    seq, name, position, recorded, digest, step, row, StepState(state), reason,
                    retired_at, revisions.get(seq, ()), redacted.get(seq, ()),
                )  # fmt: skip

    def said(self, tenant: str) -> Iterator[bytes]:
        """All that a tenant's steps, their revisions and records say, with names of trajectories, keys and of it."""
        for said in _SAID[:3]:
            yield from self._texts(*said, tenant=tenant, by="=")

    def said_by_others(self, tenant: str) -> Iterator[bytes]:
        """The same of all other tenants, with what was made of it: labels, and what labeling remembers."""
        for said in _SAID:
            yield from self._texts(*said, tenant=tenant, by="<>")
        yield from (reply for (reply,) in self._db.rows(_REPLIES_OF_OTHERS, tenant=tenant))

    def _texts(
        self, number: str, said: str, source: str, condition: str, size: int, *, tenant: str, by: str
    ) -> Iterator[bytes]:
        query = f"""
SELECT {number}, {said} FROM {source}
WHERE {number} > :after AND {condition} tenant {by} :tenant ORDER BY {number} LIMIT :size
"""
        for rows in self._db.pages(query, {"tenant": tenant}, size=size):
            values = (each for _, *row in rows for each in row)
            yield b"\n".join(each if isinstance(each, bytes) else str(each).encode() for each in values)

    def damage(self) -> list[str]:
        """Damages of what is kept; nothing if it is sound."""
        remembers = "what the labeling of trajectory number {} remembers is {}"
        try:
            messages = self._db.damage()
            for number, session, inventory, check in self._db.rows(_CHECKPOINTS):
                if not is_sound(check, session, inventory):
                    messages.append(remembers.format(number, "not as it was written"))
            messages += [remembers.format(number, "missing") for (number,) in self._db.rows(_CHECKPOINTS_GONE)]
            gone = self._db.rows(_REVISIONS_OF_NOTHING)
            messages += [f"revision {number} is of a step that there is not" for (number,) in gone]
        except JournalError as error:  # so much that the check itself gave up
            return [error.message]
        return messages

    def damaged(self, tenant: str) -> list[Damaged]:
        """The steps of a tenant that are not as they were written, in the order of acceptance."""
        found: dict[int, Damaged] = {}
        for rows in self._db.pages(_CHECKED, {"tenant": tenant}):
            for seq, trajectory, step, payload, check, made, labels_check in rows:
                if not isinstance(payload, bytes) or named_checksum(step, payload) != check:
                    found[seq] = Damaged(seq, trajectory, step, "step")
                elif made is not None and (not isinstance(made, bytes) or checksum(made) != labels_check):
                    found[seq] = Damaged(seq, trajectory, step, "labels")
        for rows in self._db.pages(_REVISIONS_CHECKED, {"tenant": tenant}):
            for _, trajectory, step, check, seq, at, by, payload, made in rows:
                written = isinstance(at, float) and isinstance(payload, bytes) and isinstance(made, bytes | None)
                if not written or revision_checksum(seq, at, by, payload, made) != check:
                    found.setdefault(seq, Damaged(seq, trajectory, step, "history"))
        return [found[seq] for seq in sorted(found)]
