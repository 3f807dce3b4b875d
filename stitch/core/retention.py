"""Retention rules of the settings."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field

SECONDS_PER_DAY = 86_400


class RetentionRule(BaseModel, frozen=True, extra="forbid"):
    """The fate of steps that are older than so many days.

    The age counts from when the memory *accepted* a step, by its own clock. When a step *happened* is said by its
    source, in any form or not at all, and must not decide over what is kept.
    """

    older_than_days: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    action: Literal["retire", "erase"]
    event_type: str | None = None
    """Only steps of this event type, read through merges as a search reads it; all steps if None."""

    def accepted_before(self, now: float) -> float:
        """Steps accepted before this moment are concerned, in Unix seconds."""
        return now - self.older_than_days * SECONDS_PER_DAY
