"""Requests to a memory that is somewhere else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from stitch.server.api import models
from stitch.server.api.operations import made

if TYPE_CHECKING:
    from pydantic import BaseModel

    from stitch.retrieve.path import NodeSelection
    from stitch.server.api.tree_models import TreeSelectResponse
    from stitch.server.remote.transport import Lines, Transport

_QUESTIONS = (models.QueryRequest, models.WhyRequest, models.WhyNotRequest)
"""Requests in which options of a search are filled in."""


class Asking:
    """Asks where the memory of a tenant is.

    Args:
        transport: Carries requests to there.
        defaults: Options of a search that does not say otherwise.
    """

    tenant: str
    uses_model: bool

    def __init__(self, transport: Transport, *, defaults: Mapping[str, Any]) -> None:
        self._transport, self._options = transport, dict(defaults)

    def ask(self, operation: str, request: BaseModel, lines: Lines = ()) -> Any:
        """The answer from where the memory is, as `stitch.server.api.operations.ask` says."""
        fields = type(request).model_fields if isinstance(request, _QUESTIONS) else ()
        filled = {
            name: value for name, value in self._options.items() if name in fields and getattr(request, name) is None
        }
        response = self._transport.call(operation, request.model_copy(update=filled) if filled else request, lines)
        if operation == "status" and not response.owner:
            return response.model_copy(update={"owner": self._transport.welcome.owner})
        return response

    def ask_of(self, operation: str, kind: type[BaseModel], **fields: Any) -> Any:
        """As `ask`, of a request that is made of fields; those that are None are left out."""
        given = {name: value for name, value in fields.items() if value is not None}
        return self.ask(operation, made(kind, **given))

    def selected(self, operation: str, kind: type[BaseModel], **fields: Any) -> NodeSelection:
        """Nodes that a path query finds where the memory is, in trees or steps."""
        from stitch.retrieve.path import selection_of

        answer: TreeSelectResponse = self.ask_of(operation, kind, **fields)
        return selection_of(answer.model_dump())

    def pages(self, operation: str, request: BaseModel) -> Iterator[Any]:
        """All pages of a list, from the one that is asked for."""
        page = self.ask(operation, request)
        yield page
        while page.next is not None:
            page = self.ask(operation, request.model_copy(update={"after": page.next}))
            yield page
