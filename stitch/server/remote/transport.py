"""How a request gets to a memory that is somewhere else, and what comes back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Protocol, TypeVar, runtime_checkable

from pydantic import BaseModel, ValidationError

from stitch.errors import StitchError, StoreError
from stitch.server.failures import Failure, as_error
from stitch.server.remote.protocol import Welcome

Model = TypeVar("Model", bound=BaseModel)

Lines = Iterable[str | bytes]


@runtime_checkable
class Transport(Protocol):
    """Carries requests to a memory. Safe to use from several threads."""

    @property
    def where(self) -> str:
        """Where the memory is, for messages."""

    @property
    def welcome(self) -> Welcome:
        """What is known of the memory."""

    def call(self, operation: str, request: BaseModel, lines: Lines = ()) -> Any:
        """What is answered: a response, or an iterator of them where the operation streams.

        Raises:
            StitchError: What was raised where the memory is.
            OwnerLostError: It is not known whether what was asked was done.
        """

    def close(self) -> None:
        """Let go of connections; closing twice is harmless. What is under way in other threads ends with an error."""


def parsed(kind: type[Model], body: bytes, *, where: str) -> Model:
    """What was answered.

    Raises:
        StoreError: It cannot be read.
    """
    try:
        return kind.model_validate_json(body)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        raise StoreError(
            f"what {where} answers cannot be read: {field}: {str(first['msg']).lower()}",
            hint="use the same version of this library on both sides",
        ) from None


def failure(body: bytes, *, where: str) -> StitchError:
    """The exception that was raised where the memory is."""
    return as_error(parsed(Failure, body, where=where))


def decoded(lines: Lines) -> Iterator[str]:
    """Lines as texts, without their ends; what is no text has its bytes replaced, and is refused where it is read."""
    for line in lines:
        text = line.decode("utf-8", "replace") if isinstance(line, bytes) else line
        yield text.rstrip("\r\n")
