"""Lives random histories of a journal whose snippets follow it, until it is killed.

`python tests/faults/projections.py FOLDER SEED` prints a line when it begins; `test_projection_kills.py` kills it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from stitch.core import ContextualIntent, DensityQuery, Label
from stitch.embed.hashing import HashingEmbedder
from stitch.embed.lexical import LexicalEncoder
from stitch.ingest.snippets import SnippetProjection
from stitch.journal import SqliteJournal
from stitch.store import EdgeStore
from stitch.testing.contracts.projection import Derived, live_on

DIMENSION = 8
QUESTIONS = ("right 3", "0 1 2", "who asks for day 1?")


@contextmanager
def opened(folder: Path) -> Iterator[Derived]:
    """The journal of a folder and the snippets of its embedded store, which follow it."""
    embedder, lexical = HashingEmbedder(DIMENSION), LexicalEncoder()
    journal = SqliteJournal(folder / "journal.sqlite")
    store = EdgeStore(folder / "store", embedder_name=embedder.name, dimension=DIMENSION)

    def everything() -> Any:
        snippets = {tenant: sorted(store.scroll(tenant), key=lambda each: each.id) for tenant in "ab"}
        labels = list(ContextualIntent(scope="day 1", event_types=("ask",)).labels())
        return snippets, [ranked(tenant, question, labels) for tenant in "ab" for question in QUESTIONS]

    def ranked(tenant: str, question: str, labels: list[Label]) -> Any:
        query = DensityQuery(
            tenant=tenant,
            labels={label: frozenset([label.value]) for label in labels},
            vector=embedder.embed([question])[0],
            words=lexical.query(question),
            k=1_000,
        )
        return [(hit.snippet.id, *hit[1:]) for hit in store.rank(query)]

    snippets = SnippetProjection(journal=journal, store=store, embedder=embedder, lexical=lexical)
    try:
        yield Derived(journal, snippets, everything)
    finally:
        store.close()
        journal.close()


if __name__ == "__main__":
    with opened(Path(sys.argv[1])) as derived:
        print("it begins", flush=True)
        live_on(derived, seed=int(sys.argv[2]))
