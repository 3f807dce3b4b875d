"""`stitch themes`."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import click

from stitch.api.operations import ask, made
from stitch.api.theme_models import StatementRow, ThemeRequest, ThemesRequest
from stitch.console.options import json_option, memory_options, opened_memory
from stitch.console.printing import one_line, print_json

_LISTED = 50
_NEAR = 6


@click.group(invoke_without_command=True)
@memory_options
@click.option("--limit", type=click.IntRange(1), default=_LISTED, show_default=True, help="List so many.")
@click.option("--after", metavar="ID", help="List those behind this theme.")
@click.option("--as-of", metavar="TIME", help="List the themes of a moment: Unix seconds, or 2026-03-01T12:00.")
@json_option
@click.pass_context
def group(
    context: click.Context, /, as_json: bool, limit: int, after: str | None, as_of: str | None, **arguments: Any
) -> None:
    """List what a memory is about: its themes, those of most statements first.

    \b
    Example:
      stitch themes --memory trip.memory
      stitch themes show --memory trip.memory t1
    """
    if context.invoked_subcommand is not None:
        return
    with opened_memory(**arguments) as memory:
        page = ask(memory, "themes", made(ThemesRequest, limit=limit, after=after, as_of=as_of))
    if as_json:
        print_json(page.model_dump(mode="json"))
        return
    if not page.themes:
        click.echo("there are no themes" + (f" as of {as_of}" if as_of else ""), err=True)
    for theme in page.themes:
        terms = ", ".join(one_line(term) for term in theme.terms)
        told = f"  ({terms})" if terms else ""
        click.echo(f"{theme.id:>7}  {len(theme.statements):>3}  {one_line(theme.name)}{told}")
    if page.next is not None:
        click.echo(f"there are more: --after {page.next}", err=True)


@group.command()
@click.argument("theme")
@memory_options
@json_option
@click.pass_context
def show(context: click.Context, /, theme: str, as_json: bool, **arguments: Any) -> None:
    """Show a THEME by its id: what was said, by whom and when, and the themes around it.

    \b
    Example:
      stitch themes show --memory trip.memory t1
    """
    given = context.parent.params if context.parent is not None else {}
    arguments = {name: given.get(name) if value is None else value for name, value in arguments.items()}
    with opened_memory(**arguments) as memory:
        told = ask(memory, "theme", made(ThemeRequest, theme=theme))
    if as_json or given.get("as_json"):
        print_json(told.model_dump(mode="json"))
        return
    click.echo(f"{told.id}  {one_line(told.name)}  ({', '.join(one_line(term) for term in told.terms)})")
    for each in told.statements:
        mark = "*" if each.id == told.medoid else " "
        click.echo(f" {mark} {_when(each)}{one_line(each.speaker)}: {one_line(each.text, limit=200)}")
        click.echo(f"     {one_line(each.trajectory)}  {', '.join(map(one_line, each.steps))}")
    if told.neighbors:
        click.echo("near: " + ", ".join(f"{near.id} {one_line(near.name)}" for near in told.neighbors[:_NEAR]))


def _when(statement: StatementRow) -> str:
    said = statement.said_at
    if isinstance(said, float | int):
        said = datetime.fromtimestamp(said, timezone.utc).isoformat(timespec="minutes")
    happened = f", of {statement.happened_at}" if statement.happened_at else ""
    return f"[{one_line(said)}{happened}] " if said else ""
