"""The journal as it is read: steps by name, by page, as a tenant has or said them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from sqlalchemy import and_, bindparam, func, or_, select

from stitch.core import KeptTrajectory, Moment, Redaction, StepState
from stitch.errors import JournalError
from stitch.journal.database import PAGE
from stitch.journal.entries import Encoded, Entry, IngestCounts, KeptStep, Selected
from stitch.journal.revising import REVISIONS
from stitch.journal.rows import (
    AFTER,
    ALL_OF_STEPS,
    ENTRIES,
    IN_ORDER,
    NAMED,
    SIZE,
    STEPS,
    STEPS_AND_STATES,
    Part,
    entry_of,
    given,
    narrowed,
    read_labels,
)
from stitch.journal.tables import (
    NOT_STORED,
    checkpoints,
    checksum,
    history,
    is_sound,
    labels,
    one_of,
    records,
    redactions,
    replies,
    revision_checksum,
    states,
    step_checksum,
    steps,
    trajectories,
)

_LAST_POSITION = 1 << 60
_PAGE_OF_RECORDS = 8
"""A record may be a whole tree."""

_ENTRY = ENTRIES.where(NAMED, steps.c.step == bindparam("step"))
_ENTRIES = (
    ENTRIES.where(
        NAMED, steps.c.position > bindparam("after"), steps.c.position < bindparam("stop"), one_of(states.c.state)
    )
    .order_by(steps.c.position)
    .limit(SIZE)
)
_EVERY_ENTRY = ENTRIES.where(AFTER).order_by(steps.c.seq).limit(SIZE)
_ENTRIES_OF = ENTRIES.where(one_of(steps.c.seq)).order_by(steps.c.seq)
_SELECTED = (
    select(steps.c.seq, trajectories.c.name, steps.c.step, labels.c.seq)
    .select_from(STEPS.outerjoin(labels, labels.c.seq == steps.c.seq))
    .order_by(steps.c.seq)
)
_SELECTED_BY_LABELS = _SELECTED.where(labels.c.seq.is_not(None)).add_columns(labels.c.labels)
_ACCEPTED_AT = select(steps.c.seq, steps.c.recorded).select_from(STEPS)
_TENANTS = [
    select(table.c.tenant).group_by(table.c.tenant).order_by(func.min(table.c.number))
    for table in (trajectories, records)
]
_TRAJECTORIES = (
    select(
        trajectories.c.name, func.count(steps.c.seq), func.coalesce(func.min(steps.c.recorded), 0.0),
        func.coalesce(func.max(steps.c.recorded), 0.0),
    )
    .outerjoin_from(trajectories, steps, steps.c.trajectory == trajectories.c.number)
    .where(trajectories.c.tenant == bindparam("tenant"))
    .group_by(trajectories.c.number, trajectories.c.name)
    .order_by(trajectories.c.number)
)  # fmt: skip
_UNFINISHED = (
    select(trajectories.c.tenant, trajectories.c.name)
    .select_from(STEPS_AND_STATES)
    .where(NOT_STORED, one_of(states.c.state))
    .group_by(trajectories.c.number, trajectories.c.tenant, trajectories.c.name)
    .order_by(func.min(steps.c.seq))
)
_ANY = select(steps.c.seq).select_from(STEPS_AND_STATES).limit(1)
_COUNT = select(func.count()).select_from(STEPS_AND_STATES)
_LENGTH = select(func.coalesce(func.max(steps.c.position) + 1, 0)).select_from(STEPS).where(NAMED)
_LABELED = (
    select(func.coalesce(func.max(steps.c.position) + 1, 0))
    .select_from(STEPS.join(labels, labels.c.seq == steps.c.seq))
    .where(NAMED)
)
_LENGTHS_AT = (
    select(
        trajectories.c.name, func.count(),
        func.count().filter(
            steps.c.recorded <= bindparam("at"),
            or_(
                trajectories.c.name.is_distinct_from(bindparam("where")), steps.c.position <= bindparam("position")
            ),
        ),
    )
    .select_from(STEPS)
    .group_by(trajectories.c.number, trajectories.c.name)
)  # fmt: skip
_COUNTS = select(
    func.count(), func.count(labels.c.seq), func.count().filter(states.c.state == "stored"),
    func.count().filter(states.c.state == "failed"), func.count(trajectories.c.number.distinct()),
    func.count().filter(states.c.state == "retired"),
).select_from(ALL_OF_STEPS)  # fmt: skip
_LABELS = (
    select(labels.c.labels)
    .select_from(STEPS.join(labels, labels.c.seq == steps.c.seq))
    .where(trajectories.c.tenant == bindparam("tenant"))
)
_REDACTIONS = (
    select(redactions.c.seq, redactions.c.kind, redactions.c.count, redactions.c.place)
    .select_from(STEPS.join(redactions, redactions.c.seq == steps.c.seq))
    .where(trajectories.c.tenant == bindparam("tenant"))
    .order_by(redactions.c.seq)
)
_KEPT = [
    select(
        steps.c.seq, trajectories.c.name, steps.c.position, steps.c.recorded, steps.c.digest, steps.c.payload,
        labels.c.labels, states.c.state, states.c.reason, states.c.retired_at,
    )
    .select_from(
        joined.join(states, states.c.seq == steps.c.seq).outerjoin(labels, labels.c.seq == steps.c.seq)
    )
    .where(AFTER, condition)
    .order_by(steps.c.seq)
    .limit(SIZE)
    for joined, condition in ((IN_ORDER, trajectories.c.tenant == bindparam("tenant")), (STEPS, NAMED))
]  # fmt: skip
_ENCODED = (
    select(steps.c.seq, steps.c.payload, labels.c.labels)
    .select_from(STEPS.outerjoin(labels, labels.c.seq == steps.c.seq))
    .where(NAMED)
    .order_by(steps.c.position)
)
_CHECKPOINTS = select(checkpoints.c.trajectory, checkpoints.c.session, checkpoints.c.inventory, checkpoints.c.checksum)
_CHECKPOINTS_GONE = select(trajectories.c.number).where(
    trajectories.c.learned == 1, trajectories.c.number.not_in(select(checkpoints.c.trajectory))
)
_REVISIONS_OF_NOTHING = select(history.c.number).where(history.c.seq.not_in(select(steps.c.seq)))
_CHECKED = (
    select(
        steps.c.seq, steps.c.step, steps.c.payload, steps.c.checksum, labels.c.labels,
        labels.c.checksum.label("check"),
    )
    .select_from(IN_ORDER.outerjoin(labels, labels.c.seq == steps.c.seq))
    .where(AFTER, trajectories.c.tenant == bindparam("tenant"))
    .order_by(steps.c.seq)
    .limit(SIZE)
)  # fmt: skip
_REVISIONS_OF_STEPS = IN_ORDER.join(history, history.c.seq == steps.c.seq)
_AFTER_REVISION = history.c.number > bindparam("after")
_REVISIONS_CHECKED = (
    select(
        history.c.number, history.c.seq, history.c.at, history.c.made_by, history.c.payload, history.c.labels,
        history.c.checksum,
    )
    .select_from(_REVISIONS_OF_STEPS)
    .where(_AFTER_REVISION, trajectories.c.tenant == bindparam("tenant"))
    .order_by(history.c.number)
    .limit(SIZE)
)  # fmt: skip


def _said(condition: Any, of_records: Any) -> list[tuple[Any, int]]:
    """Queries of numbers and all that is said, with the sizes of their pages; the last four of what was made of it."""
    number = history.c.number
    remembered_by = checkpoints.join(trajectories, trajectories.c.number == checkpoints.c.trajectory)
    of_trajectory = trajectories.c.number > bindparam("after")
    queries = (
        (steps.c.seq, (steps.c.payload, trajectories.c.name, trajectories.c.tenant), IN_ORDER, AFTER, PAGE),
        (number, (history.c.payload,), _REVISIONS_OF_STEPS, _AFTER_REVISION, PAGE),
        (records.c.number, (records.c.payload, records.c.key, records.c.tenant), records,
         records.c.number > bindparam("after"), _PAGE_OF_RECORDS),
        (steps.c.seq, (labels.c.labels,), IN_ORDER.join(labels, labels.c.seq == steps.c.seq), AFTER, PAGE),
        (number, (history.c.labels,), _REVISIONS_OF_STEPS, and_(_AFTER_REVISION, history.c.labels.is_not(None)), PAGE),
        (trajectories.c.number, (checkpoints.c.session, checkpoints.c.inventory), remembered_by, of_trajectory, PAGE),
    )  # fmt: skip
    return [
        (
            select(key, *said)
            .select_from(source)
            .where(after, of_records if source is records else condition)
            .order_by(key)
            .limit(SIZE),
            size,
        )
        for key, said, source, after, size in queries
    ]


_BY_TENANT = _said(trajectories.c.tenant == bindparam("tenant"), records.c.tenant == bindparam("tenant"))[:3]
_BY_OTHERS = _said(trajectories.c.tenant != bindparam("tenant"), records.c.tenant != bindparam("tenant"))
_REPLIES_OF_OTHERS = (
    select(replies.c.reply)
    .join_from(replies, trajectories, trajectories.c.number == replies.c.trajectory)
    .where(trajectories.c.tenant != bindparam("tenant"))
)


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
        for rows in self._db.pages(narrowed(_EVERY_ENTRY, *asked), asked):
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
        if scopes is None and event_types is None:
            rows = self._db.rows(narrowed(_SELECTED, *asked), **asked)
            return [Selected(seq, name, known, labeled is not None) for seq, name, known, labeled in rows]
        found = []
        for seq, name, known, _, row in self._db.rows(narrowed(_SELECTED_BY_LABELS, *asked), **asked):
            scope, events, _ = read_labels(row)
            is_meant = scopes is None or (scope and scopes(name, scope))
            if is_meant and (event_types is None or not set(event_types).isdisjoint(events)):
                found.append(Selected(seq, name, known, True))
        return found

    def accepted_at(self, tenant: str) -> dict[int, float]:
        """Times of acceptance of a tenant's steps, in Unix seconds, by their numbers."""
        return dict(self._db.rows(narrowed(_ACCEPTED_AT, "tenant"), tenant=tenant))

    def tenants(self) -> list[str]:
        """All tenants that have steps or records, the oldest first; those that have records alone are the last."""
        return list(dict.fromkeys(name for query in _TENANTS for (name,) in self._db.rows(query)))

    def trajectories(self, tenant: str) -> list[KeptTrajectory]:
        """The names of a tenant's trajectories with their lengths and times, the oldest first."""
        rows = self._db.rows(_TRAJECTORIES, tenant=tenant)
        return [KeptTrajectory(name, steps=count, began=began, ended=ended) for name, count, began, ended in rows]

    def unfinished(self, states: Collection[StepState]) -> list[tuple[str, str]]:
        """The trajectories that have steps in one of `states` (which must not be `STORED`), with their tenants."""
        return [(tenant, name) for tenant, name in self._db.rows(_UNFINISHED, given=[each.value for each in states])]

    def has_any(self, state: StepState, *, tenant: str | None = None, trajectory: str | None = None) -> bool:
        """Whether any step is in a state: of a trajectory, of a tenant, or of all."""
        asked = given(state, tenant=tenant, trajectory=trajectory)
        return bool(self._db.rows(narrowed(_ANY, *asked), **asked))

    def number_in(self, state: StepState, *, tenant: str | None = None) -> int:
        """The number of steps in a state: of a tenant, or of all."""
        asked = given(state, tenant=tenant)
        return int(self._db.value(narrowed(_COUNT, *asked), **asked))

    def length(self, tenant: str, trajectory: str) -> int:
        """The position after the last step of a trajectory; 0 if there is none."""
        return int(self._db.value(_LENGTH, tenant=tenant, trajectory=trajectory))

    def labeled(self, tenant: str, trajectory: str) -> int:
        """The number of labeled steps of a trajectory. They are its first ones: labels are made in order."""
        return int(self._db.value(_LABELED, tenant=tenant, trajectory=trajectory))

    def lengths_at(self, moment: Moment, *, tenant: str, trajectory: str | None = None) -> dict[str, tuple[int, int]]:
        """Numbers of steps of each trajectory, now and at a moment."""
        asked = given(tenant=tenant, trajectory=trajectory)
        of_moment = {"at": moment.recorded, "where": moment.trajectory, "position": moment.position}
        rows = self._db.rows(narrowed(_LENGTHS_AT, *asked), **asked, **of_moment)
        return {name: (count, known) for name, count, known in rows}

    def counts(self, tenant: str | None = None) -> IngestCounts:
        """Counts of the steps of a tenant, or of all, by how far they have come."""
        asked = given(tenant=tenant)
        return IngestCounts(*self._db.rows(narrowed(_COUNTS, *asked), **asked)[0])

    def makers(self, tenant: str) -> dict[str, int]:
        """The makers of labels of a tenant's steps, with how many, the most diligent first."""
        counted = Counter(read_labels(row)[2] for (row,) in self._db.rows(_LABELS, tenant=tenant))
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
        for rows in self._db.pages(_KEPT[trajectory is not None], asked):
            revisions: dict[int, tuple[Any, ...]] = {}
            for seq, at, by, step, row in self._db.rows(REVISIONS, given=[row[0] for row in rows]):
                revisions[seq] = (*revisions.get(seq, ()), (at, by, step, row))
            for seq, name, position, recorded, digest, step, row, state, reason, retired_at in rows:
                yield KeptStep(
                    seq, name, position, recorded, digest, step, row, StepState(state), reason,
                    retired_at, revisions.get(seq, ()), redacted.get(seq, ()),
                )  # fmt: skip

    def encoded(self, tenant: str, trajectory: str) -> list[Encoded]:
        """The steps of a trajectory as JSON, in order."""
        return [Encoded(*row) for row in self._db.rows(_ENCODED, tenant=tenant, trajectory=trajectory)]

    def said(self, tenant: str) -> Iterator[bytes]:
        """All that a tenant's steps, their revisions and records say, with names of trajectories, keys and of it."""
        for query, size in _BY_TENANT:
            yield from self._texts(query, size, tenant)

    def said_by_others(self, tenant: str) -> Iterator[bytes]:
        """The same of all other tenants, with what was made of it: labels, and what labeling remembers."""
        for query, size in _BY_OTHERS:
            yield from self._texts(query, size, tenant)
        yield from (reply for (reply,) in self._db.rows(_REPLIES_OF_OTHERS, tenant=tenant))

    def _texts(self, query: Any, size: int, tenant: str) -> Iterator[bytes]:
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

    def damaged(self, tenant: str) -> dict[int, str]:
        """The steps of a tenant that are not as they were written, by their numbers.

        What of them is damaged: `step`, `labels`, or, if both are sound, `history`.
        """
        found: dict[int, str] = {}
        for rows in self._db.pages(_CHECKED, {"tenant": tenant}):
            for seq, step, payload, check, made, labels_check in rows:
                if not isinstance(payload, bytes) or step_checksum(step, payload) != check:
                    found[seq] = "step"
                elif made is not None and (not isinstance(made, bytes) or checksum(made) != labels_check):
                    found[seq] = "labels"
        for rows in self._db.pages(_REVISIONS_CHECKED, {"tenant": tenant}):
            for _, seq, at, by, payload, made, check in rows:
                written = isinstance(at, float) and isinstance(payload, bytes) and isinstance(made, bytes | None)
                if not written or revision_checksum(seq, at, by, payload, made) != check:
                    found.setdefault(seq, "history")
        return found
