"""`stitch mcp`: the memory as tools of the Model Context Protocol, on standard input and output."""

from __future__ import annotations

from typing import Any

import click

from stitch.console.options import memory_options, opened_memory
from stitch.errors import require_extra


@click.command()
@memory_options
@click.option("--trajectory", metavar="ID", default="notes", show_default=True,
              help="Where a step goes for which the agent names no trajectory.")  # fmt: skip
def command(*, trajectory: str, **settings: Any) -> None:
    """Serve the memory to an MCP client on standard input and output, until it ends the connection.

    Six tools: search, remember, why, timeline, correct, forget. A client is told to run this command; over HTTP,
    `stitch serve` has the same tools at /mcp. The memory is made if it is not there.

    \b
    Example:
      stitch mcp --memory agent.memory
      claude mcp add stitch -- stitch mcp --memory agent.memory
    """
    require_extra("mcp", package="mcp", needed_by="stitch mcp")
    from stitch.adapters.mcp import serve_stdio

    with opened_memory(must_exist=False, **settings) as memory:
        serve_stdio(memory, trajectory=trajectory)
