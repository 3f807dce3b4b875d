"""`stitch reindex`."""

from __future__ import annotations

from typing import Any

import click

from stitch.console.options import json_option, memory_options
from stitch.console.printing import print_json


@click.command()
@memory_options
@click.option("--embedder", metavar="NAME", help="The embedder to use from now on, as in `stitch config`.")
@json_option
def command(as_json: bool, embedder: str | None, **arguments: Any) -> None:
    """Build the store anew from the journal, for all tenants, also with another embedder.

    The old store serves until the new one is complete; an interrupted run is taken up where it was. No label is made
    again. On a server, another collection (STITCH_COLLECTION) is filled, and refused until it holds everything.

    \b
    Example:
      stitch reindex --memory trip.memory
      stitch reindex --memory trip.memory --embedder sentence-transformers/all-MiniLM-L6-v2
    """
    from stitch.maintenance import reindex_memory

    result = reindex_memory(embedder=embedder, **arguments)
    if as_json:
        print_json(result._asdict())
        return
    click.echo(f"{result.snippets} snippets with the embedder {result.embedder!r}, {result.written} written now")
    if embedder:
        click.echo(f"stitch: set STITCH_EMBEDDER={embedder}, or embedder: {embedder} in the settings", err=True)
