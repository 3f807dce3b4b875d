"""Trees erased without a trace, and what is left of them looked for."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from stitch.ingest.ingestor import Ingestor
from stitch.lifecycle.erase import prove, purge, said_by_others
from stitch.lifecycle.side_files import Gone, remove_mentions
from stitch.lifecycle.traces import Proof, traces_in, words_in
from stitch.trees.core.commits import TREES, keys_of, log_key, texts_of
from stitch.trees.core.log import TreeLog
from stitch.trees.core.rewriting import rewritten


class ErasedTrees(NamedTuple):
    """What was erased, and the proof of it."""

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
    """What was erased from the history of a tree, and the proof of it."""

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
    gone = Gone(tenant, traces=frozenset(traces_in(texts)), words=frozenset(words_in(texts)))
    others = partial(said_by_others, journal, tenant=tenant, names=set(journal.trajectories(tenant)))
    remove_mentions(folder, gone, said_by_others=others)
    purge(ingestor, folder=folder)
    return prove(ingestor, folder, gone, said_by_others=others)
