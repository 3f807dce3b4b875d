"""`stitch select`: the memory of steps, asked by a path query."""

from __future__ import annotations

from typing import Any

import click

from stitch.api.operations import ask, made
from stitch.api.tree_models import StepSelectRequest, TreeSelectResponse
from stitch.console.nodes import print_nodes
from stitch.console.options import json_option, memory_options, opened_memory
from stitch.console.printing import print_json


@click.command()
@click.argument("query")
@memory_options
@click.option("--trajectory", metavar="ID", help="Which trajectory; all if none is named.")
@click.option("--threshold", type=click.FloatRange(0, 1), metavar="X",
              help="How sure a semantic condition has to be; .5 is as likely as not.")  # fmt: skip
@click.option("--margin", type=click.FloatRange(0, 1), metavar="X", help="How far below the best a node may be.")
@click.option("-k", type=click.IntRange(min=1), metavar="N", help="How many nodes at most.  [default: all]")
@click.option(
    "--scorer",
    metavar="NAME",
    help="Who judges semantic conditions: static, lexical, exact, minilm, model, sentence-transformers or nli:MODEL."
    "  [default: static]",
)
@click.option("--explain", is_flag=True, help="Tell how the nodes were found, and what fell short.")
@json_option
def command(query: str, *, as_json: bool, explain: bool, trajectory: str | None, threshold: float | None,
            margin: float | None, k: int | None, scorer: str | None, **arguments: Any) -> None:  # fmt: skip
    """Find steps by the path QUERY: Memory > Trajectory > Scope > Step.

    A scope has a `name`; a step has `text`, `role`, `position`, `time`, `tool`, `event_type` and `entity_type`. A query
    that names them also finds Theme > Statement, and an Episode between a scope and its steps. A theme has `name` and
    `term`; a statement has `text`, `speaker`, `time`, `happened`, `trajectory` and `step`.

    \b
    Example:
      stitch select '//Scope[name ~= "login"]/Step[@event_type = "report error"][-1]' --memory trip.memory
    """
    request = made(
        StepSelectRequest, query=query, trajectory=trajectory, threshold=threshold, margin=margin, k=k, scorer=scorer
    )
    with opened_memory(**arguments) as memory:
        told: TreeSelectResponse = ask(memory, "select", request)
    if as_json:
        print_json(told.model_dump(exclude={"explanation", "version"}))
        return
    print_nodes(told, explain=explain)
