"""Asking a forest by a path query: the nodes by rank, and how they were found."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from stitch.errors import InputError
from stitch.retrieve.path.conditions import Judge, Semantics
from stitch.retrieve.path.evaluate import Cut, Run
from stitch.retrieve.path.forest import Forest
from stitch.retrieve.path.grammar import parse_query
from stitch.retrieve.path.syntax import ANY, ANYTHING, Query, types_in, written
from stitch.retrieve.path.trace import Stage, Trace, explained
from stitch.trees.nodes import Several, own_text


@dataclass(frozen=True)
class SelectedNode:
    """A node that a query found.

    Args:
        rank: From 1, the best first.
        id: Its stable id.
        path: Where it stands in its tree.
        type: Its type.
        score: How well it fits, from 0 to 1.
        fields: What it says.
        text: Its own words, one field a line.
        version: The version in which it was found, the last of several; None outside of versions.
        versions: All versions in which it was found.
    """

    rank: int
    id: str
    path: str
    type: str
    score: float
    fields: Mapping[str, str]
    text: str
    version: str | None = None
    versions: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """As printed by `--json`."""
        told: dict[str, Any] = {
            "rank": self.rank,
            "id": self.id,
            "path": self.path,
            "type": self.type,
            "score": round(self.score, 6),
            "fields": {
                name: list(said.values) if isinstance(said, Several) else said for name, said in self.fields.items()
            },
            "text": self.text,
        }
        return told | ({"version": self.version, "versions": list(self.versions)} if self.version is not None else {})


@dataclass(frozen=True)
class NodeSelection:
    """What a query found: a sequence of nodes by rank."""

    query: str
    canonical: str
    nodes: tuple[SelectedNode, ...]
    considered: int
    """How many nodes the last step of the query reached before its conditions."""
    milliseconds: float
    trace: tuple[Stage, ...]

    def __iter__(self) -> Iterator[SelectedNode]:
        return iter(self.nodes)

    def __len__(self) -> int:
        return len(self.nodes)

    def __getitem__(self, place: int) -> SelectedNode:
        return self.nodes[place]

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the nodes, by rank."""
        return tuple(node.id for node in self.nodes)

    def explain(self) -> str:
        """The trace as a person reads it: each step with how many nodes it had and left, and what fell short."""
        return explained(self.trace, found=len(self.nodes))

    def as_json(self) -> dict[str, Any]:
        """As printed by `--json`."""
        return {
            "query": self.query,
            "canonical": self.canonical,
            "nodes": [node.as_json() for node in self.nodes],
            "considered": self.considered,
            "milliseconds": round(self.milliseconds, 3),
            "trace": [stage.as_json() for stage in self.trace],
        }


def select(query: str, *, forest: Forest, semantics: Semantics, cut: Cut = Cut()) -> NodeSelection:  # noqa: B008 - a value
    """Ask a forest.

    Args:
        query: The path query.
        forest: What is asked.
        semantics: Scores semantic conditions.
        cut: What is enough.

    Raises:
        PathSyntaxError: The query cannot be read.
        InputError: It names a type of which there is no node; the hint lists near ones.
    """
    began = time.perf_counter()
    read = parse_query(query)
    trace = Trace()
    run = Run(
        forest, judge=Judge(forest, semantics=semantics, threshold=cut.threshold, trace=trace), cut=cut, trace=trace
    )
    found = run.nodes(read)
    if not found and (earlier := forest.earlier()) is not None:
        found = _taken_away(read, forest, earlier, semantics=semantics, cut=cut, trace=trace)
        forest = earlier if found else forest
    if not found:
        _check_types(read, forest)
    nodes = _by_id(found, forest)
    return NodeSelection(
        query, written(read), nodes, run.considered, (time.perf_counter() - began) * 1000, tuple(trace.stages)
    )


def _taken_away(
    query: Query, forest: Forest, earlier: Forest, *, semantics: Semantics, cut: Cut, trace: Trace
) -> list[tuple[int, float]]:
    """What the versions that a query asks for took away: `//Version[message ~= "poster"]//POI[node ~= "poster"]`.

    Only asked where the versions themselves have nothing that fits.
    """
    quiet = Trace()
    judge = Judge(earlier, semantics=semantics, threshold=cut.threshold, trace=quiet)
    before = Run(earlier, judge=judge, cut=cut, trace=quiet).nodes(query)
    found = [pair for pair in before if not forest.still_there(pair[0], forest=earlier)]
    trace.note("not in these versions: what they took away is looked through")
    trace.stage("taken away", given=len(before), left=len(found))
    return found


def _by_id(found: list[tuple[int, float]], forest: Forest) -> tuple[SelectedNode, ...]:
    """Nodes by rank. One that is found in several versions is told once, as it stands in the last of them."""
    places: dict[str, list[tuple[int, float]]] = {}
    for place, score in found:
        places.setdefault(forest.node(place).id, []).append((place, score))
    nodes = []
    for rank, same in enumerate(places.values(), start=1):
        place, node = max(same)[0], forest.node(max(same)[0])
        held = [holder.id for there, _ in sorted(same) if (holder := forest.holder(there)) is not None]
        nodes.append(
            SelectedNode(
                rank,
                node.id,
                forest.tree_of(place).path(node.id),
                node.type,
                max(score for _, score in same),
                node.fields,
                own_text(node),
                held[-1] if held else None,
                tuple(held),
            )
        )
    return tuple(nodes)


def _check_types(query: Query, forest: Forest) -> None:
    """Refuse types of which there is no node anywhere, so that a slip of the pen is not read as "nothing found"."""
    known = forest.types()
    for named in types_in(query):
        if named not in (ANY, ANYTHING) and named not in known:
            lowered = {name.lower(): name for name in known}
            near = [lowered[name] for name in get_close_matches(named.lower(), lowered, n=3, cutoff=0.5)]
            there = near or sorted(known)[:8]
            raise InputError(
                f"no node has the type {named!r}", hint=f"{'did you mean' if near else 'there are'} {', '.join(there)}"
            )
