"""Asking a forest by a path query: the nodes by rank, and how they were found."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from typing import Any

from stitch.errors import InputError
from stitch.retrieve.path.conditions import costs_nothing
from stitch.retrieve.path.evaluate import Cut, Ranked, Run
from stitch.retrieve.path.forest import VERSION, Forest
from stitch.retrieve.path.grammar import parse_query
from stitch.retrieve.path.operands import ID
from stitch.retrieve.path.semantics import ScorerSemantics
from stitch.retrieve.path.syntax import ANY, ANYTHING, Only, Path, Query, fields_in, types_in
from stitch.retrieve.path.trace import TAKEN_AWAY, Stage, Trace, explained
from stitch.trees.core.nodes import Several, own_text

_MOST_SHOWN = 60
"""Characters of a name that an error shows."""


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
    """The result of a query: a sequence of nodes by rank."""

    query: str
    canonical: str
    ids: tuple[str, ...]
    """The ids of the nodes, by rank."""
    considered: int
    """The number of nodes that the last step of the query reached before its conditions."""
    milliseconds: float
    trace: tuple[Stage, ...]
    make: Callable[[], tuple[SelectedNode, ...]] = field(repr=False, compare=False)

    @cached_property
    def nodes(self) -> tuple[SelectedNode, ...]:
        """The nodes by rank, made when they are first looked at."""
        return self.make()

    def __iter__(self) -> Iterator[SelectedNode]:
        return iter(self.nodes)

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, place: int) -> SelectedNode:
        return self.nodes[place]

    def explain(self) -> str:
        """The trace as a person reads it: each step with how many nodes it had and left, and what fell short."""
        return explained(self.trace, found=len(self.ids))

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


def selection_of(said: Mapping[str, Any]) -> NodeSelection:
    """The selection of which `NodeSelection.as_json` told."""
    nodes = tuple(map(_node_of, said["nodes"]))
    trace = tuple(map(Stage.of_json, said["trace"]))
    told = (said["considered"], said["milliseconds"], trace)
    return NodeSelection(said["query"], said["canonical"], tuple(node.id for node in nodes), *told, lambda: nodes)


def _node_of(said: Mapping[str, Any]) -> SelectedNode:
    fields = {name: Several(value) if isinstance(value, list) else value for name, value in said["fields"].items()}
    return SelectedNode(**{**said, "fields": fields, "versions": tuple(said.get("versions", ()))})


def select(query: str, *, forest: Forest, semantics: ScorerSemantics, cut: Cut = Cut()) -> NodeSelection:  # noqa: B008 - a value
    """Ask a forest.

    Raises:
        PathSyntaxError: The query cannot be read.
        InputError: It names a type of which there is no node; the hint lists near ones.
    """
    began = time.perf_counter()
    read = parse_query(query)
    run = Run(forest, semantics=semantics, cut=cut)
    found, asked = run.nodes(read), forest
    if not found and _asks_in_words(read) and (earlier := forest.earlier()) is not None:
        before = Run(earlier, semantics=semantics, cut=cut).nodes(read)
        found, asked = [pair for pair in before if not forest.still_there(pair[0], forest=earlier)], earlier
        run.trace.note("not in these versions: what they took away is looked through")
        run.trace.stage(TAKEN_AWAY, given=len(before), left=len(found))
    if not found:
        _tell_of_names(read, forest, run.trace)
    by_id = _by_id(found, asked)

    def make() -> tuple[SelectedNode, ...]:
        return tuple(_selected(rank, *each, forest=asked) for rank, each in enumerate(by_id.values(), start=1))

    milliseconds = (time.perf_counter() - began) * 1000
    return NodeSelection(query, str(read), tuple(by_id), run.considered, milliseconds, tuple(run.trace.stages), make)


def _asks_in_words(query: Query) -> bool:
    """Whether a query says in words which version it means: one that says it by number means what stands in it.

    Where these versions have nothing that fits, it asks for what they took away:
    `//Version[message ~= "poster"]//POI[node ~= "poster"]`.
    """
    return isinstance(query.nodes, Path) and any(
        isinstance(bracket, Only) and not costs_nothing(bracket.condition)
        for step in query.nodes.steps
        if step.type == VERSION
        for bracket in step.brackets
    )


def _by_id(found: Ranked, forest: Forest) -> dict[str, tuple[tuple[int, ...], float]]:
    """Nodes by rank, each once: of one that is found in several versions, all places."""
    nodes: dict[str, tuple[tuple[int, ...], float]] = {}
    for place, score in found:
        id_ = forest.node(place).id
        places, best = nodes.get(id_, ((), score))
        nodes[id_] = (*places, place), max(best, score)
    return nodes


def _selected(rank: int, places: tuple[int, ...], score: float, *, forest: Forest) -> SelectedNode:
    """A node as it stands in the last of the versions in which it was found."""
    place = max(places)
    node = forest.node(place)
    held = tuple(holder.id for there in sorted(places) if (holder := forest.holder(there)) is not None)
    version = held[-1] if held else None
    return SelectedNode(rank, node.id, forest.path(place), node.type, score, node.fields, own_text(node), version, held)


def _tell_of_names(query: Query, forest: Forest, trace: Trace) -> None:
    """Refuse types that no node has, so that a slip of the pen is not read as "nothing found"; tell of such fields.

    A field that no node has is no error: other trees have it.
    """
    types, fields = forest.types(), forest.fields() | {ID}
    for named in types_in(query):
        if named not in (ANY, ANYTHING) and named not in types:
            raise InputError(f"no node has the type {named[:_MOST_SHOWN]!r}", hint=_near(named, types))
    for named in dict.fromkeys(fields_in(query)):
        if named not in fields and trace.stages:
            trace.stages[-1].notes[f"no node has the field {named!r}: {_near(named, fields)}"] += 1


def _near(named: str, known: Collection[str]) -> str:
    """Names that may have been meant."""
    lowered = {name.lower(): name for name in known}
    near = [lowered[name] for name in get_close_matches(named.lower(), lowered, n=3, cutoff=0.5)]
    return f"{'did you mean' if near else 'there are'} {', '.join(near or sorted(known)[:8])}"
