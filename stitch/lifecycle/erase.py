"""Steps and trees erased without a trace, and what is left of them looked for."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import orjson

from stitch.core import Moment, StepsErased, snippet_id
from stitch.core.summaries import is_canonical
from stitch.core.text_cache import clear_text_caches
from stitch.ingest.ingestor import Ingestor
from stitch.ingest.lag import TOPIC_LAG
from stitch.ingest.state import BATCH_STEPS, chunks
from stitch.journal import Entry, Journal, Selected
from stitch.lifecycle.erased_words import ErasedWords, cleaned, split_names, spoken, strings
from stitch.lifecycle.folder import remove_abandoned, remove_next
from stitch.lifecycle.selection import TRUSTED_CLOCK, by_trajectory
from stitch.lifecycle.side_files import ErasureTarget, remove_mentions, words_left
from stitch.lifecycle.traces import (
    PatternMatcher,
    Proof,
    search_files,
    traces_in,
    traces_of,
    whole_sentences,
    words_in,
    words_of,
)
from stitch.store import QdrantStore
from stitch.trees.core.commits import TREES, keys_of, log_key, texts_of
from stitch.trees.core.log import TreeLog
from stitch.trees.core.rewriting import rewritten


class Erased(NamedTuple):
    """The number of erased steps, and the proof that nothing is left of them."""

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
    journal, selected = ingestor.journal, list(dict.fromkeys(selected))
    entries = list(journal.entries_of([each.seq for each in selected]))
    entries += _as_they_were(journal, entries)
    trajectories = by_trajectory(selected)
    lengths = journal.lengths_at(Moment(math.inf), tenant=tenant)
    whole = {name for name, group in trajectories if lengths.get(name, (0, 0))[0] == len(group)}
    trees = list(texts_of(journal, tenant)) if tenant_too else []
    gone = ErasureTarget(
        tenant,
        steps=frozenset((each.trajectory, each.step) for each in selected),
        traces=frozenset(traces_of(entries, tenant=tenant, names=whole) | traces_in(trees)),
        words=frozenset(words_of(entries) | words_in(trees)),
        trajectories=frozenset(whole),
        tenant_too=tenant_too,
        said_by_others=partial(
            said_by_others, journal, tenant=tenant, but={each.seq for each in selected}, names=set(lengths) - whole
        ),
    )
    remove_mentions(folder, gone)
    _delete_points(ingestor, selected, tenant=tenant)
    for trajectory, group in trajectories:
        change = partial(_take_out_everywhere, ingestor, group, entries, tenant=tenant, trajectory=trajectory)
        ingestor.rework(tenant, trajectory, change)
        ingestor.states.replay(tenant, trajectory)
    if whole:
        journal.erase_records(tenant, kind=TOPIC_LAG)  # a trajectory has the name of its topic; it is told anew
    if tenant_too:
        journal.forget_tenant(tenant)
    elif whole and not journal.trajectories(tenant):  # it would name the tenant
        journal.erase_records(tenant, kind=TRUSTED_CLOCK)
    if selected or tenant_too:
        purge(ingestor, folder=folder)
    gone = gone._replace(traces=gone.traces | _only_in_labels(journal, entries, tenant=tenant))
    proof = prove(ingestor, folder, gone)
    if selected:
        ingestor.notice(StepsErased(tenant=tenant, steps=len(selected), trajectories=len(trajectories)))
    return Erased(len(selected), len(trajectories), proof)


def prove(ingestor: Ingestor, folder: Path, gone: ErasureTarget) -> Proof:
    """Search the store and all files for what is erased."""
    journal, tenant, traces = ingestor.journal, gone.tenant, set(gone.traces)
    held = ingestor.store.get(tenant, [snippet_id(tenant, *step) for step in gone.steps])
    # A new step may have the id of an erased one.
    points = sum(journal.entry(tenant, each.trajectory, each.step) is None for each in held)
    told = len(words_left(folder, gone))
    proof = search_files(folder, ingestor, traces, tenant=tenant)
    if journal.path is not None and any(found.startswith(journal.path.name) for found in proof.found):
        journal.compact()
        proof = search_files(folder, ingestor, traces, tenant=tenant)
    left = {"files beside the journal: {} words": told, "the store: {} points": points}
    found = (*proof.found, *(where.format(number) for where, number in left.items() if number))
    clear_text_caches()
    return replace(proof, traces=proof.traces + len(gone.words), found=found)


def purge(ingestor: Ingestor, *, folder: Path) -> None:
    """Remove erased bytes from freed parts: of the files of the store, of the journal's log, of a half-built store.

    The journal itself overwrites what is deleted, so that its file need not be written anew.
    """
    remove_abandoned(folder)
    ingestor.checkpoint()
    if isinstance(ingestor.store, QdrantStore):
        if ingestor.store.path is not None:
            remove_next(ingestor.store.path)
        ingestor.store.purge()
    ingestor.journal.record_purged()


def finish_purge(ingestor: Ingestor, *, folder: Path) -> None:
    """Purge what an interrupted erasure has left."""
    ingestor.journal.compact()  # first: what is purged is not asked for again
    purge(ingestor, folder=folder)


def _delete_points(ingestor: Ingestor, selected: Sequence[Selected], *, tenant: str) -> None:
    """Delete the points of steps at once: to flush the store for each trajectory takes most of the time."""
    there = set(ingestor.journal.record_removed([each.seq for each in selected]))
    points = [snippet_id(tenant, each.trajectory, each.step) for each in selected if each.seq in there]
    if ingestor.store.delete(tenant, points):
        ingestor.store.flush()


def _take_out_everywhere(
    ingestor: Ingestor, group: Sequence[Selected], entries: Sequence[Entry], *, tenant: str, trajectory: str
) -> None:
    """Erase steps of a trajectory from all that is derived, from the journal, and from the labels of other steps."""
    # The journal does not say any more that they are stored, in case they stay for an interruption.
    there = set(ingestor.journal.record_removed([each.seq for each in group]))
    steps = [each.step for each in group if each.seq in there]  # a new step may have the id of an erased one
    for projection in ingestor.projections:
        projection.erase(tenant, trajectory=trajectory, steps=steps)
    gone = [entry for entry in entries if entry.trajectory == trajectory]
    take_out(ingestor.journal, group, gone, tenant=tenant, trajectory=trajectory)


def take_out(
    journal: Journal, group: Sequence[Selected], gone: Sequence[Entry], *, tenant: str, trajectory: str
) -> None:
    """Erase steps of a trajectory from the journal, with what the labels of its other steps have from `gone` ones."""
    erased = {each.seq for each in group}
    # Read as they stand there: to make steps of all that remains would take most of the time of an erasure.
    left = [each for each in journal.kept(tenant, trajectory) if each.seq not in erased]
    labeled = [(each.seq, each.labels) for each in left]
    before = [(past.number, past.labels) for each in left for past in each.revisions]
    correctors = journal.correctors(tenant)
    by_hand = _given_by_hand(journal, correctors, of={entry.seq for entry in gone})
    kept = _given_by_hand(journal, correctors, of={each.seq for each in left})
    quoted = PatternMatcher(traces_of(gone, tenant=tenant)).found_among(each or b"" for _, each in (*labeled, *before))
    words = ErasedWords(
        [*(spoken(entry.step.model_dump(exclude_defaults=True)) for entry in gone), *by_hand],
        [*(spoken(orjson.loads(each.step)) for each in left), *kept],
        quotes=quoted - PatternMatcher(quoted).found_among(each.step for each in left),
    )
    clean = partial(cleaned, erased=words, ids={entry.id for entry in gone})
    journal.erase(list(erased), tenant=tenant, trajectory=trajectory, labels=clean(labeled), revisions=clean(before))


def _given_by_hand(journal: Journal, correctors: Collection[tuple[int, str]], *, of: Collection[int]) -> set[str]:
    """The names that persons gave steps by correcting them; a model that corrects is none of them."""
    entries = list(journal.entries_of(sorted({seq for seq, _ in correctors if seq in of})))
    past = journal.revisions([entry.seq for entry in entries])
    given = set[str]()
    for entry in entries:
        first, *later = [*(each.labels for each in past.get(entry.seq, ())), entry.labels]
        by_hand = [made for made in later if made and (entry.seq, made.made_by) in correctors]
        before = set() if first is None else {each.value for each in first.intent.labels()}
        given |= {each.value for made in by_hand for each in made.intent.labels()} - before
    return given


def _only_in_labels(journal: Journal, entries: Iterable[Entry], *, tenant: str) -> set[bytes]:
    """The sentences by which a model's labels tell of erased steps in its own words, and no labels that remain.

    These are canonical summaries and asks: what other steps are asked in the same words shows nothing.
    """
    made = [(entry.step.role, entry.labels) for entry in entries if entry.labels is not None]
    summaries = [labels.summary for role, labels in made if is_canonical(labels.summary, role=role)]
    sentences = whole_sentences([*summaries, *(each for _, labels in made for each in labels.asks)])
    told = (each.labels or b"" for each in journal.kept(tenant)) if sentences else ()
    return sentences - PatternMatcher(sentences).found_among(told)


def said_by_others(
    journal: Journal, candidates: set[str], *, tenant: str, but: Collection[int] = (), names: Collection[str]
) -> set[str]:
    """Words among these that a tenant still says: in other steps, in trees, and in names of what remains."""
    left = candidates - split_names("\n".join(names))
    for some in chunks((each.step for each in journal.kept(tenant) if each.seq not in but), BATCH_STEPS):
        if not left:
            return candidates
        left -= split_names("\n".join(text for step in some for text in strings(orjson.loads(step))))
    return candidates - (left and left - words_in(texts_of(journal, tenant)))


def _as_they_were(journal: Journal, entries: Sequence[Entry]) -> list[Entry]:
    """Entries before their corrections: of what they said then, others may have something too."""
    by_seq = {entry.seq: entry for entry in entries}
    revisions = journal.revisions(list(by_seq))
    return [
        by_seq[seq]._replace(step=each.step, labels=each.labels) for seq, past in revisions.items() for each in past
    ]


# Trees


class ErasedTrees(NamedTuple):
    """Counts of erased trees, and the proof."""

    trees: int
    versions: int
    proof: Proof


def erase_trees(ingestor: Ingestor, names: Sequence[str], *, tenant: str, folder: Path) -> ErasedTrees:
    """Erase trees with all their versions from the journal and the files beside it; then look for what is left.

    An interrupted call has erased each tree or not begun with it; it is to be repeated.
    """
    journal = ingestor.journal
    keys = [key for name in names for key in keys_of(journal, tenant, name)]
    texts = list(texts_of(journal, tenant, keys=keys))
    logs = {log_key(name) for name in names}
    versions = sum(record.key in logs for record in journal.records(tenant, kind=TREES))
    journal.erase_records(tenant, kind=TREES, key=keys)
    return ErasedTrees(len(names), versions, _proof(ingestor, texts, tenant=tenant, folder=folder))


class ErasedFromTree(NamedTuple):
    """Erased parts of a tree's history, and the proof."""

    nodes: tuple[str, ...]
    """The ids of all nodes that are gone, with those below them."""
    versions: tuple[str, ...]
    messages: tuple[str, ...]
    """The versions whose message said what is gone: it is empty now."""
    proof: Proof


def erase_from_tree(
    ingestor: Ingestor, log: TreeLog, *, nodes: Collection[str], versions: Collection[str], tenant: str, folder: Path
) -> ErasedFromTree:
    """Erase nodes and versions from the whole history of a tree, in one stroke; then look for what is left.

    What stood below a node goes, too.

    Raises:
        InputError: There is no such node or version, or nothing would be left.
        ConflictError: Somebody has committed meanwhile; nothing was erased.
    """
    log.refresh()
    left = rewritten(log, nodes=nodes, versions=versions)
    log.rewrite(left.records)
    proof = _proof(ingestor, sorted(left.said), tenant=tenant, folder=folder)
    return ErasedFromTree(tuple(sorted(left.nodes)), left.versions, left.messages, proof)


def _proof(ingestor: Ingestor, texts: Sequence[str], *, tenant: str, folder: Path) -> Proof:
    """Remove mentions of what was erased from the journal, overwrite its bytes, and search all files."""
    journal = ingestor.journal
    others = partial(said_by_others, journal, tenant=tenant, names=set(journal.trajectories(tenant)))
    traces, words = frozenset(traces_in(texts)), frozenset(words_in(texts))
    gone = ErasureTarget(tenant, traces=traces, words=words, said_by_others=others)
    remove_mentions(folder, gone)
    purge(ingestor, folder=folder)
    return prove(ingestor, folder, gone)
