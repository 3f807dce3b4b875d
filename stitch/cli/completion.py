"""`stitch completion`: what a shell needs to complete the command."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_STITCH_COMPLETE"
"""By this variable a shell asks the command for completions."""


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def command(context: click.Context, /, *, shell: str) -> None:
    """Print what SHELL needs to complete subcommands and options; put it where your shell reads it.

    \b
    Example:
      stitch completion bash > ~/.local/share/bash-completion/completions/stitch
      stitch completion zsh > ~/.zfunc/_stitch
      stitch completion fish > ~/.config/fish/completions/stitch.fish
    """
    kind = get_completion_class(shell)
    assert kind is not None
    template = kind.source_template  # `source` would start the shell, to see whether it is new enough
    script = template % {"complete_func": "_stitch_completion", "complete_var": VARIABLE, "prog_name": "stitch"}
    click.echo(script.rstrip("\n"))
