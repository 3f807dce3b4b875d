"""Every error of a memory and of HTTP in one shape, `Failure`, with a status; and back into the exception that it was.

Nothing of what another tenant has is in it, for a memory knows its own tenant only; what was not expected is in the
log, and not in the answer.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from http import HTTPStatus
from types import MappingProxyType

from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from stitch.errors import (
    BudgetSpentError,
    CanceledError,
    ConflictError,
    InputError,
    ModelError,
    ReadOnlyError,
    ScopeError,
    SettingsError,
    StepConflictError,
    StitchError,
    StoreLockedError,
    StoreUnavailableError,
)
from stitch.server.protocol import CLOSING, Failure, failure_of

_log = logging.getLogger(__name__)

_STATUSES: tuple[tuple[type[StitchError], int], ...] = (
    (StepConflictError, HTTPStatus.CONFLICT),
    (ConflictError, HTTPStatus.CONFLICT),
    (InputError, HTTPStatus.UNPROCESSABLE_ENTITY),
    (SettingsError, HTTPStatus.UNPROCESSABLE_ENTITY),
    (ScopeError, HTTPStatus.FORBIDDEN),
    (ReadOnlyError, HTTPStatus.CONFLICT),
    (StoreUnavailableError, HTTPStatus.SERVICE_UNAVAILABLE),
    (StoreLockedError, HTTPStatus.SERVICE_UNAVAILABLE),
    (BudgetSpentError, HTTPStatus.PAYMENT_REQUIRED),
    (ModelError, HTTPStatus.SERVICE_UNAVAILABLE),
    (CanceledError, 499),  # nobody reads it
)
"""The first that fits."""
_RETRY_S = 1
"""After how many seconds a client is told to try again what could not be taken now."""
_SHOWN_CHARS = 100

DOCUMENTED: Mapping[int, str] = MappingProxyType({
    400: "The headers contradict each other.",
    401: "There is no key, or it is unknown, revoked or expired.",
    402: "What calls of a model may cost is spent, for this key or for the memory.",
    403: "The key does not allow this, or a page of another origin asks.",
    404: "There is no such path.",
    405: "The path is there, with other methods.",
    409: "A step has the id of another one, somebody else was first, or the memory can only be read.",
    413: "The body is too long, or has too many steps.",
    415: "The body has another content type than is expected.",
    421: "The `Host` is none of this server.",
    422: "What was given cannot be used; the message names it.",
    429: "Too much of this is under way; `Retry-After` says when to try again.",
    500: "The server failed; its log says more.",
    503: "The store or the model is away, or the server is about to end.",
})  # fmt: skip
"""Every status with which a request is refused."""


class RefusalError(HTTPException):
    """A request that is not answered; `error` is its kind, in one word."""

    def __init__(
        self, status: HTTPStatus, error: str, message: str, *, hint: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(status, message, headers)
        self.failure = Failure(error=error, message=message, hint=hint)


def closing(*, hint: str = "") -> RefusalError:
    """The refusal of what is not done because the server is about to end."""
    return RefusalError(HTTPStatus.SERVICE_UNAVAILABLE, CLOSING, "the server is about to end", hint=hint)


def refusal(error: BaseException) -> Response:
    """The answer to a request that ended with an error."""
    status, failure = told(error)
    headers = dict(getattr(error, "headers", None) or {})
    if status in (HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.TOO_MANY_REQUESTS):
        headers.setdefault("Retry-After", str(_RETRY_S))
    return Response(failure.model_dump_json(), status, headers, "application/json")


def told(error: BaseException) -> tuple[int, Failure]:
    """The status of an error, and the shape in which it is told."""
    if isinstance(error, RefusalError):
        return error.status_code, error.failure
    if isinstance(error, StitchError):
        status = next((status for kind, status in _STATUSES if isinstance(error, kind)), 500)
        if status == HTTPStatus.INTERNAL_SERVER_ERROR:
            _log.error("a request failed: %s", error)
        return status, failure_of(error)
    if isinstance(error, RequestValidationError):
        first, *_ = error.errors()
        message, hint = mistake(first, first["loc"][1:])
        if first["type"] == "too_long":
            return 413, Failure(error="TooLarge", message=message, hint="send steps in several requests, or as lines")
        return 422, Failure(error="InputError", message=message, hint=hint)
    _log.error("a request failed", exc_info=error)
    return 500, Failure(error="InternalError", message="the server failed", hint="its log says more")


async def tell(request: Request, error: Exception) -> Response:
    """Handle what is raised in a route, or by the router: there is no such path, or no such method."""
    if isinstance(error, RefusalError) or not isinstance(error, HTTPException):
        return refusal(error)
    status = HTTPStatus(error.status_code)
    if status is HTTPStatus.NOT_FOUND:
        hint = "/docs lists those there are; /mcp needs the extra `mcp`"
        return refusal(RefusalError(status, "NotFound", "there is no such path", hint=hint))
    if status is not HTTPStatus.METHOD_NOT_ALLOWED:
        return refusal(RefusalError(status, "BadRequest", str(error.detail)))
    known = request.app.openapi()["paths"].get(request.url.path)  # the router names those of one of its routes alone
    allowed = ", ".join(sorted(map(str.upper, known))) if known else (error.headers or {}).get("Allow", "")
    message, headers = f"this path does not take {request.method}", {"Allow": allowed}
    return refusal(RefusalError(status, "MethodNotAllowed", message, hint=f"it takes {allowed}", headers=headers))


def first_mistake(error: ValidationError) -> tuple[str, str]:
    """The first mistake, without what was given; and a hint at what could be there instead, if one is known."""
    first = error.errors(include_url=False, include_input=False)[0]
    return mistake(first, first["loc"])


def mistake(first: Mapping[str, object], place: object) -> tuple[str, str]:
    """The same of one mistake that pydantic names."""
    where = cut(".".join(map(str, place))) if isinstance(place, tuple) and place else "body"
    hint = "/openapi.json says which fields there are" if first["type"] == "extra_forbidden" else ""
    return f"{where}: {str(first['msg']).removeprefix('Value error, ').lower()}", hint


def cut(said: str) -> str:
    """The beginning of what a client has said, for a message: a field or a header may be as long as a body."""
    return said if len(said) <= _SHOWN_CHARS else f"{said[:_SHOWN_CHARS]}…"


def wrong(message: str, hint: str = "") -> RefusalError:
    """The refusal of what cannot be used."""
    return RefusalError(HTTPStatus.UNPROCESSABLE_ENTITY, "InputError", message, hint=hint)
