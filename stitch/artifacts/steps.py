"""The memory of steps as a tree: Memory > Trajectory > Scope > Step, to be asked in the same language as artifacts.

A scope stands there once, where it first comes; its steps need not follow each other. A step without a scope stands
right below its trajectory. Retired steps are left out. Of several values, one that matches is enough.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Protocol

from typing_extensions import Unpack

from stitch.artifacts.asking import SelectOptions, TreeAsker
from stitch.core import LabelInventory, LabelKind, LabelVocabulary, StepState
from stitch.trees.nodes import Node, Several, Tree

if TYPE_CHECKING:
    from stitch.journal import Entry
    from stitch.retrieve.path import NodeSelection


class RemembersSteps(Protocol):
    """Whoever has steps with their labels."""

    def trajectories(self) -> Sequence[str]:
        """The trajectories, the oldest first."""
        ...

    def inventory(self, trajectory: str | None = None) -> LabelInventory:
        """The labels of a trajectory, with their merges."""
        ...

    def steps(self, trajectory: str) -> Iterator[Entry]:
        """The steps of a trajectory, in order."""
        ...


def select_steps(
    memory: RemembersSteps, query: str, *, trajectory: str | None, asker: TreeAsker, **options: Unpack[SelectOptions]
) -> NodeSelection:
    """Ask the steps of one trajectory, or of all.

    Raises:
        InputError: The query cannot be read, or names a type that is not there.
    """
    return asker.select(query, steps_tree(memory, trajectory=trajectory), **options)


def steps_tree(memory: RemembersSteps, *, trajectory: str | None = None) -> Tree:
    """The steps of one trajectory, or of all, as a tree."""
    names = [str(name) for name in memory.trajectories()] if trajectory is None else [trajectory]
    return Tree(Node("memory", "Memory", children=[_trajectory(memory, name) for name in names]))


def _trajectory(memory: RemembersSteps, name: str) -> Node:
    vocabulary = memory.inventory(name).vocabulary()
    children: list[Node | str] = []
    scopes: dict[str, list[Node]] = {}
    for entry in memory.steps(name):
        if entry.state is StepState.RETIRED:
            continue
        scope = _scope(entry, vocabulary)
        step = _step(entry, vocabulary, trajectory=name)
        if scope is None:
            children.append(step)
        elif scope in scopes:
            scopes[scope].append(step)
        else:
            scopes[scope] = [step]
            children.append(scope)
    nodes = [child if isinstance(child, Node) else _named(name, child, scopes[child]) for child in children]
    return Node(name, "Trajectory", fields={"name": name}, children=nodes)


def _named(trajectory: str, scope: str, steps: list[Node]) -> Node:
    return Node(f"{trajectory}#{scope}", "Scope", fields={"name": scope}, children=steps)


def _scope(entry: Entry, vocabulary: LabelVocabulary) -> str | None:
    said = entry.labels.intent.scope if entry.labels else None
    return vocabulary.canonical(LabelKind.SCOPE, said) if said else None


def _step(entry: Entry, vocabulary: LabelVocabulary, *, trajectory: str) -> Node:
    step, intent = entry.step, entry.labels.intent if entry.labels else None
    fields: dict[str, str] = {"text": step.content, "role": step.role, "position": str(entry.position)}
    if intent is not None:
        fields |= _several("event_type", LabelKind.EVENT_TYPE, intent.event_types, vocabulary)
        fields |= _several("entity_type", LabelKind.ENTITY_TYPE, intent.entity_types, vocabulary)
    if step.tool_calls:
        fields["tool"] = Several(dict.fromkeys(call.name for call in step.tool_calls))
    if step.timestamp is not None:
        fields["time"] = step.timestamp if isinstance(step.timestamp, str) else _moment(step.timestamp)
    return Node(f"{trajectory}/{entry.id}", "Step", fields=fields)


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="seconds")


def _several(field: str, kind: LabelKind, values: Iterable[str], vocabulary: LabelVocabulary) -> dict[str, str]:
    found = dict.fromkeys(vocabulary.canonical(kind, value) for value in values)
    return {field: Several(found)} if found else {}
