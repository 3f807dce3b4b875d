"""Streams of lines: steps that come for as long as they like, and answers item by item.

A client that does not read its receipts while it sends is read on all the same, until those of `SPOOLED` pieces wait
for it; steps are read no faster than the memory takes them. Whatever ends a stream, what was accepted stays so, and the
same lines again store nothing twice where steps have ids.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from contextlib import aclosing
from http import HTTPStatus
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, TypeVar

import orjson
from anyio import create_memory_object_stream
from pydantic import BaseModel, ValidationError
from starlette.responses import StreamingResponse

from stitch.core import Receipt, Step
from stitch.core.steps import Name
from stitch.errors import InputError
from stitch.server.errors import RefusalError, closing, first_mistake, told
from stitch.server.operations.operation import operation
from stitch.server.protocol import failure_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import Receive, Scope, Send

    from stitch.memory import Memory
    from stitch.server.app_state import AppState
    from stitch.server.threads import Threads

Item = TypeVar("Item")

SPOOLED = 1_000
"""Receipts of so many pieces of a body wait for a client that does not read them; then no more steps are read."""
PIECE_BYTES = 1 << 16
"""So much of an answer that comes item by item is made before it is sent."""


class StreamedStep(Step):
    """A line: a step, and where it goes on."""

    trajectory: Name | None = None


class StreamedLine(BaseModel):
    """A line of the answer: what became of a step, in their order; the last one has `done`."""

    line: int | None = None
    """From 1; blank lines are not counted."""
    receipt: Receipt | None = None
    error: str = ""
    message: str = ""
    hint: str = ""
    done: bool | None = None
    """Whether all lines were read; if not, the error says why."""
    lines: int | None = None
    rejected: int | None = None


class WhileReading(StreamingResponse):
    """An answer that is sent while the body is still read; who reads it is told when the client has left."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send all pieces, and leave what is received to who makes them, which is closed in the end."""
        assert isinstance(self.body_iterator, AsyncGenerator)
        async with aclosing(self.body_iterator):
            await self.stream_response(send)


async def read_lines(request: Request, served: AppState) -> AsyncGenerator[list[bytes], None]:
    """Yield the lines of a body as they come, as many together as have come; nothing is read before they are taken.

    Raises:
        RefusalError: A line is too long, or the server is about to end.
        EOFError: The client has left before the end.
    """
    rest, more, line_bytes = b"", True, served.limits.line_bytes
    while more:
        message = await served.until_closing(request.receive())
        if message is None:
            raise closing(hint="send the lines without a receipt again when it is back")
        if message["type"] != "http.request":
            raise EOFError
        more = bool(message.get("more_body"))
        *lines, rest = (rest + message.get("body", b"")).split(b"\n")
        if max(map(len, (*lines, rest))) > line_bytes:
            said = f"a line has more than {line_bytes} bytes"
            raise RefusalError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "TooLarge", said, hint="split the step")
        if whole := [line for line in (lines if more else [*lines, rest]) if line.strip()]:
            yield whole


async def spooled(pieces: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    """The same pieces, made ahead of whoever reads them."""
    spool, waiting = create_memory_object_stream[bytes](SPOOLED)

    async def take() -> None:
        async with spool, aclosing(pieces):
            async for piece in pieces:
                await spool.send(piece)

    taking = asyncio.ensure_future(take())
    try:
        async with waiting:
            async for piece in waiting:
                yield piece
        await taking
    finally:
        taking.cancel()
        await asyncio.wait({taking})


async def stored_lines(
    lines: AsyncGenerator[list[bytes], None],
    store: Callable[[list[tuple[int, bytes]]], Iterator[StreamedLine]],
    *,
    threads: Threads,
) -> AsyncGenerator[bytes, None]:
    """Store the steps of a body as they come: a receipt a line, and in the end what it came to.

    Args:
        lines: Of the body.
        store: Stores lines, each with its number: `partial(stream, memory, ...)`.
        threads: Where that is done.
    """
    count = rejected = 0
    failure: dict[str, str] = {}
    try:
        async with aclosing(lines):
            async for texts in lines:
                numbered = list(enumerate(texts, count + 1))
                results = await threads.step(lambda: list(store(numbered)))  # noqa: B023 - it is waited for
                count += len(texts)
                rejected += sum(result.receipt is None for result in results)
                yield b"".join(map(_line, results))
    except EOFError:
        return
    except Exception as error:  # noqa: BLE001 - the status is sent long since: the last line says it
        failure = told(error)[1].model_dump()
    yield _line(StreamedLine(done=not failure, lines=count, rejected=rejected, **failure))


@operation("POST", "/v1/stream", "write")
def stream(
    memory: Memory,
    lines: Iterable[tuple[int, bytes]],
    *,
    trajectory: Name | None = None,
    wait: bool = True,
    again: bool = False,
) -> Iterator[StreamedLine]:
    """Store steps that come as lines of JSON, for as long as they come; what became of each line, in their order."""
    results = dict[int, Receipt | InputError]()
    groups: dict[str, list[tuple[int, Step]]] = {}
    for number, line in lines:
        try:
            name, step = _read(line, trajectory)
        except InputError as error:
            results[number] = error
        else:
            groups.setdefault(name, []).append((number, step))
    for name, group in groups.items():
        taken = memory.add_each([step for _, step in group], trajectory=name, wait=wait, again=again)
        results |= zip((number for number, _ in group), taken, strict=True)
    for number, each in sorted(results.items()):
        failed = {} if isinstance(each, Receipt) else failure_of(each).model_dump()
        yield StreamedLine(line=number, receipt=each if isinstance(each, Receipt) else None, **failed)


def _read(text: bytes, trajectory: str | None) -> tuple[str, Step]:
    """The trajectory and the step of a line.

    Raises:
        InputError: It is none.
    """
    try:
        line = StreamedStep.model_validate(orjson.loads(text))
    except orjson.JSONDecodeError as error:
        raise InputError(f"the line is no JSON: {error}") from None
    except ValidationError as error:
        message, hint = first_mistake(error)
        raise InputError(message, hint=hint) from None
    name = line.trajectory or trajectory
    if name is None:
        raise InputError("the line names no trajectory", hint="give it in the line, or as ?trajectory=ID")
    given = {field: getattr(line, field) for field in Step.model_fields}
    return name, Step.model_construct(line.model_fields_set - {"trajectory"}, **given)


def _line(line: StreamedLine) -> bytes:
    return line.model_dump_json(exclude_defaults=True).encode() + b"\n"


def begun(items: Iterable[Item]) -> Iterator[Item]:
    """The same items, of which the first is made at once: what goes wrong before it still has a status."""
    rest = iter(items)
    return chain(list(islice(rest, 1)), rest)


def written_pieces(items: Iterable[Any], written: Callable[[Any], bytes]) -> Iterator[bytes]:
    """An answer item by item, a line each, many sent together; where it breaks off, the last line says why."""
    together, size, end = list[bytes](), 0, b""
    try:
        for item in items:
            together.append(written(item))
            size += len(together[-1])
            if size >= PIECE_BYTES:
                yield b"\n".join((*together, b""))
                together, size = [], 0
    except Exception as error:  # noqa: BLE001 - the status is sent long since: the last line says it
        end = told(error)[1].model_dump_json().encode() + b"\n"
    if together or end:
        yield b"\n".join((*together, end))
