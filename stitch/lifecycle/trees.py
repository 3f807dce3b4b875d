"""Trees erased without a trace, and what is left of them looked for."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from stitch.core.text_cache import clear_text_caches
from stitch.ingest.ingestor import Ingestor
from stitch.lifecycle.beside import Gone, remove_mentions, words_left
from stitch.lifecycle.erase import purge, said_by_others, search
from stitch.lifecycle.traces import Proof, traces_in, words_in
from stitch.trees.records import TREES, keys_of, log_key, texts_of


class ErasedTrees(NamedTuple):
    """What was erased, and the proof of it."""

    trees: int
    versions: int
    proof: Proof


def erase_trees(ingestor: Ingestor, names: Sequence[str], *, tenant: str, folder: Path) -> ErasedTrees:
    """Erase trees with all their versions from the journal and the files beside it; then look for what is left.

    An interrupted call has erased each tree or not begun with it; it is to be repeated.

    Args:
        ingestor: Of the memory.
        names: Which trees.
        tenant: Whose they are.
        folder: Where the journal is.
    """
    journal = ingestor.journal
    keys = [key for name in names for key in keys_of(journal, tenant, name)]
    texts = list(texts_of(journal, tenant, keys=keys))
    logs = {log_key(name) for name in names}
    versions = sum(record.key in logs for record in journal.records(tenant, kind=TREES))
    traces, words = traces_in(texts), words_in(texts)
    told = Gone(tenant, frozenset(), frozenset(traces), frozenset(words), frozenset(), tenant_too=False)
    journal.erase_records(tenant, kind=TREES, key=keys)
    others = partial(said_by_others, journal, tenant=tenant, but=frozenset(), names=set(journal.trajectories(tenant)))
    remove_mentions(folder, told, said_by_others=others)
    purge(ingestor, folder=folder)
    proof = search(
        ingestor, folder, told, {"files beside the journal": words_left(folder, told, said_by_others=others)}
    )
    clear_text_caches()
    return ErasedTrees(len(names), versions, proof)
