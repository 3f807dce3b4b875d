"""Selection of steps by name, label or age."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, BeforeValidator

from stitch.core import Label, LabelKind
from stitch.core.cancellation import check_canceled
from stitch.core.steps import Name
from stitch.core.times import moment_said
from stitch.errors import InputError
from stitch.ingest.ingestor import Ingestor
from stitch.journal.entries import Selected


def _seconds(time: object) -> object:
    return moment_said(time) if isinstance(time, datetime) else time


class Selector(BaseModel, frozen=True, extra="forbid"):
    """Selector of steps of a tenant: those to which everything applies that is given."""

    trajectory: Name | None = None
    step: Name | None = None
    """An id; names a step together with `trajectory`."""
    scope: str | None = None
    event_type: str | None = None
    accepted_before: Annotated[float | None, BeforeValidator(_seconds)] = None
    """Unix seconds, or a time of Python."""
    everything: bool = False
    """Really all steps of the tenant. Without this, a selector that says nothing is an error."""


def select(ingestor: Ingestor, selector: Selector, *, tenant: str) -> list[Selected]:
    """The steps of a tenant that a selector means, in the order of acceptance.

    Labels are read through merges, as a search reads them.

    Raises:
        InputError: The selector is none, says nothing, or names a step without its trajectory.
    """
    if not isinstance(selector, Selector):
        raise InputError(f"steps are selected by a stitch.Selector, not by {selector!r}")
    if selector.step is not None and selector.trajectory is None:
        raise InputError(f"step {selector.step!r} is named without its trajectory", hint="name it with --trajectory")
    if selector == Selector():
        raise InputError("no steps are selected", hint="name a trajectory, step, scope, event type or age, or --all")
    check_canceled()

    def aliases(kind: LabelKind, value: str | None) -> frozenset[str] | None:
        if value is None:
            return None
        vocabulary = ingestor.inventory(tenant).vocabulary()
        check_canceled()
        return vocabulary.aliases(vocabulary.canonical_label(Label(kind, value)))

    return ingestor.journal.select(
        tenant,
        trajectory=selector.trajectory,
        step=selector.step,
        accepted_before=selector.accepted_before,
        scopes=aliases(LabelKind.SCOPE, selector.scope),
        event_types=aliases(LabelKind.EVENT_TYPE, selector.event_type),
    )


def by_trajectory(selected: Iterable[Selected]) -> list[tuple[str, list[Selected]]]:
    """Steps in groups of one trajectory each, in the order of their first ones."""
    groups: dict[str, list[Selected]] = {}
    for each in selected:
        groups.setdefault(each.trajectory, []).append(each)
    return list(groups.items())
