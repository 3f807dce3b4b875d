"""The part of `stitch demo` that shows a tree: asked, edited, and asked as it was before."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from stitch.console.printing import one_line

if TYPE_CHECKING:
    from stitch.memory import Memory
    from stitch.trees import VersionedTree

OUTLINE = """
- Weekend: Two days in Porto {#porto}
  - Day: Saturday {#saturday}
    - Stop: Livraria Lello {#lello}
      - about: old bookshop with a carved staircase
      - cost: EUR 8
      - time: 9:30 - 10:30
    - Stop: Crystal Palace Gardens {#gardens}
      - about: a park with peacocks and views over the river
      - cost: free
      - time: 11:00 - 13:00
    - Meal: Cantina 32 {#cantina}
      - about: grilled octopus and tapas
      - cost: EUR 35
      - time: 19:30 - 21:00
  - Day: Sunday {#sunday}
    - Stop: Foz beach walk {#foz}
      - about: along the ocean to the lighthouse
      - cost: free
      - time: 10:00 - 12:00
    - Stop: Port wine cellar {#cellar}
      - about: guided tasting in the vaults
      - cost: EUR 22
      - time: 15:00 - 16:30
    - Meal: O Gaveto {#gaveto}
      - about: seafood, lobster rice
      - cost: EUR 60
      - time: 20:00 - 22:00
"""
QUESTIONS = ("//Meal[@cost > 40]", '//Stop[node ~= "outdoors in nature"]', "//Day[some(/Stop[@time < '11:00'])]")


def show_tree(memory: Memory) -> None:
    """Make a tree, ask it, edit it, and ask it as it was."""
    from stitch.trees import Move, SetField
    from stitch.trees.core.reading import read_text
    from stitch.trees.requests.telling import lines_of

    trip = memory.trees.create("porto", read_text(OUTLINE, form="outline"), message="first plan")
    click.echo(click.style("And artifacts as trees", bold=True) + f": {trip.name}, {len(trip.tree)} nodes")
    for question in QUESTIONS:
        _ask(trip, question)
    trip.edit([SetField("gaveto", "cost", "EUR 30"), Move("gardens", before="foz")], message="a cheaper Sunday")
    click.echo(f"  edited: {trip.history()[-1].message}")
    for line in lines_of(trip.diff("v1")):
        click.echo(f"    {one_line(line)}")
    _ask(trip, "//Meal[@cost > 40]")
    _ask(trip, '/Version[message ~= "first plan"]//Meal[@cost > 40]')
    click.echo()


def _ask(trip: VersionedTree, query: str) -> None:
    found = trip.select(query)
    named = ", ".join(f"{node.fields['name']} ({node.score:.2f})" for node in found) or "nothing"
    click.echo(f"  {query}\n    {named}")
