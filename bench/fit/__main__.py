"""`python -m stitch.bench.fit NAME`: each weight, table and constant that ships, by one command."""

from __future__ import annotations

import sys
from collections.abc import Mapping

import click

from stitch.console.lazy import LazyGroup
from stitch.errors import StitchError

FITS: Mapping[str, tuple[str, str]] = {
    "scopes": ("stitch.bench.fit.scopes:command", "Weights of local scopes (stitch/label/local/weights.json)."),
    "ranking": ("stitch.bench.fit.ranking:command", "Weights of the search (stitch/retrieve/weights.json)."),
    "relevance": ("stitch.bench.fit.relevance:command", "Chances that hits bear on a question (relevance.py)."),
    "paths": ("stitch.bench.fit.paths:command", "Calibration of the scorers of path queries."),
    "table": ("stitch.bench.fit.table.make:command", "The table of the static embedder (stitch/embed/table)."),
    "acts": ("stitch.bench.fit.acts:command", "Weights of acts of words (stitch/label/local/weights.json)."),
    "kinds": ("stitch.bench.fit.kinds:command", "The table of kinds of things from WordNet (stitch/text/table)."),
}
"""Where each fit is, and what it makes."""


@click.group(cls=LazyGroup, commands=FITS, name="fit")
def group() -> None:
    """Make again what is fitted and shipped.

    \b
    Example:
      python -m stitch.bench.fit ranking --data locomo --data beam --limit 50
    """


def main() -> None:
    """Run the command and end the process."""
    try:
        group.main(prog_name="python -m stitch.bench.fit")
    except StitchError as error:
        click.echo(f"error: {error.message}" + (f"\nhint: {error.hint}" if error.hint else ""), err=True)
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
