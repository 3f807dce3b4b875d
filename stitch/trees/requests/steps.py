"""The memory of steps as a tree: Memory > Trajectory > Scope > Step, to be asked in the same language as artifacts.

A scope stands there once, where it first comes; its steps need not follow each other. A step without a scope stands
right below its trajectory. Retired steps are left out. Of several values, one that matches is enough.

A query that names them also finds what is derived from steps: `Theme` and its `Statement`s stand below the memory, and
an `Episode` between a scope and those of its steps that follow each other: Memory > Theme > Statement, and
Memory > Trajectory > Scope > Episode > Step. A query that names statements with what holds steps, and no theme, finds
each below the step that says it: `//Episode//Statement`. A query that does not name them costs nothing more, and `*`
stands for none of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Protocol

from typing_extensions import Unpack

from stitch.core import Episode, LabelInventory, LabelKind, LabelVocabulary, Statement, StepState
from stitch.core.cancellation import check_canceled
from stitch.errors import InputError
from stitch.text.dates import iso_of_seconds
from stitch.trees.core.nodes import Node, Several, Tree
from stitch.trees.requests.asking import EPISODE, KINDS, STATEMENT, THEME, SelectOptions, TreeAsker, types_named

if TYPE_CHECKING:
    from stitch.journal import Entry
    from stitch.retrieve.path import NodeSelection
    from stitch.themes.reading import Themes

_OF_STEPS = frozenset({"Trajectory", "Scope", EPISODE, "Step"})
"""Types that stand above a step, or are one: to no theme."""


class RemembersSteps(Protocol):
    """A memory, as `stitch.memory` has it."""

    def trajectories(self) -> Sequence[str]:
        """The trajectories, the oldest first."""

    def inventory(self, trajectory: str | None = None) -> LabelInventory:
        """The labels of a trajectory, with their merges."""

    def steps(self, trajectory: str) -> Iterator[Entry]:
        """The steps of a trajectory, in order."""

    @property
    def hierarchy(self) -> Themes:
        """Episodes, statements and themes."""


def select_steps(
    memory: RemembersSteps, query: str, *, trajectory: str | None, asker: TreeAsker, **options: Unpack[SelectOptions]
) -> NodeSelection:
    """Ask the steps of one trajectory, or of all.

    Raises:
        InputError: The query cannot be read, names a type that is not there, or both themes and what holds steps.
    """
    named = types_named(query)
    if THEME in named and (others := sorted(_OF_STEPS & named)):
        raise InputError(
            f"a theme stands neither above nor below a {others[0]}: it groups statements of many trajectories",
            hint="ask `//Theme/Statement`, whose fields `trajectory` and `step` tell the step, or `//Step/Statement`",
        )
    asker.semantics(options.get("scorer"))  # what cannot be asked costs no tree of all steps
    return asker.select(query, steps_tree(memory, trajectory=trajectory, derived=named), kinds=KINDS, **options)


def steps_tree(memory: RemembersSteps, *, trajectory: str | None = None, derived: frozenset[str] = frozenset()) -> Tree:
    """The steps of one trajectory, or of all, as a tree.

    Args:
        memory: Has them.
        trajectory: Which one.
        derived: The types that are asked for: whether `Episode`, `Theme` and `Statement` are among them.
    """
    names = [str(name) for name in memory.trajectories()] if trajectory is None else [trajectory]
    hierarchy = memory.hierarchy if not {EPISODE, THEME, STATEMENT}.isdisjoint(derived) else None
    by_step = STATEMENT in derived and THEME not in derived and not _OF_STEPS.isdisjoint(derived)
    episodes, said = hierarchy if EPISODE in derived else None, hierarchy if by_step else None
    children = [_trajectory(memory, name, episodes_of=episodes, said_of=said) for name in names]
    if hierarchy is not None and not by_step and not derived.isdisjoint({THEME, STATEMENT}):
        children += _themes(hierarchy, trajectory=trajectory)
    return Tree(Node("memory", "Memory", children=children))


def _themes(hierarchy: Themes, *, trajectory: str | None) -> Iterator[Node]:
    """The themes that have statements of the trajectory, or of any, with these statements."""
    for theme in hierarchy.themes():
        found = (hierarchy.statement(name) for name in theme.statements)
        said = [each for each in found if each is not None and trajectory in (None, each.trajectory)]
        if said:
            fields = {"name": theme.name} | ({"term": Several(theme.terms)} if theme.terms else {})
            yield Node(theme.id, THEME, fields=fields, children=[_statement(each) for each in said])


def _statement(said: Statement) -> Node:
    fields: dict[str, str] = {
        "text": said.text, "speaker": said.speaker, "trajectory": said.trajectory, "step": Several(said.steps),
    }  # fmt: skip
    if said.said_at is not None:
        fields["time"] = _moment(said.said_at)
    if said.happened_at is not None:
        fields["happened"] = said.happened_at
    return Node(said.id, STATEMENT, fields=fields)


def _trajectory(memory: RemembersSteps, name: str, *, episodes_of: Themes | None, said_of: Themes | None) -> Node:
    found = episodes_of.episodes(name) if episodes_of else ()
    episodes = {f"{name}/{step}": each for each in found for step in each.steps}

    def said(step: str) -> list[Node]:
        own = said_of.said_in([(name, step)])[0] if said_of else ()
        return list(map(_statement, own))

    check_canceled()
    vocabulary = memory.inventory(name).vocabulary()
    children: list[Node | str] = []
    scopes: dict[str, list[Node]] = {}
    for entry in memory.steps(name):
        if entry.state is StepState.RETIRED:
            continue
        said_scope = entry.labels.intent.scope if entry.labels else None
        scope = vocabulary.canonical(LabelKind.SCOPE, said_scope) if said_scope else None
        step = _step(entry, vocabulary, trajectory=name, said=said(entry.id))
        if scope is None:
            children.append(step)
        else:
            children += [] if scope in scopes else [scope]
            scopes.setdefault(scope, []).append(step)
    nodes = [
        child
        if isinstance(child, Node)
        else Node(f"{name}#{child}", "Scope", fields={"name": child}, children=_by_episode(scopes[child], episodes))
        for child in children
    ]
    return Node(name, "Trajectory", fields={"name": name}, children=_by_episode(nodes, episodes))


def _by_episode(nodes: list[Node], episodes: Mapping[str, Episode]) -> list[Node]:
    """Nodes, of which steps of one episode that follow each other stand below it."""
    if not episodes:
        return nodes
    made: list[Node] = []
    for episode, group in groupby(nodes, key=lambda node: episodes.get(node.id)):
        steps = list(group)
        if episode is None:
            made += steps
            continue
        times = {"started": episode.started_at, "ended": episode.ended_at}
        fields = {name: _moment(time) for name, time in times.items() if time is not None}
        made.append(Node(f"{episode.id}/{steps[0].id}", EPISODE, fields=fields, children=steps))
    return made


def _step(entry: Entry, vocabulary: LabelVocabulary, *, trajectory: str, said: Sequence[Node]) -> Node:
    step, intent = entry.step, entry.labels.intent if entry.labels else None
    fields: dict[str, str] = {"text": step.content, "role": step.role, "position": str(entry.position)}
    if intent is not None:
        fields |= _several("event_type", LabelKind.EVENT_TYPE, intent.event_types, vocabulary)
        fields |= _several("entity_type", LabelKind.ENTITY_TYPE, intent.entity_types, vocabulary)
    if step.tool_calls:
        fields["tool"] = Several(dict.fromkeys(call.name for call in step.tool_calls))
    if step.timestamp is not None:
        fields["time"] = _moment(step.timestamp)
    return Node(f"{trajectory}/{entry.id}", "Step", fields=fields, children=said)


def _moment(time: float | str) -> str:
    """A time as a source says it; seconds in ISO 8601."""
    return time if isinstance(time, str) else iso_of_seconds(time)


def _several(field: str, kind: LabelKind, values: Iterable[str], vocabulary: LabelVocabulary) -> dict[str, str]:
    found = dict.fromkeys(vocabulary.canonical(kind, value) for value in values)
    return {field: Several(found)} if found else {}
