"""How themes bear a stream of steps: their sizes, what is moved, what a step costs, what another order changes."""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from stitch.bench.data.sets import load_questions
from stitch.console.options import json_option
from stitch.console.printing import print_json
from stitch.core import Trajectory
from stitch.themes import ThemeProjection
from stitch.themes.figures import ThemeFigures, figures_of

BATCH_STEPS = 250
"""After so many steps the themes are brought up."""
ORDERS = 3
"""In so many orders the trajectories come, to see what that changes."""


def measure_themes(
    trajectories: Sequence[Trajectory], *, most: int | None = None, folder: Path | None = None
) -> dict[str, Any]:
    """Measure the themes of trajectories that come one after the other.

    `cpu_ms_a_step` is what it costs to derive statements and to place them, journal and embedder included, of the first
    tenth of the steps and of the last; labels are not made, for themes do not need them. `load_cpu_s` is what a process
    that comes later pays to have all of it, from the file of what was derived if that is large enough to be saved.

    Args:
        trajectories: What comes; of all together, as of one tenant.
        most: So many statements at most.
        folder: Where to make the journal; a temporary folder if None.
    """
    from stitch.embed import StaticEmbedder
    from stitch.journal import SqliteJournal

    with tempfile.TemporaryDirectory(prefix="stitch-themes-") as temporary:
        journal = SqliteJournal((folder or Path(temporary)) / "journal.sqlite")
        saved = (folder or Path(temporary)) / "themes"
        themes = ThemeProjection(journal=journal, tenant="bench", embedder=StaticEmbedder(), folder=saved)
        themes.embedder.embed(["the table is read before anything is measured"])
        costs: list[tuple[int, float]] = []
        for trajectory in trajectories:
            for start in range(0, len(trajectory.steps), BATCH_STEPS):
                batch = trajectory.steps[start : start + BATCH_STEPS]
                journal.append_many(batch, tenant="bench", trajectory=trajectory.id, recorded=float(len(costs)))
                began = time.process_time()
                themes.bring_up()
                costs.append((len(batch), time.process_time() - began))
            if most is not None and len(themes.holding.statements) >= most:
                break
        figures = figures_of(themes)
        themes.save()
        again = ThemeProjection(journal=journal, tenant="bench", embedder=themes.embedder, folder=saved)
        began = time.process_time()
        again.load()
        load_cpu_s = time.process_time() - began
        journal.close()
    tenth = max(1, len(costs) // 10)
    return {
        "steps": sum(steps for steps, _ in costs),
        **figures._asdict(),
        "cpu_ms_a_step_first": _cpu_ms(costs[:tenth]),
        "cpu_ms_a_step_last": _cpu_ms(costs[-tenth:]),
        "load_cpu_s": load_cpu_s,
        "statements_a_step": figures.statements / max(1, sum(steps for steps, _ in costs)),
    }


def _cpu_ms(costs: Sequence[tuple[int, float]]) -> float:
    return 1e3 * sum(seconds for _, seconds in costs) / max(1, sum(steps for steps, _ in costs))


def in_orders(trajectories: Sequence[Trajectory], *, most: int | None = None) -> list[ThemeFigures]:
    """What themes of the same trajectories are like when these come in other orders."""
    found = []
    for seed in range(ORDERS):
        shuffled = list(trajectories)
        random.Random(seed).shuffle(shuffled)
        measured = measure_themes(shuffled, most=most)
        found.append(ThemeFigures(**{name: measured[name] for name in ThemeFigures._fields}))
    return found


@click.command()
@click.option("--data", "folders", multiple=True, required=True, type=click.Path(exists=True, path_type=Path),
              help="A folder with trajectories and questions; may be repeated, all are of one tenant.")  # fmt: skip
@click.option("--statements", type=click.IntRange(1), metavar="N", help="Stop when there are so many.")
@click.option("--orders", is_flag=True, help="Let the trajectories come in other orders, too.")
@json_option
def command(as_json: bool, folders: tuple[Path, ...], statements: int | None, orders: bool) -> None:
    """Measure themes: how large and how balanced they are, what a step costs, how many statements were moved.

    \b
    Example:
      stitch bench themes --data memory_qa/locomo
    """
    trajectories = [each for folder in folders for each in load_questions(folder).trajectories]
    told: dict[str, Any] = measure_themes(trajectories, most=statements)
    if orders:
        for name, values in _spread(in_orders(trajectories, most=statements)).items():
            told[f"{name}_by_order"] = values
    if as_json:
        print_json(told)
        return
    for name, value in told.items():
        shown = " to ".join(f"{each:.4g}" for each in value) if isinstance(value, list) else f"{value:.4g}"
        click.echo(f"{name:>24}  {shown}")


def _spread(found: Sequence[ThemeFigures]) -> dict[str, list[float]]:
    return {
        name: [min(values), max(values)]
        for name in ("themes", "cohesion", "sparsity", "singles")
        if (values := [float(getattr(each, name)) for each in found])
    }
