"""Options of path queries, and the nodes that one found."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from stitch.console.options import Say, together
from stitch.console.printing import one_line
from stitch.retrieve.path.trace import TAKEN_AWAY

if TYPE_CHECKING:
    from stitch.server.operations.trees import Nodes


query_options = together(
    click.option("--threshold", type=click.FloatRange(0, 1), metavar="X",
                 help="The least chance of a semantic condition; .5 is as likely as not."),
    click.option("--margin", type=click.FloatRange(0, 1), metavar="X", help="The widest gap of a node to the best."),
    click.option("-k", type=click.IntRange(min=1), metavar="N", help="The most nodes to return.  [default: all]"),
    click.option("--scorer", metavar="NAME",
                 help="The judge of semantic conditions: static, lexical, exact, minilm, model, sentence-transformers"
                 " or nli:MODEL.  [default: static]"),
    click.option("--explain", is_flag=True, help="Explain how the nodes were found, and what fell short."),
)  # fmt: skip


def print_nodes(told: Nodes, *, explain: bool, say: Say = click.echo) -> None:
    """Print nodes by rank, and the trace if it is wanted; of an empty result always, to standard error."""
    gone = any(stage["what"] == TAKEN_AWAY for stage in told.trace)
    for node in told.nodes:
        fields = node["fields"]
        assert isinstance(fields, dict)
        said = "  ".join(f"{field}: {one_line(str(value), limit=60)}" for field, value in fields.items())
        there = node.get("versions")
        how = "taken away by" if gone else "in"
        versions = f"  {how} {', '.join(map(str, there))}" if isinstance(there, list) else ""
        say(f"{node['rank']:>3}. {node['path']}  ({node['id']})  {node['score']:.2f}{versions}")
        say(f"     {one_line(said)}")
    if explain or not told.nodes:
        say(told.explanation, err=not explain)
