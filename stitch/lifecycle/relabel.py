"""Labels made anew in place; or elsewhere, by a batch or by a person: windows handed out, and replies taken in.

A window is the first steps of a trajectory, in a row, that the labeler of the memory's model has not labeled yet and
nobody corrected: without labels, or with those that another labeler made. The next window of a trajectory depends on
the labels of this one, so it is handed out when these are in; windows of different trajectories are independent.
Nothing is kept about windows that are out: a window's id names its steps, so a reply can come at any time, twice, or
never.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import dropwhile, groupby, islice, takewhile
from typing import TYPE_CHECKING, NamedTuple

from stitch.core import Labeler, Rejection, StepLabels, StepState
from stitch.core.arguments import told_in_a_line
from stitch.core.progress import Progress
from stitch.errors import ReplyError
from stitch.ingest.ingestor import Ingestor
from stitch.ingest.labeling import encoded_labels
from stitch.ingest.lineage import LineageSession
from stitch.ingest.state import BATCH_STEPS, chunks, taken_up
from stitch.journal.entries import Checkpoint, Entry

if TYPE_CHECKING:
    from stitch.label.model.offline import OfflineLabeler
    from stitch.label.model.written import WrittenStep, WrittenSteps
    from stitch.lm import Ledger
    from stitch.lm.batch import BatchReply, BatchRequest

_ID = re.compile(r"stitch-([0-9a-f]{12})-(\d{1,18})-(\d{1,4})-([0-9a-f]{16})")


class NumberedLine(NamedTuple):
    """A line with a reply, and where it was read."""

    source: str
    line: int
    """From 1."""
    content: bytes


class TakenIn(NamedTuple):
    """Results of taking in replies."""

    windows: int
    """Number of windows stored."""
    steps: int
    """Number of steps labeled by them."""
    repeated: int
    """How many windows were in already; nothing was changed."""
    rejections: tuple[Rejection, ...]
    """The lines that could not be used, each with the reason; all others were."""


@told_in_a_line
class Handover:
    """Hands out windows of a tenant's trajectories, and takes in replies.

    Replies that say how many tokens they took are counted in the ledger.
    """

    def __init__(self, ingestor: Ingestor, *, labeler: OfflineLabeler, tenant: str, ledger: Ledger) -> None:
        self._ingestor, self._journal = ingestor, ingestor.journal
        self._labeler, self._tenant, self._ledger = labeler, tenant, ledger
        self._names: dict[str, str] = {}
        """Trajectories by the digest that stands in the ids of their windows."""

    def windows(self) -> Iterator[BatchRequest]:
        """The window that is next in each trajectory that has one."""
        for run in self._runs():
            window = self._next(run)
            if window:
                run.begin(window[0].position)
                request = self._labeler.request(run.session, [entry.step for entry in window])
                ids = tuple(entry.id for entry in window)
                yield request._replace(id=self._id(window), trajectory=run.name, steps=ids)

    def waiting(self) -> tuple[int, int]:
        """Numbers of trajectories, and of steps in them, that wait for labels of this labeler."""
        counts = [sum(map(run.waits, run.entries())) for run in self._runs()]
        return sum(map(bool, counts)), sum(counts)

    def take_in(self, lines: Iterable[NumberedLine]) -> TakenIn:
        """Store the labels of all replies that can be used, each window as a whole, in place of what is there.

        Run again, or after an interruption, it changes nothing of what is in. Labels that a person corrected stay. A
        line may also be the labels of a step (`stitch.label.model.written`): those of a trajectory count as one window.
        """
        from stitch.label.model.written import added_up, written_in
        from stitch.lm.batch import read_reply

        windows = steps = repeated = 0
        rejections: list[Rejection] = []
        told: list[WrittenStep] = []
        for source, number, content in lines:
            if not content.strip():
                continue
            try:
                if (said := written_in(content)) is not None:
                    if self._journal.entry(self._tenant, said.trajectory, said.id) is None:
                        raise ReplyError(f"no step {said.id!r} in trajectory {said.trajectory!r}")
                    told.append(said)
                    continue
                count = self._take_in(read_reply(content))
            except ReplyError as error:
                rejections.append(Rejection(source=source, line=number, reason=error.message))
                continue
            windows, steps, repeated = windows + bool(count), steps + count, repeated + (not count)
        written = added_up(told)
        for trajectory in dict.fromkeys(name for name, _ in written):
            run = self._run(trajectory)
            count = self._ingestor.rework(self._tenant, trajectory, partial(self._store_written, run, written))
            windows, steps, repeated = windows + bool(count), steps + count, repeated + (not count)
        return TakenIn(windows, steps, repeated, tuple(rejections))

    def _runs(self) -> Iterator[Relabeling]:
        corrected = self._journal.correctors(self._tenant)
        return (self._run(name, corrected) for name in self._journal.trajectories(self._tenant))

    def _run(self, trajectory: str, corrected: Collection[tuple[int, str]] | None = None) -> Relabeling:
        corrected = self._journal.correctors(self._tenant) if corrected is None else corrected
        labeler, tenant = self._labeler, self._tenant
        return Relabeling(self._ingestor, labeler, tenant, trajectory, corrected)

    def _next(self, run: Relabeling) -> list[Entry]:
        """The next window of a trajectory; none if there is nothing to label."""
        waiting = takewhile(run.waits, dropwhile(lambda entry: not run.waits(entry), run.entries()))
        window = list(islice(waiting, self._labeler.window_steps))
        first = next(self._labeler.windows([entry.step for entry in window]), [])
        return window[: len(first)]

    def _id(self, window: Sequence[Entry]) -> str:
        steps = [[entry.id, entry.step.model_dump_json(exclude_defaults=True)] for entry in window]
        what = json.dumps([self._labeler.name, self._tenant, window[0].trajectory, steps])
        # The place in the trajectory, not the number in the journal: that counts the steps of all tenants.
        place = f"{self._mark(window[0].trajectory)}-{window[0].position}-{len(window)}"
        return f"stitch-{place}-{hashlib.sha256(what.encode()).hexdigest()[:16]}"

    def _mark(self, trajectory: str) -> str:
        return hashlib.sha256(json.dumps([self._tenant, trajectory]).encode()).hexdigest()[:12]

    def _take_in(self, returned: BatchReply) -> int:
        """Store the labels of a window; return how many steps have them now, 0 if they had them already."""
        window = self._found(returned.id)
        run = self._run(window[0].trajectory)
        change = partial(self._store, returned)
        stored = self._ingestor.rework(self._tenant, run.name, change) if any(map(run.waits, window)) else 0
        if stored:
            self._charge(window, returned.reply)
        return stored

    def _found(self, name: str) -> list[Entry]:
        match = _ID.fullmatch(name)
        if match is None:
            raise ReplyError(f"no window has the id {name[:80]!r}")
        if match[1] not in self._names:
            self._names = {self._mark(name): name for name in self._journal.trajectories(self._tenant)}
        window: list[Entry] = []
        if (trajectory := self._names.get(match[1])) is not None:
            start = int(match[2])
            stop = start + int(match[3])
            window = list(self._journal.entries(self._tenant, trajectory, start=start, stop=stop))
        if not window or self._id(window) != name:
            raise ReplyError(f"the steps of window {name!r} are not as they were, or another model was asked")
        return window

    def _store(self, returned: BatchReply) -> int:
        """As `_take_in`, while nobody else changes the trajectory: a person may have corrected steps meanwhile."""
        window = self._found(returned.id)
        run, position = self._run(window[0].trajectory), window[0].position
        if any(map(run.waits, run.entries(stop=position))):
            raise ReplyError(f"steps before it in trajectory {run.name!r} have no labels of this model yet")
        run.begin(position)
        labels = self._labeler.accept(run.session, [entry.step for entry in window], returned.reply)
        kept = [(entry, made) for entry, made in zip(window, labels, strict=True) if run.waits(entry)]
        run.replace([entry for entry, _ in kept], [made for _, made in kept])
        if len(kept) == len(window):  # else the session knows other labels than the journal
            run.save(window[-1].position + 1)
        return len(kept)

    def _store_written(self, run: Relabeling, written: WrittenSteps) -> int:
        """Store labels that stand in a file, while nobody else changes the trajectory; return how many have them."""
        entries = [entry for entry in run.entries() if entry.labels is not None]
        due = [entry for entry in entries if self._is_due(run, entry, written.get((run.name, entry.id)))]
        if not due:
            return 0
        run.begin(labeler=self._labeler.written(written))
        made = {entry.seq: self._labels_of(run, entry, written.get((run.name, entry.id))) for entry in entries}
        run.replace(due, [made[entry.seq] for entry in due])
        run.save(entries[-1].position + 1)
        return len(due)

    def _is_due(self, run: Relabeling, entry: Entry, said: WrittenStep | None) -> bool:
        """Whether what is written of a step is to be stored: it waits, or has no `asks` of this labeler yet."""
        if said is None or run.waits(entry):
            return said is not None
        ours = entry.labels is not None and entry.labels.made_by == self._labeler.name and not entry.labels.asks
        return ours and entry.state is not StepState.RETIRED and bool(said.found_by())

    def _labels_of(self, run: Relabeling, entry: Entry, said: WrittenStep | None) -> StepLabels:
        """The labels of the next step of a session; `asks` may stand in a file of their own, and stay then."""
        had = entry.labels
        if had is None or (said is not None and run.waits(entry)):
            (made,) = run.session.label([entry.step])
        else:
            run.replay([entry])
            made = had
        asks = (said.found_by() if said else ()) or (had.asks if had else ())
        return made.model_copy(update={"asks": asks})

    def _charge(self, window: Sequence[Entry], reply: bytes) -> None:
        """Book what a reply cost; nothing, if nobody counted its tokens."""
        from stitch.lm import Charge, Purpose
        from stitch.lm.replies import decode_reply

        purpose = Purpose("window", window[0].trajectory, window[0].position, len(window))
        name, price = self._labeler.model.name, self._labeler.price
        usage = decode_reply(reply, model=name).usage
        if usage.input_tokens is None or usage.output_tokens is None:
            return
        self._ledger.charge(Charge(
            model=name, **purpose._asdict(), tenant=self._tenant, prompt_tokens=usage.input_tokens,
            reply_tokens=usage.output_tokens, rejected=self._labeler.model.ledger.total().rejected,
            cost_usd=price.of(usage.input_tokens, usage.output_tokens) if price else None,
        ))  # fmt: skip


# Labels made anew here


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
        run = Relabeling(ingestor, labeler, tenant, trajectory, corrected)
        before = progress.done
        foreign = sum(run.waits(entry) for entry in run.entries() if entry.labels is not None)
        if foreign:
            relabeled += ingestor.rework(tenant, trajectory, partial(_relabel, run, labeler.name, progress))
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
                relabeled += sum(made.made_by == maker for made in labels)
            else:
                run.replay(entries)
            progress.advance(len(entries))
        end = chunk[-1].position + 1
    run.save(end)
    return relabeled


@dataclass(eq=False)
class Relabeling:
    """A trajectory whose labels a labeler makes that has not made them, in place.

    `corrected` are the steps of the tenant that have been corrected, and by whom.
    """

    ingestor: Ingestor
    labeler: Labeler
    tenant: str
    name: str
    corrected: Collection[tuple[int, str]]
    session: LineageSession = field(init=False)
    """The labeling, once it is begun."""

    def waits(self, entry: Entry) -> bool:
        """Whether a step has no labels of this labeler, and nobody corrected it or took it out of retrieval."""
        if entry.state is StepState.RETIRED:
            return False
        maker = entry.labels.made_by if entry.labels else ""
        return maker != self.labeler.name and (entry.seq, maker) not in self.corrected

    def entries(self, *, start: int = 0, stop: int | None = None) -> Iterator[Entry]:
        """The steps from one position to before another."""
        return self.ingestor.journal.entries(self.tenant, self.name, start=start, stop=stop)

    def begin(self, position: int = 0, *, labeler: Labeler | None = None) -> None:
        """Take up the labeling as it stands before a position, from the last checkpoint if it fits."""
        self.session, _ = taken_up(
            self.ingestor.journal, labeler or self.labeler, self.tenant, self.name, position=position
        )

    def replay(self, entries: Iterable[Entry]) -> None:
        """Take in steps as they are labeled."""
        labeled = [(entry.step, entry.labels) for entry in entries if entry.labels is not None]
        self.session.replay([step for step, _ in labeled], [labels for _, labels in labeled])

    def replace(self, entries: Sequence[Entry], labels: Sequence[StepLabels]) -> None:
        """Keep labels in place of those that are there; correct the steps that the labeling has misread.

        Raises:
            ReplyError: There are more or fewer than steps; nothing was changed.
        """
        rows = encoded_labels(entries, labels, labeler=self.labeler.name)
        self.ingestor.journal.replace_labels(rows, tenant=self.tenant, trajectory=self.name)
        self.ingestor.worker.revise_apart(self.session, tenant=self.tenant, trajectory=self.name)

    def save(self, position: int) -> None:
        """Keep what the labeling remembers after so many steps."""
        checkpoint = Checkpoint(self.labeler.name, position, self.session.save(), self.session.inventory())
        self.ingestor.journal.save_checkpoint(self.tenant, self.name, checkpoint)
