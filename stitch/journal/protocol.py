"""What a journal does, whatever keeps it: the seam between the truth and all that is derived from it.

More than 400 lines because a protocol is read as one page.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol, runtime_checkable

from stitch.core import Change, KeptTrajectory, Moment, Redaction, Step, StepLabels, StepState
from stitch.errors import JournalError, StepRejectedError
from stitch.journal.entries import (
    Checkpoint,
    Encoded,
    Entry,
    IngestCounts,
    KeptStep,
    Revision,
    Selected,
)

MAX_STEP_CHARS = 1_000_000
"""The longest step, in characters of its JSON."""


class Record(NamedTuple):
    """An entry that is no step: a version of a tree, an event of a hierarchy."""

    number: int
    """Its place among all records."""
    kind: str
    key: str
    payload: bytes


class DamagedRecordError(JournalError):
    """A record is not as it was written."""


class NewRecord(NamedTuple):
    """A record that is to be kept."""

    kind: str
    key: str
    payload: bytes


@runtime_checkable
class Journal(Protocol):
    """The append-only truth: which steps were accepted, how they were labeled, and how far they have come.

    Safe to use from several threads. Each method that writes is one transaction: what it says is durable when it
    returns, or nothing of it was written; whoever reads sees all of it or nothing. A step is named by its number
    (`Entry.seq`), which is never given to another step. Every method raises `JournalError` if the journal cannot be
    used; nothing was written then.
    """

    @property
    def path(self) -> Path | None:
        """The file it is kept in, if it is one file."""

    @property
    def max_step_chars(self) -> int:
        """The longest step that is accepted, in characters of its JSON."""

    # Steps come in.

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

        Args:
            steps: What to accept.
            tenant: Whose trajectory it is.
            trajectory: Its name; a new one begins a trajectory.
            recorded: When this happens, in Unix seconds.
            whole: Accept all or nothing; what was erased is left out of this.
            again: Accept also what was erased.
            redacted: What was taken out of steps, by their place in `steps`.

        Raises:
            StepRejectedError: `whole` was asked for and a step is rejected; nothing was accepted.
        """

    def begin(self, tenant: str, trajectory: str) -> None:
        """Begin a trajectory that has no steps yet, unless it is there; `drop_empty` ends it."""

    def drop_empty(self, tenant: str) -> None:
        """Forget the trajectories of a tenant that have no steps."""

    def take_seqs(self, count: int) -> int:
        """Set aside so many numbers in a row for steps that `restore` brings; return the first."""

    def restore(
        self, steps: Sequence[KeptStep], *, tenant: str, again: bool = False
    ) -> list[Entry | StepRejectedError]:
        """Take in steps of one trajectory that was begun, with all their past; one result a step, in order.

        A step that is there with the same id, place and digest changes nothing and comes back as repeated; one whose
        place or id another step has is rejected. One that was erased comes back with the state `ERASED`, unless
        `again` is asked for.
        """

    # They are labeled, put into a store, and sometimes fail.

    def record_labels(self, labels: Sequence[tuple[int, bytes]], *, checkpoint: Checkpoint | None = None) -> None:
        """Keep the labels of steps that have none; they are labeled now.

        The checkpoint of the one trajectory that they are of is kept with them, and the replies that were kept for them
        go.
        """

    def record_cut(self, tenant: str, trajectory: str, position: int) -> None:
        """Note that the steps of a trajectory before a position are labeled without those behind it."""

    def cut(self, tenant: str, trajectory: str) -> int:
        """The position that `record_cut` noted last; 0 if there is none."""

    def keep_reply(self, tenant: str, trajectory: str, *, request: bytes, reply: bytes) -> None:
        """Keep what a model replied about steps, until their labels are kept.

        Of each request, named by its digest, one reply is kept.
        """

    def replies(self, tenant: str, trajectory: str) -> dict[bytes, bytes]:
        """The replies about a trajectory whose labels are not kept yet, by the digest of what was asked."""

    def drop_replies(self, tenant: str, trajectory: str) -> None:
        """Forget the replies about a trajectory."""

    def replace_labels(self, labels: Sequence[tuple[int, bytes]], *, tenant: str, trajectory: str) -> None:
        """Keep labels of a trajectory's steps in place of others; what labeling it remembered is forgotten."""

    def record_stored(self, seqs: Sequence[int]) -> None:
        """Note that steps were put into the store with their labels."""

    def record_failed(self, seqs: Sequence[int], reason: str) -> None:
        """Note that steps could not be labeled or stored, and why."""

    def record_removed(self, seqs: Sequence[int]) -> list[int]:
        """Note that steps are about to be erased; return those of them that there are.

        Whoever follows is told, and one that was stored is labeled only: should it go no further, it is derived again.
        """

    def checkpoint(self, tenant: str, trajectory: str) -> Checkpoint | None:
        """The last checkpoint of a trajectory's labeling."""

    def save_checkpoint(self, tenant: str, trajectory: str, checkpoint: Checkpoint) -> None:
        """Keep a checkpoint in place of the last one."""

    def forget_checkpoint(self, tenant: str, trajectory: str) -> None:
        """Forget what the labeling of a trajectory remembered: it is learnt again from the steps and their labels.

        So are its replies and its last cut. Whatever else forgets a checkpoint forgets them too.
        """

    # They are read.

    def entry(self, tenant: str, trajectory: str, step: str) -> Entry | None:
        """One step by its id; None if there is none."""

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

    def every_entry(self, tenant: str | None = None, *, state: StepState | None = None) -> Iterator[Entry]:
        """Iterate over the steps of a tenant, or of all, in the order in which they were accepted."""

    def entries_of(self, seqs: Sequence[int]) -> Iterator[Entry]:
        """Iterate over the steps with these numbers, in the order of acceptance; those there are."""

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

    def accepted_at(self, tenant: str) -> dict[int, float]:
        """When the steps of a tenant were accepted, in Unix seconds, by their numbers."""

    def tenants(self) -> list[str]:
        """All tenants that have steps or records, the oldest first; those that have records alone are the last."""

    def trajectories(self, tenant: str) -> list[KeptTrajectory]:
        """The names of a tenant's trajectories with their lengths and times, the oldest first."""

    def unfinished(self, states: Collection[StepState]) -> list[tuple[str, str]]:
        """The trajectories that have steps in one of `states` (which must not be `STORED`), with their tenants."""

    def has_any(self, state: StepState, *, tenant: str | None = None, trajectory: str | None = None) -> bool:
        """Whether any step is in a state: of a trajectory, of a tenant, or of all."""

    def number_in(self, state: StepState, *, tenant: str | None = None) -> int:
        """How many steps are in a state: of a tenant, or of all."""

    def length(self, tenant: str, trajectory: str) -> int:
        """The position after the last step of a trajectory; 0 if there is none."""

    def labeled(self, tenant: str, trajectory: str) -> int:
        """How many steps of a trajectory are labeled. They are its first ones: labels are made in order."""

    def lengths_at(self, moment: Moment, *, tenant: str, trajectory: str | None = None) -> dict[str, tuple[int, int]]:
        """How many steps each trajectory has, and how many of these it had at a moment."""

    def counts(self, tenant: str | None = None) -> IngestCounts:
        """How many steps of a tenant, or of all, have come how far."""

    def makers(self, tenant: str) -> dict[str, int]:
        """Who made the labels of a tenant's steps, and of how many, the most diligent first."""

    def redactions(self, tenant: str) -> dict[int, tuple[Redaction, ...]]:
        """What was taken out of the steps of a tenant, by their numbers."""

    def kept(self, tenant: str, trajectory: str | None = None) -> Iterator[KeptStep]:
        """Iterate over all that is kept of a tenant's steps, or of one trajectory's, in the order of acceptance."""

    def encoded(self, tenant: str, trajectory: str) -> list[Encoded]:
        """The steps of a trajectory as JSON, in order."""

    def said(self, tenant: str) -> Iterator[bytes]:
        """All that a tenant's steps, their revisions and records say, with names of trajectories, keys and of it."""

    def said_by_others(self, tenant: str) -> Iterator[bytes]:
        """The same of all other tenants, with what was made of it: labels, and what labeling remembers."""

    # They are corrected, retired, erased.

    def correct(
        self,
        seq: int,
        *,
        step: Step,
        labels: StepLabels | None,
        at: float,
        by: str,
        checkpoint: Checkpoint | None,
    ) -> None:
        """Keep another content and other labels of a step; what it was becomes its last revision.

        The digest stays: the source will go on giving the step as it was.
        Labels are None for a step that waits for them. Without a checkpoint, what labeling the trajectory remembered is
        forgotten.
        """

    def revisions(self, seqs: Sequence[int]) -> dict[int, list[Revision]]:
        """What steps were before each of their corrections, oldest first; nothing of those never corrected."""

    def as_they_were(self, tenant: str, *, at: float) -> dict[int, Revision]:
        """What the steps that were corrected after a moment were then, by their numbers."""

    def correctors(self, tenant: str) -> frozenset[tuple[int, str]]:
        """Which steps of a tenant were corrected by whom."""

    def encoded_revisions(self, tenant: str, trajectory: str) -> list[Encoded]:
        """What the steps of a trajectory were before their corrections, as JSON."""

    def retire(self, seqs: Sequence[int], *, at: float, reason: str) -> int:
        """Take steps out of retrieval; return how many were not retired before."""

    def erase(
        self,
        seqs: Sequence[int],
        *,
        tenant: str,
        trajectory: str,
        labels: Sequence[tuple[int, bytes]] = (),
        revisions: Sequence[tuple[int, bytes]] = (),
    ) -> None:
        """Erase steps of a trajectory and all that is kept of them; a trajectory without steps goes too.

        What its labeling remembers goes: it is learnt again from the journal.

        Their bytes are overwritten, except in a log that `record_purged` empties; until then `owes_purge`. What stays
        is a digest of trajectory and id, by a key of the tenant, so that a step that was erased is known when it is
        given again. No step is named so automatically.
        Labels of other steps of the trajectory, and of revisions by their numbers (`Encoded.number`), take the place of
        what they have: clean of the erased.
        """

    def forget_tenant(self, tenant: str) -> None:
        """Forget what is kept of a tenant that has no steps: its records, and which steps were erased, with its key."""

    def owes_purge(self) -> bool:
        """Whether steps were erased since `record_purged`."""

    def record_purged(self) -> None:
        """Note that no file but the journal holds erased bytes, and remove them from the journal's log."""

    # Whoever derives something follows.

    def changes(self, *, after: int = 0, tenant: str | None = None) -> Iterator[Change]:
        """Iterate over the changes after a number, of a tenant or of all, in the order in which they came about."""

    def last_change(self) -> int:
        """The number of the last change; 0 if there is none."""

    def projected(self, name: str) -> int:
        """Up to which change a projection has said to hold everything; 0 for one that has said nothing."""

    def record_projected(self, name: str, change: int) -> None:
        """Note that a projection holds everything up to a change."""

    def append_record(self, tenant: str, *, kind: str, key: str, payload: bytes) -> int:
        """Keep an entry that is no step; return its number. Records are read back as they were given."""

    def append_records(
        self, tenant: str, records: Sequence[NewRecord], *, last: int | None = None, instead_of: Collection[str] = ()
    ) -> list[int]:
        """Keep several records at once, all or none; return their numbers.

        Args:
            tenant: Whose.
            records: What to keep, in order.
            last: The number of the last record of the first one's kind and key, as whoever writes knows it; 0 if there
                is none. Any is right if None.
            instead_of: Keys of the first one's kind whose records are erased in the same stroke, as by `erase_records`.

        Raises:
            ConflictError: Another one came after `last`; nothing was kept.
        """

    def record_keys(self, tenant: str, *, kind: str) -> list[str]:
        """The keys of a tenant's records of a kind, each once, in the order of their first."""

    def records(self, tenant: str, *, kind: str, key: str | None = None, after: int = 0) -> Iterator[Record]:
        """Iterate over a tenant's records of a kind, or of one key, after a number, in the order of their coming."""

    def erase_records(self, tenant: str, *, kind: str, key: str | Collection[str] | None = None) -> int:
        """Erase a tenant's records of a kind, or of some keys; return how many there were. Bytes go as steps' do."""

    # It is looked after.

    def damage(self) -> list[str]:
        """What is wrong with what is kept; nothing if it is sound."""

    def damaged(self, tenant: str) -> dict[int, str]:
        """The steps of a tenant that are not as they were written, by their numbers.

        What of them is damaged: `step`, `labels`, or, if both are sound, `history`.
        """

    def mend(self, seq: int, *, step: Step) -> bool:
        """Keep a damaged step as another copy has it, if that is how it was accepted by its digest; return whether."""

    def sync(self) -> None:
        """Make everything written survive a loss of power."""

    def compact(self) -> None:
        """Write the whole anew, so that no byte of what was erased is left in it."""

    def close(self) -> None:
        """Let go of it; closing twice is harmless. Whatever is called then raises `JournalError`."""


@runtime_checkable
class CopyableJournal(Journal, Protocol):
    """A journal that can be copied as a file."""

    def copy_to(self, path: Path, *, tenant: str | None = None) -> tuple[int, int]:
        """Write all, or what is one tenant's, into a file, as it is now; return its numbers of tenants and steps."""
