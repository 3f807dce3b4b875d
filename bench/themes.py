"""Themes over a stream of steps: their sizes, what is moved, what a step, loading and a search cost."""

from __future__ import annotations

import random
import tempfile
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from stitch.bench.data.sets import load_questions
from stitch.bench.data.types import DataSet, Question
from stitch.bench.timing import percentile, resident_mb
from stitch.console.options import json_option
from stitch.console.printing import print_json
from stitch.core import Trajectory
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


class Size(NamedTuple):
    """What themes cost in a memory of a size, in processor time."""

    statements: int
    steps: int
    step_cpu_ms: float
    """What one of the steps since the last size cost to derive and place."""
    load_cpu_s: float
    """What another process pays to have what is derived."""
    search_p50_cpu_ms: float | None
    """None where no question is asked."""
    search_p95_cpu_ms: float | None
    intent_p50_cpu_ms: float | None
    """The same questions, answered by the steps that `intent` ranks."""
    rss_mb: float


class ThemeFigures(NamedTuple):
    """Of all themes of a tenant."""

    statements: int
    themes: int
    mean_size: float
    largest: int
    singles: float
    """Which share of the themes has one statement."""
    sparsity: float
    """How equal their sizes are: 1 if they are (`objective.sparsity`)."""
    cohesion: float
    """How similar a statement is to the centroid of its theme, on average."""
    reassigned: float
    """Which share of the statements is in another theme than the one to which it came, by splits and merges."""
    splits: int
    merges: int


def figures_of(projection: ThemeProjection) -> ThemeFigures:
    """The figures of a hierarchy, with all that happened to it so far."""
    upkeep = projection.upkeep
    members, statements = upkeep.grouping.members, len(upkeep.grouping.theme_of)
    sizes = [len(names) for names in members.values()]
    kinds = [event.kind for event in projection.events()]
    placed, came = upkeep.grouping.theme_of, projection.came_to()
    moved = sum(placed[name] != theme for name, theme in came.items() if name in placed)
    alike = sum(upkeep.group(theme).cohesion * len(names) for theme, names in members.items())
    return ThemeFigures(
        statements=statements,
        themes=len(members),
        mean_size=statements / max(1, len(members)),
        largest=max(sizes, default=0),
        singles=sizes.count(1) / max(1, len(members)),
        sparsity=sparsity(sizes) if sizes else 1.0,
        cohesion=alike / max(1, statements),
        reassigned=moved / max(1, statements),
        splits=kinds.count(SPLIT),
        merges=kinds.count(MERGED),
    )


def measure_themes(trajectories: Sequence[Trajectory], *, most: int | None = None) -> dict[str, Any]:
    """Measure the themes of trajectories that come one after the other, as of one tenant.

    `cpu_ms_a_step` is what it costs to derive statements and to place them, journal and embedder included; labels are
    not made, for themes do not need them. `load_cpu_s` is what a process that comes later pays to have all of it.

    Args:
        trajectories: What comes.
        most: So many statements at most.
    """
    from stitch.embed import StaticEmbedder
    from stitch.journal import Journal

    steps, spent_s = 0, 0.0
    with tempfile.TemporaryDirectory(prefix="stitch-themes-") as folder:
        journal = Journal(Path(folder) / "journal.sqlite")
        themes = ThemeProjection(journal=journal, tenant="bench", embedder=StaticEmbedder())
        themes.embedder.embed(["the table is read before anything is measured"])
        for trajectory in trajectories:
            for start in range(0, len(trajectory.steps), BATCH_STEPS):
                batch = trajectory.steps[start : start + BATCH_STEPS]
                journal.append_many(batch, tenant="bench", trajectory=trajectory.id, recorded=float(steps))
                spent_s += _cpu_s(themes.bring_up)
                steps += len(batch)
            if most is not None and len(themes.holding.statements) >= most:
                break
        figures = figures_of(themes)
        again = ThemeProjection(journal=journal, tenant="bench", embedder=themes.embedder)
        load_cpu_s = _cpu_s(again.load)
        journal.close()
    return {
        "steps": steps,
        **figures._asdict(),
        "cpu_ms_a_step": 1e3 * spent_s / max(1, steps),
        "load_cpu_s": load_cpu_s,
        "statements_a_step": figures.statements / max(1, steps),
    }


def in_orders(trajectories: Sequence[Trajectory]) -> list[ThemeFigures]:
    """The themes of the same trajectories when these come in other orders."""
    found = []
    for seed in range(ORDERS):
        shuffled = list(trajectories)
        random.Random(seed).shuffle(shuffled)
        measured = measure_themes(shuffled)
        found.append(ThemeFigures(**{name: measured[name] for name in ThemeFigures._fields}))
    return found


def measure_growth(sets: Sequence[DataSet], sizes: Sequence[int], *, questions: int = QUESTIONS) -> list[Size]:
    """Measure a whole memory of one tenant at sizes, in statements; of a size that the sets do not reach, at their end.

    Args:
        sets: What comes.
        sizes: At so many statements it is measured.
        questions: So many of the questions on what came last are asked at each size; 0 asks none.
    """
    wanted, rows, asked = deque(sorted(set(sizes))), list[Size](), list[Question]()
    progress = Progress("statements", of=max(sizes))
    with tempfile.TemporaryDirectory(prefix="stitch-themes-") as folder:
        memory = _opened(Path(folder))
        try:
            steps = before = statements = 0
            spent_s = 0.0

            def row() -> Size:
                nonlocal memory, spent_s, before
                memory.close()
                memory = _opened(Path(folder))
                since, cost_s = steps - before, spent_s
                spent_s, before = 0.0, steps
                recent = asked[-questions:] if questions else []
                return _size(memory, recent, statements=statements, steps=steps, step_s=cost_s / max(1, since))

            for data in sets:
                for trajectory in data.trajectories:
                    asked += [each for each in data.questions if each.trajectory == trajectory.id]
                    for start in range(0, len(trajectory.steps), BATCH_STEPS):
                        batch = trajectory.steps[start : start + BATCH_STEPS]
                        memory.add_many(batch, trajectory=trajectory.id)
                        spent_s += _cpu_s(lambda: memory.hierarchy)
                        steps += len(batch)
                        now = memory.hierarchy.count()
                        progress.advance(now - statements)
                        statements = now
                        if statements >= wanted[0]:
                            rows.append(row())
                            while wanted and statements >= wanted[0]:
                                wanted.popleft()
                            if not wanted:
                                return rows
            rows.append(row())
        finally:
            memory.close()
    return rows


def _size(memory: Memory, asked: Sequence[Question], *, statements: int, steps: int, step_s: float) -> Size:
    load_cpu_s = _cpu_s(lambda: memory.hierarchy)

    def search_ms(question: Question, lens: str) -> float:
        return 1e3 * _cpu_s(
            lambda: memory.search(
                question.text, retriever=lens, budget_tokens=BUDGET_TOKENS, asked_at=question.asked_at
            )
        )

    found = {lens: [search_ms(each, lens) for each in asked] for lens in ("themes", "intent")}
    return Size(
        statements=statements,
        steps=steps,
        step_cpu_ms=1e3 * step_s,
        load_cpu_s=load_cpu_s,
        search_p50_cpu_ms=percentile(found["themes"], 50) if asked else None,
        search_p95_cpu_ms=percentile(found["themes"], 95) if asked else None,
        intent_p50_cpu_ms=percentile(found["intent"], 50) if asked else None,
        rss_mb=resident_mb(),
    )


def _opened(folder: Path) -> Memory:
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
    if statements:
        rows = [row._asdict() for row in measure_growth(sets, statements)]
        if as_json:
            print_json(rows)
        else:
            for row in rows:
                click.echo("  ".join(f"{name} {_shown(value)}" for name, value in row.items()))
        return
    told = _figures([each for data in sets for each in data.trajectories], orders=orders)
    if as_json:
        print_json(told)
        return
    for name, value in told.items():
        click.echo(f"{name:>24}  {' to '.join(map(_shown, value)) if isinstance(value, list) else _shown(value)}")


def _figures(trajectories: Sequence[Trajectory], *, orders: bool) -> dict[str, Any]:
    told: dict[str, Any] = measure_themes(trajectories)
    if orders:
        found = in_orders(trajectories)
        for name in ("themes", "cohesion", "sparsity", "singles"):
            values = [float(getattr(each, name)) for each in found]
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
