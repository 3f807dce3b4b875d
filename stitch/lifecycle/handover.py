"""Labels made elsewhere, by a batch of a provider or by a person: windows handed out, and replies taken in.

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
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from stitch.core import Rejection, StepLabels, StepState
from stitch.errors import ReplyError
from stitch.ingest.ingestor import Ingestor
from stitch.ingest.lineage import WINDOW_STEPS, LineageSession
from stitch.ingest.state import BATCH_STEPS, chunks
from stitch.journal.entries import Checkpoint, Entry, encode_labels

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
    """What became of replies."""

    windows: int
    """How many were stored."""
    steps: int
    """How many steps have labels from them."""
    repeated: int
    """How many windows were in already; nothing was changed."""
    rejections: tuple[Rejection, ...]
    """The lines that could not be used, each with the reason; all others were."""


class Handover:
    """Hands out windows of a tenant's trajectories, and takes in replies.

    Replies that say how many tokens they took are counted in the ledger.
    """

    def __init__(self, ingestor: Ingestor, *, labeler: OfflineLabeler, tenant: str, ledger: Ledger) -> None:
        self._ingestor, self._journal = ingestor, ingestor.journal
        self._labeler, self._tenant, self._ledger = labeler, tenant, ledger
        self._corrected = self._journal.correctors(tenant)
        self._names: dict[str, str] = {}
        """Trajectories by the digest that stands in the ids of their windows."""

    def windows(self) -> Iterator[BatchRequest]:
        """The window that is next in each trajectory that has one."""
        for trajectory in self._journal.trajectories(self._tenant):
            window = self._next(trajectory)
            if window:
                session = self._session(trajectory, window[0].position)
                request = self._labeler.request(session, [entry.step for entry in window])
                ids = tuple(entry.id for entry in window)
                yield request._replace(id=self._id(window), trajectory=trajectory, steps=ids)

    def waiting(self) -> tuple[int, int]:
        """How many trajectories, and how many steps of them, wait for labels of this labeler."""
        trajectories = steps = 0
        for trajectory in self._journal.trajectories(self._tenant):
            count = sum(map(self._waits, self._journal.entries(self._tenant, trajectory)))
            trajectories, steps = trajectories + bool(count), steps + count
        return trajectories, steps

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
            count = self._take_in_written(trajectory, written)
            windows, steps, repeated = windows + bool(count), steps + count, repeated + (not count)
        return TakenIn(windows, steps, repeated, tuple(rejections))

    def _waits(self, entry: Entry) -> bool:
        if entry.state is StepState.RETIRED:
            return False
        maker = entry.labels.made_by if entry.labels else ""
        return maker != self._labeler.name and (entry.seq, maker) not in self._corrected

    def _next(self, trajectory: str) -> list[Entry]:
        """The next window of a trajectory; none if there is nothing to label."""
        window: list[Entry] = []
        for entry in self._journal.entries(self._tenant, trajectory):
            if self._waits(entry):
                window.append(entry)
            if window and (window[-1] is not entry or len(window) == self._labeler.window_steps):
                break
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

    def _session(self, trajectory: str, position: int) -> LineageSession:
        """The labeling of a trajectory as it stands before a position, from the last checkpoint if it fits."""
        checkpoint = self._journal.checkpoint(self._tenant, trajectory)
        if checkpoint and checkpoint.labeler == self._labeler.name and checkpoint.position <= position:
            begun, start = self._labeler.begin(trajectory, checkpoint.session), checkpoint.position
        else:
            begun, start = self._labeler.begin(trajectory), 0
        before = self._journal.entries(self._tenant, trajectory, start=max(0, start - WINDOW_STEPS), stop=start)
        session = LineageSession(begun, before=before, earlier=partial(self._journal.entry, self._tenant, trajectory))
        missed = self._journal.entries(self._tenant, trajectory, start=start, stop=position)
        for chunk in chunks((entry for entry in missed if entry.labels), BATCH_STEPS):
            session.replay([entry.step for entry in chunk], [entry.labels for entry in chunk if entry.labels])
        return session

    def _take_in(self, returned: BatchReply) -> int:
        """Store the labels of a window; return how many steps have them now, 0 if they had them already."""
        window = self._found(returned.id)
        if not any(map(self._waits, window)):
            return 0
        stored = 0
        refused: ReplyError | None = None

        def store() -> None:
            nonlocal stored, refused
            try:
                stored = self._store(returned)
            except ReplyError as error:  # nothing is changed then, and nothing is owed to the store
                refused = error

        self._ingestor.rework(self._tenant, window[0].trajectory, store)
        if refused is not None:
            raise refused
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
        self._corrected = self._journal.correctors(self._tenant)
        window = self._found(returned.id)
        trajectory, position = window[0].trajectory, window[0].position
        if not any(map(self._waits, window)):
            return 0
        if any(map(self._waits, self._journal.entries(self._tenant, trajectory, stop=position))):
            raise ReplyError(f"steps before it in trajectory {trajectory!r} have no labels of this model yet")
        session = self._session(trajectory, position)
        labels = self._labeler.accept(session, [entry.step for entry in window], returned.reply)
        kept = [(entry, made) for entry, made in zip(window, labels, strict=True) if self._waits(entry)]
        rows = [(entry.seq, encode_labels(made, step=entry.id)) for entry, made in kept]
        self._journal.replace_labels(rows, tenant=self._tenant, trajectory=trajectory)
        self._ingestor.labeling.revise_apart(session, tenant=self._tenant, trajectory=trajectory)
        if len(kept) == len(window):  # else the session knows other labels than the journal
            end = window[-1].position + 1
            checkpoint = Checkpoint(self._labeler.name, end, session.save(), session.inventory())
            self._journal.save_checkpoint(self._tenant, trajectory, checkpoint)
        return len(kept)

    def _take_in_written(self, trajectory: str, written: WrittenSteps) -> int:
        """Store labels that stand in a file; return how many steps have them now."""
        stored = 0

        def store() -> None:
            nonlocal stored
            stored = self._store_written(trajectory, written)

        self._ingestor.rework(self._tenant, trajectory, store)
        return stored

    def _store_written(self, trajectory: str, written: WrittenSteps) -> int:
        """As `_take_in_written`, while nobody else changes the trajectory."""
        self._corrected = self._journal.correctors(self._tenant)
        entries = [entry for entry in self._journal.entries(self._tenant, trajectory) if entry.labels is not None]
        said = {entry.seq: own for entry in entries if (own := written.get((trajectory, entry.id)))}
        due = {entry.seq for entry in entries if self._is_due(entry, said.get(entry.seq))}
        if not due:
            return 0
        begun = self._labeler.written(written).begin(trajectory)
        session = LineageSession(begun, earlier=partial(self._journal.entry, self._tenant, trajectory))
        rows: list[tuple[int, bytes]] = []
        for entry in entries:
            made = self._labels_of(entry, said.get(entry.seq), session=session)
            if entry.seq in due:
                rows.append((entry.seq, encode_labels(made, step=entry.id)))
        self._journal.replace_labels(rows, tenant=self._tenant, trajectory=trajectory)
        end = entries[-1].position + 1
        checkpoint = Checkpoint(self._labeler.name, end, session.save(), session.inventory())
        self._journal.save_checkpoint(self._tenant, trajectory, checkpoint)
        return len(rows)

    def _is_due(self, entry: Entry, said: WrittenStep | None) -> bool:
        """Whether what is written of a step is to be stored: it waits, or has no `asks` of this labeler yet."""
        if said is None or self._waits(entry):
            return said is not None
        ours = entry.labels is not None and entry.labels.made_by == self._labeler.name and not entry.labels.asks
        return ours and entry.state is not StepState.RETIRED and bool(said.found_by())

    def _labels_of(self, entry: Entry, said: WrittenStep | None, *, session: LineageSession) -> StepLabels:
        """The labels of the next step of a session; `asks` may stand in a file of their own, and stay then."""
        had = entry.labels
        if had is None or (said is not None and self._waits(entry)):
            (made,) = session.label([entry.step])
        else:
            session.replay([entry.step], [had])
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
        self._ledger.charge(
            Charge(
                model=name,
                **purpose._asdict(),
                tenant=self._tenant,
                prompt_tokens=usage.input_tokens,
                reply_tokens=usage.output_tokens,
                cost_usd=price.of(usage.input_tokens, usage.output_tokens) if price else None,
                rejected=self._labeler.model.ledger.total().rejected,
            )
        )
