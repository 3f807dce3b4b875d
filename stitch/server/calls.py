"""The path at which another process calls the methods of a memory.

`POST /v1/call/NAME` takes `{"arguments": {...}, "of": {...}}`, and lines of text behind it where the method takes some.
What comes back is the result as JSON; of many, a line each, in brackets, and behind them an error if they break off.
"""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from stitch.errors import InputError
from stitch.server.methods import Method, call_method, method_named
from stitch.server.protocol import JSON
from stitch.server.routes import answer_lines, caller_of, memory_of, refuse_folder, served_of
from stitch.server.streaming import Lines, begun

if TYPE_CHECKING:
    from collections.abc import Iterable

    from stitch.memory import Memory

_ASKING = frozenset({"search", "ask", "why", "why_not", "select", "tree_request"})
"""Methods that may call a model though they write nothing."""


async def call(request: Request) -> Response:
    """Call a method of a memory."""
    method = method_named(request.path_params["name"])
    memory = memory_of(request, method.action, may_call_model=method.name.rpartition(".")[2] in _ASKING)
    refuse_folder(method.name, caller_of(request))
    if method.takes_lines:
        return await answer_lines(
            request, lambda lines: method.written(_called(memory, method, next(lines, b""), lines))
        )
    threads, do = served_of(request).threads, partial(_called, memory, method, await request.body())
    if method.streams:
        items = await threads.run(request, lambda: begun(do()))
        return Lines(items, written=lambda item: b"[%b]" % method.written(item))
    return Response(await threads.run(request, lambda: method.written(do())), media_type=JSON)


route = Route("/v1/call/{name}", call, methods=["POST"], name="call")
"""A route of an application made by `create_app`; what may be called of a memory is in no description."""


def _called(memory: Memory, method: Method, said: bytes, lines: Iterable[bytes] = ()) -> Any:
    """The result of what is asked.

    Raises:
        StitchError: Nothing can be understood, or it went wrong.
    """
    try:
        told = json.loads(said)
        arguments, of = told["arguments"], told.get("of")
    except (ValueError, KeyError, TypeError, RecursionError):
        raise InputError("the first line of a call is a JSON object with its arguments") from None
    return call_method(memory, method, of=of, arguments=arguments, lines=lines)
