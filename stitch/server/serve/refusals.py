"""How a request is refused: every error of a memory and of HTTP has one shape, and one status that is documented.

The shape is `api.failures.Failure`: `error`, `message`, `hint`. Nothing of what another tenant has is in it, for
a memory knows its own tenant only; what was not expected is in the log, and not in the answer.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import NamedTuple

from stitch.errors import (
    BudgetSpentError,
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
from stitch.server.api.failures import Failure, failure_of

_log = logging.getLogger(__name__)

_STATUSES: tuple[tuple[type[StitchError], HTTPStatus], ...] = (
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
)
"""The first that fits."""

RETRY_S = 1
"""After how many seconds a client is told to try again what could not be taken now."""

DOCUMENTED: Mapping[HTTPStatus, str] = {
    HTTPStatus.BAD_REQUEST: "This is no HTTP request that can be read.",
    HTTPStatus.UNAUTHORIZED: "There is no key, or it is unknown, revoked or expired.",
    HTTPStatus.PAYMENT_REQUIRED: "What calls of a model may cost is spent, for this key or for the memory.",
    HTTPStatus.FORBIDDEN: "The key does not allow this, or a page of another origin asks.",
    HTTPStatus.NOT_FOUND: "There is no such path.",
    HTTPStatus.METHOD_NOT_ALLOWED: "The path is there, with other methods.",
    HTTPStatus.REQUEST_TIMEOUT: "The body came too slowly.",
    HTTPStatus.CONFLICT: "A step has the id of another one, somebody else was first, or the memory can only be read.",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "The body is too long, or has too many steps.",
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE: "The body has another content type than is expected.",
    HTTPStatus.MISDIRECTED_REQUEST: "The `Host` is none of this server.",
    HTTPStatus.UNPROCESSABLE_ENTITY: "What was given cannot be used; the message names it.",
    HTTPStatus.TOO_MANY_REQUESTS: "Too much of this is under way; `Retry-After` says when to try again.",
    HTTPStatus.INTERNAL_SERVER_ERROR: "The server failed; its log says more.",
    HTTPStatus.SERVICE_UNAVAILABLE: "The store or the model is away, or the server is about to end.",
}
"""Every status with which a request is refused, and what it means."""


class RefusalError(Exception):
    """A request is not answered.

    `error` is its kind, in one word.
    """

    def __init__(
        self,
        status: HTTPStatus,
        error: str,
        message: str,
        *,
        hint: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.failure = Failure(error=error, message=message, hint=hint)
        self.headers = dict(headers or {})


class Refused(NamedTuple):
    """What a refused request is answered."""

    status: HTTPStatus
    body: bytes
    headers: Mapping[str, str]


def refused(error: BaseException) -> Refused:
    """What is answered where a request ended with an error."""
    headers: dict[str, str] = {}
    if isinstance(error, RefusalError):
        status, failure, headers = error.status, error.failure, error.headers
    elif isinstance(error, StitchError):
        status, failure = _status_of(error), failure_of(error)
    else:
        _log.error("a request failed", exc_info=error)
        status = HTTPStatus.INTERNAL_SERVER_ERROR
        failure = Failure(error="InternalError", message="the server failed", hint="its log says more")
    if status is HTTPStatus.INTERNAL_SERVER_ERROR and isinstance(error, StitchError):
        _log.error("a request failed: %s", error)
    if status in (HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.TOO_MANY_REQUESTS):
        headers = {"Retry-After": str(RETRY_S), **headers}
    return Refused(status, failure.model_dump_json().encode(), headers)


def _status_of(error: StitchError) -> HTTPStatus:
    return next((status for kind, status in _STATUSES if isinstance(error, kind)), HTTPStatus.INTERNAL_SERVER_ERROR)
