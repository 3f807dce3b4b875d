"""A command group whose subcommands are imported when they are called."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Any

import click
from click.shell_completion import CompletionItem

_WORD = re.compile(r"\w+")


class LazyGroup(click.Group):
    """A group that loads its subcommands by dotted name.

    Args:
        commands: Where each subcommand is (`module:attribute`) and what it does in one line, in the order in which a
            newcomer meets them.
        sections: Names of subcommands by the heading under which `--help` lists them; one list of all if empty.
        settings: What any group takes.
    """

    def __init__(
        self,
        *,
        commands: Mapping[str, tuple[str, str]],
        sections: Mapping[str, Sequence[str]] | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(**settings)
        self._places = commands
        self._sections = sections or {"": tuple(commands)}

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

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the subcommand; of a name that is none, those are told that do what it says, or are spelled like it."""
        name = args[0] if args else ""
        if name and not name.startswith("-") and name not in self._places and not ctx.resilient_parsing:
            doing = [other for other, (_, summary) in self._places.items() if name in _WORD.findall(summary.lower())]
            near = doing[:3] or get_close_matches(name, self._places, n=3)
            meant = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
            ctx.fail(f"No such command {name!r}.{meant}")
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete the names of subcommands without importing them."""
        found = [
            CompletionItem(name, help=summary)
            for name, (_, summary) in self._places.items()
            if name.startswith(incomplete)
        ]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the subcommands, in their sections, without importing them."""
        width = max(map(len, self._places))
        with formatter.section("Commands"):
            for heading, names in self._sections.items():
                formatter.write(f" {heading}\n" if heading else "")
                formatter.write_dl([(f"{name:<{width}}", self._places[name][1]) for name in names])
