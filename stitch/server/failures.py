"""Errors on the wire: class, message and hint, and back into the same exception."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import BaseModel

from stitch.errors import StitchError


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
