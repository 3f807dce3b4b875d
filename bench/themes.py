"""Themes over a stream of steps: their sizes, the statements that move, and the cost of a step, a load and a search."""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from stitch.bench.data.sets import load_questions
from stitch.bench.data.types import DataSet, Question
from stitch.bench.figures import print_table
from stitch.bench.timing import percentile, resident_mb
from stitch.console.options import json_option
from stitch.console.printing import print_json
from stitch.core import Step, Trajectory
from stitch.core.progress import Progress
from stitch.errors import InputError
from stitch.themes import ThemeProjection
from stitch.themes.grouping import MERGED, SPLIT
from stitch.themes.objective import sparsity

BATCH_STEPS = 100
"""After so many steps the themes are brought up."""
ORDERS = 3
"""In so many orders the trajectories come, to see what that changes."""
QUESTIONS = 60
"""So many questions are asked at each size."""
BUDGET_TOKENS = 1_024

Row = dict[str, Any]


def figures_of(projection: ThemeProjection) -> Row:
    """Figures of all themes of a tenant.

    `singles` is the share of themes of one statement; `sparsity` how equal their sizes are (`objective.sparsity`);
    `cohesion` how similar a statement is to the centroid of its theme, on average; `reassigned` the share of
    statements that are in another theme than the one to which they came, by splits and merges.
    """
    members, placed = projection.upkeep.grouping.members, projection.upkeep.grouping.theme_of
    sizes, themes, statements = [len(names) for names in members.values()], max(1, len(members)), max(1, len(placed))
    kinds = [event.kind for event in projection.events()]
    moved = sum(placed[name] != theme for name, theme in projection.came_to().items() if name in placed)
    alike = sum(projection.upkeep.groups[theme].cohesion * len(names) for theme, names in members.items())
    return {
        "statements": len(placed),
        "themes": len(members),
        "mean_size": len(placed) / themes,
        "largest": max(sizes, default=0),
        "singles": sizes.count(1) / themes,
        "sparsity": sparsity(sizes) if sizes else 1.0,
        "cohesion": alike / statements,
        "reassigned": moved / statements,
        "splits": kinds.count(SPLIT),
        "merges": kinds.count(MERGED),
    }


def measure_themes(trajectories: Sequence[Trajectory]) -> Row:
    """Measure the themes of trajectories that come one after the other, as of one tenant.

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
        for name, batch in _batches(trajectories):
            journal.append_many(batch, tenant="bench", trajectory=name, recorded=float(steps))
            spent_s += _cpu_s(themes.bring_up)
            steps += len(batch)
        again = ThemeProjection(journal=journal, tenant="bench", embedder=themes.embedder)
        costs = {"cpu_ms_a_step": 1e3 * spent_s / max(1, steps), "load_cpu_s": _cpu_s(again.bring_up)}
        figures = figures_of(themes)
        journal.close()
    return {"steps": steps, **figures, **costs, "statements_a_step": figures["statements"] / max(1, steps)}


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
    from stitch.assemble import open_memory

    coming = [each for data in sets for each in _batches(data.trajectories)]
    about: dict[str, list[Question]] = {}
    for question in (question for data in sets for question in data.questions):
        about.setdefault(question.trajectory, []).append(question)
    wanted, rows, asked = sorted(set(sizes)), list[Row](), list[Question]()
    progress, steps, before, spent_s = Progress("statements", of=max(sizes)), 0, 0, 0.0
    with tempfile.TemporaryDirectory(prefix="stitch-themes-") as folder:
        left = iter(coming)
        while wanted and steps < sum(len(batch) for _, batch in coming):
            with open_memory(folder) as memory:
                for name, batch in left:
                    asked += about.pop(name, [])
                    memory.add_many(batch, trajectory=name)
                    spent_s += _cpu_s(lambda: memory.hierarchy)
                    steps += len(batch)
                    progress.advance(memory.hierarchy.count() - progress.done)
                    if memory.hierarchy.count() >= wanted[0]:
                        break
                statements = memory.hierarchy.count()
            told = {"statements": statements, "steps": steps, "step_cpu_ms": 1e3 * spent_s / (steps - before)}
            rows.append(told | _costs(folder, asked[-questions:] if questions else []))
            wanted, before, spent_s = [size for size in wanted if size > statements], steps, 0.0
    return rows


def _costs(folder: str, asked: Sequence[Question]) -> Row:
    from stitch.assemble import open_memory

    with open_memory(folder) as memory:
        memory.search("is asked before anything is measured", retriever="intent")
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


def _batches(trajectories: Sequence[Trajectory]) -> Iterator[tuple[str, Sequence[Step]]]:
    for trajectory in trajectories:
        for start in range(0, len(trajectory.steps), BATCH_STEPS):
            yield trajectory.id, trajectory.steps[start : start + BATCH_STEPS]


def _cpu_s(do: Callable[[], object]) -> float:
    began = time.process_time()
    do()
    return time.process_time() - began


def _sizes(context: click.Context, option: click.Parameter, said: str | None) -> tuple[int, ...]:
    """Numbers of statements, as an option says them."""
    sizes = [each.strip() for each in (said or "").split(",") if each.strip()]
    if not all(each.isascii() and each.isdecimal() and 0 < len(each) < 9 and int(each) for each in sizes):
        raise click.BadParameter(f"{said!r} are no numbers of statements; write 1000,10000")
    return tuple(map(int, sizes))


@click.command()
@click.option("--data", "folders", multiple=True, required=True, type=click.Path(exists=True, path_type=Path),
              help="A folder with trajectories and questions; may be repeated, all are of one tenant.")  # fmt: skip
@click.option("--statements", metavar="N,N", callback=_sizes,
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
    if statements:
        rows = measure_growth(sets, statements)
        if as_json:
            print_json(rows)
        else:
            print_table({f"{row['statements']:,} statements": row for row in rows}, title="Themes as they grow")
        return
    told = _figures([each for data in sets for each in data.trajectories], orders=orders)
    if as_json:
        print_json(told)
    for name, value in told.items() if not as_json else ():
        each = value if isinstance(value, list) else [value]
        click.echo(f"{name:>24}  {' to '.join(f'{number:.4g}' for number in each)}")


def _figures(trajectories: Sequence[Trajectory], *, orders: bool) -> Row:
    told, other = measure_themes(trajectories), in_orders(trajectories) if orders else []
    for name in ("themes", "cohesion", "sparsity", "singles") if orders else ():
        values = [float(each[name]) for each in other]
        told[f"{name}_by_order"] = [min(values), max(values)]
    return told
