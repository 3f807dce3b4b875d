"""`stitch chat`: a conversation about a tree."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from stitch.console.options import memory_options, model_options, opened_memory
from stitch.console.printing import one_line
from stitch.errors import StitchError

if TYPE_CHECKING:
    from stitch.artifacts import TreeReply, VersionedTree

_ENDS = ("quit", "exit", "bye")
_MOST_LINES = 20


@click.command()
@memory_options
@model_options
@click.option("--tree", required=True, metavar="NAME", help="Which tree.")
@click.option("--yes", is_flag=True, help="Commit changes without asking.")
def command(tree: str, yes: bool, **arguments: Any) -> None:
    """Talk about a tree with a language model: it finds, changes and answers, and shows for each turn what it did.

    Changes are shown before they are committed. `undo` takes the last commit of the conversation back, `quit` ends.
    Reads lines from standard input.

    \b
    Example:
      stitch chat --tree toronto --memory trip.memory --model openai/gpt-5-mini
      echo "Which days have no work?" | stitch chat --tree toronto --memory trip.memory --model openai/gpt-5-mini
    """
    with opened_memory(**arguments) as memory:
        trip = memory.trees.open(tree)
        trip.check_model()
        undo: list[str] = []
        for line in sys.stdin if not sys.stdin.isatty() else iter(_asked, ""):
            request = line.strip()
            if not request:
                continue
            if request.lower() in _ENDS:
                break
            if request.lower() == "undo":
                _undo(trip, undo)
                continue
            before = trip.version
            try:
                replies = trip.request(request, confirm=lambda reply: _confirmed(reply, yes=yes))
            except StitchError as error:
                click.echo(f"stitch: {error.message}", err=True)
                if error.hint:
                    click.echo(f"  next: {error.hint}", err=True)
                trip.reload()
                continue
            for reply in replies:
                _print(reply)
            if trip.version != before:
                undo.append(before)


def _asked() -> str:
    try:
        return str(click.prompt(click.style("you", fg="cyan"), prompt_suffix="> ", default="quit", show_default=False))
    except (EOFError, click.Abort):
        return ""


def _undo(trip: VersionedTree, versions: list[str]) -> None:
    if not versions:
        click.echo("stitch: nothing of this conversation is there to undo", err=True)
        return
    commit = trip.revert(versions.pop())
    click.echo(f"{commit.message}; the tree is at {commit.id}")


def _confirmed(reply: TreeReply, *, yes: bool) -> bool:
    from stitch.artifacts.telling import lines_of

    click.echo(f"query   {reply.query}")
    lines = list(lines_of(reply.diff)) if reply.diff is not None else []
    for line in lines[:_MOST_LINES]:
        click.echo(f"  {one_line(line)}")
    if len(lines) > _MOST_LINES:
        click.echo(f"  and {len(lines) - _MOST_LINES} more changes")
    if yes:
        return True
    if not sys.stdin.isatty():
        click.echo("stitch: not committed; nobody can be asked here, --yes commits", err=True)
        return False
    return click.confirm("commit this?", default=True)


def _print(reply: TreeReply) -> None:
    for trouble in reply.troubles:
        click.echo(f"mended  {one_line(trouble)}")
    if reply.query and reply.diff is None:
        click.echo(f"query   {reply.query}")
    if reply.selection is not None and reply.diff is None:
        for node in reply.selection.nodes[:_MOST_LINES]:
            said = next(iter(node.fields.values()), "")
            click.echo(f"  {node.path}  ({node.id})  {node.score:.2f}  {one_line(said, limit=60)}")
    if reply.removed:
        click.echo(f"doubtful, and left out: {', '.join(reply.removed)}")
    if reply.answer:
        click.echo(reply.answer)
    if reply.commit is not None:
        click.echo(f"committed {reply.commit.id}; `undo` takes it back")
    click.echo(f"({reply.calls} calls, {reply.tokens} tokens, {reply.milliseconds / 1000:.1f} s)")
