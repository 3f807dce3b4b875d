"""The application: a gate through which every request comes, and behind it the paths."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from http import HTTPStatus
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import orjson
from fastapi import FastAPI
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from stitch.errors import StoreUnavailableError
from stitch.lm import charged_key
from stitch.server.api.models import Nothing
from stitch.server.api.operations import OPERATIONS
from stitch.server.serve.access import Access, Caller, check_action
from stitch.server.serve.bodies import JSON, Limits, check_type, parse_query, reading_to_the_end
from stitch.server.serve.events import EventFeed
from stitch.server.serve.metrics import CONTENT_TYPE as METRICS_TYPE
from stitch.server.serve.metrics import Gauge, Metrics
from stitch.server.serve.openapi import Health, describe
from stitch.server.serve.page import POLICY, show_page
from stitch.server.serve.refusals import RefusalError
from stitch.server.serve.routes import STREAM_PATH, Answering, Endpoint, answering, caller_of, refusal
from stitch.server.serve.spending import Spending
from stitch.server.serve.streaming import Piecewise
from stitch.server.serve.work import Work

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from stitch.adapters.mcp import McpOverHttp
    from stitch.memory import Memory
    from stitch.server.api.operations import Action
    from stitch.tenants import Tenants

OPEN = frozenset({"/", "/healthz", "/readyz", "/openapi.json"})
"""Paths that tell nothing of any tenant, and ask for no key."""
MCP_PATH = "/mcp"
_VERSIONS = ("1.0", "1.1")
_ONCE = ("authorization", "origin", "content-type")
"""Headers of which one is believed: of two, whoever stands before the server might believe the other."""


@dataclass(kw_only=True)
class Served:
    """A memory, and all that stands around it while it is served."""

    tenants: Tenants
    access: Access
    feed: EventFeed
    metrics: Metrics
    limits: Limits = field(default_factory=Limits)
    spending: Spending = field(init=False)
    work: Work = field(init=False)
    answering: Answering = field(init=False)
    closed: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        from stitch.lifecycle.folder import LEDGER_FILE
        from stitch.lm import read_ledger

        ledger = self.tenants.folder / LEDGER_FILE
        self.spending = Spending(self.tenants.ledger, earlier=read_ledger(ledger))
        self.work = Work(searches=self.limits.searches)
        self.answering = Answering(self.tenants, work=self.work, limits=self.limits, spending=self.spending)
        for gauge in self._gauges():
            self.metrics.ask(gauge)

    def close(self, *, finish: bool = True) -> None:
        """Wait for what has begun, and let go of the memories; closing twice is harmless.

        With `finish` it first labels what waits for labels.
        """
        self.closed = True
        self.work.close()
        self.tenants.close(finish=finish)

    def begin_to_close(self) -> None:
        """Let everything end that goes on for as long as a client likes; called in the loop of the server."""
        self.answering.closing.set()
        self.feed.close()

    def _gauges(self) -> tuple[Gauge, ...]:
        ledger, work, feed = self.tenants.ledger, self.work, self.feed
        return (
            Gauge("stitch_event_streams", "Streams of events that are open.", lambda: {(): feed.readers}),
            Gauge("stitch_searches_under_way", "Questions under way or waiting.", lambda: {(): work.searching}),
            Gauge("stitch_model_calls", "Calls of a model.", lambda: {(): ledger.total().calls}, kind="counter"),
            Gauge(
                "stitch_model_tokens",
                "Tokens of calls of a model.",
                lambda: {(): ledger.total().tokens},
                kind="counter",
            ),
            Gauge(
                "stitch_key_spent_usd",
                "Dollars that calls of a model cost to which a key led, where prices are known.",
                lambda: {(("key", key),): usd for key, usd in self.spending.by_key().items() if usd is not None},
            ),
        )


class Gate:
    """Every request comes through it: where it asks, whose page it is, which key it has; it is counted and marked."""

    def __init__(self, app: ASGIApp, *, served: Served, mcp: ASGIApp | None = None, names: Mapping[str, str]) -> None:
        self._app, self._served, self._mcp, self._names = app, served, mcp, names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status, path = time.perf_counter(), 0, scope["path"]

        async def marked(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers["X-Content-Type-Options"] = "nosniff"
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        try:
            headers = Headers(scope=scope)
            closing = self._served.answering.closing
            received, sent = reading_to_the_end(headers, receive, marked, closing=closing)
            try:
                scope.setdefault("state", {})["caller"] = self._caller(scope, headers)
            except RefusalError as refused:
                await refusal(refused)(scope, received, sent)
            else:
                if self._mcp is not None and _is_mcp(path):
                    await self._until_closing(self._mcp, scope, received, sent)
                else:
                    await self._app(scope, received, sent)
        finally:
            asked = f"{'GET' if scope['method'] == 'HEAD' else scope['method']} {path}"
            name = "mcp" if _is_mcp(path) else self._names.get(asked, "other")
            self._served.metrics.answered(name, status=status, seconds=time.perf_counter() - began)

    async def _until_closing(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer; what a client only listens to ends when the server does."""
        if scope["method"] != "GET":
            await app(scope, receive, send)
            return
        begun = False

        async def noted(message: Message) -> None:
            nonlocal begun
            begun = begun or message["type"] == "http.response.start"
            await send(message)

        answer = asyncio.ensure_future(app(scope, receive, noted))
        closing = asyncio.ensure_future(self._served.answering.closing.wait())
        either: set[asyncio.Future[Any]] = {answer, closing}
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        finally:
            closing.cancel()
            answer.cancel()
            await asyncio.wait({answer})
        if not answer.cancelled():
            answer.result()
        elif begun:
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    def _caller(self, scope: Scope, headers: Headers) -> Caller | None:
        """Who asks; nobody where nothing of a tenant is told.

        Raises:
            RefusalError: It is a foreign page, or has no key that opens anything, or not one alone.
        """
        access, path = self._served.access, scope["path"]
        if scope["http_version"] not in _VERSIONS:
            raise RefusalError(
                HTTPStatus.BAD_REQUEST, "BadRequest", "only HTTP/1.1 is spoken here", hint="ask with HTTP/1.1",
                headers={"Connection": "close"},
            )  # fmt: skip
        if "transfer-encoding" in headers and ("content-length" in headers or scope["http_version"] == "1.0"):
            raise RefusalError(  # a proxy may take another end of the body for the right one
                HTTPStatus.BAD_REQUEST, "BadRequest", "the body says in two ways where it ends",
                hint="send Content-Length or, in HTTP/1.1, Transfer-Encoding", headers={"Connection": "close"},
            )  # fmt: skip
        for name in _ONCE:
            if len(headers.getlist(name)) > 1:
                raise RefusalError(
                    HTTPStatus.BAD_REQUEST, "BadRequest", f"the header {name} is given twice", hint="send it once"
                )
        access.check_origin(host=headers.get("host"), origin=headers.get("origin"))
        if path in OPEN and access.keyed:
            return None
        caller = access.caller(headers.get("authorization"))
        if self._mcp is not None and _is_mcp(path) and scope["method"] == "POST":
            check_type(headers, JSON)
        return caller


def make_app(served: Served) -> ASGIApp:
    """The application; at `/mcp` it answers if the extra `mcp` is installed."""
    mcp = _mcp_of(served)

    @asynccontextmanager
    async def running(_: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            if mcp is not None:
                await stack.enter_async_context(mcp.running())
            yield

    app = FastAPI(
        title="stitch", openapi_url=None, docs_url=None, redoc_url=None, redirect_slashes=False, lifespan=running
    )
    names = {}

    def add(path: str, endpoint: Endpoint, *, method: str, name: str) -> None:
        names[f"{method} {path}"] = name
        app.add_route(path, answering(endpoint), methods=[method])

    for operation in OPERATIONS.values():
        add(operation.path, served.answering.operation(operation), method=operation.method, name=operation.name)
    add(STREAM_PATH, served.answering.lines, method="POST", name="stream")
    others = _Others(served)
    for path, endpoint, name in (
        ("/v1/events", others.events, "events"),
        ("/metrics", others.metrics, "metrics"),
        ("/healthz", others.health, "health"),
        ("/readyz", others.ready, "ready"),
        ("/openapi.json", others.description, "description"),
        ("/", others.page, "page"),
    ):
        add(path, endpoint, method="GET", name=name)
    app.add_exception_handler(HTTPException, _NotHere(names))
    return Gate(app, served=served, mcp=mcp, names=names)


def _mcp_of(served: Served) -> McpOverHttp | None:
    """The Model Context Protocol over the memories of the tenants that ask; None without the extra."""
    if not has_mcp():
        return None
    from stitch.adapters.mcp import McpOverHttp

    def memory_for(action: Action, request: Any) -> Memory:
        """The memory of whoever asks, for this call."""
        caller: Caller = request.scope["state"]["caller"]
        check_action(caller, action)
        served.spending.check(caller)
        charged_key.set(caller.key)  # each call of a tool has a context of its own
        return served.tenants.memory(caller.tenant)

    def caller_of(scope: Scope) -> tuple[str, str]:
        caller: Caller = scope["state"]["caller"]
        return caller.tenant, caller.key

    return McpOverHttp(memory_for, guarded=True, caller_of=caller_of)


def has_mcp() -> bool:
    """Whether the extra `mcp` is installed."""
    return find_spec("mcp") is not None


def _is_mcp(path: str) -> bool:
    return path == MCP_PATH or path.startswith(f"{MCP_PATH}/")


@cache
def _described(*, keyed: bool) -> bytes:
    """The description in OpenAPI, made when it is first asked for: it takes longer than all else a server makes."""
    return orjson.dumps(describe(OPERATIONS.values(), keyed=keyed))


class _Others:
    """Paths that are no operation of a memory."""

    def __init__(self, served: Served) -> None:
        self._served = served

    async def events(self, request: Request) -> Response:
        """What happens, as it happens."""
        parse_query(Nothing, request)
        caller, feed, most = caller_of(request), self._served.feed, self._served.limits.streams
        check_action(caller, "read")
        if feed.readers >= most:
            raise RefusalError(
                HTTPStatus.TOO_MANY_REQUESTS,
                "TooManyStreams",
                f"{most} streams of events are open",
                hint="close one, or ask /v1/receipts now and then",
            )
        told = feed.read(caller.tenant, after=request.headers.get("last-event-id"))
        return Piecewise(told, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})

    async def metrics(self, request: Request) -> Response:
        """Numbers of the server."""
        check_action(caller_of(request), "admin")
        return Response(self._served.metrics.show(), media_type=METRICS_TYPE)

    async def health(self, request: Request) -> Response:
        """That this is answered says all."""
        return Response(Health(status="ok").model_dump_json(), media_type=JSON)

    async def ready(self, request: Request) -> Response:
        """Whether the memory can be searched and written."""
        if self._served.answering.closing.is_set():
            raise RefusalError(HTTPStatus.SERVICE_UNAVAILABLE, "Closing", "the server is about to end")
        if self._served.tenants.away:
            raise StoreUnavailableError("the store cannot be reached; steps are accepted and wait for it")
        return Response(Health(status="ok").model_dump_json(), media_type=JSON)

    async def description(self, request: Request) -> Response:
        """All of this, in OpenAPI."""
        return Response(await asyncio.to_thread(_described, keyed=self._served.access.keyed), media_type=JSON)

    async def page(self, request: Request) -> Response:
        """What this is."""
        caller: Caller | None = request.scope["state"]["caller"]
        holds = None
        if caller is not None:
            memory = self._served.tenants.memory(caller.tenant)
            status = await self._served.work.run(request, memory.status)
            holds = {"trajectories": status.trajectories, "steps": status.accepted, "steps that wait": status.waiting}
        html = show_page(url=str(request.base_url).rstrip("/"), holds=holds, operations=OPERATIONS.values())
        return HTMLResponse(html, headers={"Content-Security-Policy": POLICY})


class _NotHere:
    """What the router answers where it has no path, or no such method."""

    def __init__(self, names: Iterable[str]) -> None:
        self._methods: dict[str, list[str]] = {}
        for method, path in (name.split(" ") for name in names):
            self._methods.setdefault(path, []).append(method)

    async def __call__(self, request: Request, error: Exception) -> Response:
        """The answer."""
        assert isinstance(error, HTTPException)
        if error.status_code != HTTPStatus.METHOD_NOT_ALLOWED:
            hint = "/openapi.json lists those there are"
            return refusal(RefusalError(HTTPStatus.NOT_FOUND, "NotFound", "there is no such path", hint=hint))
        allowed = ", ".join(self._methods.get(request.url.path, ()))
        return refusal(
            RefusalError(
                HTTPStatus.METHOD_NOT_ALLOWED,
                "MethodNotAllowed",
                f"this path does not take {request.method}",
                hint=f"it takes {allowed}",
                headers={"Allow": allowed},
            )
        )
