"""A command group whose subcommands are imported when they are called."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click


class LazyGroup(click.Group):
    """A group that loads its subcommands by dotted name.

    Args:
        commands: Where each subcommand is (`module:attribute`) and what it does in one line, in the order in which a
            newcomer meets them.
        settings: What any group takes.
    """

    def __init__(self, *, commands: Mapping[str, tuple[str, str]], **settings: Any) -> None:
        super().__init__(**settings)
        self._places = commands

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in their order."""
        return list(self._places)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the subcommand; None if there is none of this name."""
        if cmd_name not in self._places:
            return None
        module, attribute = self._places[cmd_name][0].split(":")
        command = getattr(import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the subcommands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in self._places.items()])
