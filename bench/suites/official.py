"""`stitch bench locomo` and `stitch bench longmemeval`: the official files, measured as any other set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from stitch.bench.data.official import load_locomo, load_longmemeval
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
