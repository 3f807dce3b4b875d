"""What a request brings: read no further than its limits, and no longer than it may take."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress
from email.message import Message
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import parse_qsl

import orjson
from pydantic import BaseModel, ValidationError

from stitch.server.api.models import MOST_STEPS
from stitch.server.serve.refusals import RefusalError

if TYPE_CHECKING:
    from starlette.datastructures import Headers
    from starlette.requests import Request
    from starlette.types import Message as ServerMessage
    from starlette.types import Receive, Send

JSON, LINES = "application/json", "application/x-ndjson"

PASSED_OVER_S = 5.0
"""So long what is left of a body is read that is not wanted."""
PASSED_OVER_AT_END_S = 1.0
"""So long if the server is about to end: who sends without a pause would keep it from that."""
_SHOWN_CHARS = 100

Model = TypeVar("Model", bound=BaseModel)


class Limits(NamedTuple):
    """How much one client may ask at once."""

    body_bytes: int = 32 << 20
    """Of a body that is not read line by line."""
    line_bytes: int = 8 << 20
    """Of a line, where one is read line by line."""
    steps: int = 10_000
    """In one request that is not read line by line."""
    searches: int = 64
    """Under way or waiting at once; one more is told to come again."""
    streams: int = 1_000
    """Streams of events open at once."""
    body_s: float = 30.0
    """For a whole body."""
    line_s: float = 300.0
    """Until the next byte, where a body is read line by line."""


class Gone(Exception):  # noqa: N818 - not an error: the client has left
    """The client has left; nobody waits for an answer."""


async def read_body(request: Request, limits: Limits, *, expected: str = JSON) -> bytes:
    """The body of a request.

    Raises:
        RefusalError: It is of another type, too long or too slow.
        Gone: The client has left.
    """
    check_type(request.headers, expected)
    _check_length(request, limits)
    message = await request.receive()
    if message["type"] == "http.request" and not message.get("more_body"):
        body: bytes = message.get("body", b"")
        _check_size(len(body), limits)
        return body
    try:
        return await asyncio.wait_for(_rest(request, message, limits), limits.body_s)
    except asyncio.TimeoutError:
        raise too_slow() from None


async def _rest(request: Request, message: Any, limits: Limits) -> bytes:
    body = bytearray()
    while True:
        if message["type"] != "http.request":
            raise Gone
        body += message.get("body", b"")
        _check_size(len(body), limits)
        if not message.get("more_body"):
            return bytes(body)
        message = await request.receive()


async def read_lines(request: Request, limits: Limits, *, closing: asyncio.Event) -> AsyncGenerator[list[bytes], None]:
    """Yield the lines of a body as they come, as many together as have come; nothing is read before they are taken.

    No more is read once `closing` is set.

    Raises:
        RefusalError: A line is too long, nothing comes for too long, or the server is about to end.
        Gone: The client has left before the end.
    """
    rest = b""
    while True:
        message = await _next(request, limits, closing)
        if message["type"] != "http.request":
            raise Gone
        *lines, rest = (rest + message.get("body", b"")).split(b"\n")
        if max(map(len, (*lines, rest))) > limits.line_bytes:
            raise RefusalError(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                "TooLarge",
                f"a line has more than {limits.line_bytes} bytes",
                hint="split the step",
            )
        if not message.get("more_body"):
            lines.append(rest)
        if whole := [line for line in lines if line.strip()]:
            yield whole
        if not message.get("more_body"):
            return


async def _pass_over(receive: Receive) -> None:
    while (await receive()).get("more_body"):
        pass


async def _next(request: Request, limits: Limits, closing: asyncio.Event) -> Any:
    """What comes next of a body."""
    coming, ending = asyncio.ensure_future(request.receive()), asyncio.ensure_future(closing.wait())
    try:
        await asyncio.wait({coming, ending}, timeout=limits.line_s, return_when=asyncio.FIRST_COMPLETED)
        if coming.done() and not closing.is_set():  # or who sends without a pause would never hear of the end
            return coming.result()
        raise lines_end() if closing.is_set() else too_slow()
    finally:
        coming.cancel()
        ending.cancel()


def check_type(headers: Headers, expected: str) -> None:
    """Refuse a body of another type than is expected, in another encoding than UTF-8, or packed.

    Raises:
        RefusalError: It is.
    """
    said = Message()
    said["Content-Type"] = headers.get("content-type", "")
    given = headers.get("content-type", "").partition(";")[0].strip().lower()
    encoding = str(said.get_param("charset", "utf-8")).lower()
    packed = headers.get("content-encoding", "identity").lower()
    if given != expected:
        what = repr(_cut(given)) if given else "of no type"
    elif encoding not in ("utf-8", "utf8", "us-ascii"):
        what = f"in {_cut(encoding)!r}"
    elif packed != "identity":
        what = f"packed as {_cut(packed)!r}"
    else:
        return
    raise RefusalError(
        HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
        "WrongContentType",
        f"the body is {what}, and {expected} in UTF-8 is expected",
        hint=f"send the header Content-Type: {expected}",
    )


def parse(model: type[Model], body: bytes) -> Model:
    """What a body asks.

    Raises:
        RefusalError: It is no JSON, or not what is asked for; the first thing that is wrong is named.
    """
    try:
        given = orjson.loads(body)  # stricter than pydantic: no NaN, no half of a character
        for name, value in given.items() if isinstance(given, dict) else ():
            if isinstance(value, list) and len(value) > MOST_STEPS:  # before each is looked at, and each mistake noted
                raise _too_large(f"{_cut(name)}: {len(value)} items, {MOST_STEPS} at most")
        return model.model_validate_json(body, strict=True)  # "true" is not true where something may be erased
    except orjson.JSONDecodeError as error:
        raise _wrong(f"the body is no JSON: {error}", "") from None
    except ValidationError as error:
        message, hint = first_mistake(error)
        if error.errors()[0]["type"] == "too_long" and len(error.errors()[0]["loc"]) == 1:
            raise _too_large(message) from None
        raise _wrong(message, hint) from None


def parse_query(model: type[Model], request: Request) -> Model:
    """What the query of a URL asks.

    Raises:
        RefusalError: A field is not known, given twice, or cannot be used.
    """
    given: dict[str, str] = {}
    try:
        pairs = parse_qsl(request.scope["query_string"].decode("ascii"), keep_blank_values=True, errors="strict")
    except UnicodeDecodeError:
        raise _wrong("the query of the URL is no UTF-8", "write other characters as %XX of their UTF-8") from None
    for name, value in pairs:
        if name in given:
            raise _wrong(f"{_cut(name)} is given twice", "")
        given[name] = value
    try:
        return model.model_validate(given)
    except ValidationError as error:
        raise _wrong(*first_mistake(error)) from None


def first_mistake(error: ValidationError) -> tuple[str, str]:
    """What is wrong first, without what was given; and what could be there instead, as far as that is known."""
    first = error.errors(include_url=False, include_input=False)[0]
    where = _cut(".".join(map(str, first["loc"]))) or "body"
    hint = "/openapi.json says which fields there are" if first["type"] == "extra_forbidden" else ""
    return f"{where}: {str(first['msg']).removeprefix('Value error, ').lower()}", hint


def _cut(said: str) -> str:
    """The beginning of what a client has said, for a message: a field or a header may be as long as a body."""
    return said if len(said) <= _SHOWN_CHARS else f"{said[:_SHOWN_CHARS]}…"


def reading_to_the_end(
    headers: Headers, receive: Receive, send: Send, *, closing: asyncio.Event
) -> tuple[Receive, Send]:
    """Ways to receive and to send by which what is left of a body is read before an answer ends.

    To close on a client that still sends takes the answer away from it. A body that comes too slowly is not waited for.
    """
    left = "transfer-encoding" in headers or headers.get("content-length", "0") != "0"
    if not left:
        return receive, send

    async def received() -> ServerMessage:
        nonlocal left
        message = await receive()
        left = left and message["type"] == "http.request" and bool(message.get("more_body"))
        return message

    async def sent(message: ServerMessage) -> None:
        nonlocal left
        if message["type"] == "http.response.start":
            left = left and message["status"] != HTTPStatus.REQUEST_TIMEOUT
        elif left and not message.get("more_body"):
            await send({**message, "more_body": True})
            with suppress(asyncio.TimeoutError):
                patience_s = PASSED_OVER_AT_END_S if closing.is_set() else PASSED_OVER_S
                await asyncio.wait_for(_pass_over(received), patience_s)
            message = {"type": "http.response.body", "body": b"", "more_body": False}
        await send(message)

    return received, sent


def too_slow() -> RefusalError:
    """What is answered where a body does not come."""
    return RefusalError(
        HTTPStatus.REQUEST_TIMEOUT,
        "TooSlow",
        "the body came too slowly",
        hint="send it again; steps known are not stored twice",
    )


def lines_end() -> RefusalError:
    """What is answered where lines are still to come when the server is about to end."""
    return RefusalError(
        HTTPStatus.SERVICE_UNAVAILABLE,
        "Closing",
        "the server is about to end",
        hint="send the lines without a receipt again when it is back",
    )


def _wrong(message: str, hint: str) -> RefusalError:
    return RefusalError(HTTPStatus.UNPROCESSABLE_ENTITY, "InputError", message, hint=hint)


def _check_length(request: Request, limits: Limits) -> None:
    declared = request.headers.get("content-length", "")
    if declared.isdecimal():
        _check_size(int(declared), limits)


def _check_size(size: int, limits: Limits) -> None:
    if size > limits.body_bytes:
        raise _too_large(f"the body has more than {limits.body_bytes} bytes")


def _too_large(message: str) -> RefusalError:
    return RefusalError(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        "TooLarge",
        message,
        hint="send steps in several requests, or as lines to /v1/stream",
    )
