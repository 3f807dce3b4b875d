"""The middleware through which every request comes: it looks at its headers before a byte of its body is read."""

from __future__ import annotations

import time
from http import HTTPStatus
from typing import TYPE_CHECKING

import anyio
from starlette.datastructures import Headers, MutableHeaders

from stitch.server.errors import RefusalError, refusal
from stitch.server.page import FILES_PATH, POLICY
from stitch.server.protocol import LINES

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from stitch.server.app_state import AppState
    from stitch.server.keys import Caller

OPEN = frozenset({"/", "/healthz", "/readyz", "/openapi.json", "/docs"})
"""Paths that tell nothing of any tenant, and ask for no key."""
_ONCE = ("authorization", "origin", "content-type")
"""Headers of which one is believed: of two, whoever stands before the server might believe the other."""
_HEADERS = {
    "X-Content-Type-Options": "nosniff", "Content-Security-Policy": POLICY, "Referrer-Policy": "no-referrer",
}  # fmt: skip
_PASSED_OVER_S = 5.0
"""So long what is left of a body is read that is not wanted: to close on who still sends takes the answer away."""


class Gate:
    """Lets a request in with its `caller` in the state, or refuses it; counts it, and marks the answer."""

    def __init__(self, app: ASGIApp, served: AppState) -> None:
        self._app, self._served = app, served

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status, headers = time.perf_counter(), 0, Headers(scope=scope)
        if scope["method"] == "HEAD":  # of its answer, the program that serves sends no body
            scope = {**scope, "method": "GET"}
        if scope["path"] == "/v1/steps" and scope["method"] == "POST" and _in_lines(headers):
            scope["path"] = "/v1/stream"

        async def marked(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                told = MutableHeaders(scope=message)
                told.update(_HEADERS)
                told.setdefault("Cache-Control", "no-store")
            await send(message)

        try:
            scope.setdefault("state", {})["caller"] = self._caller(scope, headers)
        except RefusalError as refused:
            with anyio.move_on_after(_PASSED_OVER_S):
                while (await receive()).get("more_body"):
                    pass
            await refusal(refused)(scope, receive, marked)
        else:
            try:
                await self._app(scope, receive if _in_lines(headers) else self._bounded(receive), marked)
            except Exception as error:  # noqa: BLE001 - whatever it is, the client is told in the one shape
                if not status:
                    await refusal(error)(scope, receive, marked)
        finally:
            name = getattr(scope.get("route"), "name", "other")
            self._served.metrics.answered(name, status=status, seconds=time.perf_counter() - began)

    def _caller(self, scope: Scope, headers: Headers) -> Caller | None:
        """The caller of a request; None where nothing of a tenant is told.

        Raises:
            RefusalError: The headers contradict each other, the body is too long, or `Access` refuses whoever asks.
        """
        if scope["http_version"] not in ("1.0", "1.1"):
            raise _contradictory("only HTTP/1.1 is spoken here", "ask with HTTP/1.1")
        if "transfer-encoding" in headers and ("content-length" in headers or scope["http_version"] == "1.0"):
            # A proxy may take another end of the body for the right one.
            raise _contradictory(
                "the body says in two ways where it ends", "send Content-Length or, in HTTP/1.1, Transfer-Encoding"
            )
        for name in _ONCE:
            if len(headers.getlist(name)) > 1:
                raise _contradictory(f"the header {name} is given twice", "send it once")
        opened = scope["path"] in OPEN or scope["path"].startswith(f"{FILES_PATH}/")
        caller = self._served.access.caller(headers, opened=opened)
        declared = headers.get("content-length", "")
        if declared.isdecimal() and not _in_lines(headers):
            self._check_size(int(declared))
        return caller

    def _bounded(self, receive: Receive) -> Receive:
        """The body as it is received, up to the most that it may have; lines have a bound of their own."""
        size = 0

        async def bounded() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            self._check_size(size)
            return message

        return bounded

    def _check_size(self, size: int) -> None:
        most = self._served.limits.body_bytes
        if size > most:
            raise RefusalError(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                "TooLarge",
                f"the body has more than {most} bytes",
                hint="send steps in several requests, or as lines to /v1/stream",
            )


def _contradictory(message: str, hint: str) -> RefusalError:
    return RefusalError(HTTPStatus.BAD_REQUEST, "BadRequest", message, hint=hint, headers={"Connection": "close"})


def _in_lines(headers: Headers) -> bool:
    return headers.get("content-type", "").startswith(LINES)
