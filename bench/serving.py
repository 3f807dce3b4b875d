"""The cost of a server: searches and adds over HTTP beside the same in process."""

from __future__ import annotations

import http.client
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import click
import urllib3

from stitch.bench import timing
from stitch.bench.timing import Figures, percentile, percentiles, sample_steps, took_ms
from stitch.console.options import json_option

CLIENTS = (1, 8, 32)
SEARCHES, ADDS = 320, 160
"""For each number of clients, on each side."""
K = 10
WARMING = 20
STREAMS = 1_000
_PLACE_TRIES = 10
"""So often the place of a stream that was closed is waited for, as long as the server says."""


def measure_serving(steps: int = 5_000, *, streams: int = STREAMS, seed: int = 0) -> Figures:
    """Measure a server whose memory holds so many steps, and beside it a copy of that memory in this process.

    `overhead_*` is what a search over HTTP took more than the same question to the copy right before or after it, one
    at a time: pairs, so that both have the same machine. `socket_overhead_*` is the same for `open_memory` of the
    served folder, and `python_overhead_*` for that of `stitch+http://`. `search_N_*` and `add_N_*` are asked by N
    clients at once, who wait for each answer; `in_process_*` by as many threads. `streams_mb` is what the server needs
    more with so many `streams` of events open, `stream_event_ms` the time until the last of them has been told of an
    event.
    """
    from stitch.assemble import open_memory

    with tempfile.TemporaryDirectory(prefix="stitch-serving-") as temporary:
        served, copy = Path(temporary) / "served", Path(temporary) / "copy"
        rng = random.Random(seed)
        with open_memory(served) as memory:
            for number, batch in enumerate(timing.sample_batches(rng, steps)):
                memory.add_many(batch, trajectory=f"trip-{number}")
        shutil.copytree(served, copy)
        questions = [timing.sample_question(rng) for _ in range(SEARCHES)]
        with _server(served) as server, open_memory(copy, share=False) as memory:
            ask = partial(memory.search, k=K)
            figures: Figures = {"steps": float(steps), **_overhead("overhead", server.search, ask, questions)}
            for name, where in (("socket", str(served)), ("python", f"stitch+{server.url}")):
                with open_memory(where) as other:
                    figures |= _overhead(f"{name}_overhead", partial(other.search, k=K), ask, questions)
            for clients in CLIENTS:
                adds = [(step, f"add-{clients}-{n % clients}") for n, step in enumerate(sample_steps(rng, ADDS))]
                for name, calls in (
                    ("in_process_search", [partial(ask, each) for each in questions]),
                    ("search", [partial(server.search, each) for each in questions]),
                    ("in_process_add", [partial(memory.add, step, trajectory=own) for step, own in adds]),
                    ("add", [partial(server.add, [step.model_dump(exclude_defaults=True)], own) for step, own in adds]),
                ):
                    figures |= _times(f"{name}_{clients}", clients, calls)
            return figures | _streams(server, streams)


@click.command(name="serve")
@click.option("--steps", default=5_000, show_default=True, type=click.IntRange(min=1), help="Steps in the memory.")
@click.option("--streams", default=STREAMS, show_default=True, type=click.IntRange(min=1), help="Streams of events.")
@json_option
def command(steps: int, streams: int, *, as_json: bool) -> None:
    """Measure searches and adds over HTTP beside the same in process, and with many streams of events.

    \b
    Example:
      stitch bench serve --steps 2000 --json
    """
    click.echo(f"stitch: serving a memory of {steps} steps, and asking it; takes a minute or two", err=True)
    timing.print_figures(measure_serving(steps, streams=streams), as_json=as_json)


class _Server:
    """A server in a process of its own, asked over connections that are kept."""

    def __init__(self, url: str, pid: int) -> None:
        self.pid, self.url = pid, url
        self.connections = urllib3.PoolManager(maxsize=max(CLIENTS), timeout=120, retries=False)

    def search(self, question: str) -> object:
        return self._post("/v1/search", {"query": question, "k": K})

    def add(self, steps: Sequence[dict[str, Any]], trajectory: str) -> object:
        return self._post("/v1/steps", {"trajectory": trajectory, "steps": steps})

    def _post(self, path: str, body: object) -> object:
        response = self.connections.request("POST", self.url + path, json=body)
        assert response.status == http.client.OK, response.data
        return response.json()


@contextmanager
def _server(memory: Path) -> Iterator[_Server]:
    code = "from stitch.cli import main; main()"
    command = [sys.executable, "-c", code, "serve", "--memory", str(memory), "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            ready = json.loads(process.stdout.readline())
            server = _Server(ready["url"], ready["pid"])
            yield server
            server.connections.clear()
        finally:
            process.terminate()


def _overhead(
    name: str, there: Callable[[str], object], ask: Callable[[str], object], questions: Sequence[str]
) -> Figures:
    """The difference of each question to the same in process; in turn one of them is first."""
    for question in questions[:WARMING]:
        there(question)
        ask(question)
    more, alone = [], []
    for number, question in enumerate(questions):
        first, second = (ask, there) if number % 2 else (there, ask)
        times = took_ms(first, question), took_ms(second, question)
        own, over = times if number % 2 else reversed(times)
        more.append(over - own)
        alone.append(own)
    return {**percentiles(name, more), f"{name}_of_p50_ms": percentile(alone, 50)}


def _times(name: str, clients: int, calls: Sequence[Callable[[], object]]) -> Figures:
    """Times of calls that so many clients make, each one after the other."""
    began = time.perf_counter()
    with ThreadPoolExecutor(clients) as pool:
        times = list(pool.map(took_ms, calls))
    return {**percentiles(name, times), f"{name}_per_s": len(calls) / (time.perf_counter() - began)}


def _streams(server: _Server, count: int) -> Figures:
    """Many streams of events."""
    before_mb = timing.resident_mb(server.pid)
    with ExitStack() as ending:
        connections = [
            http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=120) for _ in range(count)
        ]
        for connection in connections:
            ending.callback(connection.close)
        opened = [_opened(connection) for connection in connections]
        needed_mb = timing.resident_mb(server.pid) - before_mb
        began = time.perf_counter()
        server.search("Which hotel?")
        for response in opened:
            _read_event(response, "searched")
        told_ms = (time.perf_counter() - began) * 1e3
    return {"streams": float(count), "streams_mb": needed_mb, "stream_event_ms": told_ms}


def _opened(connection: http.client.HTTPConnection) -> http.client.HTTPResponse:
    """A stream of events that has begun; its place may have to be waited for, as the server says."""
    for _ in range(_PLACE_TRIES):
        connection.request("GET", "/v1/events")
        response = connection.getresponse()
        if response.status == http.client.OK:
            _read_event(response, "ready")
            return response
        said = response.read()
        assert response.status == http.client.TOO_MANY_REQUESTS, said
        time.sleep(float(response.headers["Retry-After"]))
    raise AssertionError("no place for a stream of events")


def _read_event(response: http.client.HTTPResponse, name: str) -> None:
    """Read up to the end of the next event of this name."""
    found = False
    while line := response.readline():
        found = found or line == f"event: {name}\n".encode()
        if found and line == b"\n":
            return
    raise AssertionError("the stream has ended")
