"""`stitch reindex`."""

from __future__ import annotations

from typing import Any

import click

from stitch.api.models import Nothing
from stitch.api.operations import ask
from stitch.console.options import json_option, memory_options, opened_memory
from stitch.console.printing import print_json
from stitch.console.progress import progress_drawn
from stitch.errors import StoreLockedError


@click.command()
@memory_options
@click.option("--embedder", metavar="NAME", help="The embedder to use from now on, as in `stitch config`.")
@click.option("--adopt", is_flag=True, help="Take over a collection of another journal, and drop what it holds.")
@click.option("--dry-run", is_flag=True, help="With --adopt: say what would be dropped, and change nothing.")
@json_option
def command(as_json: bool, embedder: str | None, adopt: bool, dry_run: bool, **arguments: Any) -> None:
    """Build the store anew from the journal, for all tenants, also with another embedder.

    A process that has the memory open builds it, and serves meanwhile. The old store serves until the new one is
    complete; an interrupted run is taken up where it was. No label is made again. On a server, another collection
    (STITCH_COLLECTION) is refused until it holds everything, and one of another journal in any case, unless it is
    adopted.

    \b
    Example:
      stitch reindex --memory trip.memory
      stitch reindex --memory trip.memory --embedder sentence-transformers/all-MiniLM-L6-v2
      stitch reindex --memory http://localhost:6333 --adopt --dry-run
    """
    if dry_run:
        if not adopt:
            raise click.UsageError("--dry-run goes with --adopt")
        _tell_adoption(as_json=as_json, embedder=embedder, **arguments)
        return
    with progress_drawn("building"):
        result = _rebuilt(embedder=embedder, adopt=adopt, **arguments)
    if as_json:
        print_json({name: getattr(result, name) for name in ("snippets", "written", "embedder")})
        return
    click.echo(f"{result.snippets} snippets with the embedder {result.embedder!r}, {result.written} written now")
    if embedder:
        click.echo(f"stitch: set STITCH_EMBEDDER={embedder}, or embedder: {embedder} in the settings", err=True)


def _tell_adoption(*, as_json: bool, embedder: str | None, **arguments: Any) -> None:
    """Say what an adoption would drop."""
    from stitch.maintenance import adoption

    found = adoption(embedder=embedder, **arguments)
    if as_json:
        print_json(found._asdict() if found else {"journal": None, "points": 0})
    elif found is None:
        click.echo("nothing would be dropped: there is no collection, or it is this journal's")
    else:
        whose = f"of the journal {found.journal}" if found.journal else "that says of no journal whose they are"
        click.echo(f"{found.points} points {whose} would be dropped, and this journal's put")


def _rebuilt(*, embedder: str | None, adopt: bool, **arguments: Any) -> Any:
    """Build the store anew, here or by the process that has the memory open."""
    from stitch.assemble import owner_of
    from stitch.maintenance import reindex_memory

    try:
        return reindex_memory(embedder=embedder, adopt=adopt, **arguments)
    except StoreLockedError:
        owner = owner_of(**arguments) if embedder or adopt else None
        if owner is not None:
            raise StoreLockedError(
                f"process {owner} has the memory open, and goes on with its own embedder",
                hint="end it, run this command, and begin it again with STITCH_EMBEDDER set",
            ) from None
        if embedder or adopt:
            raise
        with opened_memory(**arguments) as memory:
            return ask(memory, "reindex", Nothing())
