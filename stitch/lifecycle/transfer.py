"""A tenant's memory as lines of JSON, which another memory reads without loss.

The first line names the format and its schema; then come the trajectories in the order in which they began, the steps
in the order of acceptance with all that the journal has of them, and what the labeling of each trajectory remembers;
the last line counts the steps, so that a file that was cut is known as one. Vectors and indexes are not in it: whoever
reads it makes them, with an embedder of its own.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from stitch.core import SCHEMA_VERSION, Redaction, Rejection, Step, StepLabels, StepState
from stitch.errors import InputError, no_trajectory
from stitch.ingest.ingestor import Ingestor
from stitch.ingest.secrets import redact_steps
from stitch.ingest.state import BATCH_STEPS, chunks
from stitch.journal.entries import Checkpoint, encode_labels, encode_step
from stitch.journal.sqlite import Journal
from stitch.lifecycle.export_schema import (
    End,
    Head,
    RevisionLine,
    SessionLine,
    StepLine,
    TrajectoryLine,
    dump_line,
    parse_line,
)

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


class _Found(NamedTuple):
    """A step line with where it stands."""

    line: int
    step: StepLine
    seq: int = 0
    """Its number in the journal, unless another step takes it meanwhile."""


def export_lines(journal: Journal, *, tenant: str, trajectory: str | None = None) -> Iterator[str]:
    """Yield a tenant's memory, or one trajectory of it, as lines of JSON without line ends.

    Equal memories give equal lines. Steps that are accepted meanwhile may be among them or not.

    Args:
        journal: Of the memory.
        tenant: Whose; nothing of another is read.
        trajectory: Only this one.

    Raises:
        InputError: There is no such trajectory.
    """
    known = journal.trajectories(tenant)
    names = [name for name in known if trajectory in (None, name)]
    if trajectory is not None and not names:
        raise no_trajectory(trajectory, known)
    yield dump_line("memory", schema_version=SCHEMA_VERSION, tenant=tenant)
    for name in names:
        yield dump_line("trajectory", trajectory=name)
    steps, last = 0, 0
    redactions = journal.redactions(tenant)
    while rows := journal.rows(_ROWS, last, tenant, trajectory, trajectory, BATCH_STEPS):
        last = rows[-1][0]
        revisions = _revisions(journal, [row[0] for row in rows if row[-1]])
        for seq, name, position, recorded, digest, payload, state, reason, labels, _ in rows:
            steps += 1
            fields: dict[str, Any] = {
                "trajectory": name, "position": position, "recorded": recorded, "state": state,
                "digest": digest.hex(), "step": json.loads(payload),
            }  # fmt: skip
            if reason:
                fields["reason"] = reason
            if labels is not None:
                fields["labels"] = json.loads(labels)
            if seq in revisions:
                fields["history"] = revisions[seq]
            if seq in redactions:
                fields["redactions"] = [each.model_dump() for each in redactions[seq]]
            yield dump_line("step", **fields)
    for name in names:
        if checkpoint := journal.checkpoint(tenant, name):
            yield dump_line(
                "session", trajectory=name, labeler=checkpoint.labeler, position=checkpoint.position,
                session=base64.b64encode(checkpoint.session).decode(),
                inventory=checkpoint.inventory.model_dump(mode="json", exclude_defaults=True),
            )  # fmt: skip
    yield dump_line("end", steps=steps)


def import_lines(ingestor: Ingestor, lines: Iterable[str | bytes], *, tenant: str, source: str = "-") -> Imported:
    """Take in the lines of an export, as they were in the memory that they come from, under this tenant.

    Steps keep their places, clocks, labels and who made them, references, corrections with their history, failures and
    retirements; those that waited for labels there are labeled here. What is there already is left alone, so an
    interrupted import is taken up by repeating it.

    Args:
        ingestor: Of the memory that takes them in.
        lines: With or without line ends.
        tenant: Whose they become, whatever the tenant was called there.
        source: Where they come from, for rejections.
    """
    run = _Import(ingestor, tenant, source)
    for batch in chunks(run.read(lines), BATCH_STEPS):
        run.store(batch)
    run.finish()
    return Imported(run.steps, run.known, len(run.trajectories), tuple(run.rejections))


class _Import:
    def __init__(self, ingestor: Ingestor, tenant: str, source: str) -> None:
        self.steps = self.known = 0
        self.trajectories: dict[str, None] = {}
        self.rejections: list[Rejection] = []
        self._ingestor, self._tenant, self._source = ingestor, tenant, source
        self._sessions: list[tuple[int, SessionLine]] = []
        self._waiting: dict[str, None] = {}
        self._failed = False
        self._incomplete: set[str] = set()

    def read(self, lines: Iterable[str | bytes]) -> Iterator[_Found]:
        """Yield the steps; take note of all else."""
        number = found = 0
        ended = False
        for number, line in enumerate(lines, start=1):
            text = line.decode("utf-8", "replace") if isinstance(line, bytes) else line
            if ended or not text.strip():
                if text.strip():
                    self._reject(number, "it stands after the end", text)
                continue
            try:
                parsed = parse_line(text)
            except ValueError as error:
                self._reject(number, str(error), text)
                self._incomplete.add("")
                if number == 1:
                    return
                continue
            if (number == 1) != isinstance(parsed, Head):
                self._reject(number, "the first line of an export, and no other, names the format", text)
                if number == 1:
                    return
            elif isinstance(parsed, TrajectoryLine):
                self._begin(parsed.trajectory)
            elif isinstance(parsed, SessionLine):
                self._sessions.append((number, parsed))
            elif isinstance(parsed, End):
                ended = True
                if parsed.steps != found:
                    self._reject(number, f"{parsed.steps} steps were exported, and {found} could be read", "")
            elif isinstance(parsed, StepLine):
                found += 1
                yield _Found(number, parsed)
        if not ended:
            self._incomplete.add("")
            self._reject(number + 1, "the export ends before its last line: it was cut", "")

    def store(self, batch: list[_Found]) -> None:
        """Write a batch of steps into the journal, and then into the store."""
        groups: dict[str, list[_Found]] = {}
        first = self._ingestor.journal.take_seqs(len(batch))
        for seq, each in enumerate(batch, start=first):
            groups.setdefault(each.step.trajectory, []).append(each._replace(seq=seq))
        for name, group in groups.items():
            self._begin(name)

            def change(name: str = name, group: list[_Found] = group) -> None:
                self._write(name, group)

            self._ingestor.rework(self._tenant, name, change)  # puts what was labeled
            self._failed |= any(each.step.state is StepState.FAILED for each in group)

    def finish(self) -> None:
        """Keep what the labeling remembered where nothing is amiss; label what waited, and put what had failed."""
        journal = self._ingestor.journal
        for line, session in self._sessions:
            name = session.trajectory
            complete = self._incomplete.isdisjoint(("", name))
            if not complete or journal.checkpoint(self._tenant, name):
                continue  # it is taken from steps and labels again when it is needed
            if session.position > journal.labeled(self._tenant, name) or not self._can_go_on(session):
                self._reject(line, f"what was remembered of trajectory {name!r} does not fit its steps", "")
                continue
            self._keep(session)
        for name in self._waiting:
            self._ingestor.finish(self._tenant, name)
        if self._failed:
            self._ingestor.reindex(self._ingestor.store, tenant=self._tenant)
        with journal.transaction() as db:
            db.execute(
                "DELETE FROM trajectories WHERE tenant = ?"
                " AND NOT EXISTS (SELECT 1 FROM steps WHERE steps.trajectory = trajectories.number)",
                (self._tenant,),
            )

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
        with self._ingestor.journal.transaction() as db:
            db.execute(
                "INSERT OR IGNORE INTO trajectories SELECT coalesce(max(number), 0) + 1, ?, ? FROM trajectories",
                (self._tenant, name),
            )

    def _write(self, name: str, group: list[_Found]) -> None:
        journal = self._ingestor.journal
        with journal.transaction() as db:
            (number,) = db.execute(
                "SELECT number FROM trajectories WHERE tenant = ? AND name = ?", (self._tenant, name)
            ).fetchone()
            for line, each, seq in group:
                try:
                    step, made, found = self._without_secrets(each.step, each.labels, name)
                    payload, _ = encode_step(step, max_chars=journal.max_step_chars)
                    revisions = [self._revision(revision, name) for revision in each.history]
                except InputError as error:
                    self._reject(line, error.message, each.step.content, trajectory=name)
                    continue
                digest = bytes.fromhex(each.digest)
                held = db.execute(
                    "SELECT step, position, digest FROM steps WHERE trajectory = ? AND (step = ? OR position = ?)",
                    (number, step.id, each.position),
                ).fetchall()
                if held == [(step.id, each.position, digest)]:
                    self.known += 1
                    continue
                if held:
                    reason = f"trajectory {name!r} has other steps here than there: step {held[0][0]!r} is in its place"
                    self._reject(line, reason, each.step.content, trajectory=name)
                    continue
                row = (seq, number, each.position, step.id, each.recorded, digest, payload)
                db.execute("INSERT INTO steps VALUES (?, ?, ?, ?, ?, ?, ?)", row)
                db.execute("INSERT INTO states VALUES (?, ?, ?)", (seq, *self._state(each)))
                if made is not None:
                    db.execute("INSERT INTO labels VALUES (?, ?)", (seq, encode_labels(made, step=str(step.id))))
                db.executemany(
                    "INSERT INTO history (seq, at, made_by, payload, labels) VALUES (?, ?, ?, ?, ?)",
                    [(seq, *revision) for revision in revisions],
                )
                db.executemany(
                    "INSERT INTO redactions (seq, kind, count, place) VALUES (?, ?, ?, ?)",
                    [(seq, taken.kind, taken.count, taken.place) for taken in (*each.redactions, *found)],
                )
                self.steps += 1

    def _without_secrets(
        self, step: Step, labels: StepLabels | None, trajectory: str
    ) -> tuple[Step, StepLabels | None, tuple[Redaction, ...]]:
        """A step, its labels without what quotes a text that is another now, and what was taken out."""
        if not self._ingestor.redacts:
            return step, labels, ()
        (clean,), found = redact_steps([step], tenant=self._tenant, trajectory=trajectory)
        if found and labels is not None:
            labels = labels.model_copy(update={"references": (), "mentions": (), "summary": "", "context": ""})
        return clean, labels, found.get(0, ())

    def _revision(self, revision: RevisionLine, trajectory: str) -> tuple[float, str, bytes, bytes | None]:
        step, labels, _ = self._without_secrets(revision.step, revision.labels, trajectory)
        payload, _ = encode_step(step, max_chars=self._ingestor.journal.max_step_chars)
        return revision.at, revision.by, payload, None if labels is None else encode_labels(labels, step=str(step.id))

    def _state(self, each: StepLine) -> tuple[str, str]:
        """What to note of a step until it is put; steps without labels wait until all lines are read."""
        if each.state in (StepState.RETIRED, StepState.FAILED):
            return each.state.value, each.reason
        if each.labels is not None:
            return StepState.LABELED.value, ""
        self._waiting[each.trajectory] = None
        return StepState.FAILED.value, _WAITS

    def _reject(self, line: int, reason: str, text: str, *, trajectory: str = "") -> None:
        self._incomplete.add(trajectory)
        text = text.encode("utf-8", "replace").decode()
        self.rejections.append(Rejection(source=self._source, line=line, reason=reason, text=text.strip()[:200]))


_ROWS = """
SELECT s.seq, t.name, s.position, s.recorded, s.digest, s.payload, states.state, states.reason, labels.labels,
       EXISTS (SELECT 1 FROM history h WHERE h.seq = s.seq)
FROM steps s JOIN trajectories t ON t.number = s.trajectory JOIN states USING (seq) LEFT JOIN labels USING (seq)
WHERE s.seq > ? AND t.tenant = ? AND (? IS NULL OR t.name = ?) ORDER BY s.seq LIMIT ?
"""


def _revisions(journal: Journal, seqs: list[int]) -> dict[int, list[dict[str, Any]]]:
    found: dict[int, list[dict[str, Any]]] = {}
    query = (
        "SELECT seq, at, made_by, payload, labels FROM history"
        " WHERE seq IN (SELECT value FROM json_each(?)) ORDER BY number"
    )
    for seq, at, by, payload, labels in journal.rows(query, json.dumps(seqs)) if seqs else ():
        revision = {"at": at, "by": by, "step": json.loads(payload)}
        found.setdefault(seq, []).append(revision if labels is None else {**revision, "labels": json.loads(labels)})
    return found
