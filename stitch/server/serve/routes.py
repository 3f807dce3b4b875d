"""Paths made from the table of operations: nothing that can be asked of a memory is written a second time here."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, aclosing, nullcontext
from functools import partial
from typing import TYPE_CHECKING

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from stitch.core.cancellation import cancelable
from stitch.errors import ScopeError
from stitch.server.api.models import Nothing
from stitch.server.serve.access import check_action
from stitch.server.serve.bodies import JSON, LINES, Gone, check_type, parse, parse_query, read_body, read_lines
from stitch.server.serve.refusals import refused
from stitch.server.serve.streaming import Piecewise, StreamRequest, WhileReading, take_lines, tell_items

if TYPE_CHECKING:
    from stitch.memory import Memory
    from stitch.server.api.operations import Operation
    from stitch.server.serve.access import Caller
    from stitch.server.serve.bodies import Limits
    from stitch.server.serve.spending import Spending
    from stitch.server.serve.work import Work
    from stitch.tenants import Tenants

Endpoint = Callable[[Request], Awaitable[Response]]

SEARCHES = frozenset({"search", "why", "why_not", "select", "tree_select"})
"""Operations for which somebody waits: they have threads of their own, and only so many are under way at once."""
OF_THE_MACHINE = frozenset({"backup"})
"""Operations that write on the server's machine where the request says: for its users, not for who has a key."""
STREAM_PATH = "/v1/stream"
ITEMS_TOGETHER = 256
"""How many items of an answer are made before they are sent."""


class Answering:
    """Answers requests by the memories of the tenants that ask."""

    def __init__(self, tenants: Tenants, *, work: Work, limits: Limits, spending: Spending) -> None:
        self._tenants, self._work, self._limits, self._spending = tenants, work, limits, spending
        self.closing = asyncio.Event()
        """Set when the server is about to end: what goes on as long as the client likes ends then."""

    def operation(self, operation: Operation) -> Endpoint:
        """The endpoint of an operation of the table."""

        async def answer(request: Request) -> Response:
            caller = caller_of(request)
            check_action(caller, operation.action)
            if operation.action == "write" or operation.name in SEARCHES:
                self._spending.check(caller)
            memory = self._tenants.memory(caller.tenant)
            if operation.name in OF_THE_MACHINE and caller.key:
                raise ScopeError(
                    "a key writes nothing into folders of the server",
                    hint="stitch serve --backup-every-h N --backup-to DIR",
                )
            if operation.takes_lines:
                return await self._take_in(request, operation, caller, memory)
            if operation.method == "GET":
                read: Callable[[], BaseModel] = partial(parse_query, operation.request, request)
            else:
                if operation.name == "add" and request.headers.get("content-type", "").startswith(LINES):
                    return await self._lines(request, caller, memory)
                read = partial(parse, operation.request, await read_body(request, self._limits))
                parse_query(Nothing, request)  # `?dry_run=true` behind the path would be taken for said
            if operation.streams:
                return await self._items(request, operation, caller, memory, read)
            call = partial(self._answer, operation, caller, memory, read)
            run = self._work.search if operation.name in SEARCHES else self._work.run
            return Response(await run(request, call), media_type=JSON)

        return answer

    async def lines(self, request: Request) -> Response:
        """The endpoint that takes steps as lines."""
        caller = caller_of(request)
        check_action(caller, "write")
        self._spending.check(caller)
        return await self._lines(request, caller, self._tenants.memory(caller.tenant))

    async def _lines(self, request: Request, caller: Caller, memory: Memory) -> Response:
        check_type(request.headers, LINES)
        options = parse_query(StreamRequest, request)
        with self._spending.of(caller):
            taken = take_lines(request, memory, options, work=self._work, limits=self._limits, closing=self.closing)
        return WhileReading(taken, media_type=LINES)

    async def _take_in(self, request: Request, operation: Operation, caller: Caller, memory: Memory) -> Response:
        """Answer an operation that takes lines, which are read as it asks for them; its request is the query."""
        check_type(request.headers, LINES)
        asked = parse_query(operation.request, request)
        coming = read_lines(request, self._limits, closing=self.closing)
        loop = asyncio.get_running_loop()

        def lines() -> Iterator[bytes]:
            while True:
                try:
                    yield from asyncio.run_coroutine_threadsafe(anext(coming), loop).result()
                except StopAsyncIteration:
                    return

        def run() -> bytes:
            with self._spending.of(caller):
                response: BaseModel = operation.run(memory, asked, lines())
            return response.model_dump_json(exclude_unset=True).encode()

        async with aclosing(coming):
            return Response(await self._work.step(run), media_type=JSON)

    async def _items(
        self, request: Request, operation: Operation, caller: Caller, memory: Memory, read: Callable[[], BaseModel]
    ) -> Response:
        """What is answered item by item; what goes wrong before the first of them still has a status."""

        def begin() -> tuple[Iterator[BaseModel], list[BaseModel]]:
            asked = read()
            with self._spending.of(caller), as_it_may_be_given_up(operation, asked):
                items = iter(operation.run(memory, asked))
                return items, [item for item, _ in zip(items, range(ITEMS_TOGETHER), strict=False)]

        items, first = await self._work.run(request, begin)
        told = tell_items(first, items, work=self._work, most=ITEMS_TOGETHER, raw=operation.raw)
        return Piecewise(told, media_type=LINES)

    def _answer(self, operation: Operation, caller: Caller, memory: Memory, read: Callable[[], BaseModel]) -> bytes:
        request = read()
        with self._spending.of(caller), as_it_may_be_given_up(operation, request):
            response: BaseModel = operation.run(memory, request)
        return response.model_dump_json(exclude_unset=True).encode()


def as_it_may_be_given_up(operation: Operation, request: BaseModel) -> AbstractContextManager[None]:
    """The context in which a request is answered: what changes something is finished though its client has left."""
    return nullcontext() if operation.only_reads(request) else cancelable(None)


def caller_of(request: Request) -> Caller:
    """Who asks, as the gate has found."""
    caller: Caller = request.scope["state"]["caller"]
    return caller


def answering(endpoint: Endpoint) -> Endpoint:
    """An endpoint whose errors are answers in their one shape."""

    async def answer(request: Request) -> Response:
        try:
            return await endpoint(request)
        except Gone:
            return Response(status_code=499)  # nobody reads it
        except Exception as error:  # noqa: BLE001 - whatever it is, the client is told in the one shape
            return refusal(error)

    return answer


def refusal(error: BaseException) -> Response:
    """The response to what ended with an error."""
    answer = refused(error)
    return Response(answer.body, status_code=answer.status, headers=dict(answer.headers), media_type=JSON)
