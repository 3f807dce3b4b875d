"""Commands around a memory: its settings, a shell's completions, and `stitch mcp`."""

from __future__ import annotations

from typing import Any

import click
import orjson
from click.shell_completion import get_completion_class

from stitch.config import load_settings, plain_values
from stitch.console.options import json_option, memory_options, opened_memory
from stitch.console.printing import print_told
from stitch.errors import require_extra

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_STITCH_COMPLETE"
"""By this variable a shell asks the command for completions."""


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(context: click.Context, /, *, shell: str) -> None:
    """Print the completion script of a shell; put it where your shell reads it.

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


@click.command("config")
@memory_options
@json_option
def config_(as_json: bool, config: str | None, **arguments: Any) -> None:
    """List the settings, their values and where each comes from.

    Arguments win over environment variables (STITCH_ and the name in capitals), these over the YAML file of --config
    or STITCH_CONFIG, this over the defaults. Keys are never shown.

    \b
    Example:
      STITCH_K=20 stitch config --config stitch.yaml
    """
    settings, origins = load_settings(config, **arguments)
    rows = {name: {"value": value, "from": origins[name]} for name, value in plain_values(settings).items()}
    width = max(map(len, rows))
    lines = (f"{name:<{width}}  {_as_written(row['value']):<24}  {row['from']}" for name, row in rows.items())
    print_told(rows, *lines, as_json=as_json)


def _as_written(value: Any) -> str:
    """A value as a file of settings has it; `-` where there is none."""
    if value is None or value == []:
        return "-"
    return value if isinstance(value, str) else orjson.dumps(value).decode()


@click.command()
@memory_options
@click.option("--trajectory", metavar="ID", default="notes", show_default=True,
              help="The trajectory of steps for which the agent names none.")  # fmt: skip
def mcp(*, trajectory: str, **settings: Any) -> None:
    """Serve the memory to an MCP client on standard input and output, until it ends the connection.

    Tools: remember, recall, why, timeline, themes, correct, forget, and for trees select and edit. Configure the client
    to run this command; over HTTP, `stitch serve` has the same tools at /mcp. The memory is made if it is not there.

    \b
    Example:
      stitch mcp --memory agent.memory
      claude mcp add stitch -- stitch mcp --memory agent.memory
    """
    require_extra("mcp", package="mcp", needed_by="stitch mcp")
    from stitch.adapters.mcp import serve_stdio

    with opened_memory(must_exist=False, **settings) as memory:
        serve_stdio(memory, trajectory=trajectory)
