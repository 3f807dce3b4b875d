"""A process that works on a memory until it is killed, and looks first at what the one before it has left.

Each operation is acknowledged on standard output when it is done; what is wrong after a restart is said there too.
"""

import hashlib
import json
import os
import random
import shutil
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from doubles.labeling import ScriptedLabeler
from stitch import parts
from stitch.core import LabelKind, LabelMerge, LabelsMerged, MemoryEvent, Step, StepState
from stitch.core.retention import RetentionRule
from stitch.ingest import Ingestor
from stitch.journal import Journal
from stitch.journal import journal as journal_module
from stitch.journal.sqlite_file import SqliteFile
from stitch.lifecycle import erase as erasing
from stitch.lifecycle.backup import back_up, check_backup
from stitch.lifecycle.correct import Changes, correct, history
from stitch.lifecycle.erase import erase, finish_purge
from stitch.lifecycle.folder import finish_move
from stitch.lifecycle.relabel import relabel
from stitch.lifecycle.repair import rebuild, verify
from stitch.lifecycle.retention import expire, retire
from stitch.lifecycle.selection import Selector, select
from stitch.lifecycle.transfer import export_lines, import_lines
from stitch.maintenance import reindex_memory, restore_memory
from stitch.observe import Observers, TraceObserver
from stitch.store import QdrantStore
from stitch.testing.hashing import HashingEmbedder

TENANTS = ("a", "b")
TRAJECTORIES = ("t", "u")
BATCH = 4
FIRST_KINDS = ("add",) * 4
KINDS = (
    *("add",) * 7, *("correct",) * 2, *("retire",) * 2, "erase", "expire", "relabel", *("flush",) * 2,
    *("merge",) * 2, "import", "backup", "restore", "repair", "reindex",
)  # fmt: skip
OPERATIONS = len(FIRST_KINDS) + len(KINDS)
LABELERS = ("scripted", "another")
RULES = (
    RetentionRule(event_type="why", older_than_days=1.0, action="retire"),
    RetentionRule(event_type="it", older_than_days=1.0, action="erase"),
)
LATER = 1_000_000.0
"""When rules are applied: everything is older than they allow."""
OTHER_DIMENSION = 32
MERGES = (
    LabelMerge(kind=LabelKind.EVENT_TYPE, alias="fetch", into="get", position=5),
    LabelMerge(kind=LabelKind.EVENT_TYPE, alias="take", into="get", position=11),
)
JOURNAL_METHODS = (
    "append_many", "record_labels", "record_stored", "record_failed", "save_checkpoint", "record_projected", "sync",
    "compact", "copy_to",
)  # fmt: skip
STORE_METHODS = ("put", "delete", "flush", "purge")


class Operation(NamedTuple):
    kind: str
    tenant: str
    trajectory: str
    first: int = 0
    """The first step added, or the one that is meant."""


def operations(work: int) -> list[Operation]:
    """What one workload does: always the same for the same seed."""
    chance = random.Random(work)
    added: dict[tuple[str, str], int] = {}
    todo = []
    for kind in (*FIRST_KINDS, *chance.sample(KINDS, len(KINDS))):
        tenant, trajectory = chance.choice(TENANTS), chance.choice(TRAJECTORIES)
        there = added.get((tenant, trajectory), 0)
        if kind == "add":
            added[tenant, trajectory] = there + BATCH
        todo.append(Operation(kind, tenant, trajectory, there if kind == "add" else chance.randrange(max(there, 1))))
    return todo


def canary(tenant: str, trajectory: str, number: int) -> str:
    return f"Quetzal{hashlib.md5(f'{tenant} {trajectory} {number}'.encode()).hexdigest()}"


def step(tenant: str, trajectory: str, number: int) -> Step:
    verb = ("Fetch", "It", "Take", "Get", "Why")[number % 5]
    return Step(role="user", content=f"{verb} costs {number} {canary(tenant, trajectory, number)}", id=str(number))


class Plan:
    """Where the process dies, and which boundaries there are."""

    def __init__(self, kill_at: list[tuple[str, str, int]], note: Path) -> None:
        self.operation = "opening"
        self.crossed: list[tuple[str, Counter[str]]] = []
        """What was done, and how often each boundary was crossed meanwhile."""
        self._kill_at, self._note = kill_at, note
        self.begin("opening")

    def begin(self, operation: str) -> None:
        self.operation = operation
        self.crossed.append((operation, Counter()))

    def cross(self, boundary: str) -> None:
        self.crossed[-1][1][boundary] += 1
        times = sum(crossed[boundary] for operation, crossed in self.crossed if operation == self.operation)
        if (boundary, self.operation, times) in self._kill_at:
            self._note.write_text(f"{boundary} ({self.operation})")
            os.kill(os.getpid(), signal.SIGKILL)

    def notice(self, event: MemoryEvent) -> None:
        if isinstance(event, LabelsMerged):
            self.cross("after merge_labels")


def watch(target: Any, plan: Plan, *methods: str) -> None:
    """Put a boundary before and after each call of these methods of a class, or functions of a module."""

    def watched(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any, **options: Any) -> Any:
            plan.cross(f"before {name}")
            result = call(*arguments, **options)
            plan.cross(f"after {name}")
            return result

        return run

    for name in methods:
        setattr(target, name, watched(name.lstrip("_"), getattr(target, name)))


def watch_everything(plan: Plan) -> None:
    """Put boundaries around what writes, in whichever journal, store or folder."""
    watch(QdrantStore, plan, *STORE_METHODS)
    watch(Journal, plan, *JOURNAL_METHODS)
    watch(Path, plan, "rename")
    watch(shutil, plan, "copyfileobj")
    watch(os, plan, "ftruncate")  # where a file that is rewritten in place is half old
    watch(journal_module, plan, "settle")
    watch(erasing, plan, "remove_mentions", "search_files")
    begin = SqliteFile.transaction

    @contextmanager
    def transaction(self: SqliteFile, **options: Any) -> Iterator[Any]:
        with begin(self, **options) as db:
            yield db
            plan.cross("before commit")
        plan.cross("after commit")

    setattr(SqliteFile, "transaction", transaction)  # noqa: B010 - as in `watch`


def open_ingestor(folder: Path, plan: Plan, *, labeler: str) -> Ingestor:
    embedder = HashingEmbedder(16)
    finish_move(folder)
    store = QdrantStore(folder, embedder_name=embedder.name, dimension=embedder.dimension)
    ingestor = Ingestor(
        journal=Journal(folder / "journal.sqlite"), store=store, embedder=embedder,
        labeler=ScriptedLabeler(merges=MERGES, name=labeler), clock=lambda: 1000.0, checkpoint_steps=10, flush_steps=30,
        live_sessions=2, observer=Observers([TraceObserver(folder / "trace.jsonl"), plan]),
    )  # fmt: skip
    ingestor.recover()
    if ingestor.journal.owes_purge():
        finish_purge(ingestor, folder=folder)
    return ingestor


def perform(ingestor: Ingestor, operation: Operation, *, folder: Path, number: int) -> None:
    """Do one operation; doing it again changes nothing."""
    kind, tenant, trajectory, first = operation
    chosen = Selector(trajectory=trajectory, step=str(first))
    if kind == "add":
        steps = [step(tenant, trajectory, n) for n in range(first, first + BATCH)]
        ingestor.add_many(steps, tenant=tenant, trajectory=trajectory)
    elif kind == "correct":
        for each in select(ingestor, chosen, tenant=tenant):
            states = {entry.id: entry.state for entry in ingestor.journal.entries(tenant, trajectory)}
            known = history(ingestor.journal, tenant=tenant, trajectory=trajectory, step=each.step)
            if states[each.step] is not StepState.RETIRED and not any(revision.by == str(number) for revision in known):
                right = Changes(labels={"scope": f"right {number}"})
                correct(ingestor, right, tenant=tenant, trajectory=trajectory, step=each.step, at=1.0, by=str(number))
    elif kind == "retire":
        retire(ingestor, select(ingestor, chosen, tenant=tenant), tenant=tenant, at=2.0, reason="old")
    elif kind == "erase":
        proof = erase(ingestor, select(ingestor, chosen, tenant=tenant), tenant=tenant, folder=folder).proof
        if proof.found:
            say(f"wrong: the proof of operation {number} found {proof.found}")
    elif kind == "expire":
        expired = expire(ingestor, RULES, tenant=tenant, folder=folder, now=LATER)
        if expired.proof is not None and expired.proof.found:
            say(f"wrong: the proof of operation {number} found {expired.proof.found}")
    elif kind == "relabel":
        relabel(ingestor, tenant=tenant)
    elif kind == "flush":
        ingestor.flush()
    elif kind == "merge":
        ingestor.inventory(tenant, trajectory)
        ingestor.inventory(tenant)
        ingestor.save()
    elif kind == "import":
        ingestor.save()
        if trajectory in ingestor.journal.trajectories(tenant):
            lines = list(export_lines(ingestor.journal, tenant=tenant, trajectory=trajectory))
            import_lines(ingestor, lines, tenant=f"{tenant}-{number}")
    elif kind == "backup":
        to = folder.parent / f"backup-{number}"
        if not to.exists():
            back_up(ingestor.journal, to=to, beside=folder, at=3.0)
        check_backup(to)
    elif kind == "restore":
        restore(ingestor, folder=folder, number=number)
    elif kind == "repair":
        ingestor.snippets.rebuild()
    else:
        rebuild(ingestor)


def restore(ingestor: Ingestor, *, folder: Path, number: int) -> None:
    """Make a memory of a backup and change its embedder; go on with what an earlier process has done of it."""
    saved, made = folder.parent / f"backup-{number}", folder.parent / f"restored-{number}"
    if not made.exists():
        if not saved.exists():
            back_up(ingestor.journal, to=saved, beside=folder, at=3.0)
        found = restore_memory(saved, memory=made)
        if found.disagreements:
            say(f"wrong: the restored memory has {found.disagreements} disagreements")
    reindex_memory(made, embedder_dimension=OTHER_DIMENSION)
    for problem in wrong_in(made):
        say(f"wrong: after operation {number}: {problem}")
    if left := [path.name for end in ("restoring", "partial") for path in folder.parent.glob(f"*.{end}")]:
        say(f"wrong: operation {number} left {left}")
    for each in (made, saved):
        each.replace(gone := each.with_name(f"{each.name}.gone"))
        shutil.rmtree(gone)


def wrong_in(folder: Path) -> Iterator[str]:
    """What does not agree in a memory that was restored and perhaps reindexed: it must open as one of both."""
    finish_move(folder)
    about = json.loads((folder / "store" / "store.json").read_text())
    embedder = HashingEmbedder(about["dimension"])
    with (
        closing(QdrantStore(folder, embedder_name=embedder.name, dimension=embedder.dimension)) as store,
        closing(Journal(folder / "journal.sqlite")) as journal,
    ):
        ingestor = Ingestor(journal=journal, store=store, embedder=embedder, labeler=ScriptedLabeler(name="none"))
        if not journal.tenants():
            yield f"nothing is in {folder.name}"
        for tenant in journal.tenants():
            for trajectory, name, what in verify(ingestor, tenant=tenant).disagreements:
                yield f"{folder.name} {tenant} {trajectory} {name}: {what}"


def wrong(ingestor: Ingestor, todo: list[Operation], *, folder: Path, done: int) -> Iterator[str]:
    """What is not as it must be after a restart, when the first `done` operations were acknowledged."""
    journal = ingestor.journal
    erasing, erased = erased_by(todo[: done + 1]), erased_by(todo[:done])
    accepted: dict[tuple[str, str, int], int] = {}
    for number, each in enumerate(todo[:done]):
        for n in range(each.first, each.first + BATCH) if each.kind == "add" else ():
            accepted[each.tenant, each.trajectory, n] = number
    there = [(entry.tenant, entry.trajectory, int(entry.id)) for entry in journal.every_entry()]
    if len(set(there)) < len(there):
        yield "a step is in the journal twice"
    for key, number in accepted.items():
        if key not in erasing and key not in there:
            yield f"step {key} of operation {number} was acknowledged and is missing"
    for entry in journal.every_entry():
        if entry.state not in (StepState.STORED, StepState.RETIRED):
            yield f"step {entry.id} of {entry.trajectory} is left as {entry.state.value}: {entry.reason}"
        elif entry.tenant in TENANTS and entry.step != step(entry.tenant, entry.trajectory, int(entry.id)):
            yield f"step {entry.id} of {entry.trajectory} is not as it was given"
    shown = sum(entry.state is StepState.STORED for entry in journal.every_entry())
    ids = [snippet.id for tenant in journal.tenants() for snippet in ingestor.store.scroll(tenant)]
    if not len(set(ids)) == len(ids) == shown == ingestor.store.count():
        yield f"{shown} steps are stored, {len(ids)} snippets are in the store"
    for tenant in journal.tenants():
        for trajectory, name, what in verify(ingestor, tenant=tenant).disagreements:
            yield f"{tenant} {trajectory} {name}: {what}"
    for line in (folder / "trace.jsonl").read_text().splitlines():
        event = line.strip()  # blanks stand where something was erased
        if event and not (event.startswith('{"event":') and event.endswith("}")):
            yield f"a line of the trace is no event: {line[:80]}"
    again = {(each.tenant, each.trajectory) for each in todo[:done] if each.kind == "import"}
    # What an earlier import has under another tenant was not erased there.
    gone = {word.encode(): key for key in erased if key[:2] not in again
            for word in (canary(*key), canary(*key).lower())}  # fmt: skip
    for path in (path for path in folder.rglob("*") if path.is_file()):
        held = path.read_bytes()
        for word in (word for word in gone if word in held):
            yield f"step {gone[word]} was erased and stands in {path.name}"


def erased_by(todo: list[Operation]) -> list[tuple[str, str, int]]:
    """Which steps some operations erase, those that expire included."""
    erased, added = [], list[tuple[str, str, int]]()
    for each in todo:
        if each.kind == "add":
            added += [(each.tenant, each.trajectory, n) for n in range(each.first, each.first + BATCH)]
        elif each.kind == "erase":
            erased.append((each.tenant, each.trajectory, each.first))
        elif each.kind == "expire":
            erased += [key for key in added if key[0] == each.tenant and step(*key).content.startswith("It ")]
    return erased


def digest(ingestor: Ingestor) -> str:
    """All that a memory holds, in short."""
    journal = ingestor.journal
    held: list[Any] = []
    for tenant in journal.tenants():
        for trajectory in sorted(journal.trajectories(tenant)):
            for entry in journal.entries(tenant, trajectory):
                labels = entry.labels and entry.labels.model_dump_json()
                revisions = history(journal, tenant=tenant, trajectory=trajectory, step=entry.id)
                held.append([*entry[1:4], entry.step.model_dump_json(), *entry[5:8], labels, str(revisions)])
        held.extend(snippet.model_dump_json() for snippet in ingestor.store.scroll(tenant))
        held.append(ingestor.inventory(tenant).model_dump_json())
    return hashlib.sha256(json.dumps(held, default=str).encode()).hexdigest()


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def live(folder: Path, *, work: int, first: int, kill_at: list[tuple[str, str, int]]) -> None:
    """Work on a memory, or die.

    Args:
        folder: Of the memory.
        work: The seed of the operations.
        first: The number of the first one that nobody has acknowledged.
        kill_at: Boundaries, each with the operation and the how-manieth time: at the first of them that is reached, the
            process kills itself with SIGKILL.
    """
    folder.mkdir(parents=True, exist_ok=True)
    plan = Plan(kill_at, folder.parent / "killed.txt")
    watch_everything(plan)
    parts.embedder_for = lambda settings: HashingEmbedder(settings.embedder_dimension or 16)  # what loads at once
    todo = operations(work)
    for gone in folder.parent.glob("*.gone"):
        shutil.rmtree(gone)
    for number in (number for number in (first,) if (folder.parent / f"restored-{number}").exists()):
        for problem in wrong_in(folder.parent / f"restored-{number}"):
            say(f"wrong: before it is done again: {problem}")
    relabeled = sum(each.kind == "relabel" for each in todo[:first])
    ingestor = open_ingestor(folder, plan, labeler=LABELERS[relabeled % 2])
    for problem in wrong(ingestor, todo, folder=folder, done=first):
        say(f"wrong: {problem}")
    for number, operation in enumerate(todo[first:], start=first):
        plan.begin(operation.kind)
        if operation.kind == "relabel":
            ingestor.close()
            relabeled += 1
            ingestor = open_ingestor(folder, plan, labeler=LABELERS[relabeled % 2])
        perform(ingestor, operation, folder=folder, number=number)
        say(f"done {number + 1}")
    plan.begin("closing")
    say(f"digest {digest(ingestor)}")
    for problem in wrong(ingestor, todo, folder=folder, done=len(todo)):
        say(f"wrong: {problem}")
    ingestor.close()
    say(f"boundaries {json.dumps(plan.crossed)}")
