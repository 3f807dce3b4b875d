"""Options and output that the subcommands share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click
import orjson

if TYPE_CHECKING:
    from stitch.memory import Memory

Command = TypeVar("Command", bound=Callable[..., Any])


def memory_options(command: Command) -> Command:
    """Add `--memory`, `--tenant` and `--config`; pass them on to `opened_memory`."""
    options = (
        click.option("--memory", "-m", metavar="DIR", help="The memory: a folder, or the URL of a Qdrant server."),
        click.option("--tenant", metavar="NAME", help="Whose memory it is.  [default: default]"),
        click.option("--config", metavar="FILE", type=click.Path(), help="A YAML file of settings."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def json_option(command: Command) -> Command:
    """Add `--json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")(command)


@contextmanager
def opened_memory(*, must_exist: bool = True, **settings: Any) -> Iterator[Memory]:
    """Open the memory that the options name and close it in the end."""
    from stitch.assemble import open_memory

    with open_memory(must_exist=must_exist, **settings) as memory:
        yield memory


def print_json(value: Any) -> None:
    """Print one JSON object to standard output."""
    click.echo(orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_SERIALIZE_NUMPY).decode())
