"""Steps erased without a trace, and what is left of them looked for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import orjson

from stitch.core import Moment
from stitch.core.text_cache import clear_text_caches
from stitch.ingest.ingestor import Ingestor
from stitch.journal import Entry, Journal, Selected
from stitch.lifecycle.cleaning import cleaner
from stitch.lifecycle.folder import remove_abandoned
from stitch.lifecycle.repair import remove_next
from stitch.lifecycle.selection import by_trajectory
from stitch.lifecycle.traces import Proof, PurgeableStore, remove_lines, search_files, traces_of


class Erased(NamedTuple):
    """What was erased, and the proof of it."""

    steps: int
    trajectories: int
    proof: Proof


def erase(
    ingestor: Ingestor, selected: Sequence[Selected], *, tenant: str, folder: Path, tenant_too: bool = False
) -> Erased:
    """Erase steps from journal, store, labels of other steps, and the files of the memory; then look for what is left.

    What other steps of the trajectory have from them goes too: contexts, resolved references, summaries, and the words
    of scopes that no step is left to say. So does the name of a trajectory of which nothing is left, also from the
    ledger, which keeps what its calls of a model cost. A step is erased when this returns; an interrupted call is to be
    repeated, and what could only be left in freed parts of files is removed when the memory is opened.

    Args:
        ingestor: Of the memory.
        selected: What to erase.
        tenant: Whose they are.
        folder: Where the journal is, with rejects and traces.
        tenant_too: Whether they are all that the tenant has; then it is forgotten itself, with what it erased before.
    """
    selected = list(dict.fromkeys(selected))
    entries = list(ingestor.journal.entries_of([each.seq for each in selected]))
    entries += _as_they_were(ingestor.journal, entries)
    trajectories = by_trajectory(selected)
    lengths = ingestor.journal.lengths_at(Moment(math.inf), tenant=tenant)
    whole = {name for name, group in trajectories if lengths.get(name, (0, 0))[0] == len(group)}
    traces = traces_of(entries, tenant=tenant, names=whole)
    remove_lines(folder, entries, traces, tenant=tenant, whole=whole)
    for trajectory, group in trajectories:
        gone = [entry for entry in entries if entry.trajectory == trajectory]

        def change(
            trajectory: str = trajectory, group: Sequence[Selected] = group, gone: Sequence[Entry] = gone
        ) -> None:
            _take_away(ingestor, group, tenant=tenant, trajectory=trajectory)
            take_out(ingestor.journal, group, gone, tenant=tenant, trajectory=trajectory)

        ingestor.rework(tenant, trajectory, change)
        ingestor.learn(tenant, trajectory)
    if tenant_too:
        ingestor.journal.forget_tenant(tenant)
    if selected or tenant_too:
        purge(ingestor, folder=folder)
    proof = search_files(folder, ingestor, traces, tenant=tenant)
    file = ingestor.journal.path
    if file is not None and any(found.startswith(file.name) for found in proof.found):
        ingestor.journal.compact()
        proof = search_files(folder, ingestor, traces, tenant=tenant)
    clear_text_caches()
    return Erased(len(selected), len(trajectories), proof)


def purge(ingestor: Ingestor, *, folder: Path) -> None:
    """Remove erased bytes from freed parts: of the files of the store, of the journal's log, of a half-built store.

    The journal itself overwrites what is deleted, so that its file need not be written anew.
    """
    remove_next(folder)
    remove_abandoned(folder)
    ingestor.flush()
    if isinstance(ingestor.store, PurgeableStore):
        ingestor.store.purge()
    ingestor.journal.record_purged()


def finish_purge(ingestor: Ingestor, *, folder: Path) -> None:
    """Purge if an erasure was interrupted before it had done so."""
    if ingestor.journal.owes_purge():
        ingestor.journal.compact()  # first: what is purged is not asked for again
        purge(ingestor, folder=folder)


def _take_away(ingestor: Ingestor, group: Sequence[Selected], *, tenant: str, trajectory: str) -> None:
    """Erase steps from all that is derived; the journal does not say any more that they are stored, in case they stay
    for an interruption.
    """
    there = set(ingestor.journal.record_removed([each.seq for each in group]))
    # Only those: a new step may have the id of an erased one.
    steps = [each.step for each in group if each.seq in there]
    for projection in ingestor.projections:
        projection.erase(tenant, trajectory=trajectory, steps=steps)


def take_out(
    journal: Journal, group: Sequence[Selected], gone: Sequence[Entry], *, tenant: str, trajectory: str
) -> None:
    """Erase steps of a trajectory from the journal, with what the labels of its other steps have from `gone` ones."""
    erased = {each.seq for each in group}
    # Read as they stand there: to make steps of all that remains would take most of the time of an erasure.
    left = [each for each in journal.encoded(tenant, trajectory) if each.number not in erased]
    clean = cleaner([orjson.loads(each.step) for each in left], gone)
    before = journal.encoded_revisions(tenant, trajectory)
    labels, revisions = (
        [(each.number, made) for each in found if each.labels is not None and (made := clean(each.labels))]
        for found in (left, before)
    )
    journal.erase(list(erased), tenant=tenant, trajectory=trajectory, labels=labels, revisions=revisions)


def _as_they_were(journal: Journal, entries: Sequence[Entry]) -> list[Entry]:
    """Entries before their corrections: of what they said then, others may have something too."""
    by_seq = {entry.seq: entry for entry in entries}
    revisions = journal.revisions(list(by_seq))
    return [by_seq[seq]._replace(step=each.step) for seq, past in revisions.items() for each in past]
