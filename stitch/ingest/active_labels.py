"""The label space that a search may see: retired steps do not count in it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable

from stitch.core import EntityTypeSummary, LabelInventory, LabelKind, ScopeSummary, StepState
from stitch.journal import Entry, Journal
from stitch.text.words import stems


def without_retired(inventory: LabelInventory, journal: Journal, *, tenant: str, trajectory: str) -> LabelInventory:
    """An inventory of a trajectory without what only its retired steps say; itself if none is retired."""
    if not journal.has_any(StepState.RETIRED, tenant=tenant, trajectory=trajectory):
        return inventory
    states = [state for state in StepState if state is not StepState.RETIRED]
    return of_these(inventory, journal.entries(tenant, trajectory, states=states))


def of_these(inventory: LabelInventory, entries: Iterable[Entry]) -> LabelInventory:
    """An inventory of a trajectory without what none of these of its steps say.

    Labels are counted anew through the inventory's merges; one that no step is left to carry is gone. Of the terms and
    values of a scope those stay that its remaining steps say.
    """
    vocabulary, steps = inventory.vocabulary(), 0
    counts = {kind: Counter[str]() for kind in LabelKind}
    said: dict[str, list[str]] = {}
    places: dict[str, list[int]] = {}
    for entry in entries:
        if entry.labels is None:
            continue
        steps += 1
        for kind, value in {vocabulary.canonical_label(label) for label in entry.labels.intent.labels()}:
            counts[kind][value] += 1
            if kind is LabelKind.SCOPE:
                text = f"{entry.step.content} {json.dumps([dict(call.arguments) for call in entry.step.tool_calls])}"
                said.setdefault(value, []).append(text)
                places.setdefault(value, []).append(entry.position)
    return LabelInventory(
        scopes=tuple(
            _left(scope, "\n".join(said[scope.name]), places[scope.name], steps=counts[LabelKind.SCOPE][scope.name])
            for scope in inventory.scopes
            if scope.name in said
        ),
        event_types={value: n for value in inventory.event_types if (n := counts[LabelKind.EVENT_TYPE][value])},
        entity_types={
            value: EntityTypeSummary(steps=n, values=_still_said(summary.values, said))
            for value, summary in inventory.entity_types.items()
            if (n := counts[LabelKind.ENTITY_TYPE][value])
        },
        merges=inventory.merges,
        steps=steps,
    )


def _left(scope: ScopeSummary, text: str, places: list[int], *, steps: int) -> ScopeSummary:
    folded, words = text.lower(), set(stems(text))
    values = {value: count for value, count in scope.values.items() if value.lower() in folded}
    spans = tuple((first, last) for first, last in scope.spans if any(first <= place <= last for place in places))
    return scope.model_copy(
        update={
            "steps": steps,
            "spans": spans,
            "terms": {term: weight for term, weight in scope.terms.items() if term in words},
            "values": values,
            "summary": scope.summary if len(values) == len(scope.values) else scope.name,
        }
    )


def _still_said(values: tuple[str, ...], said: dict[str, list[str]]) -> tuple[str, ...]:
    texts = [text.lower() for scope in said.values() for text in scope]
    return tuple(value for value in values if any(value in text for text in texts))
