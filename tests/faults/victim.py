"""A process that works on a memory until it is killed, and looks first at what the one before it has left.

Usage: python victim.py FOLDER WORK FIRST KILL_AT. WORK is the seed of the operations, FIRST the number of the first one
that nobody has acknowledged, KILL_AT the boundary at which the process kills itself with SIGKILL (0: never). Each
operation is acknowledged on standard output when it is done; what is wrong after a restart is said there too.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from stitch.core import LabelKind, LabelMerge, Step, StepState
from stitch.embed.hashing import HashingEmbedder
from stitch.ingest import Ingestor, Journal
from stitch.ingest.backup import back_up, check_backup
from stitch.ingest.exchange import export_lines, import_lines
from stitch.ingest.forget import Selector, correct, erase, finish_purge, history, retire, select
from stitch.ingest.repair import verify
from stitch.store import EdgeStore
from stitch.testing.labeling import ScriptedLabeler

TENANTS = ("a", "b")
TRAJECTORIES = ("t", "u")
OPERATIONS = 36
BATCH = 4
KINDS = ("add", "add", "add", "add", "correct", "retire", "erase", "flush", "merge", "import", "backup", "reindex")
MERGES = (
    LabelMerge(kind=LabelKind.EVENT_TYPE, alias="fetch", into="get", position=5),
    LabelMerge(kind=LabelKind.EVENT_TYPE, alias="take", into="get", position=11),
)
JOURNAL_METHODS = (
    "append_many", "record_labels", "record_stored", "record_failed", "save_checkpoint", "record_flushed", "sync",
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
    for number in range(OPERATIONS):
        kind = "add" if number < 4 else chance.choice(KINDS)
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
    """Where the process dies, and how many boundaries there are."""

    def __init__(self, kill_at: int, note: Path) -> None:
        self.crossed = 0
        self.operation = "opening"
        self._kill_at, self._note = kill_at, note

    def cross(self, boundary: str) -> None:
        self.crossed += 1
        if self.crossed == self._kill_at:
            self._note.write_text(f"{boundary} ({self.operation})")
            os.kill(os.getpid(), signal.SIGKILL)


def watch(target: Any, plan: Plan, *methods: str) -> None:
    """Put a boundary before and after each call of these methods."""

    def watched(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any, **options: Any) -> Any:
            plan.cross(f"before {name}")
            result = call(*arguments, **options)
            plan.cross(f"after {name}")
            return result

        return run

    for name in methods:
        setattr(target, name, watched(name, getattr(target, name)))


def watch_commits(journal: Journal, plan: Plan) -> None:
    """Put a boundary before and after each commit."""
    begin = journal.transaction

    @contextmanager
    def transaction() -> Iterator[Any]:
        with begin() as db:
            yield db
            plan.cross("before commit")
        plan.cross("after commit")

    journal.transaction = transaction  # type: ignore[method-assign]


def open_ingestor(folder: Path, plan: Plan) -> Ingestor:
    embedder = HashingEmbedder(16)
    store = EdgeStore(folder, embedder_name=embedder.name, dimension=embedder.dimension)
    journal = Journal(folder / "journal.sqlite")
    watch(store, plan, *STORE_METHODS)
    watch(journal, plan, *JOURNAL_METHODS)
    watch_commits(journal, plan)
    ingestor = Ingestor(
        journal=journal, store=store, embedder=embedder, labeler=ScriptedLabeler(merges=MERGES),
        clock=lambda: 1000.0, checkpoint_steps=10, flush_steps=30, live_sessions=2,
    )  # fmt: skip
    ingestor.recover()
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
                correct(ingestor, tenant=tenant, trajectory=trajectory, step=each.step, at=1.0, by=str(number),
                        labels={"scope": f"right {number}"})  # fmt: skip
    elif kind == "retire":
        retire(ingestor, select(ingestor, chosen, tenant=tenant), tenant=tenant, at=2.0, reason="old")
    elif kind == "erase":
        proof = erase(ingestor, select(ingestor, chosen, tenant=tenant), tenant=tenant, folder=folder).proof
        if proof.found:
            say(f"wrong: the proof of operation {number} found {proof.found}")
    elif kind == "flush":
        ingestor.flush()
    elif kind == "merge":
        ingestor.inventory(tenant, trajectory)
        ingestor.inventory(tenant)
    elif kind == "import":
        ingestor.save()
        lines = list(export_lines(ingestor.journal, tenant=tenant, trajectory=trajectory))
        import_lines(ingestor, lines, tenant=f"{tenant}-{number}")
    elif kind == "backup":
        to = folder.parent / f"backup-{number}"
        if not to.exists():
            back_up(ingestor.journal, to=to, beside=folder, at=3.0)
        check_backup(to)
    else:
        ingestor.reindex(ingestor.store)


def wrong(ingestor: Ingestor, todo: list[Operation], *, folder: Path, done: int) -> Iterator[str]:
    """What is not as it must be after a restart, when the first `done` operations were acknowledged."""
    journal = ingestor.journal
    erasing = [(each.tenant, each.trajectory, each.first) for each in todo[: done + 1] if each.kind == "erase"]
    erased = [(each.tenant, each.trajectory, each.first) for each in todo[:done] if each.kind == "erase"]
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
    again = {(each.tenant, each.trajectory) for each in todo[:done] if each.kind == "import"}
    for tenant, trajectory, n in erased:
        if (tenant, trajectory) in again:
            continue  # an earlier import has it under another tenant, where nobody erased it
        word = canary(tenant, trajectory, n).lower().encode()
        for path in folder.rglob("*"):
            if path.is_file() and word in path.read_bytes().lower():
                yield f"step {n} of {trajectory} was erased and stands in {path.name}"


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


def main(folder: Path, work: int, first: int, kill_at: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    plan = Plan(kill_at, folder.parent / "killed.txt")
    todo = operations(work)
    ingestor = open_ingestor(folder, plan)
    for problem in wrong(ingestor, todo, folder=folder, done=first):
        say(f"wrong: {problem}")
    for number, operation in enumerate(todo[first:], start=first):
        plan.operation = operation.kind
        perform(ingestor, operation, folder=folder, number=number)
        say(f"done {number + 1}")
    plan.operation = "closing"
    say(f"digest {digest(ingestor)}")
    for problem in wrong(ingestor, todo, folder=folder, done=len(todo)):
        say(f"wrong: {problem}")
    ingestor.close()
    say(f"boundaries {plan.crossed}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:5]))
