"""Judged conditions of our own: small trees of five domains that no data set has, beside which the scorers are fitted.

A file of `lessons` holds nodes (`id type | field: text | ...`), and below them conditions (`= words: ids ? unclear`).
They were written by the hand that made the features: figures on them prove little, and none is told.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from stitch.bench.trees.sets import SemanticGold
from stitch.errors import InputError
from stitch.trees.core.nodes import Node, Tree

LESSONS = Path(__file__).parent / "lessons"


class OwnSet(NamedTuple):
    """A tree with judged conditions."""

    name: str
    tree: Tree
    judgements: tuple[SemanticGold, ...]


def own_sets(folder: Path = LESSONS) -> list[OwnSet]:
    """All of them, by their names.

    Raises:
        InputError: A condition names a node that is not there, or one twice.
    """
    return [_own_set(file.stem, file.read_text(encoding="utf-8")) for file in sorted(folder.glob("*.txt"))]


def _own_set(name: str, text: str) -> OwnSet:
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    nodes = [_node(line) for line in lines if not line.startswith("=")]
    tree = Tree(Node("root", "Root", children=nodes))
    judged = []
    for line in lines:
        if line.startswith("="):
            condition, _, told = line[1:].partition(":")
            yes, _, unclear = told.partition("?")
            gold = SemanticGold(
                condition.strip(), "node", nodes[0].type, frozenset(yes.split()), frozenset(unclear.split())
            )
            if strange := [id_ for id_ in gold.yes | gold.borderline if id_ not in tree] or gold.yes & gold.borderline:
                raise InputError(f"{gold.condition!r} of {name!r} names {sorted(strange)}: no such node, or both")
            judged.append(gold)
    return OwnSet(name, tree, tuple(judged))


def _node(line: str) -> Node:
    head, *said = line.split(" | ")
    id_, type_ = head.split()
    return Node(id_, type_, fields=dict(each.split(": ", 1) for each in said))
