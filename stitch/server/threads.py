"""Threads in which memories are asked, so that the loop of the server waits for none of them.

Questions have threads of their own, so that they never queue up behind steps that are added or erased.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, TypeVar

from stitch.core.cancellation import cancelable
from stitch.errors import CanceledError
from stitch.server.errors import RefusalError, closing

if TYPE_CHECKING:
    from starlette.requests import Request

T = TypeVar("T")

SEARCH_THREADS = 4
"""More of them would take turns on the same processor, and each would end later."""
OTHER_THREADS = 64


class Threads:
    """Runs calls for as long as somebody waits for their results.

    A call whose client has left, or whose server is about to end, is not begun. One that has begun and only reads ends
    at its next boundary; one that changes something is finished.

    Args:
        searches: How many questions may be under way or wait at once.
    """

    def __init__(self, *, searches: int) -> None:
        self._most_searches = searches
        self._searches = ThreadPoolExecutor(SEARCH_THREADS, "stitch-search")
        self._others = ThreadPoolExecutor(OTHER_THREADS, "stitch-serve")
        self.searching = 0
        """Number of questions under way or wait."""

    async def run(self, request: Request, call: Callable[[], T], *, is_search: bool = False) -> T:
        """Answer a request.

        Raises:
            RefusalError: It is a question, and too many are under way.
            CanceledError: The client has left.
        """
        if not is_search:
            return await self._run(self._others, request, call)
        if self.searching >= self._most_searches:
            message = f"{self.searching} searches are under way"
            hint = "ask again in a second, and fewer at a time"
            raise RefusalError(HTTPStatus.TOO_MANY_REQUESTS, "TooManySearches", message, hint=hint)
        self.searching += 1
        try:
            return await self._run(self._searches, request, call)
        finally:
            self.searching -= 1

    async def step(self, call: Callable[[], T]) -> T:
        """Do a piece of something that goes on; once begun, it is waited for even if the rest is canceled."""
        submitted = self._others.submit(copy_context().run, call)
        future = asyncio.wrap_future(submitted)
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            if not submitted.cancel():
                await asyncio.wait({future})
            raise

    def close(self) -> None:
        """Wait for what has begun."""
        for pool in (self._searches, self._others):
            pool.shutdown(cancel_futures=True)

    async def _run(self, pool: ThreadPoolExecutor, request: Request, call: Callable[[], T]) -> T:
        left = threading.Event()

        def canceled_when_left() -> T:
            with cancelable(left.is_set):
                return call()

        submitted = pool.submit(copy_context().run, canceled_when_left)
        future, leaving = asyncio.wrap_future(submitted), asyncio.ensure_future(_left(request))
        either: set[asyncio.Future[Any]] = {future, leaving}
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if future.done():
                return future.result()
            raise CanceledError("the client has left")
        except asyncio.CancelledError:  # by a server that ends, and would wait for the thread all the same
            left.set()
            if submitted.cancel():
                raise closing() from None
            await asyncio.wait({future})
            if isinstance(future.exception(), CanceledError):
                raise closing() from None
            return future.result()
        finally:
            leaving.cancel()
            if not future.done():
                submitted.cancel()  # at once: by way of `future` a thread might begin it before
                left.set()
                future.add_done_callback(lambda done: done.cancelled() or done.exception())  # nobody waits for it


async def _left(request: Request) -> None:
    """Return when the client has left."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def taken_here(coming: AsyncGenerator[list[bytes], None], loop: asyncio.AbstractEventLoop) -> Iterator[bytes]:
    """The lines that come in the loop, in a thread of a call that takes them one by one.

    Raises:
        CanceledError: The client has left before the end.
    """
    while True:
        try:
            yield from asyncio.run_coroutine_threadsafe(anext(coming), loop).result()
        except StopAsyncIteration:
            return
        except EOFError:
            raise CanceledError("the client has left before the last line") from None
