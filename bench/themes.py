"""Themes over a stream of steps: their sizes, the statements that move, and the cost of a step, a load and a search."""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from stitch.bench.data.sets import load_questions
from stitch.bench.data.types import DataSet, Question
from stitch.bench.timing import percentile, resident_mb
from stitch.console.options import json_option
from stitch.console.printing import print_json
from stitch.core import Step, Trajectory
from stitch.core.progress import Progress
from stitch.errors import InputError
from stitch.themes import ThemeProjection
from stitch.themes.grouping import MERGED, SPLIT
from stitch.themes.objective import sparsity

if TYPE_CHECKING:
    from stitch.memory import Memory

BATCH_STEPS = 100
"""After so many steps the themes are brought up."""
ORDERS = 3
"""In so many orders the trajectories come, to see what that changes."""
QUESTIONS = 60
"""So many questions are asked at each size."""
BUDGET_TOKENS = 1_024
_MOST_STATEMENTS = 10**8

Row = dict[str, Any]


def figures_of(projection: ThemeProjection) -> Row:
    """Figures of all themes of a tenant.

    `singles` is the share of themes of one statement; `sparsity` how equal their sizes are (`objective.sparsity`);
    `cohesion` how similar a statement is to the centroid of its theme, on average; `reassigned` the share of
    statements that are in another theme than the one to which they came, by splits and merges.
    """
    upkeep = projection.upkeep
    members, placed = upkeep.grouping.members, upkeep.grouping.theme_of
    sizes, statements = [len(names) for names in members.values()], len(placed)
    kinds = [event.kind for event in projection.events()]
    moved = sum(placed[name] != theme for name, theme in projection.came_to().items() if name in placed)
    alike = sum(upkeep.groups[theme].cohesion * len(names) for theme, names in members.items())
    return {
        "statements": statements,
        "themes": len(members),
        "mean_size": statements / max(1, len(members)),
        "largest": max(sizes, default=0),
        "singles": sizes.count(1) / max(1, len(members)),
        "sparsity": sparsity(sizes) if sizes else 1.0,
        "cohesion": alike / max(1, statements),
        "reassigned": moved / max(1, statements),
        "splits": kinds.count(SPLIT),
        "merges": kinds.count(MERGED),
    }


def measure_themes(trajectories: Sequence[Trajectory], *, most: int | None = None) -> Row:
    """Measure the themes of trajectories that come one after the other, as of one tenant, up to `most` statements.

    `cpu_ms_a_step` is what it costs to derive statements and to place them, journal and embedder included; labels are
    not made, for themes do not need them. `load_cpu_s` is what a process that comes later pays to have all of it.
    """
    from stitch.embed import StaticEmbedder
    from stitch.journal import Journal

    steps, spent_s = 0, 0.0
    with tempfile.TemporaryDirectory(prefix="stitch-themes-") as folder:
        journal = Journal(Path(folder) / "journal.sqlite")
        themes = ThemeProjection(journal=journal, tenant="bench", embedder=StaticEmbedder())
        themes.embedder.embed(["the table is read before anything is measured"])
        for trajectory in trajectories:
            for batch in _batches(trajectory):
                journal.append_many(batch, tenant="bench", trajectory=trajectory.id, recorded=float(steps))
                spent_s += _cpu_s(themes.bring_up)
                steps += len(batch)
            if most is not None and len(themes.holding.statements) >= most:
                break
        figures = figures_of(themes)
        again = ThemeProjection(journal=journal, tenant="bench", embedder=themes.embedder)
        load_cpu_s = _cpu_s(again.bring_up)
        journal.close()
    costs = {"cpu_ms_a_step": 1e3 * spent_s / max(1, steps), "load_cpu_s": load_cpu_s}
    return {"steps": steps, **figures, **costs, "statements_a_step": figures["statements"] / max(1, steps)}


def _batches(trajectory: Trajectory) -> Iterator[Sequence[Step]]:
    for start in range(0, len(trajectory.steps), BATCH_STEPS):
        yield trajectory.steps[start : start + BATCH_STEPS]


def in_orders(trajectories: Sequence[Trajectory]) -> list[Row]:
    """The themes of the same trajectories when these come in other orders."""
    drawn = (random.Random(seed).sample(trajectories, len(trajectories)) for seed in range(ORDERS))
    return [measure_themes(shuffled) for shuffled in drawn]


def measure_growth(sets: Sequence[DataSet], sizes: Sequence[int], *, questions: int = QUESTIONS) -> list[Row]:
    """Measure a whole memory of one tenant at sizes, in statements; of a size that the sets do not reach, at their end.

    All costs are processor time: of one of the steps since the last size to derive and place, of what another process
    pays to have what is derived, and of searches. So many of the questions on what came last are asked at each size,
    of the themes and of the steps that `intent` ranks.
    """
    wanted, rows, asked = sorted(set(sizes)), list[Row](), list[Question]()
    progress = Progress("statements", of=max(sizes))
    steps = before = statements = 0
    spent_s = 0.0
    with tempfile.TemporaryDirectory(prefix="stitch-themes-") as folder:
        memory = _opened(folder)
        try:
            for trajectory, batch, about, ends in _stream(sets):
                asked += about
                memory.add_many(batch, trajectory=trajectory)
                spent_s += _cpu_s(partial(getattr, memory, "hierarchy"))
                steps, now = steps + len(batch), memory.hierarchy.count()
                progress.advance(now - statements)
                statements = now
                if statements >= wanted[0] or ends:
                    memory.close()
                    memory = _opened(folder)
                    told = {"statements": statements, "steps": steps, "step_cpu_ms": 1e3 * spent_s / (steps - before)}
                    rows.append(told | _costs(memory, asked[-questions:] if questions else []))
                    spent_s, before = 0.0, steps
                    wanted = [size for size in wanted if size > statements]
                    if not wanted:
                        break
        finally:
            memory.close()
    return rows


def _stream(sets: Sequence[DataSet]) -> Iterator[tuple[str, Sequence[Step], list[Question], bool]]:
    """Batches of all sets, the questions about a trajectory with its first, and whether it is the last of all."""
    coming = [(trajectory, data.questions) for data in sets for trajectory in data.trajectories]
    for place, (trajectory, questions) in enumerate(coming, start=1):
        batches = list(_batches(trajectory))
        for number, batch in enumerate(batches, start=1):
            about = [each for each in questions if each.trajectory == trajectory.id] if number == 1 else []
            yield trajectory.id, batch, about, place == len(coming) and number == len(batches)


def _costs(memory: Memory, asked: Sequence[Question]) -> Row:
    load_cpu_s = _cpu_s(lambda: memory.hierarchy)

    def search_ms(question: Question, lens: str) -> float:
        given: Row = {"retriever": lens, "budget_tokens": BUDGET_TOKENS, "asked_at": question.asked_at}
        return 1e3 * _cpu_s(lambda: memory.search(question.text, **given))

    found = {lens: [search_ms(each, lens) for each in asked] for lens in ("themes", "intent")}
    return {
        "load_cpu_s": load_cpu_s,
        "search_p50_cpu_ms": percentile(found["themes"], 50) if asked else None,
        "search_p95_cpu_ms": percentile(found["themes"], 95) if asked else None,
        "intent_p50_cpu_ms": percentile(found["intent"], 50) if asked else None,
        "rss_mb": resident_mb(),
    }


def _opened(folder: str) -> Memory:
    """A memory, with all read that is read at the first search whatever its size."""
    from stitch.assemble import open_memory

    memory = open_memory(folder)
    memory.search("is asked before anything is measured", retriever="intent")
    return memory


def _cpu_s(do: Callable[[], object]) -> float:
    began = time.process_time()
    do()
    return time.process_time() - began


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
    if statements and orders:
        raise InputError("--orders and --statements measure different things", hint="give one of them")
    sets = [load_questions(folder) for folder in folders]
    told = measure_growth(sets, statements) if statements else _figures(sets, orders=orders)
    if as_json:
        print_json(told)
    elif isinstance(told, list):
        for row in told:
            click.echo("  ".join(f"{name} {_shown(value)}" for name, value in row.items()))
    else:
        for name, value in told.items():
            click.echo(f"{name:>24}  {' to '.join(map(_shown, value)) if isinstance(value, list) else _shown(value)}")


def _figures(sets: Sequence[DataSet], *, orders: bool) -> Row:
    trajectories = [each for data in sets for each in data.trajectories]
    told, other = measure_themes(trajectories), in_orders(trajectories) if orders else []
    for name in ("themes", "cohesion", "sparsity", "singles") if orders else ():
        values = [float(each[name]) for each in other]
        told[f"{name}_by_order"] = [min(values), max(values)]
    return told


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"


def _sizes(said: str | None) -> tuple[int, ...]:
    """Numbers of statements, as an option says them."""
    sizes = [each.strip() for each in (said or "").split(",") if each.strip()]
    if not all(each.isascii() and each.isdecimal() and 0 < int(each) <= _MOST_STATEMENTS for each in sizes):
        raise click.BadParameter(f"{said!r} are no numbers of statements; write 1000,10000")
    return tuple(map(int, sizes))
