"""`stitch bench locomo`, `longmemeval`, `ama` and others: the official files, measured as any other set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from stitch.bench.data.agents import load_ama, load_longmemeval_v2, load_who_and_when
from stitch.bench.data.official import load_locomo, load_longmemeval
from stitch.bench.data.state_bench import load_state_bench
from stitch.bench.suites.retrieval import run_retrieval
from stitch.bench.suites.running import Options, suite_options


@click.command()
@click.option("--data", required=True, type=click.Path(path_type=Path), help="The file locomo10.json.")
@suite_options
def locomo(data: Path, **given: Any) -> None:
    """Find the evidence of LoCoMo's questions.

    \b
    Example:
      stitch bench locomo --data locomo10.json --methods stitch,bm25
    """
    run_retrieval(load_locomo(data), Options(**given))


@click.command()
@click.option("--data", required=True, type=click.Path(path_type=Path), help="A file longmemeval_*.json.")
@suite_options
def longmemeval(data: Path, **given: Any) -> None:
    """Find the evidence of LongMemEval's questions.

    \b
    Example:
      stitch bench longmemeval --data longmemeval_s.json --methods stitch,bm25
    """
    run_retrieval(load_longmemeval(data), Options(**given))


@click.command()
@click.option("--data", required=True, type=click.Path(path_type=Path), help="The episodes as JSON lines.")
@suite_options
def ama(data: Path, **given: Any) -> None:
    """Answer AMA-Bench's questions; its files name no evidence, so that only answers are measured.

    \b
    Example:
      stitch bench ama --data ama-bench.jsonl --methods stitch,bm25 --answers
    """
    run_retrieval(load_ama(data), Options(**given))


@click.command()
@click.option("--data", required=True, type=click.Path(path_type=Path), help="The folder of the release.")
@click.option(
    "--tier", type=click.Choice(("small", "medium")), default="small", show_default=True, help="Which haystack."
)
@suite_options
def longmemeval_v2(data: Path, tier: str, **given: Any) -> None:
    """Answer LongMemEval-V2's questions; its files name no evidence, so that only answers are measured.

    \b
    Example:
      stitch bench longmemeval-v2 --data longmemeval-v2 --tier small --answers
    """
    run_retrieval(load_longmemeval_v2(data, tier=tier), Options(**given))


@click.command()
@click.option("--data", required=True, type=click.Path(path_type=Path), help="A folder of runs, one JSON file each.")
@suite_options
def who_and_when(data: Path, **given: Any) -> None:
    """Find the step that made a run of several agents fail, as Who&When names it.

    \b
    Example:
      stitch bench who-and-when --data who_and_when --methods stitch,bm25
    """
    run_retrieval(load_who_and_when(data), Options(**given))


@click.command()
@click.option("--data", required=True, type=click.Path(path_type=Path), help="A folder a domain, a JSON file a run.")
@suite_options
def state_bench(data: Path, **given: Any) -> None:
    """Find the calls of runs and the last one on a thing, in STATE-Bench's trajectories.

    \b
    Example:
      stitch bench state-bench --data state_bench --methods stitch,bm25
    """
    run_retrieval(load_state_bench(data), Options(**given))
