"""The paths at which another process calls the methods of a memory.

`POST /v1/call/NAME` takes a line of JSON, `{"arguments": {...}, "of": {...}}`, and lines of text behind it where the
method takes some. What comes back are lines of JSON too: how far the work is (`{"progress": [what, done, of]}`), items
(`{"item": ...}`), and last the result (`{"value": ...}`), an error, or `{"end": true}` behind items.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, Any

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from stitch.core.progress import watched
from stitch.errors import InputError, StitchError
from stitch.server.errors import RefusalError, failure_told
from stitch.server.methods import Method, call_method, method_named
from stitch.server.protocol import LINES, Failure, Welcome, read_hello
from stitch.server.routes import caller_of, lines_of, memory_of, refuse_folder, served_of
from stitch.server.streaming import Lines, WhileReading, begun
from stitch.server.threads import taken_here

if TYPE_CHECKING:
    from stitch.memory import Memory

_TOLD_EVERY_S = 0.25
_ASKING = frozenset({"search", "ask", "why", "why_not", "select", "request"})
"""Methods that may call a model though they write nothing."""

_log = logging.getLogger(__name__)


async def join(request: Request) -> Response:
    """Say whose memory this is, and who labels; the owner of a folder looks at the settings of whoever asks."""
    memory, hello = memory_of(request, "read"), read_hello(await request.body())
    greet = getattr(request.app.state, "greet", lambda memory, hello: Welcome.model_validate(memory))
    return Response(greet(memory, hello).model_dump_json(), media_type="application/json")


async def call(request: Request) -> Response:
    """Call a method of a memory; what the caller may not do is raised, and all else that is wrong told in a line."""
    method = method_named(request.path_params["name"])
    memory = memory_of(request, method.action, may_call_model=method.name.rpartition(".")[2] in _ASKING)
    refuse_folder(method.name, caller_of(request))
    said = b"" if method.takes_lines else await request.body()
    if method.streams:
        return await _items(request, memory, method, said)
    return WhileReading(_value(request, memory, method, said), media_type=LINES)


routes = [Route("/v1/join", join, methods=["POST"], name="join"),
          Route("/v1/call/{name}", call, methods=["POST"], name="call")]  # fmt: skip
"""Routes of an application made by `create_app`; what may be called of a memory is in no description."""


async def _items(request: Request, memory: Memory, method: Method, said: bytes) -> Response:
    """An answer item by item."""
    told = deque[bytes]()
    work = _Work(memory, method, told.append)
    items = await served_of(request).threads.run(request, lambda: work.do(said))

    def written(item: Any) -> bytes:
        progress = b"".join(told.popleft() for _ in range(len(told)))
        return progress + b'{"item":%b}' % method.result.dump_json(item)

    return Lines(items, written=written, failed=_failed, end=b'{"end":true}\n')


async def _value(request: Request, memory: Memory, method: Method, said: bytes) -> AsyncGenerator[bytes, None]:
    """Lines of progress, and last the value."""
    loop, threads = asyncio.get_running_loop(), served_of(request).threads
    told = asyncio.Queue[bytes]()
    work = _Work(memory, method, lambda line: loop.call_soon_threadsafe(told.put_nowait, line))
    async with aclosing(lines_of(request)) as coming:
        if method.takes_lines:
            doing = asyncio.ensure_future(threads.step(partial(work.do_with, taken_here(coming, loop))))
        else:
            doing = asyncio.ensure_future(threads.run(request, lambda: work.written(said)))
        doing.add_done_callback(lambda _: told.put_nowait(b""))
        try:
            while line := await told.get():
                yield line
            yield doing.result()
        except Exception as error:  # noqa: BLE001 - the status is sent long since: the last line says it
            yield _failed(failure_told(error)) + b"\n"
        finally:
            doing.cancel()


class _Work:
    """A call of a method, in the thread that does it."""

    def __init__(self, memory: Memory, method: Method, tell: Callable[[bytes], object]) -> None:
        self._memory, self._method, self._tell = memory, method, tell
        self._told_at = 0.0

    def do(self, said: bytes, lines: Iterable[bytes] = ()) -> Any:
        """The result of what is asked, of which the first item is made, if they are many.

        Raises:
            StitchError: Whatever goes wrong: whoever asked is told in a line.
        """
        try:
            call = json.loads(said)
            arguments, of = call["arguments"], call.get("of")
        except (ValueError, KeyError, TypeError, RecursionError):
            raise InputError("the first line of a call is a JSON object with its arguments") from None
        try:
            with watched(self._note_progress):
                result = call_method(self._memory, self._method, of=of, arguments=arguments, lines=lines)
                return begun(result) if self._method.streams else result
        except StitchError:
            raise
        except RefusalError as refused:  # of a line
            raise InputError(refused.failure.message, hint=refused.failure.hint) from None
        except Exception as error:
            _log.exception("a call of %s failed", self._method.name)
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            said_by = f"the process that has the memory open could not do it: {type(error).__name__}"
            raise StitchError(f"{said_by}: {reason.lower()}") from error

    def written(self, said: bytes, lines: Iterable[bytes] = ()) -> bytes:
        """The result as a line."""
        return b'{"value":%b}\n' % self._method.result.dump_json(self.do(said, lines))

    def do_with(self, lines: Iterator[bytes]) -> bytes:
        """The result of what the first line asks, of those behind it; an answer is read when all is sent."""
        result = self.written(next(lines, b""), lines)
        for _ in lines:
            pass
        return result

    def _note_progress(self, what: str, done: int, of: int | None) -> None:
        """Tell how far the work is, no more often than a person reads; may be called in any thread."""
        now = time.monotonic()
        if now - self._told_at >= _TOLD_EVERY_S:
            self._told_at = now
            self._tell(orjson.dumps({"progress": [what, done, of]}) + b"\n")


def _failed(failure: Failure) -> bytes:
    return orjson.dumps({"error": failure.model_dump()})
