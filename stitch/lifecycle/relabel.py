"""Labels made anew, in place: what another labeler made, or this one in the place of its model."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import groupby
from typing import NamedTuple

from stitch.core import StepLabels, StepState
from stitch.core.progress import Progress
from stitch.errors import ReplyError
from stitch.ingest.ingestor import Ingestor
from stitch.ingest.lineage import LineageSession
from stitch.ingest.state import BATCH_STEPS, chunks
from stitch.journal.entries import Checkpoint, Entry, encode_labels


class Relabeled(NamedTuple):
    """What became of labels that another had made."""

    trajectories: int
    """How many had such labels."""
    steps: int
    """How many steps had them."""
    relabeled: int
    """How many have those of this labeler now; of the others it could not make them."""


def relabel(ingestor: Ingestor, *, tenant: str) -> Relabeled:
    """Let the ingestor's labeler make the labels that it has not made, in every trajectory of a tenant.

    Labels change in the journal a batch at a time, and then in the store under the same ids; an interrupted run is
    finished by `recover` or by the next one. Steps without labels are labeled first. What a person corrected stays.

    Raises:
        ReplyError: The labeler gave more or fewer labels than there are steps; that batch is as it was.
    """
    ingestor.retry(tenant)
    corrected = ingestor.journal.correctors(tenant)
    trajectories = steps = relabeled = 0
    known = ingestor.journal.trajectories(tenant)
    progress = Progress("steps labeled", of=sum(each.steps for each in known))
    for trajectory in known:
        run, before = _Run(ingestor, tenant, trajectory, corrected, progress=progress), progress.done
        foreign = sum(map(run.is_foreign, ingestor.journal.entries(tenant, trajectory)))
        if foreign:
            ingestor.rework(tenant, trajectory, run.change)
            trajectories, steps, relabeled = trajectories + 1, steps + foreign, relabeled + run.relabeled
        progress.advance(before + trajectory.steps - progress.done)
    return Relabeled(trajectories, steps, relabeled)


class _Run:
    def __init__(
        self,
        ingestor: Ingestor,
        tenant: str,
        trajectory: str,
        corrected: frozenset[tuple[int, str]],
        *,
        progress: Progress,
    ) -> None:
        self.relabeled, self._progress = 0, progress
        self._ingestor, self._tenant, self._trajectory, self._corrected = ingestor, tenant, trajectory, corrected

    def is_foreign(self, entry: Entry) -> bool:
        """Whether another labeler made the labels, and nobody corrected them."""
        if entry.labels is None or entry.state is StepState.RETIRED:
            return False
        maker = entry.labels.made_by
        return maker != self._ingestor.labeler.name and (entry.seq, maker) not in self._corrected

    def change(self) -> None:
        """Label the trajectory anew from its first step; labels that are this labeler's own stay."""
        ingestor, journal = self._ingestor, self._ingestor.journal
        session = LineageSession(
            ingestor.labeler.begin(self._trajectory),
            earlier=partial(journal.entry, self._tenant, self._trajectory),
        )
        journal.forget_checkpoint(self._tenant, self._trajectory)
        position = 0
        stop = journal.labeled(self._tenant, self._trajectory)
        for chunk in chunks(journal.entries(self._tenant, self._trajectory, stop=stop), BATCH_STEPS):
            for foreign, group in groupby(chunk, key=self.is_foreign):
                entries = list(group)
                steps = [entry.step for entry in entries]
                if foreign:
                    self._replace(entries, session.label(steps))
                    ingestor.labeling.revise_apart(session, tenant=self._tenant, trajectory=self._trajectory)
                else:
                    session.replay(steps, [entry.labels for entry in entries if entry.labels])
                position = entries[-1].position + 1
                self._progress.advance(len(entries))
        checkpoint = Checkpoint(ingestor.labeler.name, position, session.save(), session.inventory())
        journal.save_checkpoint(self._tenant, self._trajectory, checkpoint)

    def _replace(self, entries: Sequence[Entry], labels: Sequence[StepLabels]) -> None:
        if len(labels) != len(entries):
            raise ReplyError(
                f"labeler {self._ingestor.labeler.name!r} gave {len(labels)} labels for {len(entries)} steps"
            )
        encoded = [(entry.seq, encode_labels(made, step=entry.id)) for entry, made in zip(entries, labels, strict=True)]
        self._ingestor.journal.replace_labels(encoded, tenant=self._tenant, trajectory=self._trajectory)
        self.relabeled += sum(made.made_by == self._ingestor.labeler.name for made in labels)
