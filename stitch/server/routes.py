"""The routes of operations, each function of the table with the memory of whoever asks; and that of calls."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Iterator
from contextlib import aclosing
from functools import partial
from http import HTTPStatus
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import parse_qsl

import orjson
from fastapi import APIRouter, Body, Depends, Query
from fastapi.routing import APIRoute
from pydantic import BaseModel, TypeAdapter
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from stitch.errors import InputError, ScopeError
from stitch.lm import charged_key
from stitch.server.errors import RefusalError, cut, wrong
from stitch.server.methods import Method, call_method, method_named
from stitch.server.operations import labeling, labels, questions, steps, themes, trees, upkeep
from stitch.server.operations.operation import OPERATIONS, Action, Operation
from stitch.server.protocol import JSON, LINES
from stitch.server.streaming import (
    StreamedStep,
    WhileReading,
    begun,
    read_lines,
    spooled,
    stored_lines,
    written_pieces,
)
from stitch.server.threads import taken_here

if TYPE_CHECKING:
    from starlette.datastructures import Headers

    from stitch.memory import Memory
    from stitch.server.app_state import AppState
    from stitch.server.keys import Caller

_FILLING = (steps, labels, questions, themes, upkeep, labeling, trees)
"""The modules whose operations stand in the table, in the order in which they are described."""
_OF_STREAMS = (
    "Each line is a step, as in `StreamedStep`; each line of the answer says what became of one, in their order, and "
    f"the last one has `done`. Steps are read no faster than they are stored. `/v1/steps` takes the same as {LINES}."
)


def served_of(request: Request) -> AppState:
    """The holdings of the server."""
    served: AppState = request.app.state.served
    return served


def caller_of(request: Request) -> Caller:
    """The caller of a request, as the gate has found."""
    caller: Caller = request.scope["state"]["caller"]
    return caller


def memory_of(action: Action, request: Request, *, may_call_model: bool = False) -> Memory:
    """The memory of whoever asks.

    Args:
        action: What the key has to allow.
        request: What is asked.
        may_call_model: Whether this may lead to calls of a model, for which a key may have a ceiling.

    Raises:
        ScopeError: The key does not allow it.
        BudgetSpentError: The ceiling of the key is reached.
    """
    caller, served = caller_of(request), served_of(request)
    caller.check(action)
    if may_call_model or action == "write":
        served.spending.check(caller)
    charged_key.set(caller.id)  # in the context of this request, or of the call of a tool
    return served.tenants.memory(caller.tenant)


class StrictRoute(APIRoute):
    """A route that takes what is said as it is said: JSON of that type, and nothing in the URL that nobody reads."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler."""
        handle, reads_query = super().get_route_handler(), bool(self.dependant.query_params)

        async def strictly(request: Request) -> Response:
            check_query(request, is_read=reads_query)
            if self.body_field is not None and request.headers.get("content-length") != "0":
                check_type(request.headers, JSON)
            return await handle(_JsonRequest(request.scope, request.receive))

        return strictly


class _JsonRequest(Request):
    async def json(self) -> Any:
        """The body; what only Python takes for JSON (NaN, halves of characters) is refused."""
        try:
            return orjson.loads(await self.body())
        except orjson.JSONDecodeError as error:
            raise wrong(f"the body is no JSON: {error}") from None


def check_type(headers: Headers, expected: str) -> None:
    """Refuse a body of another type than is expected, in another encoding than UTF-8, or packed.

    Raises:
        RefusalError: It is.
    """
    given, _, parameters = headers.get("content-type", "").lower().partition(";")
    encoding = parameters.partition("charset=")[2].partition(";")[0].strip(' "')
    packed = headers.get("content-encoding", "identity").lower()
    if given.strip() != expected:
        what = repr(cut(given)) if given else "of no type"
    elif encoding not in ("", "utf-8", "utf8", "us-ascii"):
        what = f"in {cut(encoding)!r}"
    elif packed != "identity":
        what = f"packed as {cut(packed)!r}"
    else:
        return
    raise RefusalError(
        HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
        "WrongContentType",
        f"the body is {what}, and {expected} in UTF-8 is expected",
        hint=f"send the header Content-Type: {expected}",
    )


def check_query(request: Request, *, is_read: bool) -> None:
    """Refuse a query of a URL that is no UTF-8, says something twice, or stands where none is read.

    Raises:
        RefusalError: It is.
    """
    try:
        query = request.scope["query_string"].decode("ascii")
        names = [name for name, _ in parse_qsl(query, keep_blank_values=True, errors="strict")]
    except UnicodeDecodeError:
        raise wrong("the query of the URL is no UTF-8", "write other characters as %XX of their UTF-8") from None
    for number, name in enumerate(names):
        if name in names[:number]:
            raise wrong(f"{cut(name)} is given twice")
    if names and not is_read:  # `?dry_run=true` behind the path of a POST would be taken for said
        raise wrong(f"{cut(names[0])}: nothing is read of the query of this URL", "say it in the body")


def make_router() -> APIRouter:
    """The routes of all operations."""
    router = APIRouter(route_class=StrictRoute)
    for operation in OPERATIONS.values():
        needs, lines = f"Needs a key that allows `{operation.action}`.", StreamedStep if operation.streams else str
        router.add_api_route(
            operation.path,
            _endpoint(operation),
            methods=[operation.method],
            name=operation.name,
            operation_id=operation.name,
            summary=operation.summary,
            description=f"{needs} {_OF_STREAMS}" if operation.streams and operation.takes_lines else needs,
            response_model=None if operation.streams else operation.answer,
            response_class=Response if operation.streams else JSONResponse,
            responses={200: _lines_of(operation.answer)} if operation.streams else None,
            openapi_extra={"requestBody": {"required": True, **_lines_of(lines)}} if operation.takes_lines else None,
        )
    return router


def _lines_of(kind: Any) -> dict[str, Any]:
    """The description of a body in lines; types that its own is made of are described with those of other bodies."""
    schema = TypeAdapter(kind).json_schema(ref_template="#/components/schemas/{model}")
    schema.pop("$defs", None)
    return {"content": {LINES: {"schema": schema}}}


def _endpoint(operation: Operation) -> Callable[..., Any]:
    """Answers an operation; by its signature the framework reads and describes the request."""

    async def memory_asked(request: Request) -> Memory:
        return memory_of(operation.action, request, may_call_model=operation.is_search)

    async def answer(request: Request, memory: Memory, asked: BaseModel) -> Response:
        given, served = dict(asked), served_of(request)
        if operation.takes_lines:
            check_type(request.headers, LINES)
        if operation.takes_lines and operation.streams:
            store = partial(operation.run, memory, **given)
            stored = stored_lines(read_lines(request, served), store, threads=served.threads)
            return WhileReading(spooled(stored), media_type=LINES)

        def run(lines: Iterator[bytes]) -> Any:
            with operation.finishing(given):
                return operation.run(memory, *((lines,) if operation.takes_lines else ()), **given)

        return await _answered(request, operation, run)

    is_query = operation.method == "GET" or operation.takes_lines
    asked: Any = Annotated[operation.request, Query() if is_query else Body()]
    annotations = {"request": Request, "memory": Annotated[Any, Depends(memory_asked)], "asked": asked}
    answer.__signature__ = Signature(  # type: ignore[attr-defined]
        [Parameter(name, Parameter.KEYWORD_ONLY, annotation=kind) for name, kind in annotations.items()]
    )
    return answer


async def _answered(
    request: Request, procedure: Operation | Method, run: Callable[[Iterator[bytes]], Any], *, body: bytes = b""
) -> Response:
    """The answer of what is run in a thread: with the lines of the body as they come, or with a body that was read.

    Raises:
        ScopeError: It writes on the server's machine where the request says, and the request has a key.
    """
    if procedure.name in ("backup", "lifecycle.backup") and caller_of(request).id:
        hint = "stitch serve --backup-every-h N --backup-to DIR"
        raise ScopeError("a key writes nothing into folders of the server", hint=hint)
    served = served_of(request)
    if procedure.takes_lines:
        async with aclosing(read_lines(request, served)) as coming:
            lines = taken_here(coming, asyncio.get_running_loop())
            written = await served.threads.step(lambda: procedure.written(run(lines)))
    elif procedure.streams:
        items = await served.threads.run(request, lambda: begun(run(iter((body,)))))
        return StreamingResponse(written_pieces(items, procedure.written), media_type=LINES)
    else:
        work = served.threads.run(request, lambda: procedure.written(run(iter((body,)))), is_search=procedure.is_search)
        written = await work
    return Response(written, media_type=JSON)


_ASKING = frozenset({"search", "ask", "why", "why_not", "select"})
"""Methods that may call a model though they write nothing."""


async def call(request: Request) -> Response:
    """Call a method of a memory for another process of this library.

    The body is `{"arguments": {...}, "of": {...}}`, with lines of text behind it where the method takes some. What
    comes back is the result as JSON; of many, a line each, in brackets, and behind them an error if they break off.
    """
    method = method_named(request.path_params["name"])
    memory = memory_of(method.action, request, may_call_model=method.name.rpartition(".")[2] in _ASKING)
    body = b"" if method.takes_lines else await request.body()
    return await _answered(request, method, partial(_called, memory, method), body=body)


def _called(memory: Memory, method: Method, lines: Iterator[bytes]) -> Any:
    """The result of what is asked in the first line.

    Raises:
        StitchError: Nothing can be understood, or it went wrong.
    """
    try:
        told = json.loads(next(lines, b""))
        arguments, of = told["arguments"], told.get("of")
    except (ValueError, KeyError, TypeError, RecursionError):
        raise InputError("the first line of a call is a JSON object with its arguments") from None
    return call_method(memory, method, of=of, arguments=arguments, lines=lines)
