"""Lives random histories of a journal whose themes follow it, until it is killed.

`python tests/faults/themes.py FOLDER SEED` prints a line when it begins; `test_projection_kills.py` kills it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from stitch.embed.hashing import HashingEmbedder
from stitch.journal import SqliteJournal
from stitch.testing.contracts.projection import Derived, live_on
from stitch.themes import ThemeProjection

DIMENSION = 16


@contextmanager
def opened(folder: Path) -> Iterator[Derived]:
    """The journal of a folder, and the themes of one of its tenants."""
    journal = SqliteJournal(folder / "journal.sqlite")
    themes = ThemeProjection(journal=journal, tenant="a", embedder=HashingEmbedder(DIMENSION))

    def everything() -> Any:
        themes.load()
        members = themes.upkeep.grouping.members
        return (
            sorted(themes.holding.statements.items()),
            {theme: sorted(names) for theme, names in sorted(members.items())},
            [list(line.episodes()) for _, line in sorted(themes.holding.lines.items()) if len(line)],
        )

    try:
        yield Derived(journal, themes, everything)
    finally:
        journal.close()


if __name__ == "__main__":
    with opened(Path(sys.argv[1])) as derived:
        print("it begins", flush=True)
        live_on(derived, seed=int(sys.argv[2]))
