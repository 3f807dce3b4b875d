"""The paths at which another process calls the methods of a memory.

`POST /v1/call/NAME` takes a line of JSON, `{"arguments": {...}, "of": {...}}`, and lines of text behind it where the
method takes some. What comes back are lines of JSON too: how far the work is (`{"progress": [what, done, of]}`), items
(`{"item": ...}`), and last the result (`{"value": ...}`), an error, or nothing behind items.
"""

from __future__ import annotations

import asyncio
import json
import logging
import threading
import time
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

import orjson
from anyio import CapacityLimiter, to_thread
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from stitch.core.cancellation import cancelable
from stitch.core.progress import watched
from stitch.errors import CanceledError, InputError, ScopeError, StitchError
from stitch.lm import charged_key
from stitch.server.failures import failure_of
from stitch.server.greeting import LINES_TYPE, read_hello, welcome_to
from stitch.server.methods import Method, call_method, method_named
from stitch.server.routes import caller_of, memory_of, served_of

if TYPE_CHECKING:
    from stitch.memory import Memory

MOST_CALLS = 64
"""Calls that are answered at once; others wait."""

_MOST_WAITING = 16
"""Pieces of an answer that are made before they are taken."""
_PIECE_BYTES = 2**16
_TOLD_EVERY_S = 0.25
_VALUE = b'{"value":'
_ASKING = frozenset({"search", "ask", "why", "why_not", "select", "request"})
"""Methods that may call a model though they write nothing."""

_log = logging.getLogger(__name__)
_Piece: TypeAlias = "bytes | StitchError | None"


async def join(request: Request) -> Response:
    """Say whose memory this is, and who labels; the owner of a folder looks at the settings of whoever asks."""
    memory, hello = memory_of(request, "read"), read_hello(await request.body())
    greet = getattr(request.app.state, "greet", lambda memory, hello: welcome_to(memory))
    return Response(greet(memory, hello).model_dump_json(), media_type="application/json")


async def call(request: Request) -> Response:
    """Call a method of a memory; what is wrong before the first line of the answer is raised."""
    method = method_named(request.path_params["name"])
    asks = method.name.rpartition(".")[2] in _ASKING
    memory, key = memory_of(request, method.action, may_call_model=asks), caller_of(request).key
    if method.name == "lifecycle.backup" and key:
        hint = "stitch serve --backup-every-h N --backup-to DIR"
        raise ScopeError("a key writes nothing into folders of the server", hint=hint)
    charged_key.set(key)  # in the context of this request
    state = request.app.state
    if not hasattr(state, "calling"):
        state.calling = CapacityLimiter(MOST_CALLS)
    answering = _Answering(request, memory, method)
    if not method.takes_lines:
        answering.said = await request.body()
    work = asyncio.ensure_future(to_thread.run_sync(answering.run, limiter=state.calling))
    leaving = None if method.takes_lines else asyncio.ensure_future(answering.watch())
    work.add_done_callback(lambda _: leaving and leaving.cancel())
    first = await answering.pieces.get()
    if isinstance(first, StitchError):
        raise first
    if first is not None and first.startswith(_VALUE):
        return Response(first, media_type=LINES_TYPE)
    return StreamingResponse(answering.told(first), media_type=LINES_TYPE)


routes = [Route("/v1/join", join, methods=["POST"], name="join"),
          Route("/v1/call/{name}", call, methods=["POST"], name="call")]  # fmt: skip
"""Routes of an application made by `create_app`; what may be called of a memory is in no description."""


class _Answering:
    """One call, between the loop of the server and the thread that does it."""

    def __init__(self, request: Request, memory: Memory, method: Method) -> None:
        self._request, self._memory, self._method = request, memory, method
        self._loop = asyncio.get_running_loop()
        self._left = threading.Event()
        self._room = threading.Semaphore(_MOST_WAITING)
        self._told_at = 0.0
        self.said = b""
        self.pieces: asyncio.Queue[_Piece] = asyncio.Queue()

    async def watch(self) -> None:
        """Wait until whoever asked has left."""
        while (await self._request.receive())["type"] != "http.disconnect":
            pass
        self._leave()

    async def told(self, piece: _Piece) -> AsyncIterator[bytes]:
        """All pieces of the answer from this one on."""
        try:
            while piece is not None:
                self._room.release()
                yield _line("error", failure_of(piece).model_dump()) if isinstance(piece, StitchError) else piece
                piece = await self.pieces.get()
        finally:
            self._leave()

    def _leave(self) -> None:
        self._left.set()
        self._room.release()  # whoever waits for room goes on, and sees that it is over

    # In the thread.

    def run(self) -> None:
        """Do what is asked; each piece of the answer, or an error, is put into `pieces`, and None behind the last."""
        try:
            with watched(self._note_progress), cancelable(self._left.is_set):
                self._answer()
        except StitchError as error:
            self._put(error)
        except ClientDisconnect:
            pass
        except Exception as error:  # noqa: BLE001 - whoever asked must not wait for an answer that never comes
            _log.exception("a call of %s failed", self._method.name)
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            said = f"the process that has the memory open could not do it: {type(error).__name__}: {reason.lower()}"
            self._put(StitchError(said))
        finally:
            self._put(None)

    def _answer(self) -> None:
        lines = self._lines() if self._method.takes_lines else iter(())
        said = next(lines, b"") if self._method.takes_lines else self.said
        try:
            call = json.loads(said)
            arguments, of = call["arguments"], call.get("of")
        except (ValueError, KeyError, TypeError, RecursionError):
            raise InputError("the first line of a call is a JSON object with its arguments") from None
        result = call_method(self._memory, self._method, of=of, arguments=arguments, lines=lines)
        for _ in lines:  # those that are left; an answer is read when all is sent
            pass
        adapter = self._method.result
        if not self._method.is_stream:
            self._put(_VALUE + adapter.dump_json(result) + b"}\n")
            return
        together: list[bytes] = []
        size = 0
        for item in result:
            together.append(b'{"item":%b}\n' % adapter.dump_json(item))
            size += len(together[-1])
            if size >= _PIECE_BYTES:
                self._put_item(b"".join(together))
                together, size = [], 0
        self._put(b"".join(together) + b'{"end":true}\n')

    def _put(self, piece: _Piece) -> None:
        self._loop.call_soon_threadsafe(self.pieces.put_nowait, piece)

    def _put_item(self, piece: bytes) -> None:
        """Add a piece to the answer when there is room for it.

        Raises:
            CanceledError: Nobody takes it any more.
        """
        self._room.acquire()
        if self._left.is_set():
            raise CanceledError("whoever asked has left", hint="ask again")
        self._put(piece)

    def _note_progress(self, what: str, done: int, of: int | None) -> None:
        """Tell how far the work is, no more often than a person reads; may be called in any thread."""
        now = time.monotonic()
        if now - self._told_at >= _TOLD_EVERY_S and self._room.acquire(blocking=False):
            self._told_at = now
            self._put(_line("progress", [what, done, of]))

    def _lines(self) -> Iterator[bytes]:
        """The lines of the body, as they come.

        Raises:
            InputError: One is too long.
        """
        coming, rest = self._request.stream(), b""
        most = served_of(self._request).limits.line_bytes
        while True:
            try:
                chunk = asyncio.run_coroutine_threadsafe(anext(coming), self._loop).result()
            except StopAsyncIteration:
                break
            *whole, rest = (rest + chunk).split(b"\n")
            yield from whole
            if len(rest) > most:
                raise InputError(f"a line has more than {most} bytes", hint="what `stitch export` writes is taken in")
        if rest:
            yield rest


def _line(kind: str, value: Any) -> bytes:
    return orjson.dumps({kind: value}) + b"\n"
