"""Speed and size of a memory, beside a full scan in numpy, and of the same on a Qdrant server."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing, contextmanager
from itertools import accumulate
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import click

from stitch.bench.bare_engine import measure_bare_engine
from stitch.bench.figures import plain
from stitch.bench.trees.speed import measure_trees
from stitch.core import Step

TRAJECTORY_STEPS = 200
SINGLE_ADDS = 200
ERASED_STEPS = 1_000
"""The oldest; at least one trajectory, and never the last."""
QUESTIONS = 200
"""At most: a memory of fewer steps is added to, and asked, as often as it has steps."""
LONG_STEPS = 20_000
"""In one trajectory; fewer if the memory has fewer."""
CHANGES = 5
"""So many steps of it are corrected, each before another is added."""
TENANTS = 1_000

_NONE: dict[str, Any] = {}

_PLACES = ("Olympus", "Harbor", "Linden", "Meridian", "Juniper", "Copper", "Willow", "Summit", "Orchard", "Lantern")
_GOALS = ("breakfast", "dinner", "the hotel", "the museum", "lunch", "the boat trip", "the market", "the train")
_KINDS = ("price", "rating", "opening hours", "address", "duration", "parking", "menu", "dress code")


def sample_steps(rng: random.Random, steps: int) -> Iterator[Step]:
    """The steps of one made-up trajectory: goals left and resumed, a few frequent labels and many rare ones."""
    goal, day, place = "breakfast", 1, "Olympus Inn"
    for number in range(steps):
        if rng.random() < 0.08:
            goal, day = _skewed(rng, _GOALS), 1 + min(int(rng.expovariate(0.5)), 6)
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
    goal, day = _skewed(rng, _GOALS), 1 + min(int(rng.expovariate(0.5)), 6)
    asked = f"What was the {_skewed(rng, _KINDS)} of the {_skewed(rng, _PLACES)} place for {goal}"
    return f"{asked} on day {day}?" if named else f"{asked}?"


def measure_performance(steps: int = 50_000, *, folder: Path | None = None, seed: int = 0) -> dict[str, float]:
    """Measure a memory of so many steps, each part in a process of its own.

    Searches go over all trajectories, embedding of the question and choice of labels included; the questions name a
    scope, those of `search_unnamed_*` do not and have more hits weighed. `rank_*` is the store's share of the first.
    `engine_p50_ms` is what the engine takes for three searches of its own (`bare_engine.py`).
    `numpy_floor_p50_ms` is what a scan of all vectors and the choice of the best 40 cost without any index, labels or
    payload. `rss_mb` is what a process holds that has opened the memory and searched it, with pages of mapped files;
    the engine maps every vector twice, and `pss_mb` (on Linux) counts such a page once. `disk_mb` is what the folder
    occupies. `erase_s` is the time to the proof when the oldest 1,000 steps are erased at once, `erase_one_s` when one
    is after that. `search_first_ms` is the first search of a process, which reads the labels of all `scopes`.

    What must not grow: in one trajectory of `long_steps` steps, `long_cost_ratio` is what a step of the last tenth
    costs of what one of the first tenth does, in processor time; `add_after_*_ms` is the next add after a step of its
    middle was corrected or erased. `open_tenants_s` is the time to open the memories of `tenants` tenants of a folder.
    `tree_*` are path queries to a tree of `tree_nodes` nodes: structural ones, and one with two conditions in words,
    also the first time and after a commit; and commits to it, early and late ones. `large_tree_open_s` is what a tree
    of `large_tree_nodes` takes to open.

    Args:
        steps: How many steps the memory holds.
        folder: Where to make it; a temporary folder if None.
        seed: What steps and questions are drawn with.
    """
    with tempfile.TemporaryDirectory(prefix="stitch-perf-") as temporary:
        memory = str((folder or Path(temporary)) / "perf.memory")
        figures = {"steps": float(steps), "import_s": _import_s()}
        for part in (_measure_ingest, _measure_search):
            figures |= _in_a_process(part, memory, steps, seed, _NONE)
        figures["disk_mb"] = sum(path.stat().st_blocks for path in Path(memory).rglob("*")) * 512 / 1e6
        for further in (_measure_floors, _measure_erasing, _measure_long, _measure_tenants):
            figures |= _in_a_process(further, memory, steps, seed)
        figures |= _in_a_process(measure_bare_engine, steps, min(QUESTIONS, steps))
        return figures | _in_a_process(measure_trees, seed)


def measure_searches(steps: int, *, seed: int = 0) -> dict[str, float]:
    """Ingest and searches of a memory of so many steps, beside the engine's own searches in the same run."""
    with tempfile.TemporaryDirectory(prefix="stitch-perf-") as temporary:
        memory = str(Path(temporary) / "perf.memory")
        figures: dict[str, float] = {}
        for part in (_measure_ingest, _measure_search):
            figures |= _in_a_process(part, memory, steps, seed, _NONE)
        return figures | _in_a_process(measure_bare_engine, steps, min(QUESTIONS, steps))


def measure_on_server(server: str, *, steps: int, folder: Path, seed: int = 0) -> dict[str, float]:
    """Measure ingest and search of a memory in a folder, and of the same on a server, as `server_*`.

    Args:
        server: Its URL. The memory gets a collection of its own, which is dropped in the end.
        steps: How many steps the memory holds.
        folder: For the files of both.
        seed: What steps and questions are drawn with.
    """
    figures: dict[str, float] = {"steps": float(steps)}
    for part in (_measure_ingest, _measure_search):
        figures |= _in_a_process(part, str(folder / "perf.memory"), steps, seed, _NONE)
    return figures | _measure_server(server, folder / "journal", steps, seed)


def _measure_server(server: str, journal: Path, steps: int, seed: int) -> dict[str, float]:
    from stitch import parts
    from stitch.store.collection import drop

    options = {"collection": f"stitch-perf-{uuid.uuid4()}", "journal": str(journal)}
    figures: dict[str, float] = {}
    try:
        for part in (_measure_ingest, _measure_search):
            figures |= _in_a_process(part, server, steps, seed, options)
    finally:
        with closing(parts.server_of(*parts.settings_for(server, config=None, **options)).connect()) as connection:
            drop(connection)
    return {f"server_{name}": value for name, value in figures.items()}


@click.command(name="perf")
@click.option("--steps", default=50_000, show_default=True, type=click.IntRange(min=1), help="Steps in the memory.")
@click.option("--memory", "server", metavar="URL", help="A Qdrant server: measure ingest and search there too.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(steps: int, server: str | None, *, as_json: bool) -> None:
    """Measure speed and size of a memory beside a numpy full scan; with a URL, of ingest and search there alone.

    \b
    Example:
      stitch bench perf --steps 5000 --json
      stitch bench perf --steps 9000 --memory http://localhost:6333
    """
    click.echo(f"stitch: measuring a memory of {steps} steps; at 50000 this takes some minutes", err=True)
    if server is None:
        figures = measure_performance(steps)
    else:
        with tempfile.TemporaryDirectory(prefix="stitch-perf-") as temporary:
            figures = measure_on_server(server, steps=steps, folder=Path(temporary))
    if as_json:
        click.echo(json.dumps(plain(figures)))
    else:
        for name, value in figures.items():
            click.echo(f"{name:24} {value:12,.3f}")


def _skewed(rng: random.Random, values: tuple[str, ...]) -> str:
    # Zipf's law: the n-th most frequent label has a weight of 1/n.
    return rng.choices(values, cum_weights=list(accumulate(1 / (n + 1) for n in range(len(values)))))[0]


def _in_a_process(part: Callable[..., dict[str, float]], *arguments: Any) -> dict[str, float]:
    with ProcessPoolExecutor(max_workers=1, mp_context=get_context("spawn")) as pool:
        return pool.submit(part, *arguments).result()


def _import_s() -> float:
    code = "import time; began = time.perf_counter(); import stitch; print(time.perf_counter() - began)"
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, check=True) for _ in range(3)]
    return min(float(run.stdout) for run in runs)


def _measure_ingest(memory: str, steps: int, seed: int, options: dict[str, Any]) -> dict[str, float]:
    from stitch.assemble import open_memory

    rng = random.Random(seed)
    batches = [
        list(sample_steps(rng, min(TRAJECTORY_STEPS, steps - start))) for start in range(0, steps, TRAJECTORY_STEPS)
    ]
    singles = list(sample_steps(rng, min(SINGLE_ADDS, steps)))
    with open_memory(memory, **options) as opened:
        began = time.perf_counter()
        for number, batch in enumerate(batches):
            opened.add_many(batch, trajectory=f"trip-{number}")
        opened.flush()
        per_s = steps / (time.perf_counter() - began)
        adds = [_ms(opened.add, step, trajectory="one-by-one") for step in singles]
    return {"ingest_steps_per_s": per_s, "single_add_p50_ms": _percentile(adds, 50)}


def _measure_search(memory: str, steps: int, seed: int, options: dict[str, Any]) -> dict[str, float]:
    from stitch.assemble import open_memory

    rng = random.Random(seed + 1)
    began = time.perf_counter()
    opened = open_memory(memory, **options)
    open_s = time.perf_counter() - began
    with opened:
        first_ms = _ms(opened.search, sample_question(rng))
        scopes = len(opened.inventory().scopes)
        with _counted_requests() as requests:
            searches = [_ms(opened.search, sample_question(rng)) for _ in range(min(QUESTIONS, steps))]
        trips = [f"trip-{number}" for number in range(-(-steps // TRAJECTORY_STEPS))]
        of_one = [_ms(opened.search, sample_question(rng), trajectory=rng.choice(trips)) for _ in searches]
        unnamed = [_ms(opened.search, sample_question(rng, named=False)) for _ in searches]
        few = [_ms(opened.search, sample_question(rng), k=10, budget_tokens=2_000) for _ in searches]
        resident = _resident_mb()
    return {
        "open_s": open_s,
        "scopes": float(scopes),
        "search_first_ms": first_ms,
        "search_p50_ms": _percentile(searches, 50),
        "search_p95_ms": _percentile(searches, 95),
        "search_requests": len(requests) / len(searches),
        "search_k10_p50_ms": _percentile(few, 50),
        "search_trajectory_p50_ms": _percentile(of_one, 50),
        "search_trajectory_p95_ms": _percentile(of_one, 95),
        "search_unnamed_p50_ms": _percentile(unnamed, 50),
        "search_unnamed_p95_ms": _percentile(unnamed, 95),
        **resident,
    }


def _measure_floors(memory: str, steps: int, seed: int) -> dict[str, float]:
    import numpy as np

    from stitch.assemble import open_memory
    from stitch.core import DensityQuery, Label, LabelKind
    from stitch.embed import LexicalEncoder, StaticEmbedder
    from stitch.store import EdgeStore

    rng = random.Random(seed + 1)
    embedder, lexical = StaticEmbedder(), LexicalEncoder()
    with open_memory(memory) as opened:
        inventory = opened.inventory()
        tenant = opened.tenant
    by_count = sorted(inventory.event_types, key=inventory.event_types.__getitem__, reverse=True)
    labels = [Label(LabelKind.EVENT_TYPE, value) for value in by_count[:3]]
    labels += [
        Label(LabelKind.SCOPE, scope.name) for scope in rng.sample(inventory.scopes, min(3, len(inventory.scopes)))
    ]
    labels += [Label(LabelKind.ENTITY_TYPE, value) for value in list(inventory.entity_types)[:6]]

    def query() -> DensityQuery:
        question = sample_question(rng)
        return DensityQuery(
            tenant=tenant,
            labels={label: frozenset({label.value}) for label in rng.sample(labels, min(3, len(labels)))},
            vector=embedder.embed([question])[0],
            words=lexical.query(question),
        )

    about: dict[str, Any] = {"embedder_name": embedder.name, "dimension": embedder.dimension}
    with closing(EdgeStore(memory, create=False, **about)) as store:
        ranks = [_ms(store.rank, query()) for _ in range(min(QUESTIONS, steps))]
    vectors = np.random.default_rng(seed).standard_normal((steps, embedder.dimension)).astype(np.float32)

    def scan(vector: np.ndarray[Any, Any]) -> None:
        scores = vectors @ vector
        best = np.argpartition(scores, -min(40, steps))[-40:]
        best[np.argsort(-scores[best])]

    scans = [_ms(scan, vectors[rng.randrange(steps)]) for _ in range(min(QUESTIONS, steps))]
    return {
        "rank_p50_ms": _percentile(ranks, 50),
        "rank_p95_ms": _percentile(ranks, 95),
        "numpy_floor_p50_ms": _percentile(scans, 50),
    }


def _measure_erasing(memory: str, steps: int, seed: int) -> dict[str, float]:
    from stitch.assemble import open_memory
    from stitch.lifecycle.selection import Selector

    batches = -(-steps // TRAJECTORY_STEPS)
    oldest = max(1, min(ERASED_STEPS // TRAJECTORY_STEPS, batches - 1))
    figures: dict[str, float] = {}
    with open_memory(memory) as opened:
        after = f"trip-{oldest}" if oldest < batches else "one-by-one"
        before = next(opened.steps(after)).recorded
        one = Selector(trajectory=after, step="0")
        for name, chosen in (("erase", Selector(accepted_before=before)), ("erase_one", one)):
            began, began_cpu = time.perf_counter(), time.process_time()
            erased = opened.lifecycle.erase(chosen)
            figures[f"{name}_s"] = time.perf_counter() - began
            figures[f"{name}_cpu_s"] = time.process_time() - began_cpu
            figures[f"{name}_steps"] = float(erased.steps)
            figures[f"{name}_traces_left"] = float(len(erased.proof.found))
    return figures


def _measure_long(memory: str, steps: int, seed: int) -> dict[str, float]:
    from stitch.assemble import open_memory
    from stitch.lifecycle.selection import Selector

    rng, size = random.Random(seed), min(LONG_STEPS, steps)
    said = list(sample_steps(rng, size))
    part = max(1, size // 10)
    costs, after = [], list(sample_steps(rng, CHANGES + 1))
    with open_memory(f"{memory}.long") as opened:
        for start in range(0, size, part):
            some = said[start : start + part]
            began = time.process_time()
            opened.add_many(some, trajectory="long")
            costs.append((time.process_time() - began) / len(some))
        corrects, adds = [], []
        for number, step in enumerate(after[:CHANGES]):
            right = f"The price of the Olympus Inn is {number}."
            changed = str((size // 2 + number) % size)
            corrects.append(_ms(opened.lifecycle.correct, changed, trajectory="long", text=right))
            adds.append(_ms(opened.add, step, trajectory="long"))
        erase_ms = _ms(opened.lifecycle.erase, Selector(trajectory="long", step=str(size // 2)))
        erased_ms = _ms(opened.add, after[CHANGES], trajectory="long")
    return {
        "long_steps": float(size),
        "long_cost_ratio": costs[-1] / costs[0],
        "correct_p50_ms": _percentile(corrects, 50),
        "add_after_correct_p50_ms": _percentile(adds, 50),
        "erase_long_s": erase_ms / 1e3,
        "add_after_erase_ms": erased_ms,
    }


def _measure_tenants(memory: str, steps: int, seed: int) -> dict[str, float]:
    from stitch.assemble import open_tenants

    names = [f"tenant {number}" for number in range(min(TENANTS, steps))]
    with closing(open_tenants(f"{memory}.tenants")) as made:
        for name in names:
            made.memory(name).add_many(list(sample_steps(random.Random(seed), 2)), trajectory="trip")
    began = time.perf_counter()
    with closing(open_tenants(f"{memory}.tenants")) as opened:
        memories = [opened.memory(name) for name in names]
        open_s = time.perf_counter() - began
        memories[-1].search(sample_question(random.Random(seed)))
    return {"tenants": float(len(memories)), "open_tenants_s": open_s}


def _ms(do: Callable[..., object], *arguments: Any, **options: Any) -> float:
    began = time.perf_counter()
    do(*arguments, **options)
    return (time.perf_counter() - began) * 1e3


@contextmanager
def _counted_requests() -> Iterator[list[object]]:
    """What clients of HTTP send meanwhile, in this process."""
    from httpx import Client

    sent: list[object] = []
    send = Client.send

    def counted(self: Client, request: Any, **options: Any) -> Any:
        sent.append(request.url)
        return send(self, request, **options)

    Client.send = counted  # type: ignore[method-assign]  # put back below
    try:
        yield sent
    finally:
        Client.send = send  # type: ignore[method-assign]  # as above


def _percentile(values: list[float], percent: int) -> float:
    return sorted(values)[min(len(values) - 1, len(values) * percent // 100)]


def _resident_mb() -> dict[str, float]:
    rollup = Path("/proc/self/smaps_rollup")
    if rollup.exists():
        lines = (line.split() for line in rollup.read_text().splitlines())
        kilobytes = {words[0]: int(words[1]) for words in lines if words[0] in ("Rss:", "Pss:")}
        return {"rss_mb": kilobytes["Rss:"] * 1024 / 1e6, "pss_mb": kilobytes["Pss:"] * 1024 / 1e6}
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"rss_mb": peak * (1 if sys.platform == "darwin" else 1024) / 1e6}
