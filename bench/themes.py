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
from stitch.bench.data.types import DataSet
from stitch.console.options import json_option
from stitch.console.printing import print_json
from stitch.core import Trajectory
from stitch.errors import InputError
from stitch.themes import ThemeProjection
from stitch.themes.figures import ThemeFigures, figures_of

BATCH_STEPS = 250
"""After so many steps the themes are brought up."""
_MOST_STATEMENTS = 10**8
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
@click.option("--statements", metavar="N,N", callback=lambda context, option, said: _sizes(said),
              help="Tell what a step, a search and loading cost when there are so many.")  # fmt: skip
@click.option("--orders", is_flag=True, help="Let the trajectories come in other orders, too.")
@json_option
def command(as_json: bool, folders: tuple[Path, ...], statements: tuple[int, ...], orders: bool) -> None:
    """Measure themes: how large and how balanced they are, what a step costs, how many statements were moved.

    \b
    Example:
      stitch bench themes --data memory_qa/locomo
      stitch bench themes --data memory_qa/locomo --data memory_qa/longmemeval_s --statements 1000,10000,100000
    """
    sets = [load_questions(folder) for folder in folders]
    if statements and orders:
        raise InputError("--orders and --statements measure different things", hint="give one of them")
    if statements:
        _tell_growth(sets, statements, as_json=as_json)
        return
    trajectories = [each for data in sets for each in data.trajectories]
    told: dict[str, Any] = measure_themes(trajectories)
    if orders:
        for name, values in _spread(in_orders(trajectories)).items():
            told[f"{name}_by_order"] = values
    if as_json:
        print_json(told)
        return
    for name, value in told.items():
        shown = " to ".join(f"{each:.4g}" for each in value) if isinstance(value, list) else f"{value:.4g}"
        click.echo(f"{name:>24}  {shown}")


def _sizes(said: str | None) -> tuple[int, ...]:
    """Numbers of statements, as an option says them."""
    sizes = [each.strip() for each in (said or "").split(",") if each.strip()]
    if not all(each.isascii() and each.isdecimal() and 0 < int(each) <= _MOST_STATEMENTS for each in sizes):
        raise click.BadParameter(f"{said!r} are no numbers of statements; write 1000,10000")
    return tuple(map(int, sizes))


def _tell_growth(sets: Sequence[DataSet], sizes: Sequence[int], *, as_json: bool) -> None:
    """Print a line a size."""
    from stitch.bench.theme_growth import Size, measure_growth

    rows = measure_growth(sets, sizes)
    if as_json:
        print_json([row._asdict() for row in rows])
        return
    click.echo("  ".join(Size._fields))
    for row in rows:
        cells = ("-" if value is None else f"{value:,}" if isinstance(value, int) else f"{value:.3g}" for value in row)
        click.echo("  ".join(cell.rjust(len(name)) for name, cell in zip(Size._fields, cells, strict=True)))


def _spread(found: Sequence[ThemeFigures]) -> dict[str, list[float]]:
    return {
        name: [min(values), max(values)]
        for name in ("themes", "cohesion", "sparsity", "singles")
        if (values := [float(getattr(each, name)) for each in found])
    }
