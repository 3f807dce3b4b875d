"""The table of all that can be asked of a memory from outside: each wire and each tool is made from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

from pydantic import BaseModel, ValidationError

from stitch.api import adding, asking, forgetting, listing, models
from stitch.errors import InputError

if TYPE_CHECKING:
    from stitch.memory import Memory

Action: TypeAlias = Literal["read", "write", "forget", "admin"]
"""What a key has to allow."""

Made = TypeVar("Made", bound=BaseModel)


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One thing that can be asked of a memory."""

    name: str
    summary: str
    """What it does, in one line."""
    action: Action
    method: Literal["GET", "POST"]
    """Of a request over HTTP: with GET, the fields of the request are the query of the URL; with POST, its body."""
    path: str
    request: type[BaseModel]
    response: type[BaseModel]
    """What is answered; with `streams`, each item of it."""
    run: Callable[[Memory, Any], Any]
    """Answers a request: with the response, or with `streams` an iterator of responses.

    Raises a `StitchError` for what cannot be answered.
    """
    streams: bool = False
    """Whether the answer comes item by item, as lines of JSON over HTTP."""


def _table(*operations: Operation) -> Mapping[str, Operation]:
    return MappingProxyType({each.name: each for each in operations})


OPERATIONS: Mapping[str, Operation] = _table(
    Operation(
        name="add",
        summary="Store the next steps of a trajectory.",
        action="write",
        method="POST",
        path="/v1/steps",
        request=models.AddRequest,
        response=models.AddResponse,
        run=adding.add,
    ),
    Operation(
        name="search",
        summary="Find the steps that answer a question.",
        action="read",
        method="POST",
        path="/v1/search",
        request=models.QueryRequest,
        response=models.QueryResponse,
        run=asking.query,
    ),
    Operation(
        name="why",
        summary="Say why a step comes back for a question, or why it does not.",
        action="read",
        method="POST",
        path="/v1/why",
        request=models.WhyRequest,
        response=models.WhyResponse,
        run=asking.why,
    ),
    Operation(
        name="trajectories",
        summary="List the trajectories, the oldest first.",
        action="read",
        method="GET",
        path="/v1/trajectories",
        request=models.TrajectoriesRequest,
        response=models.TrajectoriesResponse,
        run=listing.trajectories,
    ),
    Operation(
        name="timeline",
        summary="Tell the scopes of a trajectory, and its steps with their labels and references.",
        action="read",
        method="GET",
        path="/v1/timeline",
        request=models.TimelineRequest,
        response=models.Timeline,
        run=listing.timeline,
    ),
    Operation(
        name="labels",
        summary="List the labels of a memory, those of most steps first.",
        action="read",
        method="GET",
        path="/v1/labels",
        request=models.LabelsRequest,
        response=models.LabelsResponse,
        run=listing.labels,
    ),
    Operation(
        name="status",
        summary="Say how many steps have come how far, and what language models have cost.",
        action="read",
        method="GET",
        path="/v1/status",
        request=models.Nothing,
        response=models.StatusResponse,
        run=listing.status,
    ),
    Operation(
        name="forget",
        summary="Erase steps everywhere with proof, or take them out of retrieval; or only count them.",
        action="forget",
        method="POST",
        path="/v1/forget",
        request=models.ForgetRequest,
        response=models.ForgetResponse,
        run=forgetting.forget,
    ),
)
"""By name."""


def made(kind: type[Made], **fields: Any) -> Made:
    """A request of what somebody has written.

    Raises:
        InputError: A field cannot be used; the first of them is named.
    """
    try:
        return kind(**fields)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "request"
        raise InputError(f"{where}: {str(first['msg']).removeprefix('Value error, ').lower()}") from None


def ask(memory: Memory, operation: str, request: BaseModel) -> Any:
    """Answer a request by a memory; see `Operation.run`."""
    return OPERATIONS[operation].run(memory, request)
