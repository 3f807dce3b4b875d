"""The entry point: which subcommands there are, how a command ends, and what every error looks like."""

from __future__ import annotations

import errno
import logging
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr

import click

from stitch import __version__
from stitch.console.ending import Terminated, status_of, termination_heeded
from stitch.console.lazy import LazyGroup
from stitch.console.terminal import terminal_unsteered
from stitch.errors import StitchError, system_reason

COMMANDS: Mapping[str, tuple[str, str]] = {
    "demo": ("stitch.bench.demo:command", "Show the memory at work on two sample trajectories."),
    "examples": ("stitch.cli.examples:command", "Copy the example files that the pages use."),
    "doctor": ("stitch.cli.doctor:command", "Check the version, settings, disk, store, key and model."),
    "ingest": ("stitch.pipelines.ingest:command", "Store the steps of files or of standard input."),
    "add": ("stitch.cli.changing:add", "Store one step, as it is typed."),
    "query": ("stitch.pipelines.query:command", "Find the steps that answer a question."),
    "search": ("stitch.pipelines.query:command", "The same as query."),
    "why": ("stitch.cli.reading:why", "Explain why a question finds a step, or does not."),
    "recalls": ("stitch.cli.reading:recalls", "List recent questions and their hits, if they are kept."),
    "show": ("stitch.cli.show:command", "Draw the scopes of a trajectory as lanes over its steps."),
    "labels": ("stitch.cli.reading:labels", "List the labels of a memory."),
    "themes": ("stitch.cli.reading:themes", "List the themes of a memory and their statements."),
    "select": ("stitch.cli.reading:select", "Find steps by a path query."),
    "tree": ("stitch.cli.tree:group", "Keep artifacts as trees: query, edit, compare, revert."),
    "chat": ("stitch.cli.chat:command", "Talk about a tree with a language model."),
    "status": ("stitch.cli.keeping:status", "Show what a memory holds, and what waits or failed."),
    "receipts": ("stitch.cli.reading:receipts", "List the state of each step."),
    "retry": ("stitch.cli.keeping:retry", "Retry the steps that failed."),
    "verify": ("stitch.cli.keeping:verify", "Compare journal, store and labels; repair differences."),
    "reindex": ("stitch.cli.keeping:reindex", "Rebuild the store, also with another embedder."),
    "relabel": ("stitch.pipelines.labeling:relabel", "Label steps again in place, for example with a model."),
    "label": ("stitch.pipelines.labeling:group", "Label windows elsewhere: by a batch API, or by hand."),
    "correct": ("stitch.cli.changing:correct", "Correct the labels or the text of a step."),
    "history": ("stitch.cli.reading:history", "List the earlier versions of a corrected step."),
    "optimize": ("stitch.bench.training.command:command", "Compile prompts on examples and corrections."),
    "ledger": ("stitch.cli.reading:ledger", "List the costs of language models."),
    "forget": ("stitch.cli.changing:forget", "Correct steps, retire them from retrieval, or erase them."),
    "export": ("stitch.cli.keeping:export", "Export a tenant's memory as lines of JSON."),
    "import": ("stitch.cli.keeping:import_", "Import what `stitch export` wrote."),
    "backup": ("stitch.cli.keeping:backup", "Back up a memory while it runs."),
    "move": ("stitch.cli.keeping:move", "Copy a memory to a Qdrant server."),
    "restore": ("stitch.cli.keeping:restore", "Restore a memory from a backup."),
    "inspect": ("stitch.cli.inspect:command", "Open a memory in a browser: what it knows, and why it answered."),
    "serve": ("stitch.cli.serve:command", "Serve a memory over HTTP: REST, events, tools, metrics."),
    "worker": ("stitch.cluster.command:command", "Label what other processes add to a shared memory."),
    "keys": ("stitch.cli.keys:group", "Create, list and revoke the keys of a server."),
    "mcp": ("stitch.cli.setup:mcp", "Serve the memory to an MCP client, such as an agent's."),
    "config": ("stitch.cli.setup:config_", "List the settings, their values and where each comes from."),
    "completion": ("stitch.cli.setup:completion", "Print the completion script of a shell."),
    "bench": ("stitch.bench.commands:group", "Measure retrieval, labels, speed and size."),
    "generate": ("stitch.bench.generate.command:group", "Generate benchmark trajectories."),
}
"""Subcommands: module, function, and a line of help; `stitch --help` loads none of them."""
SECTIONS = {
    "Start": ("demo", "examples", "doctor"),
    "Add": ("ingest", "add", "import"),
    "Ask": ("query", "search", "select", "why", "recalls", "chat"),
    "Look": ("inspect", "show", "labels", "themes", "tree", "history", "receipts", "status", "ledger"),
    "Change": ("correct", "forget", "relabel", "label"),
    "Maintain": ("retry", "verify", "reindex", "backup", "restore", "export", "move", "config", "completion"),
    "Serve": ("serve", "worker", "keys", "mcp"),
    "Develop": ("optimize", "bench", "generate"),
}
"""Subcommands under the headings of `stitch --help`."""


@click.group(
    cls=LazyGroup,
    commands=COMMANDS,
    sections=SECTIONS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="stitch")
@click.option("-q", "--quiet", is_flag=True, help="Print only results and errors: no notes, no progress.")
@click.option("-v", "--verbose", count=True, help="Print progress messages; -vv prints every event.")
@click.pass_context
def cli(context: click.Context, /, quiet: bool, verbose: int) -> None:
    """The memory of an agent: every step indexed by what it was for, what was done, and what matters in it.

    \b
    Example:
      stitch demo
      stitch ingest trip.jsonl --memory trip.memory
      stitch query "What did the hotel for day 1 cost?" --memory trip.memory

    Results go to standard output, everything else to standard error.
    -q and -v stand before the subcommand: `stitch -q ingest trip.jsonl --memory trip.memory`.

    \b
    Exit status:
      0    all done
      1    something failed
      2    the call or the settings are wrong
      3    some input was rejected; everything else is stored
      4    the memory is in use, was changed meanwhile, or was written with another embedder or schema
      5    the journal or the store failed
      6    the language model failed
      130  interrupted (Ctrl-C); nothing that was accepted is lost
      143  terminated (SIGTERM); likewise; `serve` and its orderly end: 0, by either
    """
    if quiet and verbose:
        raise click.UsageError("-q and -v contradict each other")
    if quiet:  # an error is told after this has ended
        nowhere = context.with_resource(open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        context.with_resource(redirect_stderr(nowhere))
    if verbose:
        context.with_resource(_log_told(logging.DEBUG if verbose > 1 else logging.INFO))


@contextmanager
def _log_told(level: int) -> Iterator[None]:
    """Print the log of the library to standard error."""
    log, told = logging.getLogger("stitch"), logging.StreamHandler()
    told.setFormatter(logging.Formatter("%(asctime)s %(name)s: %(message)s", "%H:%M:%S"))
    before = log.level
    log.addHandler(told)
    log.setLevel(level)
    try:
        yield
    finally:
        log.removeHandler(told)
        log.setLevel(before)


ACCEPTING = frozenset({"ingest", "add", "import", "label", "relabel", "retry", "move"})
"""Commands that store something piece by piece, and take up where they were interrupted."""


def main() -> None:
    """Run the command and end the process."""
    try:
        with termination_heeded(), terminal_unsteered():
            status = _run()
    except (KeyboardInterrupt, Terminated) as again:  # a second one, while the command ended by the first
        status = status_of(again)
    sys.exit(status)


def _run() -> int:
    """Run the command; return the exit status, after one line about whatever went wrong."""
    try:
        status: int = cli.main(prog_name="stitch", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        status = error.exit_code
    except (click.Abort, KeyboardInterrupt, Terminated) as ended:
        what = "terminated" if isinstance(ended, Terminated) else "interrupted"
        command = next((word for word in sys.argv[1:] if word in COMMANDS), "")
        kept = "; everything accepted so far is kept, the same command goes on" if command in ACCEPTING else ""
        click.echo(f"stitch: {what}{kept}", err=True)
        status = status_of(ended)
    except StitchError as error:
        click.echo(f"stitch: {error.message}", err=True)
        if error.hint:
            click.echo(f"  next: {error.hint}", err=True)
        status = error.exit_code
    except BrokenPipeError:
        # The reader of our output has gone; Python would complain once more when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 1
    except OSError as error:  # a file that the command was given, or a disk that is full
        where = f"{error.filename!r}: " if error.filename else ""
        click.echo(f"stitch: {where}{system_reason(error)}", err=True)
        if error.errno == errno.ENOSPC:
            click.echo("  next: free some disk space and run the command again; nothing accepted is lost", err=True)
        status = 1
    return status
