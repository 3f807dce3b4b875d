"""A tenant's memory as lines of JSON, which another memory reads without loss.

The first line names the format and its schema; then come the trajectories in the order in which they began, the steps
in the order of acceptance with all that the journal has of them, what the labeling of each trajectory remembers, and
the trees with all their versions; the last line counts the steps, so that a file that was cut is known as one. Vectors
and indexes are not in it: whoever reads it makes them, with an embedder of its own.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator
from functools import partial
from typing import NamedTuple

from stitch.core import Redaction, Rejection, Step, StepLabels, StepState, Trust
from stitch.core.json_text import json_lines
from stitch.core.progress import counted
from stitch.errors import InputError, JournalError, StepRejectedError, no_trajectory
from stitch.ingest.ingestor import Ingestor
from stitch.ingest.redact import redact_labels
from stitch.ingest.state import BATCH_STEPS, chunks
from stitch.journal import Checkpoint, Entry, Journal, KeptStep
from stitch.journal.entries import KeptRevision, encode_labels, encode_step, read_retirement
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
from stitch.lifecycle.repair import inventory_disagreements
from stitch.lifecycle.tree_transfer import TreeImport, tree_lines

_WAITS = "it waited for its labels when it was exported"


class Imported(NamedTuple):
    """Results of an import."""

    steps: int
    """Number that were not there before."""
    known: int
    """Number that were there already, word for word."""
    trajectories: int
    """Number in the lines."""
    rejections: tuple[Rejection, ...]
    """The lines that could not be used, each with its number; all others were."""
    erased: int = 0
    """How many steps were erased here, and are not taken in."""
    failed: int = 0
    """How many of those taken in could not be labeled or stored here: they are kept, and `retry` tries them again."""
    trees: int = 0
    """How many trees were not there before."""


class _NumberedLine(NamedTuple):
    """A line of a step with where it stands."""

    line: int
    step: StepLine


def export_lines(journal: Journal, *, tenant: str, trajectory: str | None = None) -> Iterator[str]:
    """Yield a tenant's memory, or one trajectory of it, as lines of JSON without line ends.

    Equal memories give equal lines. Steps that are accepted meanwhile may be among them or not.

    Raises:
        InputError: There is no such trajectory.
        JournalError: Steps are not as they were written: who reads the lines would take them for what was said.
    """
    known = journal.trajectories(tenant)
    names = [name for name in known if trajectory in (None, name)]
    if trajectory is not None and not names:
        raise no_trajectory(trajectory, known)
    if damaged := [each for each in journal.damaged(tenant) if trajectory in (None, each.trajectory)]:
        first = f"step {damaged[0].step!r} of trajectory {damaged[0].trajectory!r}"
        more = f" and {len(damaged) - 1} more" if len(damaged) > 1 else ""
        raise JournalError(
            f"{first}{more} cannot be exported: not as written in the journal",
            hint="`stitch verify --repair` takes the copy in the store if it is right; a backup keeps all as it is",
        )
    yield dump_line("memory", schema_version=EXPORT_VERSION, tenant=tenant)
    for name in names:
        yield dump_line("trajectory", trajectory=name)
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
    ingestor: Ingestor, lines: Iterable[str | bytes] | bytes, *, tenant: str, source: str = "-", again: bool = False
) -> Imported:
    """Take in the lines of an export under this tenant; see `Lifecycle.import_lines`.

    Steps keep all that the journal had of them; those that waited for labels there are labeled here.
    """
    run = _Import(ingestor, tenant, source, again=again)
    for batch in chunks(run.read(lines), BATCH_STEPS):
        run.store(batch)
    return run.finish()


class _Import:
    def __init__(self, ingestor: Ingestor, tenant: str, source: str, *, again: bool) -> None:
        self.steps = self.known = self.erased = 0
        self.trees = TreeImport(ingestor, tenant=tenant)
        self.trajectories: dict[str, None] = {}
        self.rejections: list[Rejection] = []
        self._ingestor, self._journal, self._secrets = ingestor, ingestor.journal, ingestor.secrets
        self._tenant, self._source, self._again = tenant, source, again
        self._sessions: list[tuple[int, SessionLine]] = []
        self._trusts: dict[tuple[str, str | None], Trust] = {}
        self._waiting: dict[str, None] = {}
        """Trajectories with steps that are labeled when all lines are read."""
        self._failed: list[int] = []
        """Steps that had failed where they come from, by `Entry.seq`: they are put without labels."""
        self._to_store = set[tuple[str, str]]()
        self._gone: dict[str, list[Entry]] = {}
        self._changed = set[str]()
        """Trajectories of which something comes in otherwise than it was, all if "": they are learnt anew."""

    def read(self, lines: Iterable[str | bytes] | bytes) -> Iterator[_NumberedLine]:
        """Yield the steps; take note of all else."""
        number = found = 0
        ended = False
        for number, line in enumerate(json_lines(lines), start=1):
            text = line.decode("utf-8", "replace") if isinstance(line, bytes) else line
            if not text.strip():
                continue
            if ended:
                self._reject(number, "it stands after the end", text)
                continue
            try:
                parsed = parse_line(text)
                if (number == 1) != isinstance(parsed, Head):
                    raise ValueError("the first line of an export, and no other, names the format")
            except ValueError as error:
                self._reject(number, str(error), text)
                if number == 1:
                    return
                continue
            if isinstance(parsed, StepLine):
                found += 1
                yield _NumberedLine(number, parsed)
            elif isinstance(parsed, End):
                ended = True
                if parsed.steps != found:
                    self._reject(number, f"{parsed.steps} steps were exported, and {found} could be read")
            else:
                self._note(number, parsed)
        if not ended:
            self._reject(number + 1, "the export ends before its last line: it was cut")

    def _note(self, number: int, parsed: Line) -> None:
        """Take note of a line that is no step."""
        if isinstance(parsed, SessionLine):
            self._sessions.append((number, parsed))
        elif isinstance(parsed, TrajectoryLine):
            self.trajectories[parsed.trajectory] = None
        elif isinstance(parsed, TreeLine | CommitLine | BranchLine) and (reason := self.trees.take(parsed)):
            self._reject(number, reason)

    def store(self, batch: list[_NumberedLine]) -> None:
        """Write a batch of steps into the journal, and then into the store."""
        first = self._journal.take_seqs(len(batch))
        groups: dict[str, dict[int, _NumberedLine]] = {}
        for seq, found in enumerate(batch, start=first):
            groups.setdefault(found.step.trajectory, {})[seq] = found
        for name, group in groups.items():
            self.trajectories[name] = None
            self._ingestor.rework(self._tenant, name, partial(self._write, group))  # puts what was labeled

    def finish(self) -> Imported:
        """Keep what the labeling remembered where nothing is amiss; label what waited, and put what had failed."""
        for name, gone in self._gone.items():  # what came in with steps that were erased here has something from them
            clean = partial(take_out, self._journal, [], gone, tenant=self._tenant, trajectory=name)
            self._ingestor.rework(self._tenant, name, clean)
        for line, session in self._sessions:
            name = session.trajectory
            if not self._changed.isdisjoint(("", name)) or self._journal.checkpoint(self._tenant, name):
                continue  # it is taken from steps and labels again when it is needed
            if not self._keep(session):
                reason = f"what was remembered of trajectory {name!r} does not fit its steps"
                self._reject(line, reason, trajectory=name)
        for name in self._waiting:
            self._ingestor.worker.finish(self._tenant, name)
        for name in self.trajectories:  # or the first search would learn all of them
            self._ingestor.states.replay(self._tenant, name, left=0)
        self._ingestor.snippets.bring_up(self._failed)
        failed = self._ingestor.receipts(self._tenant, state=StepState.FAILED) if self._to_store else ()
        new = sum((each.trajectory, each.step) in self._to_store for each in failed)  # which failed here alone
        return Imported(
            self.steps, self.known, len(self.trajectories), tuple(self.rejections), self.erased, new, self.trees.trees
        )

    def _keep(self, session: SessionLine) -> bool:
        """Keep what was remembered of a trajectory, if its steps are here and the labeler can go on from it."""
        tenant, name, journal, labeler = self._tenant, session.trajectory, self._journal, self._ingestor.labeler
        entries = journal.entries(tenant, name, stop=session.position)
        if session.position > journal.labeled(tenant, name) or any(
            inventory_disagreements(session.inventory, entries, trajectory=name)
        ):
            return False
        try:
            if session.labeler == labeler.name:
                labeler.begin(name, session.session).inventory()
        except Exception:  # noqa: BLE001  what a labeler makes of bytes that it did not write is anything
            return False
        made = Checkpoint(session.labeler, session.position, session.session, session.inventory)
        self._ingestor.rework(tenant, name, partial(journal.save_checkpoint, tenant, name, made))
        return True

    def _write(self, group: dict[int, _NumberedLine]) -> None:
        kept: list[tuple[_NumberedLine, KeptStep]] = []
        for seq, found in group.items():
            try:
                kept.append((found, self._kept(seq, found.step)))
            except InputError as error:
                self._reject(found.line, error.message, found.step.step.content, trajectory=found.step.trajectory)
        results = self._journal.restore([each for _, each in kept], tenant=self._tenant, again=self._again)
        for (found, each), result in zip(kept, results, strict=True):
            if isinstance(result, StepRejectedError):
                self._reject(found.line, result.message, found.step.step.content, trajectory=each.trajectory)
                continue
            if result.state is StepState.ERASED:
                self.erased += 1
                self._changed.add(each.trajectory)  # what was remembered of it still holds the step
                self._gone.setdefault(each.trajectory, []).append(result)
                continue
            self.known, self.steps = self.known + result.repeated, self.steps + (not result.repeated)
            if found.step.state is StepState.FAILED:
                self._failed.append(result.seq)
            elif not result.repeated:
                self._to_store.add((each.trajectory, result.id))

    def _kept(self, seq: int, line: StepLine) -> KeptStep:
        """A line as the journal keeps it."""
        step, made, taken_out = self._without_secrets(line.step, self._with_no_more_trust(line), line.trajectory)
        state, reason = self._state(line)
        retired_at = line.retired_at
        if state is StepState.RETIRED and retired_at is None:
            retired_at, reason = read_retirement(reason)
        history = tuple(self._revision(each, line.trajectory) for each in line.history)
        return KeptStep(
            seq, line.trajectory, line.position, line.recorded, bytes.fromhex(line.digest), *self._encoded(step, made),
            state, reason, retired_at, history, (*line.redactions, *taken_out),
        )  # fmt: skip

    def _encoded(self, step: Step, labels: StepLabels | None) -> tuple[bytes, bytes | None]:
        payload, _ = encode_step(step, max_chars=self._journal.max_step_chars)
        return payload, None if labels is None else encode_labels(labels, step=str(step.id))

    def _revision(self, revision: RevisionLine, trajectory: str) -> KeptRevision:
        step, labels, _ = self._without_secrets(revision.step, revision.labels, trajectory)
        return KeptRevision(0, revision.at, self._secrets.clean(revision.by), *self._encoded(step, labels))

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
        if not self._secrets.redacts:
            return step, labels, ()
        (clean,), found = self._secrets.steps([step], tenant=self._tenant, trajectory=trajectory)
        if found and labels is not None:
            labels = StepLabels(intent=labels.intent, made_by=labels.made_by, trust=labels.trust)
        cleaned = labels and redact_labels(labels)
        if found or cleaned is not labels:
            self._changed.add(trajectory)  # what was remembered of it still holds the secret
        return clean, cleaned, tuple(found.get(0, ()))

    def _state(self, line: StepLine) -> tuple[StepState, str]:
        """The state of a step until it is put; steps without labels wait until all lines are read."""
        if line.state in (StepState.RETIRED, StepState.FAILED):
            return line.state, self._secrets.clean(line.reason)
        if line.labels is not None:
            return StepState.LABELED, ""
        self._waiting[line.trajectory] = None
        return StepState.FAILED, _WAITS

    def _reject(self, line: int, reason: str, text: str = "", *, trajectory: str = "") -> None:
        self._changed.add(trajectory)
        text = text.encode("utf-8", "replace").decode()
        self.rejections.append(Rejection(source=self._source, line=line, reason=reason, text=text.strip()[:200]))
