"""A journal held in dictionaries: the plainest one that satisfies the protocol, for tests that need no disk.

More than 400 lines because a journal is one class.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from typing_extensions import override

from doubles.kept import KeptRow, free_id, has_labels, revision_of
from doubles.kept_records import DictRecords
from stitch.core import Change, ChangeKind, KeptTrajectory, Moment, Redaction, Step, StepLabels, StepState
from stitch.errors import JournalError, StepRejectedError
from stitch.journal import Checkpoint, Entry, IngestCounts, KeptStep, Revision, Selected
from stitch.journal.entries import Encoded, encode_labels, encode_step, erased_entry
from stitch.journal.protocol import MAX_STEP_CHARS
from stitch.journal.sqlite.writing import runs


class DictJournal(DictRecords):
    """A journal that forgets everything with the process.

    Args:
        max_step_chars: The longest step that is accepted, in characters of its JSON.
    """

    path = None

    def __init__(self, *, max_step_chars: int = MAX_STEP_CHARS) -> None:
        super().__init__()
        self._max_step_chars = max_step_chars
        self._steps: dict[int, KeptRow] = {}
        self._trajectories: dict[tuple[str, str], None] = {}
        self._checkpoints: dict[tuple[str, str], Checkpoint] = {}
        self._cuts: dict[tuple[str, str], int] = {}
        self._replies: dict[tuple[str, str], dict[bytes, bytes]] = {}
        self._erased: dict[tuple[str, str], set[str]] = {}
        self._changes: list[Change] = []
        self._next_seq = self._next_revision = 1

    @property
    @override
    def max_step_chars(self) -> int:
        return self._max_step_chars

    @override
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
        with self._open():
            known = {kept.id: kept for kept in self._of(tenant, trajectory)}
            position, given = self.length(tenant, trajectory), {step.id for step in steps}
            results: list[Entry | StepRejectedError] = []
            fresh: list[KeptRow] = []
            for index, step in enumerate(steps):
                if step.id is None:
                    taken = known.keys() | given | self._erased.get((tenant, trajectory), set())
                    step = step.model_copy(update={"id": free_id(position, taken)})
                assert step.id is not None
                if step.id not in known and self._is_erased(tenant, trajectory, step.id, again=again):
                    results.append(erased_entry(step, tenant=tenant, trajectory=trajectory))
                    continue
                taken_out = tuple((redacted or {}).get(index, ()))
                try:
                    payload, digest = encode_step(step, max_chars=self.max_step_chars)
                    held = known.get(step.id)
                    if held is not None and held.digest != digest:
                        raise StepRejectedError(
                            f"step {step.id!r} of trajectory {trajectory!r} is known with other content",
                            hint="give it an id of its own; what was accepted is never changed",
                        )
                except StepRejectedError as error:
                    if whole:
                        raise
                    results.append(error)
                    continue
                kept = held or KeptRow(
                    self._next_seq + len(fresh), tenant, trajectory, position, step.id, recorded, digest, payload,
                    redactions=taken_out,
                )  # fmt: skip
                if held is None:
                    fresh.append(kept)
                    known[step.id], position = kept, position + 1
                results.append(kept.entry()._replace(repeated=held is not None, redacted=taken_out))
            self._take_in(fresh, ChangeKind.ACCEPTED)
            self._next_seq += len(fresh)
        return results

    @override
    def begin(self, tenant: str, trajectory: str) -> None:
        with self._open():
            self._trajectories.setdefault((tenant, trajectory))

    @override
    def drop_empty(self, tenant: str) -> None:
        with self._open():
            for owner, trajectory in list(self._trajectories):
                if owner == tenant and not self._of(owner, trajectory):
                    self._forget(owner, trajectory)

    @override
    def take_seqs(self, count: int) -> int:
        with self._open():
            first, self._next_seq = self._next_seq, self._next_seq + count
        return first

    @override
    def restore(
        self, steps: Sequence[KeptStep], *, tenant: str, again: bool = False
    ) -> list[Entry | StepRejectedError]:
        results: list[Entry | StepRejectedError] = []
        with self._open():
            for each in steps:
                if (tenant, each.trajectory) not in self._trajectories:
                    raise JournalError(f"trajectory {each.trajectory!r} was not begun", hint="repeat the import")
                there = self._of(tenant, each.trajectory)
                held = [kept for kept in there if each.id == kept.id or each.position == kept.position]
                if [(kept.id, kept.position, kept.digest) for kept in held] == [(each.id, each.position, each.digest)]:
                    results.append(held[0].entry()._replace(repeated=True))
                    continue
                if self._is_erased(tenant, each.trajectory, each.id, again=again):
                    step = Step.model_validate_json(each.step)
                    results.append(erased_entry(step, tenant=tenant, trajectory=each.trajectory))
                    continue
                if held:
                    reason = f"trajectory {each.trajectory!r} has other steps here than there: step"
                    results.append(StepRejectedError(f"{reason} {held[0].id!r} is in its place"))
                    continue
                revisions = [(self._number_revision(), *revision) for revision in each.revisions]
                kept = KeptRow(
                    each.seq, tenant, each.trajectory, each.position, each.id, each.recorded, each.digest, each.step,
                    each.labels, each.state, each.reason, each.retired_at, revisions, each.redactions,
                )  # fmt: skip
                self._take_in([kept], ChangeKind.RESTORED)
                results.append(kept.entry())
        return results

    @override
    def record_labels(self, labels: Sequence[tuple[int, bytes]], *, checkpoint: Checkpoint | None = None) -> None:
        with self._open():
            if any(self._steps[seq].labels is not None for seq, _ in labels):
                raise JournalError("a step has labels already", hint="replace them")
            self._label(labels)
            if checkpoint is not None:
                first = self._steps[labels[0][0]]
                self.save_checkpoint(first.tenant, first.trajectory, checkpoint)
                self._replies.pop((first.tenant, first.trajectory), None)

    @override
    def record_cut(self, tenant: str, trajectory: str, position: int) -> None:
        with self._open():
            self._cuts[tenant, trajectory] = position

    @override
    def cut(self, tenant: str, trajectory: str) -> int:
        with self._open():
            return self._cuts.get((tenant, trajectory), 0)

    @override
    def keep_reply(self, tenant: str, trajectory: str, *, request: bytes, reply: bytes) -> None:
        with self._open():
            self._replies.setdefault((tenant, trajectory), {})[request] = reply

    @override
    def replies(self, tenant: str, trajectory: str) -> dict[bytes, bytes]:
        with self._open():
            return dict(self._replies.get((tenant, trajectory), {}))

    @override
    def drop_replies(self, tenant: str, trajectory: str) -> None:
        with self._open():
            self._replies.pop((tenant, trajectory), None)

    @override
    def replace_labels(self, labels: Sequence[tuple[int, bytes]], *, tenant: str, trajectory: str) -> None:
        with self._open():
            self._label(labels)
            self._forget_labeling(tenant, trajectory)

    @override
    def record_stored(self, seqs: Sequence[int]) -> None:
        with self._open():
            self._record(seqs, StepState.STORED)

    @override
    def record_failed(self, seqs: Sequence[int], reason: str) -> None:
        with self._open():
            self._record(seqs, StepState.FAILED, reason)

    @override
    def record_removed(self, seqs: Sequence[int]) -> list[int]:
        with self._open():
            there = [self._steps[seq] for seq in sorted(seqs) if seq in self._steps]
            for kept in there:
                if kept.state is StepState.STORED:
                    kept.state = StepState.LABELED
            self._note_of(ChangeKind.ERASED, there)
            return [kept.seq for kept in there]

    @override
    def checkpoint(self, tenant: str, trajectory: str) -> Checkpoint | None:
        with self._open():
            return self._checkpoints.get((tenant, trajectory))

    @override
    def save_checkpoint(self, tenant: str, trajectory: str, checkpoint: Checkpoint) -> None:
        with self._open():
            before = self._checkpoints.get((tenant, trajectory))
            self._checkpoints[tenant, trajectory] = checkpoint
            if len(checkpoint.inventory.merges) != (len(before.inventory.merges) if before else 0):
                self._note(ChangeKind.MERGED, tenant, trajectory, range(0))

    @override
    def forget_checkpoint(self, tenant: str, trajectory: str) -> None:
        with self._open():
            self._forget_labeling(tenant, trajectory)

    @override
    def entry(self, tenant: str, trajectory: str, step: str) -> Entry | None:
        with self._open():
            return next((kept.entry() for kept in self._of(tenant, trajectory) if kept.id == step), None)

    @override
    def entries(
        self,
        tenant: str,
        trajectory: str,
        *,
        start: int = 0,
        stop: int | None = None,
        states: Collection[StepState] = tuple(StepState),
    ) -> Iterator[Entry]:
        end = math.inf if stop is None else stop
        return self._each(
            lambda: self._of(tenant, trajectory), lambda kept: start <= kept.position < end and kept.state in states
        )

    @override
    def every_entry(self, tenant: str | None = None, *, state: StepState | None = None) -> Iterator[Entry]:
        return self._each(self._all, lambda kept: tenant in (None, kept.tenant) and state in (None, kept.state))

    @override
    def entries_of(self, seqs: Sequence[int]) -> Iterator[Entry]:
        wanted = set(seqs)
        return self._each(self._all, lambda kept: kept.seq in wanted)

    @override
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
        def meant(entry: Entry) -> bool:
            named = trajectory in (None, entry.trajectory) and step in (None, entry.id)
            old = accepted_before is None or entry.recorded < accepted_before
            return named and old and has_labels(entry, scopes=scopes, event_types=event_types)

        found = filter(meant, self.every_entry(tenant))
        return [Selected(each.seq, each.trajectory, each.id, each.labels is not None) for each in found]

    @override
    def accepted_at(self, tenant: str) -> dict[int, float]:
        with self._open():
            return {kept.seq: kept.recorded for kept in self._all() if kept.tenant == tenant}

    @override
    def tenants(self) -> list[str]:
        with self._open():
            owners = (*(tenant for tenant, _ in self._trajectories), *(tenant for tenant, _ in self._records))
            return list(dict.fromkeys(owners))

    @override
    def trajectories(self, tenant: str) -> list[KeptTrajectory]:
        with self._open():
            times: dict[str, list[float]] = {name: [] for owner, name in self._trajectories if owner == tenant}
            for each in self._all():
                if each.tenant == tenant:
                    times[each.trajectory].append(each.recorded)
            return [
                KeptTrajectory(name, steps=len(at), began=min(at, default=0.0), ended=max(at, default=0.0))
                for name, at in times.items()
            ]

    @override
    def unfinished(self, states: Collection[StepState]) -> list[tuple[str, str]]:
        with self._open():
            return list(dict.fromkeys((each.tenant, each.trajectory) for each in self._all() if each.state in states))

    @override
    def has_any(self, state: StepState, *, tenant: str | None = None, trajectory: str | None = None) -> bool:
        found = self.every_entry(tenant, state=state)
        return any(trajectory in (None, entry.trajectory) for entry in found)

    @override
    def number_in(self, state: StepState, *, tenant: str | None = None) -> int:
        return sum(1 for _ in self.every_entry(tenant, state=state))

    @override
    def length(self, tenant: str, trajectory: str) -> int:
        with self._open():
            return max((kept.position + 1 for kept in self._of(tenant, trajectory)), default=0)

    @override
    def labeled(self, tenant: str, trajectory: str) -> int:
        with self._open():
            labeled = (kept for kept in self._of(tenant, trajectory) if kept.labels is not None)
            return max((kept.position + 1 for kept in labeled), default=0)

    @override
    def lengths_at(self, moment: Moment, *, tenant: str, trajectory: str | None = None) -> dict[str, tuple[int, int]]:
        with self._open():
            names = [name for name in self.trajectories(tenant) if trajectory in (None, name)]
            found = {name: self._of(tenant, name) for name in names}
        return {
            name: (len(steps), sum(kept.was_there(moment) for kept in steps)) for name, steps in found.items() if steps
        }

    @override
    def counts(self, tenant: str | None = None) -> IngestCounts:
        with self._open():
            steps = [kept for kept in self._all() if tenant in (None, kept.tenant)]
            states = [kept.state for kept in steps]
            labeled = sum(kept.labels is not None for kept in steps)
            trajectories = len({(kept.tenant, kept.trajectory) for kept in steps})
            stored, failed, retired = map(states.count, (StepState.STORED, StepState.FAILED, StepState.RETIRED))
            return IngestCounts(len(steps), labeled, stored, failed, trajectories, retired)

    @override
    def makers(self, tenant: str) -> dict[str, int]:
        with self._open():
            said = [kept.labels for kept in self._all() if kept.tenant == tenant and kept.labels is not None]
        made = Counter(StepLabels.model_validate_json(labels).made_by for labels in said)
        return dict(sorted(made.items(), key=lambda item: (-item[1], item[0])))

    @override
    def redactions(self, tenant: str) -> dict[int, tuple[Redaction, ...]]:
        with self._open():
            return {kept.seq: kept.redactions for kept in self._all() if kept.tenant == tenant and kept.redactions}

    @override
    def kept(self, tenant: str, trajectory: str | None = None) -> Iterator[KeptStep]:
        with self._open():
            found = [kept for kept in self._all() if kept.tenant == tenant and trajectory in (None, kept.trajectory)]
        for each in found:
            past = tuple(revision[1:] for revision in each.revisions)
            yield KeptStep(
                each.seq, each.trajectory, each.position, each.recorded, each.digest, each.step, each.labels,
                each.state, each.reason, each.retired_at, past, each.redactions,
            )  # fmt: skip

    @override
    def encoded(self, tenant: str, trajectory: str) -> list[Encoded]:
        with self._open():
            return [Encoded(kept.seq, kept.step, kept.labels) for kept in self._of(tenant, trajectory)]

    @override
    def said(self, tenant: str) -> Iterator[bytes]:
        with self._open():
            found = [kept for kept in self._all() if kept.tenant == tenant]
            records = [each for owner, each in self._records if owner == tenant]
        for record in records:
            yield b"\n".join([record.payload, record.key.encode(), tenant.encode()])
        for kept in found:
            yield b"\n".join([kept.step, kept.trajectory.encode(), kept.tenant.encode()])
            yield from (step for _, _, _, step, _ in kept.revisions)

    @override
    def said_by_others(self, tenant: str) -> Iterator[bytes]:
        with self._open():
            others = {kept.tenant for kept in self._all()} | {owner for owner, _ in self._records}
            others -= {tenant}
            steps = [kept for kept in self._all() if kept.tenant in others]
            made = [labels for kept in steps for labels in (kept.labels, *(each[-1] for each in kept.revisions))]
            made += [each.session for (owner, _), each in self._checkpoints.items() if owner in others]
            inventories = [each.inventory for (owner, _), each in self._checkpoints.items() if owner in others]
            made += [each.model_dump_json(exclude_defaults=True).encode() for each in inventories]
        for other in sorted(others):
            yield from self.said(other)
        yield from filter(None, made)

    @override
    def correct(
        self, seq: int, *, step: Step, labels: StepLabels | None, at: float, by: str, checkpoint: Checkpoint | None
    ) -> None:
        payload, _ = encode_step(step, max_chars=self.max_step_chars)
        made = None if labels is None else encode_labels(labels, step=str(step.id))
        with self._open():
            kept = self._steps[seq]
            kept.revisions.append((self._number_revision(), at, by, kept.step, kept.labels))
            kept.step, kept.labels = payload, kept.labels if made is None else made
            self._record([seq], StepState.ACCEPTED if made is None else StepState.LABELED)
            if checkpoint is None:
                self._forget_labeling(kept.tenant, kept.trajectory)
            else:
                self.save_checkpoint(kept.tenant, kept.trajectory, checkpoint)
                self._replies.pop((kept.tenant, kept.trajectory), None)
            self._note(ChangeKind.CORRECTED, kept.tenant, kept.trajectory, range(seq, seq + 1))

    @override
    def revisions(self, seqs: Sequence[int]) -> dict[int, list[Revision]]:
        with self._open():
            found = (self._steps[seq] for seq in seqs if seq in self._steps)
            return {kept.seq: [revision_of(*each) for each in kept.revisions] for kept in found if kept.revisions}

    @override
    def as_they_were(self, tenant: str, *, at: float) -> dict[int, Revision]:
        with self._open():
            found = self.revisions([kept.seq for kept in self._all() if kept.tenant == tenant])
        later = {seq: [each for each in revisions if each.replaced > at] for seq, revisions in found.items()}
        return {seq: revisions[0] for seq, revisions in later.items() if revisions}

    @override
    def correctors(self, tenant: str) -> frozenset[tuple[int, str]]:
        with self._open():
            mine = (kept for kept in self._all() if kept.tenant == tenant)
            return frozenset((kept.seq, by) for kept in mine for _, _, by, _, _ in kept.revisions)

    @override
    def encoded_revisions(self, tenant: str, trajectory: str) -> list[Encoded]:
        with self._open():
            revisions = (each for kept in self._of(tenant, trajectory) for each in kept.revisions)
            return sorted(Encoded(number, step, labels) for number, _, _, step, labels in revisions)

    @override
    def retire(self, seqs: Sequence[int], *, at: float, reason: str) -> int:
        with self._open():
            there = [self._steps[seq] for seq in seqs if seq in self._steps]
            fresh = [kept for kept in there if kept.state is not StepState.RETIRED]
            self._record([kept.seq for kept in fresh], StepState.RETIRED, reason, at)
            self._note_of(ChangeKind.RETIRED, fresh)
            return len(fresh)

    @override
    def erase(
        self,
        seqs: Sequence[int],
        *,
        tenant: str,
        trajectory: str,
        labels: Sequence[tuple[int, bytes]] = (),
        revisions: Sequence[tuple[int, bytes]] = (),
        checkpoint: Checkpoint | None = None,
    ) -> None:
        with self._open():
            gone = [self._steps.pop(seq) for seq in seqs if seq in self._steps]
            self._erased.setdefault((tenant, trajectory), set()).update(kept.id for kept in gone)
            before = self._checkpoints.get((tenant, trajectory))
            self._forget_labeling(tenant, trajectory)
            if checkpoint is not None:
                if before is not None:
                    self._checkpoints[tenant, trajectory] = before
                self.save_checkpoint(tenant, trajectory, checkpoint)
            self._note_of(ChangeKind.ERASED, gone)
            cleaned = dict(revisions)
            for kept in self._of(tenant, trajectory):
                kept.revisions = [(*each[:-1], cleaned.get(each[0], each[-1])) for each in kept.revisions]
            for seq, made in labels:
                kept = self._steps[seq]
                kept.labels = made
                kept.state = StepState.LABELED if kept.state is StepState.STORED else kept.state
            self._note_of(ChangeKind.LABELED, [self._steps[seq] for seq, _ in labels])
            if not self._of(tenant, trajectory):
                self._forget(tenant, trajectory)
            self._owes_purge = True

    @override
    def forget_tenant(self, tenant: str) -> None:
        with self._open():
            self._erased = {names: steps for names, steps in self._erased.items() if names[0] != tenant}
            self._records = [each for each in self._records if each[0] != tenant]

    @override
    def owes_purge(self) -> bool:
        return self._owes_purge

    @override
    def record_purged(self) -> None:
        self._owes_purge = False

    @override
    def changes(self, *, after: int = 0, tenant: str | None = None) -> Iterator[Change]:
        with self._open():
            found = [each for each in self._changes if each.number > after and tenant in (None, each.tenant)]
        yield from found

    @override
    def last_change(self) -> int:
        return len(self._changes)

    @override
    def damage(self) -> list[str]:
        return []

    @override
    def damaged(self, tenant: str) -> dict[int, str]:
        return {}

    @override
    def mend(self, seq: int, *, step: Step) -> bool:
        return False

    @override
    def sync(self) -> None:
        """Do nothing: there is no disk."""

    @override
    def compact(self) -> None:
        """Do nothing: what is erased is gone."""

    @override
    def close(self) -> None:
        self._closed = True

    def _all(self) -> list[KeptRow]:
        return [self._steps[seq] for seq in sorted(self._steps)]

    def _of(self, tenant: str, trajectory: str) -> list[KeptRow]:
        mine = (kept for kept in self._steps.values() if (kept.tenant, kept.trajectory) == (tenant, trajectory))
        return sorted(mine, key=lambda kept: kept.position)

    def _each(self, steps: Callable[[], list[KeptRow]], wanted: Callable[[KeptRow], bool]) -> Iterator[Entry]:
        with self._open():
            found = [kept.entry() for kept in steps() if wanted(kept)]
        yield from found

    def _is_erased(self, tenant: str, trajectory: str, step: str, *, again: bool) -> bool:
        steps = self._erased.get((tenant, trajectory), set())
        if again:
            steps.discard(step)
        return step in steps

    def _take_in(self, fresh: Sequence[KeptRow], kind: ChangeKind) -> None:
        for kept in fresh:
            self._trajectories.setdefault((kept.tenant, kept.trajectory))
            self._steps[kept.seq] = replace(kept)
        self._note_of(kind, fresh)

    def _label(self, labels: Sequence[tuple[int, bytes]]) -> None:
        for seq, made in labels:
            self._steps[seq].labels = made
        self._record([seq for seq, _ in labels], StepState.LABELED)
        self._note_of(ChangeKind.LABELED, [self._steps[seq] for seq, _ in labels])

    def _record(self, seqs: Sequence[int], state: StepState, reason: str = "", retired_at: float | None = None) -> None:
        for seq in seqs:
            kept = self._steps[seq]
            kept.state, kept.reason, kept.retired_at = state, reason, retired_at

    def _number_revision(self) -> int:
        number, self._next_revision = self._next_revision, self._next_revision + 1
        return number

    def _note_of(self, kind: ChangeKind, steps: Sequence[KeptRow]) -> None:
        groups: dict[tuple[str, str], list[int]] = {}
        for kept in steps:
            groups.setdefault((kept.tenant, kept.trajectory), []).append(kept.seq)
        for (tenant, trajectory), seqs in groups.items():
            for first, last in runs(seqs):
                self._note(kind, tenant, trajectory, range(first, last + 1))

    def _note(self, kind: ChangeKind, tenant: str, trajectory: str, steps: range) -> None:
        self._changes.append(Change(len(self._changes) + 1, kind, tenant, trajectory, steps))

    def _forget_labeling(self, tenant: str, trajectory: str) -> None:
        self._checkpoints.pop((tenant, trajectory), None)
        self._cuts.pop((tenant, trajectory), None)
        self._replies.pop((tenant, trajectory), None)

    def _forget(self, tenant: str, trajectory: str) -> None:
        """A trajectory is named no more, nor a tenant of which nothing is left."""
        del self._trajectories[tenant, trajectory]
        left = "" if tenant not in self.tenants() else tenant
        for number, change in enumerate(self._changes):
            if change.tenant == tenant:
                gone = change.trajectory == trajectory
                self._changes[number] = change._replace(
                    tenant=left, trajectory=None if gone or not left else change.trajectory
                )
