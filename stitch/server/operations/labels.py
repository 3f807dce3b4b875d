"""Labels of a memory: listed as they are read, and renamed, merged or taken apart in many steps at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from stitch.core import LabelInventory, LabelKind, LabelVocabulary, ScopeSummary
from stitch.core.snippets import EntityTypeSummary
from stitch.core.steps import Name
from stitch.journal.entries import Entry
from stitch.lifecycle.correct import PERSON
from stitch.memory import Memory
from stitch.server.operations.answers import Answer, Limit, known_trajectory, page_of
from stitch.server.operations.operation import operation


class Labels(LabelInventory):
    """The label space of a trajectory, or of all, or a part of it."""

    next: str | None = None
    """Of a page: what to give as `after` for the labels that follow; null behind the last."""


@operation("GET", "/v1/labels", "read")
def labels(
    memory: Memory, *, trajectory: Name | None = None, limit: Limit | None = None, after: str | None = None
) -> Labels:
    """List the labels of a memory, those of most steps first; a limit counts labels and merges of all kinds."""
    found = memory.inventory(known_trajectory(memory, trajectory))
    entities = sorted(found.entity_types.items(), key=lambda item: (-item[1].steps, item[0]))
    in_order = {
        "scopes": tuple(ScopeSummary(**vars(each)) for each in found.scopes),  # with all fields set
        "event_types": dict(sorted(found.event_types.items(), key=lambda item: (-item[1], item[0]))),
        "entity_types": {name: EntityTypeSummary(**vars(each)) for name, each in entities},
    }
    return _part_of_labels(found.model_copy(update=in_order), limit=limit, after=after)


@operation("GET", "/v1/inventory", "read")
def inventory(
    memory: Memory, *, trajectory: Name | None = None, limit: Limit | None = None, after: str | None = None
) -> Labels:
    """Give the label space of a trajectory, or of all, as questions are matched against it; a limit is as in labels."""
    return _part_of_labels(memory.inventory(trajectory), limit=limit, after=after)


def _part_of_labels(found: LabelInventory, *, limit: int | None, after: str | None) -> Labels:
    """All labels, or as many as a page holds, after those of an earlier page."""
    every: list[tuple[str, Any]] = [
        *((f"scope\t{each.trajectory}\t{each.name}", each) for each in found.scopes),  # no name has a tab
        *((f"event\t{each[0]}", each) for each in found.event_types.items()),
        *((f"entity\t{each[0]}", each) for each in found.entity_types.items()),
        *((f"merge\t{each.kind.value}\t{each.trajectory}\t{each.alias}", each) for each in found.merges),
    ]
    part, following = page_of(every, limit=limit, after=after, name=lambda each: each[0])
    kinds = ("scope", "event", "entity", "merge")
    of = {kind: [each for place, each in part if place.startswith(kind)] for kind in kinds}
    return Labels(
        scopes=tuple(of["scope"]), event_types=dict(of["event"]), entity_types=dict(of["entity"]),
        merges=tuple(of["merge"]), steps=found.steps, **following,
    )  # fmt: skip


class RelabeledStep(Answer):
    """A step that got another label, and the labels of that kind that it had: what to correct it to again."""

    step: str
    labels: Mapping[str, Any]


class Renamed(Answer):
    """The steps that got another label, or would."""

    trajectory: str
    steps: tuple[RelabeledStep, ...]
    dry_run: bool


_FIELDS = {"scope": "scope", "event_type": "event_types", "entity_type": "entity_types"}


@operation("POST", "/v1/rename", "write")
def rename(
    memory: Memory,
    *,
    trajectory: Name,
    name: Annotated[str, Field(min_length=1)],
    to: Annotated[str, Field(min_length=1)],
    kind: Literal["scope", "event_type", "entity_type"] = "scope",
    merged: bool = False,
    first: Annotated[int, Field(ge=0)] = 0,
    last: Annotated[int, Field(ge=0)] | None = None,
    dry_run: bool = False,
    by: Name = PERSON,
) -> Renamed:
    """Correct all steps of a trajectory that carry a label to another one, which merges the two if it is there.

    With `first` and `last` only steps between these positions are meant, both included. With `merged` only those that
    were labeled with this very name, though it reads as another since: given a name of their own, they are apart again.
    """
    known_trajectory(memory, trajectory)
    field, of = _FIELDS[kind], LabelKind(kind)
    names = LabelVocabulary() if merged else memory.inventory(trajectory).vocabulary()
    meant = names.canonical(of, name)

    def given(entry: Entry) -> tuple[str, ...]:
        return entry.labels.intent.of(of) if entry.labels and entry.retired_at is None else ()

    def told(values: tuple[str, ...]) -> dict[str, Any]:
        return {field: values[0] if of is LabelKind.SCOPE else values}

    changed = []
    for entry in memory.steps(trajectory, start=first, stop=None if last is None else last + 1):
        had = given(entry)
        has = tuple(dict.fromkeys(to if names.canonical(of, value) == meant else value for value in had))
        if has != had:
            changed.append((entry.id, told(had), told(has)))
    if not dry_run:
        for step, _, labels in changed:
            memory.lifecycle.correct(step, trajectory=trajectory, labels=labels, by=by)
    steps = tuple(RelabeledStep(step=step, labels=had) for step, had, _ in changed)
    return Renamed(trajectory=trajectory, steps=steps, dry_run=dry_run)
