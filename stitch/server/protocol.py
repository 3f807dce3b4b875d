"""The protocol of a process that uses a memory and the one that has it open: the handshake, and errors on the wire."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from stitch.errors import StitchError

TENANT = "Stitch-Tenant"
"""The header that names whose memory is asked of a folder's owner, percent-encoded; its own without one. Who may open
its socket may read all files."""
JSON, LINES = "application/json", "application/x-ndjson"
MESSAGE_STEP = "stitch_step"
"""A message that has this field alone is a step."""
CLOSING = "Closing"
"""The kind of the `Failure` of what was not done because whoever has the memory is about to end."""
PROTOCOL = 2
"""Raised when an older side would misunderstand a newer one."""


class Hello(BaseModel, frozen=True):
    """The handshake of a process that wants to use a memory."""

    protocol: int = PROTOCOL
    settings: Mapping[str, Any] = {}
    """What it has set of the memory, and takes to be so."""


class About(BaseModel, frozen=True, from_attributes=True):
    """The tenant of a memory, and who labels."""

    tenant: str
    labeler: str
    uses_model: bool
    """Whether a language model labels."""
    workers: int
    """Number of trajectories that are best worked on side by side."""


class Welcome(About):
    """The reply: the memory that was found, and who has it open."""

    protocol: int = PROTOCOL
    owner: Mapping[str, str] = {}
    """The process that has it open, as a status says it; empty of a memory that is served over the network."""
    tenants: Sequence[str] = ()
    """The tenants that have steps, told by a folder's owner: who may open its socket may read all files."""


def step_or_message(told: Any) -> Any:
    """A message, or the step that one is which has the field `MESSAGE_STEP` alone."""
    from stitch.sources.given import step_of

    return step_of(told[MESSAGE_STEP]) if isinstance(told, Mapping) and set(told) == {MESSAGE_STEP} else told


class Failure(BaseModel, frozen=True):
    """An error as whoever asked is told of it."""

    error: str
    """Its class, such as `InputError`."""
    message: str
    """What happened and where, in one line."""
    hint: str = ""
    """What to do next; empty when nothing can be advised."""


def failure_of(error: StitchError) -> Failure:
    """An error as it is told."""
    return Failure(error=type(error).__name__, message=error.message, hint=error.hint)


def as_error(failure: Failure) -> StitchError:
    """The exception that was raised where the question was answered; a `StitchError` where its class is not known."""
    kind = next((each for each in _classes(StitchError) if each.__name__ == failure.error), StitchError)
    raised = kind.__new__(kind)  # some make their message of what is not here
    StitchError.__init__(raised, failure.message, hint=failure.hint)
    return raised


def _classes(kind: type[StitchError]) -> Iterator[type[StitchError]]:
    """A class of errors and all below it that are known here."""
    yield kind
    for below in kind.__subclasses__():
        yield from _classes(below)
