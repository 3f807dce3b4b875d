"""Asking a forest by a path query: the nodes by rank, and how they were found."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from typing import Any

from stitch.errors import InputError
from stitch.retrieve.path.conditions import Judge, Semantics, costs_nothing
from stitch.retrieve.path.evaluate import Cut, Run
from stitch.retrieve.path.forest import Forest
from stitch.retrieve.path.grammar import parse_query
from stitch.retrieve.path.operands import ID
from stitch.retrieve.path.syntax import ANY, ANYTHING, Only, Path, Query, fields_in, types_in
from stitch.retrieve.path.trace import TAKEN_AWAY, Stage, Trace, explained, stage_of
from stitch.retrieve.path.versions import VERSION
from stitch.trees.core.nodes import Several, own_text


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
    found: tuple[tuple[str, tuple[int, ...], float], ...]
    """By rank: the id, the places (of several versions), and the score."""
    forest: Forest | None = field(repr=False)
    """The forest that was asked; None if it is elsewhere, and `told` has the nodes."""
    considered: int
    """The number of nodes that the last step of the query reached before its conditions."""
    milliseconds: float
    trace: tuple[Stage, ...]
    told: tuple[SelectedNode, ...] = field(repr=False, default=())

    @cached_property
    def nodes(self) -> tuple[SelectedNode, ...]:
        """The nodes by rank, made when they are first looked at."""
        forest = self.forest
        if forest is None:
            return self.told
        return tuple(
            _selected(rank, places, score, forest) for rank, (_, places, score) in enumerate(self.found, start=1)
        )

    def __iter__(self) -> Iterator[SelectedNode]:
        return iter(self.nodes)

    def __len__(self) -> int:
        return len(self.found)

    def __getitem__(self, place: int) -> SelectedNode:
        return self.nodes[place]

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the nodes, by rank."""
        return tuple(id_ for id_, _, _ in self.found)

    def explain(self) -> str:
        """The trace as a person reads it: each step with how many nodes it had and left, and what fell short."""
        return explained(self.trace, found=len(self.found))

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
    found = tuple((node.id, (node.rank,), node.score) for node in nodes)
    trace = tuple(map(stage_of, said["trace"]))
    return NodeSelection(
        said["query"], said["canonical"], found, None, said["considered"], said["milliseconds"], trace, nodes
    )


def _node_of(said: Mapping[str, Any]) -> SelectedNode:
    fields = {name: Several(value) if isinstance(value, list) else value for name, value in said["fields"].items()}
    return SelectedNode(
        said["rank"], said["id"], said["path"], said["type"], said["score"], fields, said["text"],
        said.get("version"), tuple(said.get("versions", ())),
    )  # fmt: skip


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
    if not found and _asks_in_words(read) and (earlier := forest.earlier()) is not None:
        found = _taken_away(read, forest, earlier, semantics=semantics, cut=cut, trace=trace)
        forest = earlier if found else forest
    if not found:
        _check_types(read, forest)
        _tell_of_fields(read, forest, trace)
    by_id = _by_id(found, forest)
    milliseconds = (time.perf_counter() - began) * 1000
    return NodeSelection(query, str(read), by_id, forest, run.considered, milliseconds, tuple(trace.stages))


def _asks_in_words(query: Query) -> bool:
    """Whether a query says in words which version it means: one that says it by number means what stands in it."""
    return isinstance(query.nodes, Path) and any(
        isinstance(bracket, Only) and not costs_nothing(bracket.condition)
        for step in query.nodes.steps
        if step.type == VERSION
        for bracket in step.brackets
    )


def _taken_away(
    query: Query, forest: Forest, earlier: Forest, *, semantics: Semantics, cut: Cut, trace: Trace
) -> list[tuple[int, float]]:
    """Nodes that the versions of a query took away: `//Version[message ~= "poster"]//POI[node ~= "poster"]`.

    Only asked where the versions themselves have nothing that fits.
    """
    quiet = Trace()
    judge = Judge(earlier, semantics=semantics, threshold=cut.threshold, trace=quiet)
    before = Run(earlier, judge=judge, cut=cut, trace=quiet).nodes(query)
    found = [pair for pair in before if not forest.still_there(pair[0], forest=earlier)]
    trace.note("not in these versions: what they took away is looked through")
    trace.stage(TAKEN_AWAY, given=len(before), left=len(found))
    return found


def _by_id(found: list[tuple[int, float]], forest: Forest) -> tuple[tuple[str, tuple[int, ...], float], ...]:
    """Nodes by rank, each once: of one that is found in several versions, all places."""
    nodes: dict[str, tuple[str, tuple[int, ...], float]] = {}
    for place, score in found:
        id_ = forest.node(place).id
        before = nodes.get(id_)
        nodes[id_] = (id_, (place,), score) if before is None else (id_, (*before[1], place), max(before[2], score))
    return tuple(nodes.values())


def _selected(rank: int, places: tuple[int, ...], score: float, forest: Forest) -> SelectedNode:
    """A node as it stands in the last of the versions in which it was found."""
    place = max(places)
    node = forest.node(place)
    held = tuple(holder.id for there in sorted(places) if (holder := forest.holder(there)) is not None)
    return SelectedNode(
        rank,
        node.id,
        forest.tree_of(place).path_at(forest.position(place)),
        node.type,
        score,
        node.fields,
        own_text(node),
        held[-1] if held else None,
        held,
    )


def _check_types(query: Query, forest: Forest) -> None:
    """Refuse types of which there is no node anywhere, so that a slip of the pen is not read as "nothing found"."""
    known = forest.types()
    for named in types_in(query):
        if named not in (ANY, ANYTHING) and named not in known:
            raise InputError(f"no node has the type {named[:_MOST_SHOWN]!r}", hint=_near(named, known))


def _tell_of_fields(query: Query, forest: Forest, trace: Trace) -> None:
    """Say which fields no node has: other trees have them, so that this is no error."""
    known = forest.fields() | {ID}
    for named in dict.fromkeys(fields_in(query)):
        if named not in known:
            trace.remark(f"no node has the field {named!r}: {_near(named, known)}")


_MOST_SHOWN = 60
"""Characters of a name that an error shows."""


def _near(named: str, known: Collection[str]) -> str:
    """Names that may have been meant."""
    lowered = {name.lower(): name for name in known}
    near = [lowered[name] for name in get_close_matches(named.lower(), lowered, n=3, cutoff=0.5)]
    return f"{'did you mean' if near else 'there are'} {', '.join(near or sorted(known)[:8])}"
