"""Selection of steps by name, label or age."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from functools import partial
from typing import Annotated

from pydantic import BaseModel, BeforeValidator

from stitch.core import Label, LabelKind, LabelVocabulary, goal_of
from stitch.core.cancellation import check_canceled
from stitch.core.steps import Name
from stitch.core.times import moment_said
from stitch.errors import InputError
from stitch.ingest.ingestor import Ingestor
from stitch.journal.entries import Selected

TRUSTED_CLOCK = "trusted clock"
"""The kind of the records that say up to when the clock is right; with the last step of a tenant they go."""


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

    Labels are read through merges, as a search reads them: a scope by the name under which its trajectory shows it.

    Raises:
        InputError: The selector is none, says nothing, or names a step without its trajectory.
    """
    if not isinstance(selector, Selector):
        raise InputError(f"steps are selected by a stitch.Selector, not by {selector!r}")
    if selector.step is not None and selector.trajectory is None:
        hint = "name its trajectory, too (--trajectory)"
        raise InputError(f"step {selector.step!r} is named without its trajectory", hint=hint)
    if selector == Selector():
        hint = "name a trajectory, step, scope, event type or age, or `everything` (--all)"
        raise InputError("no steps are selected", hint=hint)
    check_canceled()

    scopes: Callable[[str, str], bool] | None = None
    event_types = None
    if selector.scope is not None or selector.event_type is not None:
        vocabulary = ingestor.inventory(tenant).vocabulary()
        check_canceled()
        if selector.event_type is not None:
            event = Label(LabelKind.EVENT_TYPE, selector.event_type)
            event_types = vocabulary.aliases(vocabulary.canonical_label(event))
        if selector.scope is not None:
            named = vocabulary.canonical(LabelKind.SCOPE, selector.scope, trajectory=selector.trajectory or "")
            scopes = partial(_is_shown, vocabulary, named)
    return ingestor.journal.select(
        tenant,
        trajectory=selector.trajectory,
        step=selector.step,
        accepted_before=selector.accepted_before,
        scopes=scopes,
        event_types=event_types,
    )


def _is_shown(vocabulary: LabelVocabulary, scope: str, trajectory: str, stored: str) -> bool:
    """Whether a stored scope is one that is called so where its trajectory is shown, or a phase of it."""
    shown = vocabulary.canonical(LabelKind.SCOPE, stored, trajectory=trajectory)
    return scope in (shown, goal_of(shown))


def by_trajectory(selected: Iterable[Selected]) -> list[tuple[str, list[Selected]]]:
    """Steps in groups of one trajectory each, in the order of their first ones."""
    groups: dict[str, list[Selected]] = {}
    for each in selected:
        groups.setdefault(each.trajectory, []).append(each)
    return list(groups.items())
