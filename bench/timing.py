"""Made-up steps and questions, and the time and memory that they take: shared by all measurements of speed."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import accumulate
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import click

from stitch.console.printing import print_json
from stitch.core import Step

Figures = dict[str, float]

TRAJECTORY_STEPS = 200
_PLACES = ("Olympus", "Harbor", "Linden", "Meridian", "Juniper", "Copper", "Willow", "Summit", "Orchard", "Lantern")
_GOALS = ("breakfast", "dinner", "the hotel", "the museum", "lunch", "the boat trip", "the market", "the train")
_KINDS = ("price", "rating", "opening hours", "address", "duration", "parking", "menu", "dress code")


def sample_steps(rng: random.Random, steps: int) -> Iterator[Step]:
    """The steps of one made-up trajectory: goals left and resumed, a few frequent labels and many rare ones."""
    goal, day, place = "breakfast", 1, "Olympus Inn"
    for number in range(steps):
        if rng.random() < 0.08:
            goal, day = _goal_and_day(rng)
            place = f"{_skewed(rng, _PLACES)} {rng.choice(('Inn', 'House', 'Hall', 'Court'))} {rng.randrange(200)}"
            yield Step(role="user", content=f"Let us look at {goal} for day {day}. One idea is the {place}.")
        elif number % 2:
            kind = _skewed(rng, _KINDS)
            yield Step(role="user", content=f"What is the {kind} of the {place} for {goal} on day {day}?")
        else:
            yield Step(
                role="assistant",
                content=f"It is {rng.randrange(400)} for {rng.randrange(1, 9)}, and people who go there say that "
                f"{_skewed(rng, _KINDS)} matters more than {_skewed(rng, _KINDS)}; it is in the file under "
                f"{rng.randrange(10**6)}.",
            )


def sample_question(rng: random.Random, *, named: bool = True) -> str:
    """A question about what `sample_steps` makes; it names the scope ("on day 2"), or says nothing of the kind."""
    goal, day = _goal_and_day(rng)
    asked = f"What was the {_skewed(rng, _KINDS)} of the {_skewed(rng, _PLACES)} place for {goal}"
    return f"{asked} on day {day}?" if named else f"{asked}?"


def _goal_and_day(rng: random.Random) -> tuple[str, int]:
    return _skewed(rng, _GOALS), 1 + min(int(rng.expovariate(0.5)), 6)


def _skewed(rng: random.Random, values: tuple[str, ...]) -> str:
    # Zipf's law: the n-th most frequent label has a weight of 1/n.
    return rng.choices(values, cum_weights=list(accumulate(1 / (n + 1) for n in range(len(values)))))[0]


def in_a_process(part: Callable[..., Figures], *arguments: Any) -> Figures:
    """The figures of a part, measured in a process of its own."""
    with ProcessPoolExecutor(max_workers=1, mp_context=get_context("spawn")) as pool:
        return pool.submit(part, *arguments).result()


def took_ms(do: Callable[..., object], *arguments: Any, **options: Any) -> float:
    """Milliseconds that a call takes."""
    began = time.perf_counter()
    do(*arguments, **options)
    return (time.perf_counter() - began) * 1e3


def took(do: Callable[[], object]) -> tuple[float, float]:
    """Seconds that a call takes: of the wall, and of the processor time of this thread."""
    began, began_cpu = time.perf_counter(), time.thread_time()
    do()
    return time.perf_counter() - began, time.thread_time() - began_cpu


def percentile(values: Sequence[float], percent: int) -> float:
    """The value below which so many percent of the values are (nearest rank)."""
    return sorted(values)[min(len(values) - 1, len(values) * percent // 100)]


def percentiles(name: str, values: Sequence[float]) -> Figures:
    """Median and 95th percentile of some times in milliseconds, as figures."""
    return {f"{name}_p50_ms": percentile(values, 50), f"{name}_p95_ms": percentile(values, 95)}


def resident_mb(*, mapped: bool = True) -> float:
    """Megabytes that this process holds now, with pages of mapped files or not; its peak where nothing says more."""
    status = Path("/proc/self/status")
    if status.exists():
        lines = (line.split() for line in status.read_text().splitlines())
        return next(int(words[1]) for words in lines if words[0] == ("VmRSS:" if mapped else "RssAnon:")) * 1024 / 1e6
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak * (1 if sys.platform == "darwin" else 1024) / 1e6


def mapped_again_mb(folder: str) -> float:
    """Megabytes of what `resident_mb` counts more than once: pages of files of a folder that are mapped in two places.

    0 where the system does not say.
    """
    maps, pages, inside = Path("/proc/self/smaps"), 0, False
    for line in maps.read_text().splitlines() if maps.exists() else ():
        name, *said = line.split()
        if not name.endswith(":"):  # where a file is mapped; what follows is of that place
            inside = f" {folder}/" in line
        elif inside and name in ("Rss:", "Pss:"):  # the pages there, and each divided by how often it is mapped
            pages += int(said[0]) * (1 if name == "Rss:" else -1)
    return pages * 1024 / 1e6


def print_figures(figures: Mapping[str, float], *, as_json: bool) -> None:
    """Print figures as one JSON object, whole numbers whole and four digits of the others, or one a line."""
    if as_json:
        print_json({name: int(value) if value == int(value) else round(value, 4) for name, value in figures.items()})
        return
    for name, value in figures.items():
        click.echo(f"{name:32} {value:12,.3f}")
