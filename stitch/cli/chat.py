"""`stitch chat`: a conversation about a tree."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from stitch.console.options import memory_options, model_options, opened_memory
from stitch.console.printing import counted, one_line
from stitch.errors import ConflictError, ReplyError, StitchError

if TYPE_CHECKING:
    from stitch.trees import TreeReply, VersionedTree

_ENDS = ("quit", "exit", "bye")
_MOST_LINES = 20
_SAY_AGAIN = "say it again, perhaps as several requests; if that is of no use, a larger model is needed"


@click.command()
@memory_options
@model_options
@click.option("--tree", required=True, metavar="NAME", help="The tree.")
@click.option("--yes", is_flag=True, help="Commit changes without asking.")
@click.pass_context
def command(context: click.Context, /, tree: str, yes: bool, **arguments: Any) -> None:
    """Talk about a tree with a language model: it finds, edits and answers, and shows what it did in each turn.

    Changes are shown before they are committed. `undo` reverts the changes of the last request, and said again those
    of the one before; `quit` ends. Requests may also come from a pipe, one a line; the exit status says if one failed.

    \b
    Example:
      stitch chat --tree toronto --memory trip.memory --model openai/gpt-5-mini
      echo "Which days have no work?" | stitch chat --tree toronto --memory trip.memory --model openai/gpt-5-mini
    """
    status = 0
    with opened_memory(**arguments) as memory:
        talk = _Talk(memory.trees.open(tree), yes=yes)
        talk.tree.check_model()
        interactive = sys.stdin.isatty()
        for line in iter(_asked, "") if interactive else sys.stdin:
            request = line.strip()
            if not request:
                continue
            if request.lower() in _ENDS:
                break
            try:
                talk.hear(request)
            except StitchError as error:
                click.echo(f"stitch: {error.message}", err=True)
                if hint := error.hint or (_SAY_AGAIN if isinstance(error, ReplyError) else ""):
                    click.echo(f"  next: {hint}", err=True)
                status = error.exit_code
                talk.tree.reload()
            except (KeyboardInterrupt, click.Abort):
                if not interactive:
                    raise
                click.echo("\nstitch: stopped; `quit` ends the conversation", err=True)
    if status and not interactive:  # a person has seen it, and went on
        context.exit(status)


def _asked() -> str:
    try:
        return str(click.prompt(click.style("you", fg="cyan"), prompt_suffix="> ", default="quit", show_default=False))
    except (EOFError, click.Abort):
        return ""


class _Talk:
    """A conversation, and what can be undone of it.

    Args:
        tree: What it is about.
        yes: Whether changes are committed without asking.
    """

    def __init__(self, tree: VersionedTree, *, yes: bool) -> None:
        self.tree, self._yes = tree, yes
        self._before: list[str] = []
        """The versions before the requests that changed something, with nothing by others between them."""
        self._left = ""
        """The version at which this conversation left the tree."""

    def hear(self, request: str) -> None:
        """Do a request, or undo the last one."""
        if request.lower() == "undo":
            self._undo()
            return
        before = self.tree.version
        try:
            for reply in self.tree.request(request, confirm=lambda reply: _confirmed(reply, yes=self._yes)):
                _print(reply)
        except BaseException:
            if self.tree.version != before:
                click.echo(f"committed {self.tree.version} before that; `undo` takes it back")
            raise
        finally:
            if self.tree.version != before:
                if before != self._left:
                    self._before.clear()
                self._before.append(before)
                self._left = self.tree.version

    def _undo(self) -> None:
        if not self._before:
            click.echo("stitch: there is nothing to undo in this conversation", err=True)
            return
        before, last = self._before[-1], self.tree.branches[self.tree.branch]
        if last != self._left:
            name = self.tree.name
            raise ConflictError(
                f"{last} came after what this conversation did, and to undo would take that back too",
                hint=f"`stitch tree diff {name} {self._left}` shows it, `stitch tree revert {name} {before}` does it",
            )
        commit = self.tree.revert(before)
        self._before.pop()
        self._left = commit.id
        click.echo(f"{commit.message}; the tree is at {commit.id}")


def _confirmed(reply: TreeReply, *, yes: bool) -> bool:
    from stitch.trees.requests.telling import lines_of

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
        click.echo(f"repaired {one_line(trouble)}")
    if reply.query and reply.diff is None:
        click.echo(f"query   {reply.query}")
    if reply.selection is not None and reply.diff is None:
        for node in reply.selection.nodes[:_MOST_LINES]:
            said = next(iter(node.fields.values()), "")
            click.echo(f"  {node.path}  ({node.id})  {node.score:.2f}  {one_line(said, limit=60)}")
    if reply.removed:
        click.echo(f"left out as doubtful: {', '.join(reply.removed)}")
    if reply.answer:
        click.echo(reply.answer)
    if reply.commit is not None:
        click.echo(f"committed {reply.commit.id}; `undo` takes it back")
    elif reply.is_open and sys.stdin.isatty():
        click.echo("not committed")
    click.echo(f"({counted(calls=reply.calls)}, {counted(tokens=reply.tokens)}, {reply.milliseconds / 1000:.1f} s)")
