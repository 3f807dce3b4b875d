"""Steps as they come into a journal: accepted at the end of a trajectory, or restored with all their past."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal

from stitch.core import ChangeKind, Redaction, Step
from stitch.errors import StepConflictError, StepRejectedError
from stitch.journal.database import Session
from stitch.journal.entries import Entry, KeptStep, encode_step, erased_entry
from stitch.journal.erased import ErasedSteps
from stitch.journal.rows import ENTRIES, NAMED, Part, entry_of, note_changes, number_of
from stitch.journal.tables import (
    changes,
    checksum,
    history,
    labels,
    named_checksum,
    redactions,
    revision_checksum,
    states,
    steps,
    trajectories,
)

_END = f"""
SELECT number, (SELECT coalesce(max(position) + 1, 0) FROM steps WHERE steps.trajectory = number)
FROM trajectories WHERE {NAMED}
"""
_NEXT_NUMBER = "SELECT coalesce(max(number), 0) + 1 FROM trajectories"
_NEXT_SEQ = "SELECT seq, (SELECT max(steps.seq) + 1 FROM steps) FROM next_seq"


class Intake(Part):
    """Steps come in."""

    def append_many(
        self,
        steps: Sequence[Step],
        *,
        tenant: str,
        trajectory: str,
        recorded: float,
        whole: bool = False,
        again: bool = False,
        redacted: Mapping[int, Sequence[Redaction]] | None = None,
    ) -> list[Entry | StepRejectedError]:
        """Accept steps at the end of a trajectory; one result a step, in order.

        A step without an id is named after its position. One that is known word for word changes nothing and comes
        back as it was first accepted; one whose id is known with other content, or that is too long, is rejected.
        One that was erased (see `erase`) is not accepted: it comes back with the state `ERASED`.

        With `whole` all or nothing is accepted, but for what was erased; with `again` also that. `recorded` is when it
        happens, in Unix seconds; `redacted` what was taken out of steps, by their place in `steps`.

        Raises:
            StepRejectedError: `whole` was asked for and a step is rejected; nothing was accepted.
        """
        with self._db.transaction() as db:
            appending = _Appending(db, tenant=tenant, trajectory=trajectory, max_chars=self.max_step_chars)
            return appending.accept(steps, recorded=recorded, whole=whole, again=again, redacted=redacted or {})

    def take_seqs(self, count: int) -> int:
        """Set aside so many numbers in a row for steps that `restore` brings; return the first."""
        with self._db.transaction() as db:
            return take_seqs(db, count)

    def restore(
        self, steps: Sequence[KeptStep], *, tenant: str, again: bool = False
    ) -> list[Entry | StepRejectedError]:
        """Take in steps of one trajectory with all their past; one result a step, in order.

        A step that is there with the same id, place and digest changes nothing and comes back as repeated; one whose
        place or id another step has is rejected. One that was erased comes back with the state `ERASED`, unless
        `again` is asked for.
        """
        results: list[Entry | StepRejectedError] = []
        with self._db.transaction() as db:
            fresh: list[int] = []
            erased = ErasedSteps(db, tenant)
            for kept in steps:
                try:
                    became = _restore(db, kept, tenant=tenant, erased=erased, again=again)
                except StepRejectedError as error:
                    results.append(error)
                    continue
                if became == "erased":
                    step = Step.model_validate_json(kept.step)
                    results.append(erased_entry(step, tenant=tenant, trajectory=kept.trajectory))
                    continue
                if became == "new":
                    fresh.append(kept.seq)
                place = f"{ENTRIES} WHERE {NAMED} AND steps.position = :position"
                (row,) = db.rows(place, tenant=tenant, trajectory=kept.trajectory, position=kept.position)
                results.append(entry_of(row)._replace(repeated=became == "known"))
            note_changes(db, ChangeKind.RESTORED, fresh)
        return results


def take_seqs(db: Session, count: int) -> int:
    """Set numbers of steps aside that are then given to no others; return the first."""
    first = _after_all(db.rows(_NEXT_SEQ))
    db.write("UPDATE next_seq SET seq = :seq", seq=first + count)
    return first


def drop_if_empty(db: Session, number: int | None, *, tenant: str) -> None:
    """Forget a trajectory that has no steps left; changes name what is gone no more."""
    if number is None or db.row("SELECT 1 FROM steps WHERE trajectory = :of LIMIT 1", of=number) is not None:
        return
    db.write("UPDATE changes SET trajectory = NULL WHERE trajectory = :of", of=number)
    db.write("DELETE FROM trajectories WHERE number = :of", of=number)
    if db.row("SELECT 1 FROM trajectories WHERE tenant = :tenant LIMIT 1", tenant=tenant) is None:
        db.write("UPDATE changes SET tenant = '' WHERE tenant = :tenant", tenant=tenant)


class _Appending:
    """Steps accepted at the end of a trajectory, in one transaction."""

    def __init__(self, db: Session, *, tenant: str, trajectory: str, max_chars: int) -> None:
        self._db, self._tenant, self._trajectory, self._max_chars = db, tenant, trajectory, max_chars
        end, next_seq = db.ask(_END, tenant=tenant, trajectory=trajectory), db.ask(_NEXT_SEQ)
        self._erased = ErasedSteps(db, tenant)
        ended = end()
        self._begins = not ended
        self._number, self._position = ended[0] if ended else (db.value(_NEXT_NUMBER), 0)
        self._seq = self._first = _after_all(next_seq())
        self._known: dict[str, tuple[int, bytes]] = {}
        self._rows: list[dict[str, Any]] = []
        self._redactions: list[dict[str, Any]] = []

    def accept(
        self,
        steps: Sequence[Step],
        *,
        recorded: float,
        whole: bool,
        again: bool,
        redacted: Mapping[int, Sequence[Redaction]],
    ) -> list[Entry | StepRejectedError]:
        """Accept steps; return one result each."""
        given = {step.id for step in steps if step.id is not None}
        may_be_given = (str(self._position + n) for n in range(len(steps))) if len(given) < len(steps) else ()
        self._known = self._digests([*given, *may_be_given])
        results: list[Entry | StepRejectedError] = []
        repeats: dict[int, int] = {}
        for index, step in enumerate(steps):
            if step.id is None:
                step = step.model_copy(update={"id": self._free_id(given)})
            elif step.id not in self._known and self._erased.known(self._trajectory, step.id):
                if not again:
                    results.append(erased_entry(step, tenant=self._tenant, trajectory=self._trajectory))
                    continue
                self._erased.forget(self._trajectory, step.id)
            taken_out = tuple(redacted.get(index, ()))
            try:
                known = self._accept(step, recorded=recorded, redacted=taken_out)
            except StepRejectedError as error:
                if whole:
                    raise
                results.append(error)
                continue
            if known is not None:
                repeats[len(results)] = known
            entry = Entry(self._seq, self._tenant, self._trajectory, self._position, step, recorded, redacted=taken_out)
            results.append(entry)
            if known is None:
                self._seq, self._position = self._seq + 1, self._position + 1
        self._write()
        for index, first in repeats.items():
            (row,) = self._db.rows(f"{ENTRIES} WHERE steps.seq = :seq", seq=first)
            results[index] = entry_of(row)._replace(repeated=True, redacted=tuple(redacted.get(index, ())))
        return results

    def _accept(self, step: Step, *, recorded: float, redacted: Sequence[Redaction]) -> int | None:
        """Take in a step; return the number of the one that says the same under the same id, if there is one."""
        assert step.id is not None
        payload, digest = encode_step(step, max_chars=self._max_chars)
        if step.id in self._known:
            first, content = self._known[step.id]
            if content != digest:
                raise StepConflictError(
                    f"step {step.id!r} of trajectory {self._trajectory!r} is known with other content",
                    hint="give it an id of its own; what was accepted is never changed",
                )
            return first
        self._known[step.id] = (self._seq, digest)
        self._rows.append({
            "seq": self._seq, "trajectory": self._number, "position": self._position, "step": step.id,
            "recorded": recorded, "digest": digest, "payload": payload, "checksum": named_checksum(step.id, payload),
        })  # fmt: skip
        self._redactions += _redaction_rows(self._seq, redacted)
        return None

    def _write(self) -> None:
        if not self._rows:
            return
        db = self._db
        if self._begins:
            db.write(trajectories, number=self._number, tenant=self._tenant, name=self._trajectory)
        db.write_many(steps, self._rows)
        db.write_many(states, [{"seq": row["seq"], "state": "accepted", "reason": ""} for row in self._rows])
        db.write_many(redactions, self._redactions)
        db.write(
            changes, kind=ChangeKind.ACCEPTED.value, tenant=self._tenant, trajectory=self._number,
            first=self._first, last=self._seq - 1,
        )  # fmt: skip

    def _digests(self, ids: Sequence[str]) -> dict[str, tuple[int, bytes]]:
        if not ids or self._begins:
            return {}
        query = "SELECT step, seq, digest FROM steps WHERE trajectory = :of AND step IN :given"
        return {step: (seq, digest) for step, seq, digest in self._db.rows(query, of=self._number, given=ids)}

    def _free_id(self, given: Collection[str]) -> str:
        name, suffix = str(self._position), 1
        while name in given or name in self._known or self._erased.known(self._trajectory, name):
            suffix += 1
            name = f"{self._position}-{suffix}"
            self._known |= self._digests([name])
        return name


def _after_all(rows: Sequence[tuple[Any, ...]]) -> int:
    ((reserved, after_last),) = rows
    return max(int(reserved), int(after_last or 0))


def _redaction_rows(seq: int, redacted: Sequence[Redaction]) -> list[dict[str, Any]]:
    return [{"seq": seq, "kind": each.kind, "count": each.count, "place": each.place} for each in redacted]


def _restore(
    db: Session, kept: KeptStep, *, tenant: str, erased: ErasedSteps, again: bool
) -> Literal["new", "known", "erased"]:
    """Write down a step with all its past; return whether it is new, was there already, or was erased.

    Raises:
        StepRejectedError: Another step has its place or its id.
    """
    at_id_or_place = (
        "SELECT step, position, digest FROM steps WHERE trajectory = :of AND (step = :step OR position = :at)"
    )
    number = number_of(db, tenant, kept.trajectory)
    held = db.rows(at_id_or_place, of=number, step=kept.id, at=kept.position)
    if held == [(kept.id, kept.position, kept.digest)]:
        return "known"
    if erased.known(kept.trajectory, kept.id):
        if not again:
            return "erased"
        erased.forget(kept.trajectory, kept.id)
    if held:
        raise StepRejectedError(
            f"trajectory {kept.trajectory!r} has other steps here than there: step {held[0][0]!r} is in its place"
        )
    if number is None:
        number = db.value(_NEXT_NUMBER)
        db.write(trajectories, number=number, tenant=tenant, name=kept.trajectory)
    db.write(
        steps, seq=kept.seq, trajectory=number, position=kept.position, step=kept.id, recorded=kept.recorded,
        digest=kept.digest, payload=kept.step, checksum=named_checksum(kept.id, kept.step),
    )  # fmt: skip
    db.write(states, seq=kept.seq, state=kept.state.value, reason=kept.reason, retired_at=kept.retired_at)
    if kept.labels is not None:
        db.write(labels, seq=kept.seq, labels=kept.labels, checksum=checksum(kept.labels))
    for _, at, by, step, made_then in kept.revisions:
        check = revision_checksum(kept.seq, at, by, step, made_then)
        db.write(history, seq=kept.seq, at=at, made_by=by, payload=step, labels=made_then, checksum=check)
    db.write_many(redactions, _redaction_rows(kept.seq, kept.redactions))
    return "new"
