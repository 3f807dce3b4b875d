"""Threads in which memories are asked, so that the loop of the server waits for none of them.

Questions have threads of their own, so that they never queue up behind steps that are added or erased. A request whose
client has left is not begun; one that has begun and only reads ends at the next boundary between two of its stages, or
pieces, and one that changes something is finished.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, TypeVar

from stitch.core.cancellation import cancelable
from stitch.server.serve.bodies import Gone
from stitch.server.serve.refusals import RefusalError

if TYPE_CHECKING:
    from starlette.requests import Request

T = TypeVar("T")

SEARCH_THREADS = 4
"""More of them would take turns on the same processor, and each would end later."""
OTHER_THREADS = 16
_UNWATCHED_S = 0.05
"""For how long it is not looked whether the client has left: most is answered by then."""


class Work:
    """Runs calls in threads, for as long as somebody waits for their results.

    At most so many questions may be under way or wait at once.
    """

    def __init__(self, *, searches: int) -> None:
        self._most_searches = searches
        self._searches = ThreadPoolExecutor(SEARCH_THREADS, "stitch-search")
        self._others = ThreadPoolExecutor(OTHER_THREADS, "stitch-serve")
        self.searching = 0
        """How many questions are under way or wait."""

    async def search(self, request: Request, call: Callable[[], T]) -> T:
        """Answer a question.

        Raises:
            RefusalError: Too many are under way.
            Gone: The client has left.
        """
        if self.searching >= self._most_searches:
            raise RefusalError(
                HTTPStatus.TOO_MANY_REQUESTS,
                "TooManySearches",
                f"{self.searching} searches are under way",
                hint="ask again in a second, and fewer at a time",
            )
        self.searching += 1
        try:
            return await self._run(self._searches, request, call)
        finally:
            self.searching -= 1

    async def run(self, request: Request, call: Callable[[], T]) -> T:
        """Do anything else.

        Raises:
            Gone: The client has left.
        """
        return await self._run(self._others, request, call)

    async def step(self, call: Callable[[], T]) -> T:
        """Do a piece of something that goes on; once begun, it is waited for even if the rest is cancelled."""
        future = self._others.submit(call)
        try:
            return await asyncio.shield(asyncio.wrap_future(future))
        except asyncio.CancelledError:
            if not future.cancel():
                await asyncio.wait({asyncio.wrap_future(future)})
            raise

    async def items(self, iterator: Iterator[T], *, most: int) -> list[T]:
        """The next items of an iterator, at most so many; none behind the last."""
        return await self.step(lambda: [item for item, _ in zip(iterator, range(most), strict=False)])

    def close(self) -> None:
        """Wait for what has begun."""
        for pool in (self._searches, self._others):
            pool.shutdown(cancel_futures=True)

    async def _run(self, pool: ThreadPoolExecutor, request: Request, call: Callable[[], T]) -> T:
        has_left = threading.Event()
        submitted = pool.submit(_until, has_left, call)
        future = asyncio.wrap_future(submitted)
        done, _ = await asyncio.wait({future}, timeout=_UNWATCHED_S)
        if done:
            return future.result()
        leaving = asyncio.ensure_future(_left(request))
        either: set[asyncio.Future[Any]] = {future, leaving}
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        finally:
            leaving.cancel()
        if future.done():
            return future.result()
        submitted.cancel()  # at once: by way of `future` a thread might begin it before
        has_left.set()
        future.add_done_callback(_unread)
        raise Gone


def _until(has_left: threading.Event, call: Callable[[], T]) -> T:
    """Do something that may be given up when the client has left."""
    with cancelable(has_left.is_set):
        return call()


def _unread(future: asyncio.Future[Any]) -> None:
    """Take note of what came of something that nobody waits for."""
    if not future.cancelled():
        future.exception()


async def _left(request: Request) -> None:
    """Return when the client has left."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
