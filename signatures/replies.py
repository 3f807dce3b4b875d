"""The nested parts of replies. Lenient on purpose: one odd value must not spoil a reply; who reads it checks it."""

from __future__ import annotations

from pydantic import BaseModel, Field


class Reference(BaseModel):
    """Words that stand for something named earlier."""

    phrase: str = Field(description="the words as they stand in the step, such as 'it' or 'the second one'")
    means: str = Field(description="the name to put in their place, as it was said earlier")


class Synonym(BaseModel):
    """Two names of one thing."""

    name: str = Field(description="the name to give up, from the list")
    read_as: str = Field(description="the name to keep, from the list")


class StepReading(BaseModel):
    """What one step of a window is about."""

    n: int = Field(description="the number of the step")
    scope: str
    events: list[str]
    entities: list[str]
    references: list[Reference] = Field(default_factory=list)
    summary: str = ""
