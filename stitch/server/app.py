"""The server: one FastAPI application over the memories of its tenants."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import cache, partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import APIRouter, Depends, FastAPI, Header
from fastapi.exceptions import RequestValidationError
from fastapi.security import HTTPBearer
from pydantic import BaseModel
from sse_starlette import EventSourceResponse
from sse_starlette.sse import AppStatus
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from stitch.errors import SettingsError, StitchError, StoreUnavailableError
from stitch.server.access import Access
from stitch.server.app_state import AppState, Limits
from stitch.server.errors import DOCUMENTED, RefusalError, closing, tell
from stitch.server.events import EventFeed
from stitch.server.gate import Gate
from stitch.server.metrics import CONTENT_TYPE as METRICS_TYPE
from stitch.server.metrics import Metrics
from stitch.server.page import FILES_PATH, FOLDER, paths_page
from stitch.server.protocol import JSON, PROTOCOL, Failure, Hello, Welcome
from stitch.server.routes import StrictRoute, call, caller_of, check_type, make_router, memory_of, served_of

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from stitch.tenants import Tenants

VERSION = "1"
MCP_PATH = "/mcp"
_ABOUT = (
    "The memory of an agent: steps go in, and questions find them by what they were for. "
    "Errors of every path have one shape, `Failure`; a path that is not here is 404, a method that is not here 405. "
    "A tenant comes from the key and from nothing else. Adding is idempotent by the ids of steps."
)


class Health(BaseModel):
    """A sign of life."""

    status: Literal["ok"] = "ok"


def create_app(
    tenants: Tenants,
    *,
    access: Access,
    feed: EventFeed | None = None,
    metrics: Metrics | None = None,
    limits: Limits | None = None,
    mcp: Callable[..., Any] | None = None,
) -> FastAPI:
    """The application.

    Args:
        tenants: The memories. They outlive the application.
        access: Decides who a request comes from.
        feed: Told of what happens in the memories, by whoever opened them; without, `/v1/events` tells nothing.
        metrics: Told the same.
        limits: How much one client may ask at once.
        mcp: Makes what answers at `/mcp`: `stitch.adapters.mcp.McpOverHttp`, where that is installed.
    """
    served = AppState(
        tenants=tenants,
        access=access,
        feed=feed or EventFeed(),
        metrics=metrics or Metrics(),
        limits=limits or Limits(),
    )
    tools = None if mcp is None else mcp(partial(memory_of, may_call_model=True), guarded=True, caller_of=_caller_in)
    AppStatus.enable_automatic_graceful_drain = False  # streams end with the feed, which says so to its readers

    @asynccontextmanager
    async def running(_: FastAPI) -> AsyncIterator[None]:
        if tools is None:
            yield
            return
        async with tools.running():
            yield

    app = FastAPI(
        title="stitch",
        version=VERSION,
        description=_ABOUT,
        docs_url=None,  # the framework's pages load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
        separate_input_output_schemas=False,
        lifespan=running,
    )
    app.state.served = served
    app.router.routes.extend(_routes(keyed=access.keyed))
    calls = Route("/v1/call/{name}", call, methods=["POST"], name="call")  # what it takes is in no description
    app.router.routes.insert(0, calls)  # it is asked most, and routes are tried in order
    app.router.routes.append(Mount(FILES_PATH, StaticFiles(directory=FOLDER), name="page"))
    if tools is not None:
        app.router.routes.append(Route(MCP_PATH, _UntilClosing(tools, served), name="mcp"))
    app.add_middleware(Gate, served=served)
    for kind in (StitchError, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, tell)
    return app


@cache
def _routes(*, keyed: bool) -> tuple[BaseRoute, ...]:
    """All that is described, for every application: what requests are matched with is made of it once, in 20 ms."""
    asked = [Depends(HTTPBearer(auto_error=False, description="Made by `stitch keys add`."))] if keyed else []
    router = APIRouter(
        responses={status: {"content": _FAILURE, "description": said} for status, said in DOCUMENTED.items()}
    )
    router.include_router(make_router(), dependencies=asked)
    router.include_router(_others, dependencies=asked)
    router.include_router(_open)
    return tuple(router.routes)


def _caller_in(scope: Scope) -> tuple[str, str]:
    caller = scope["state"]["caller"]
    return caller.tenant, caller.id


class _UntilClosing:
    """The Model Context Protocol as an application; what a client only listens to ends when the server does."""

    def __init__(self, mcp: ASGIApp, served: AppState) -> None:
        self._mcp, self._served = mcp, served

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["method"] == "POST":
            check_type(Headers(scope=scope), JSON)
        answered = self._mcp(scope, receive, send)
        await (self._served.until_closing(answered) if scope["method"] == "GET" else answered)


_FAILURE = {"application/json": {"schema": {"$ref": "#/components/schemas/Failure"}}}
"""What `{"model": Failure}` would say, which becomes 16 fields of each route, in 100 ms; one route says it for all."""
_others = APIRouter(route_class=StrictRoute)
"""Paths that are no operation of a memory."""
_open = APIRouter(route_class=StrictRoute)
"""Paths that ask for no key."""


@_others.get("/v1/events", response_class=EventSourceResponse)
async def events(
    request: Request, last_event_id: Annotated[str | None, Header(description="What followed it is told first.")] = None
) -> Response:
    """Tell what happens in the memory, as it happens, as server-sent events. Needs a key that allows `read`."""
    served, caller = served_of(request), caller_of(request)
    caller.check("read")
    if served.feed.readers >= served.limits.streams:
        message = f"{served.limits.streams} streams of events are open"
        hint = "close one, or ask /v1/receipts now and then"
        raise RefusalError(HTTPStatus.TOO_MANY_REQUESTS, "TooManyStreams", message, hint=hint)
    return EventSourceResponse(served.feed.read(caller.tenant, after=last_event_id))


@_others.post("/v1/join", include_in_schema=False)
async def join(request: Request, hello: Hello) -> Response:
    """Say whose memory this is, and who labels; the owner of a folder looks at the settings of whoever asks."""
    if hello.protocol != PROTOCOL:
        hint = "use the same version, or end that process"
        raise SettingsError("the memory is open in another version of this library", hint=hint)
    memory, greet = memory_of("read", request), getattr(request.app.state, "greet", None)
    welcome = Welcome.model_validate(memory) if greet is None else greet(memory, hello)
    return Response(welcome.model_dump_json(), media_type=JSON)


@_others.get("/metrics", response_class=Response)
async def metrics(request: Request) -> Response:
    """Numbers of the server, as OpenMetrics. Needs a key that allows `admin`."""
    caller_of(request).check("admin")
    return Response(served_of(request).metrics.show(), media_type=METRICS_TYPE)


@_open.get("/healthz", responses={400: {"model": Failure, "description": DOCUMENTED[400]}})
async def health() -> Health:
    """Whether the server answers."""
    return Health()


@_open.get("/readyz")
async def ready(request: Request) -> Health:
    """Whether the memory can be searched and written."""
    served = served_of(request)
    if served.closing.is_set():
        raise closing()
    if served.tenants.away:
        raise StoreUnavailableError("the store cannot be reached; steps are accepted and wait for it")
    return Health()


@_open.get("/", include_in_schema=False)
async def page() -> Response:
    """The page on which people look into the memory; it tells nothing of one until its script has asked."""
    return FileResponse(FOLDER / "index.html")


@_open.get("/docs", include_in_schema=False)
async def docs(request: Request) -> Response:
    """The list of all paths."""
    return HTMLResponse(paths_page(request.app.openapi()))
