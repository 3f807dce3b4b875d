"""Steps erased without a trace, and what is left of them looked for."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import orjson

from stitch.core import Moment, StepsErased, snippet_id
from stitch.core.text_cache import clear_text_caches
from stitch.ingest.ingestor import Ingestor
from stitch.journal import Entry, Journal, Selected
from stitch.journal.entries import Encoded
from stitch.lifecycle.cleaning import Cleaner, given_by_hand
from stitch.lifecycle.folder import remove_abandoned, remove_other_collections
from stitch.lifecycle.multi_search import Needles
from stitch.lifecycle.repair import remove_next
from stitch.lifecycle.selection import by_trajectory
from stitch.lifecycle.side_files import Gone, remove_mentions, words_left
from stitch.lifecycle.traces import (
    Proof,
    PurgeableStore,
    not_said,
    said_in_labels,
    search_files,
    traces_in,
    traces_of,
    traces_of_labels,
    words_in,
    words_in_labels,
    words_of,
)
from stitch.text.words import words as split_words
from stitch.trees.core.commits import texts_of

TRUSTED_CLOCK = "trusted clock"
"""The kind of the records that say up to when the clock is right; with the last step of a tenant they go."""


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
    With `tenant_too` these are all that the tenant has; then it is forgotten itself, with what it erased before.
    """
    selected = list(dict.fromkeys(selected))
    entries = list(ingestor.journal.entries_of([each.seq for each in selected]))
    entries += _as_they_were(ingestor.journal, entries)
    trajectories = by_trajectory(selected)
    lengths = ingestor.journal.lengths_at(Moment(math.inf), tenant=tenant)
    whole = {name for name, group in trajectories if lengths.get(name, (0, 0))[0] == len(group)}
    trees = _trees_of(ingestor.journal, tenant, whole=tenant_too)
    traces = traces_of(entries, tenant=tenant, names=whole) | traces_in(trees)
    ids = frozenset((each.trajectory, each.step) for each in selected)
    words = frozenset(words_of(entries) | words_in(trees))
    told = Gone(tenant, ids, frozenset(traces), words, frozenset(whole), tenant_too)
    others = partial(
        said_by_others,
        ingestor.journal,
        tenant=tenant,
        but={each.seq for each in selected},
        names=set(lengths) - whole,
    )
    remove_mentions(folder, told, said_by_others=others)
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
    elif whole and not ingestor.journal.trajectories(tenant):  # it would name the tenant
        ingestor.journal.erase_records(tenant, kind=TRUSTED_CLOCK)
    if selected or tenant_too:
        purge(ingestor, folder=folder)
    found = {
        "files beside the journal": words_left(folder, told, said_by_others=others),
        "labels of other steps": words_in_labels(ingestor.journal, entries, tenant=tenant),
    }
    written = traces_of_labels(entries)  # what other steps are asked in the same words shows nothing
    written -= said_in_labels(ingestor.journal, written, tenant=tenant)
    points = _points_left(ingestor, selected, tenant=tenant)
    proof = search(ingestor, folder, told._replace(traces=told.traces | written), found, points=points)
    clear_text_caches()
    if selected:
        ingestor.notice(StepsErased(tenant=tenant, steps=len(selected), trajectories=len(trajectories)))
    return Erased(len(selected), len(trajectories), proof)


def _points_left(ingestor: Ingestor, selected: Sequence[Selected], *, tenant: str) -> int:
    """How many points of erased steps the store still has; a new step may have the id of an erased one."""
    names = [snippet_id(tenant, each.trajectory, each.step) for each in selected]
    held = ingestor.store.get(tenant, names)
    return sum(ingestor.journal.entry(tenant, each.trajectory, each.step) is None for each in held)


def _trees_of(journal: Journal, tenant: str, *, whole: bool) -> list[str]:
    """What the trees say that go with the whole of a tenant."""
    return list(texts_of(journal, tenant)) if whole else []


def search(
    ingestor: Ingestor, folder: Path, gone: Gone, words: Mapping[str, Collection[str]], *, points: int = 0
) -> Proof:
    """Search all files; tell with what is found there the words that are left, by where they are."""
    traces = set(gone.traces)
    proof = search_files(folder, ingestor, traces, tenant=gone.tenant)
    if any(found.startswith(ingestor.journal.path.name) for found in proof.found):
        ingestor.journal.compact()
        proof = search_files(folder, ingestor, traces, tenant=gone.tenant)
    left = [f"{where}: {len(each)} words" for where, each in words.items() if each]
    left += [f"the store: {points} points"] if points else []
    return proof._replace(traces=proof.traces + len(gone.words), found=(*proof.found, *left))


def purge(ingestor: Ingestor, *, folder: Path) -> None:
    """Remove erased bytes from freed parts: of the files of the store, of the journal's log, of a half-built store.

    The journal itself overwrites what is deleted, so that its file need not be written anew.
    """
    remove_abandoned(folder)
    ingestor.flush()
    if isinstance(ingestor.store, PurgeableStore):
        remove_next(ingestor.store.path)
        remove_other_collections(folder, but=ingestor.store.path)
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
    correctors = journal.correctors(tenant)
    by_hand, kept = (
        _given_by_hand(journal, correctors, of=each)
        for each in ({entry.seq for entry in gone}, {each.number for each in left})
    )
    before = journal.encoded_revisions(tenant, trajectory)
    quotes = _quotes(traces_of(gone, tenant=tenant), [*left, *before], left)
    steps = [orjson.loads(each.step) for each in left]
    cleaner = Cleaner(steps, gone, by_hand=by_hand, kept=kept, quotes=quotes)
    labels, revisions = (
        [(each.number, made) for each in found if each.labels is not None and (made := cleaner.clean(each.labels))]
        for found in (left, before)
    )
    journal.erase(list(erased), tenant=tenant, trajectory=trajectory, labels=labels, revisions=revisions)


def _quotes(traces: set[bytes], labeled: Iterable[Encoded], left: Iterable[Encoded]) -> set[bytes]:
    """Fragments of erased texts that labels quote and no step that remains says, whatever is said of their words."""
    quoted = Needles(traces).found_in(_joined(each.labels for each in labeled))
    return quoted - Needles(quoted).found_in(_joined(each.step for each in left)) if quoted else quoted


def _joined(texts: Iterable[bytes | None]) -> bytes:
    return b"\n".join(text for text in texts if text is not None)


def _given_by_hand(journal: Journal, correctors: Collection[tuple[int, str]], *, of: Collection[int]) -> set[str]:
    """What persons called steps by correcting them; a model that corrects is none of them (`ingest.revising`)."""
    entries = list(journal.entries_of(sorted({seq for seq, _ in correctors if seq in of})))
    past = journal.revisions([entry.seq for entry in entries])
    given = set[str]()
    for entry in entries:
        first, *later = [*(each.labels for each in past.get(entry.seq, ())), entry.labels]
        given |= given_by_hand([first, *(made for made in later if made and (entry.seq, made.made_by) in correctors)])
    return given


def said_by_others(
    journal: Journal, candidates: set[str], *, tenant: str, but: Collection[int], names: Collection[str]
) -> set[str]:
    """Which words the steps of a tenant say, but for some of these, its trees, and the names of what remains."""
    named = candidates.intersection(split_words(" ".join(names)))
    steps = (kept for kept in journal.kept(tenant) if kept.seq not in but)
    left = not_said(candidates - named, steps)
    if left:
        left -= words_in(texts_of(journal, tenant))
    return candidates - left


def _as_they_were(journal: Journal, entries: Sequence[Entry]) -> list[Entry]:
    """Entries before their corrections: of what they said then, others may have something too."""
    by_seq = {entry.seq: entry for entry in entries}
    revisions = journal.revisions(list(by_seq))
    return [
        by_seq[seq]._replace(step=each.step, labels=each.labels) for seq, past in revisions.items() for each in past
    ]
