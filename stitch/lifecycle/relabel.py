"""Labels made anew, in place: what another labeler made, or this one in the place of its model."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import NamedTuple

from stitch.core import Labeler, StepLabels, StepState
from stitch.core.progress import Progress
from stitch.errors import ReplyError
from stitch.ingest.ingestor import Ingestor
from stitch.ingest.lineage import LineageSession
from stitch.ingest.state import BATCH_STEPS, chunks, taken_up
from stitch.journal.entries import Checkpoint, Entry, encode_labels


class Relabeled(NamedTuple):
    """Results of labeling steps again whose labels another labeler had made."""

    trajectories: int
    """Number of trajectories with such labels."""
    steps: int
    """Number of steps with such labels."""
    relabeled: int
    """Number of steps labeled again; of the others this labeler could make no labels."""


def relabel(ingestor: Ingestor, *, tenant: str) -> Relabeled:
    """Replace labels of other labelers by those of the ingestor's labeler, in every trajectory of a tenant.

    Labels change in the journal a batch at a time, and then in the store under the same ids; an interrupted run is
    finished by `recover` or by the next one. Steps without labels are labeled first. What a person corrected stays.

    Raises:
        ReplyError: The labeler gave more or fewer labels than there are steps; that batch is as it was.
    """
    ingestor.retry(tenant)
    journal, labeler = ingestor.journal, ingestor.labeler
    corrected, known = journal.correctors(tenant), journal.trajectories(tenant)
    trajectories = steps = relabeled = 0
    progress = Progress("steps labeled", of=sum(each.steps for each in known))
    for trajectory in known:
        run = Relabeling(ingestor, labeler, tenant=tenant, trajectory=trajectory, corrected=corrected)
        before = progress.done
        foreign = sum(run.waits(entry) for entry in run.entries() if entry.labels is not None)
        if foreign:
            relabeled += run.rework(partial(_relabel, run, labeler.name, progress))
            trajectories, steps = trajectories + 1, steps + foreign
        progress.advance(before + trajectory.steps - progress.done)
    return Relabeled(trajectories, steps, relabeled)


def _relabel(run: Relabeling, maker: str, progress: Progress) -> int:
    """Label a trajectory anew from its first step; labels that are the labeler's own stay."""
    run.begin()
    relabeled = end = 0
    for chunk in chunks((entry for entry in run.entries() if entry.labels is not None), BATCH_STEPS):
        for foreign, group in groupby(chunk, key=run.waits):
            entries = list(group)
            if foreign:
                labels = run.session.label([entry.step for entry in entries])
                run.replace(entries, labels)
                run.revise()
                relabeled += sum(made.made_by == maker for made in labels)
            else:
                run.replay(entries)
            progress.advance(len(entries))
        end = chunk[-1].position + 1
    run.save(end)
    return relabeled


class Relabeling:
    """A trajectory whose labels a labeler makes that has not made them, in place.

    `corrected` are the steps of the tenant that have been corrected, and by whom.
    """

    session: LineageSession
    """The labeling, once it is begun."""

    def __init__(
        self,
        ingestor: Ingestor,
        labeler: Labeler,
        *,
        tenant: str,
        trajectory: str,
        corrected: Collection[tuple[int, str]],
    ) -> None:
        self.name, self._labeler = trajectory, labeler
        self._ingestor, self._journal, self._key = ingestor, ingestor.journal, (tenant, trajectory)
        self._corrected = corrected

    def waits(self, entry: Entry) -> bool:
        """Whether a step has no labels of this labeler, and nobody corrected it or took it out of retrieval."""
        if entry.state is StepState.RETIRED:
            return False
        maker = entry.labels.made_by if entry.labels else ""
        return maker != self._labeler.name and (entry.seq, maker) not in self._corrected

    def entries(self, *, start: int = 0, stop: int | None = None) -> Iterator[Entry]:
        """The steps from one position to before another."""
        return self._journal.entries(*self._key, start=start, stop=stop)

    def rework(self, change: Callable[[], int]) -> int:
        """Change labels while nobody else changes the trajectory; return what that returns."""
        return self._ingestor.rework(*self._key, change)

    def begin(self, position: int = 0, *, labeler: Labeler | None = None) -> None:
        """Take up the labeling as it stands before a position, from the last checkpoint if it fits."""
        self.session, _ = taken_up(self._journal, labeler or self._labeler, *self._key, position=position)

    def replay(self, entries: Iterable[Entry]) -> None:
        """Take in steps as they are labeled."""
        labeled = [(entry.step, entry.labels) for entry in entries if entry.labels is not None]
        self.session.replay([step for step, _ in labeled], [labels for _, labels in labeled])

    def replace(self, entries: Sequence[Entry], labels: Sequence[StepLabels]) -> None:
        """Keep labels in place of those that are there.

        Raises:
            ReplyError: There are more or fewer than steps; nothing was changed.
        """
        if len(labels) != len(entries):
            raise ReplyError(f"labeler {self._labeler.name!r} gave {len(labels)} labels for {len(entries)} steps")
        rows = [(entry.seq, encode_labels(made, step=entry.id)) for entry, made in zip(entries, labels, strict=True)]
        self._journal.replace_labels(rows, tenant=self._key[0], trajectory=self._key[1])

    def revise(self) -> None:
        """Correct the steps that the labeling has misread."""
        self._ingestor.labeling.revise_apart(self.session, tenant=self._key[0], trajectory=self._key[1])

    def save(self, position: int) -> None:
        """Keep what the labeling remembers after so many steps."""
        checkpoint = Checkpoint(self._labeler.name, position, self.session.save(), self.session.inventory())
        self._journal.save_checkpoint(*self._key, checkpoint)
