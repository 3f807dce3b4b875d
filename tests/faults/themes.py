"""Lives random histories of a journal whose themes follow it, until it is killed.

`python tests/faults/themes.py FOLDER SEED [told]` prints a line when it begins; `test_projection_kills.py` kills it.
With `told`, a model says what steps assert and what themes are called, and its words are records of the journal.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from stitch.core import StepState
from stitch.embed.hashing import HashingEmbedder
from stitch.journal import SqliteJournal
from stitch.journal.projections import follow
from stitch.testing.contracts.projection import Derived, live_and_erase
from stitch.themes import ThemeProjection
from stitch.themes import projection as projecting
from stitch.themes.named import Named
from stitch.themes.told import Reading, Said, digest_of

DIMENSION = 16
TENANT = "a"
WINDOW = 4


@contextmanager
def opened(folder: Path) -> Iterator[Derived]:
    """The journal of a folder, and the themes of one of its tenants."""
    projecting._SAVED_FROM = 0  # what is derived of these few steps is saved too
    journal = SqliteJournal(folder / "journal.sqlite")
    themes = ThemeProjection(
        journal=journal, tenant=TENANT, embedder=HashingEmbedder(DIMENSION), folder=folder / "themes"
    )

    def everything() -> Any:
        themes.load()
        members = themes.upkeep.grouping.members
        return (
            sorted(themes.holding.statements.items()),
            {theme: sorted(names) for theme, names in sorted(members.items())},
            [list(line.episodes()) for _, line in sorted(themes.holding.lines.items()) if len(line)],
            {theme: themes.names.of(theme, names) for theme, names in sorted(members.items())},
        )

    try:
        yield Derived(journal, themes, everything)
    finally:
        journal.close()


def tell(derived: Derived, *, seed: int) -> None:
    """Let a model say something of windows of steps, and name themes; a second time it says it of other windows."""
    journal, themes, chance = derived.journal, derived.projection, random.Random(seed)
    assert isinstance(themes, ThemeProjection)
    shown = tuple(state for state in StepState if state is not StepState.RETIRED)
    for trajectory in journal.trajectories(TENANT):
        entries = list(journal.entries(TENANT, trajectory, states=shown))[chance.randrange(WINDOW) :]
        for start in range(0, len(entries), WINDOW):
            window = entries[start : start + WINDOW]
            said = [Said(f"Told: {each.step.content[:40]} {seed}", (each.id,), None, ()) for each in window[::2]]
            digests = {each.id: digest_of(each) for each in window}
            themes.tell(Reading(trajectory, digests, (), "low", tuple(said), "m"))
    members = themes.upkeep.grouping.members
    themes.call((theme, Named(f"matter {theme}", frozenset(names))) for theme, names in sorted(members.items()))


def live_on(derived: Derived, *, seed: int, told: bool) -> None:
    """Live random histories and follow them, without an end: for a process that is killed."""
    themes = derived.projection
    assert isinstance(themes, ThemeProjection)
    for number in count():
        live_and_erase(derived.journal, themes, seed=seed + 1_000 * number)
        follow(themes, derived.journal)
        if told:
            tell(derived, seed=seed + number)
        if number % 3:
            themes.bring_up()
            themes.save()
        if (seed + number) % 5 == 0:
            themes.rebuild()
            themes.checkpoint()


if __name__ == "__main__":
    with opened(Path(sys.argv[1])) as derived:
        print("it begins", flush=True)
        live_on(derived, seed=int(sys.argv[2]), told="told" in sys.argv[3:])
