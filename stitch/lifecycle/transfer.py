"""A tenant's memory as lines of JSON, which another memory reads without loss.

The first line names the format and its schema; then come the trajectories in the order in which they began, the steps
in the order of acceptance with all that the journal has of them, what the labeling of each trajectory remembers, and
the trees with all their versions; the last line counts the steps, so that a file that was cut is known as one. Vectors
and indexes are not in it: whoever reads it makes them, with an embedder of its own.

More than 400 lines because what is written and what is read of it stand beside each other.
"""

from __future__ import annotations

import base64
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import pairwise
from typing import NamedTuple

from stitch.core import Redaction, Rejection, Step, StepLabels, StepState, Trust
from stitch.core.progress import counted
from stitch.errors import InputError, StepRejectedError, no_trajectory
from stitch.ingest.ingestor import Ingestor
from stitch.ingest.redact import redact_labels
from stitch.ingest.state import BATCH_STEPS, chunks
from stitch.journal import Checkpoint, Entry, Journal, KeptStep
from stitch.journal.entries import encode_labels, encode_step, read_retirement
from stitch.lifecycle.erase import take_out
from stitch.lifecycle.export_schema import (
    EXPORT_VERSION,
    BranchLine,
    CommitLine,
    End,
    Head,
    Line,
    RevisionLine,
    SessionLine,
    StepLine,
    TrajectoryLine,
    TreeLine,
    dump_line,
    dump_step,
    parse_line,
)
from stitch.lifecycle.repair import lists
from stitch.lifecycle.tree_transfer import TreeImport, tree_lines

_MOST_MISSING = 10_000

_WAITS = "it waited for its labels when it was exported"


class Imported(NamedTuple):
    """What became of the lines of an export."""

    steps: int
    """How many were not there before."""
    known: int
    """How many were there already, word for word."""
    trajectories: int
    """How many the lines spoke of."""
    rejections: tuple[Rejection, ...]
    """The lines that could not be used, each with its number; all others were."""
    erased: int = 0
    """How many steps were erased here, and are not taken in."""
    failed: int = 0
    """How many of those taken in could not be labeled or stored here: they are kept, and `retry` tries them again."""
    trees: int = 0
    """How many trees were not there before."""


class _Found(NamedTuple):
    """A step line with where it stands."""

    line: int
    step: StepLine
    seq: int = 0
    """Its number in the journal, unless another step takes it meanwhile."""


def export_lines(journal: Journal, *, tenant: str, trajectory: str | None = None) -> Iterator[str]:
    """Yield a tenant's memory, or one trajectory of it, as lines of JSON without line ends.

    Equal memories give equal lines. Steps that are accepted meanwhile may be among them or not.

    Raises:
        InputError: There is no such trajectory.
    """
    known = journal.trajectories(tenant)
    names = [name for name in known if trajectory in (None, name)]
    if trajectory is not None and not names:
        raise no_trajectory(trajectory, known)
    yield dump_line("memory", schema_version=EXPORT_VERSION, tenant=tenant)
    lengths, gaps = _lengths_and_gaps(journal, tenant=tenant, trajectory=trajectory)
    for name in names:
        missing = {"gaps": gaps[name]} if gaps.get(name) else {}
        yield dump_line("trajectory", trajectory=name, length=lengths.get(name, 0), **missing)
    steps = 0
    for kept in counted(
        journal.kept(tenant, trajectory), "steps written", of=lambda: sum(each.steps for each in names)
    ):
        steps += 1
        yield dump_step(kept)
    for name in names:
        if checkpoint := journal.checkpoint(tenant, name):
            yield dump_line(
                "session", trajectory=name, labeler=checkpoint.labeler, position=checkpoint.position,
                session=base64.b64encode(checkpoint.session).decode(),
                inventory=checkpoint.inventory.model_dump(mode="json", exclude_defaults=True),
            )  # fmt: skip
    if trajectory is None:
        yield from tree_lines(journal, tenant=tenant)
    yield dump_line("end", steps=steps)


def import_lines(
    ingestor: Ingestor, lines: Iterable[str | bytes], *, tenant: str, source: str = "-", again: bool = False
) -> Imported:
    """Take in the lines of an export, as they were in the memory that they come from, under this tenant.

    Steps keep their places, clocks, labels and who made them, references, corrections with their history, failures and
    retirements; those that waited for labels there are labeled here. What is there already is left alone, so an
    interrupted import is taken up by repeating it.
    With `again` steps that were erased here are taken in.
    """
    run = _Import(ingestor, tenant, source, again=again)
    for batch in chunks(run.read(lines), BATCH_STEPS):
        run.store(batch)
    run.finish()
    return Imported(
        run.steps, run.known, len(run.trajectories), tuple(run.rejections), run.erased, run.failed(), run.trees.trees
    )


class _Places:
    """Where the steps of a trajectory may stand: one after the other, save for the gaps that the export names.

    They need not come in order: what an interrupted import left out was accepted later.

    Args:
        said: What the export says of the trajectory. If it does not say its length, as before version 3, or says
            nothing, each step may stand up to 10,000 places behind the last one.
    """

    def __init__(self, said: TrajectoryLine | None = None) -> None:
        told = said is not None and said.length is not None
        self._bounds = [bound for gap in said.gaps for bound in gap] if said else []
        self._end = (said.length if said else None) or 0
        self._most_missing = 0 if told else _MOST_MISSING

    def take(self, position: int) -> bool:
        """Whether a step may stand there."""
        empty = bisect_right(self._bounds, position) % 2 == 1
        if empty or position > self._end + self._most_missing:
            return False
        self._end = max(self._end, position + 1)
        return True


class _Import:
    def __init__(self, ingestor: Ingestor, tenant: str, source: str, *, again: bool) -> None:
        self.steps = self.known = self.erased = 0
        self._again = again
        self.trees = TreeImport(ingestor, tenant=tenant)
        self.trajectories: dict[str, None] = {}
        self.rejections: list[Rejection] = []
        self._ingestor, self._tenant, self._source = ingestor, tenant, source
        self._sessions: list[tuple[int, SessionLine]] = []
        self._waiting: dict[str, None] = {}
        self._places: dict[str, _Places] = {}
        self._trusts: dict[tuple[str, str | None], Trust] = {}
        self._failed = False
        self._to_store = set[tuple[str, str]]()
        self._incomplete: set[str] = set()
        self._gone: dict[str, list[Entry]] = {}

    def read(self, lines: Iterable[str | bytes]) -> Iterator[_Found]:
        """Yield the steps; take note of all else."""
        number = found = 0
        ended = False
        for number, line in enumerate(lines, start=1):
            text = line.decode("utf-8", "replace") if isinstance(line, bytes) else line
            if not text.strip():
                continue
            if ended:
                self._reject(number, "it stands after the end", text)
                continue
            parsed = self._parsed(number, text)
            if parsed is None and number == 1:
                return
            if isinstance(parsed, StepLine):
                found += 1
                if self._has_place(number, parsed):
                    yield _Found(number, parsed)
            elif isinstance(parsed, End):
                ended = True
                if parsed.steps != found:
                    self._reject(number, f"{parsed.steps} steps were exported, and {found} could be read", "")
            elif parsed is not None:
                self._note(number, parsed)
        if not ended:
            self._incomplete.add("")
            self._reject(number + 1, "the export ends before its last line: it was cut", "")

    def _note(self, number: int, parsed: Line) -> None:
        """Take note of a line that is no step."""
        if isinstance(parsed, SessionLine):
            self._sessions.append((number, parsed))
        elif isinstance(parsed, TrajectoryLine):
            self._places.setdefault(parsed.trajectory, _Places(parsed))
            self._begin(parsed.trajectory)
        elif isinstance(parsed, TreeLine | CommitLine | BranchLine) and (reason := self.trees.take(parsed)):
            self._reject(number, reason, "")

    def _parsed(self, number: int, text: str) -> Line | None:
        """A line; None if it is none, or if it stands where another belongs."""
        try:
            parsed = parse_line(text)
        except ValueError as error:
            self._reject(number, str(error), text)
            self._incomplete.add("")
            return None
        if (number == 1) != isinstance(parsed, Head):
            self._reject(number, "the first line of an export, and no other, names the format", text)
            return None
        return parsed

    def _has_place(self, number: int, line: StepLine) -> bool:
        """Whether a step stands where its trajectory has a place for it, by the lines before."""
        if self._places.setdefault(line.trajectory, _Places()).take(line.position):
            return True
        reason = f"position {line.position} is none of trajectory {line.trajectory!r}, by its other lines"
        self._reject(number, reason, line.step.content, trajectory=line.trajectory)
        return False

    def store(self, batch: list[_Found]) -> None:
        """Write a batch of steps into the journal, and then into the store."""
        groups: dict[str, list[_Found]] = {}
        first = self._ingestor.journal.take_seqs(len(batch))
        for seq, each in enumerate(batch, start=first):
            groups.setdefault(each.step.trajectory, []).append(each._replace(seq=seq))
        for name, group in groups.items():
            self._begin(name)

            self._ingestor.rework(self._tenant, name, partial(self._write, group))  # puts what was labeled
            self._failed |= any(each.step.state is StepState.FAILED for each in group)

    def finish(self) -> None:
        """Keep what the labeling remembered where nothing is amiss; label what waited, and put what had failed."""
        journal = self._ingestor.journal
        for name, gone in self._gone.items():
            self._ingestor.rework(self._tenant, name, partial(self._clean, name, gone))
        for line, session in self._sessions:
            name = session.trajectory
            complete = self._incomplete.isdisjoint(("", name))
            if not complete or journal.checkpoint(self._tenant, name):
                continue  # it is taken from steps and labels again when it is needed
            if not self._fits(session) or not self._can_go_on(session):
                self._reject(line, f"what was remembered of trajectory {name!r} does not fit its steps", "")
                continue
            self._keep(session)
        for name in self._waiting:
            self._ingestor.finish(self._tenant, name)
        for name in self.trajectories:  # or the first search would learn all of them
            self._ingestor.learn(self._tenant, name, left=0)
        if self._failed:
            self._ingestor.snippets.put_missing(journal.every_entry(self._tenant))
        journal.drop_empty(self._tenant)

    def failed(self) -> int:
        """How many steps that had not failed where they come from have failed here."""
        failed = self._ingestor.receipts(self._tenant, state=StepState.FAILED) if self._to_store else ()
        return sum((each.trajectory, each.step) in self._to_store for each in failed)

    def _clean(self, name: str, gone: list[Entry]) -> None:
        """Take out of what came in with steps that were erased here what it has from them."""
        take_out(self._ingestor.journal, [], gone, tenant=self._tenant, trajectory=name)

    def _fits(self, session: SessionLine) -> bool:
        """Whether what was remembered is of the steps that are here."""
        journal, name = self._ingestor.journal, session.trajectory
        if session.position > journal.labeled(self._tenant, name):
            return False
        entries = journal.entries(self._tenant, name, stop=session.position)
        labeled = [each.labels for each in entries if each.labels is not None]
        vocabulary = session.inventory.vocabulary()
        labels = {label for made in labeled for label in made.intent.labels()}
        known = all(lists(session.inventory, label, vocabulary=vocabulary) for label in labels)
        return known and session.inventory.steps == len(labeled)

    def _can_go_on(self, session: SessionLine) -> bool:
        if session.labeler != self._ingestor.labeler.name:
            return True
        try:
            self._ingestor.labeler.begin(session.trajectory, session.session).inventory()
        except Exception:  # noqa: BLE001  what a labeler makes of bytes that it did not write is anything
            return False
        return True

    def _keep(self, session: SessionLine) -> None:
        def change() -> None:
            checkpoint = Checkpoint(session.labeler, session.position, session.session, session.inventory)
            self._ingestor.journal.save_checkpoint(self._tenant, session.trajectory, checkpoint)

        self._ingestor.rework(self._tenant, session.trajectory, change)

    def _begin(self, name: str) -> None:
        if name in self.trajectories:
            return
        self.trajectories[name] = None
        self._ingestor.journal.begin(self._tenant, name)

    def _write(self, group: list[_Found]) -> None:
        kept = []
        for found in group:
            try:
                kept.append((found, self._kept(found)))
            except InputError as error:
                self._reject(found.line, error.message, found.step.step.content, trajectory=found.step.trajectory)
        results = self._ingestor.journal.restore([each for _, each in kept], tenant=self._tenant, again=self._again)
        for (found, each), result in zip(kept, results, strict=True):
            if isinstance(result, StepRejectedError):
                self._reject(found.line, result.message, found.step.step.content, trajectory=each.trajectory)
            elif result.state is StepState.ERASED:
                self.erased += 1
                self._gone.setdefault(each.trajectory, []).append(result)
                self._incomplete.add(each.trajectory)  # what was remembered of it still holds the step
            elif result.repeated:
                self.known += 1
            else:
                self.steps += 1
                if found.step.state is not StepState.FAILED:
                    self._to_store.add((each.trajectory, result.id))

    def _kept(self, found: _Found) -> KeptStep:
        """A line as the journal keeps it."""
        line = found.step
        labels = self._with_no_more_trust(line)
        step, made, taken_out = self._without_secrets(line.step, labels, line.trajectory)
        payload, _ = encode_step(step, max_chars=self._ingestor.journal.max_step_chars)
        state, reason = self._state(line)
        retired_at = line.retired_at
        if state is StepState.RETIRED and retired_at is None:
            retired_at, reason = read_retirement(reason)
        return KeptStep(
            found.seq, line.trajectory, line.position, line.recorded, bytes.fromhex(line.digest), payload,
            None if made is None else encode_labels(made, step=str(step.id)), state, reason, retired_at,
            tuple(self._revision(revision, line.trajectory) for revision in line.history),
            (*line.redactions, *taken_out),
        )  # fmt: skip

    def _with_no_more_trust(self, line: StepLine) -> StepLabels | None:
        """The labels of a step, trusted no more than the step and those of which they took words."""
        name, own = line.trajectory, line.step.whence().trust
        self._trusts[name, line.step.id] = own
        labels = line.labels
        if labels is None or labels.trust is None:
            return labels
        named = (self._trusts.get((name, each.antecedent)) for each in labels.references if each.antecedent)
        most = min([own, *(trust for trust in named if trust is not None)])
        return labels if labels.trust <= most else labels.model_copy(update={"trust": most})

    def _without_secrets(
        self, step: Step, labels: StepLabels | None, trajectory: str
    ) -> tuple[Step, StepLabels | None, tuple[Redaction, ...]]:
        """A step, its labels without what quotes a text that is another now, and what was taken out."""
        if not self._ingestor.secrets.redacts:
            return step, labels, ()
        (clean,), found = self._ingestor.secrets.steps([step], tenant=self._tenant, trajectory=trajectory)
        if found and labels is not None:
            labels = StepLabels(intent=labels.intent, made_by=labels.made_by, trust=labels.trust)
        cleaned = labels and redact_labels(labels)
        if found or cleaned is not labels:
            self._incomplete.add(trajectory)  # what was remembered of it still holds the secret
        return clean, cleaned, tuple(found.get(0, ()))

    def _revision(self, revision: RevisionLine, trajectory: str) -> tuple[float, str, bytes, bytes | None]:
        step, labels, _ = self._without_secrets(revision.step, revision.labels, trajectory)
        payload, _ = encode_step(step, max_chars=self._ingestor.journal.max_step_chars)
        by = self._ingestor.secrets.text(revision.by)
        return revision.at, by, payload, None if labels is None else encode_labels(labels, step=str(step.id))

    def _state(self, each: StepLine) -> tuple[StepState, str]:
        """What to note of a step until it is put; steps without labels wait until all lines are read."""
        if each.state in (StepState.RETIRED, StepState.FAILED):
            return each.state, self._ingestor.secrets.text(each.reason)
        if each.labels is not None:
            return StepState.LABELED, ""
        self._waiting[each.trajectory] = None
        return StepState.FAILED, _WAITS

    def _reject(self, line: int, reason: str, text: str, *, trajectory: str = "") -> None:
        self._incomplete.add(trajectory)
        text = text.encode("utf-8", "replace").decode()
        self.rejections.append(Rejection(source=self._source, line=line, reason=reason, text=text.strip()[:200]))


def _lengths_and_gaps(
    journal: Journal, *, tenant: str, trajectory: str | None
) -> tuple[dict[str, int], dict[str, list[tuple[int, int]]]]:
    """How long each trajectory is, and its empty places: `TrajectoryLine.gaps`."""
    places: dict[str, list[int]] = {}
    for kept in journal.kept(tenant, trajectory):
        places.setdefault(kept.trajectory, []).append(kept.position)
    gaps = {
        name: [(before + 1, place) for before, place in pairwise([-1, *sorted(taken)]) if place > before + 1]
        for name, taken in places.items()
    }
    return {name: max(taken) + 1 for name, taken in places.items()}, gaps
