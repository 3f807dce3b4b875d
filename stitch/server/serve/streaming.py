"""What does not fit one body: steps as lines that come for as long as they like, and answers item by item.

A client that does not read its receipts while it sends is read on all the same, until `SPOOL_BYTES` of them wait for
it; steps are read no faster than the memory takes them. Whatever ends a stream, what was accepted stays so, and the
same lines again store nothing twice where steps have ids.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson
from pydantic import BaseModel, Field, ValidationError
from starlette.responses import StreamingResponse

from stitch.core import Receipt, Step
from stitch.core.steps import Name
from stitch.errors import InputError, StepRejectedError
from stitch.server.api.failures import Failure
from stitch.server.serve.bodies import Gone, first_mistake, lines_end, read_lines
from stitch.server.serve.refusals import refused

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import Receive, Scope, Send

    from stitch.memory import Memory
    from stitch.server.serve.bodies import Limits
    from stitch.server.serve.work import Work

BATCH_STEPS, BATCH_BYTES = 256, 1 << 20
"""How much is stored together at most."""
SPOOL_BYTES = 16 << 20
"""How many bytes of receipts wait for a client that does not read them; then no more steps are read."""


class StreamRequest(BaseModel, frozen=True, extra="forbid"):
    """How lines of steps are taken in."""

    trajectory: Name | None = None
    """Where steps go on whose lines do not say it."""
    wait: bool = True
    """Whether labels are waited for."""
    again: bool = False
    """Whether steps that were erased are stored again."""


class StreamedStep(Step):
    """A line: a step, and where it goes on."""

    trajectory: Name | None = None


class StreamedReceipt(BaseModel):
    """What became of a line: a receipt, or why it was not accepted."""

    line: int
    """From 1; blank lines are not counted."""
    receipt: Receipt | None = None
    error: str = ""
    message: str = ""
    hint: str = ""


class StreamEnd(BaseModel):
    """The last line."""

    done: bool
    """Whether all lines were read; if not, the error says why."""
    lines: int
    rejected: int
    error: str = ""
    message: str = ""
    hint: str = ""


class StreamedLine(BaseModel):
    """A line of the answer: one a step, in their order, and one in the end that has `done`."""

    line: int | None = Field(default=None, description="From 1; null in the last line.")
    receipt: Receipt | None = None
    error: str = ""
    message: str = ""
    hint: str = ""
    done: bool | None = None
    lines: int | None = None
    rejected: int | None = None


class _Line(NamedTuple):
    number: int
    trajectory: str
    step: Step | Failure


class Piecewise(StreamingResponse):
    """An answer in pieces; what makes them is closed when the client has left."""

    async def stream_response(self, send: Send) -> None:
        """Send all pieces."""
        assert isinstance(self.body_iterator, AsyncGenerator)
        async with aclosing(self.body_iterator):
            await super().stream_response(send)


class WhileReading(Piecewise):
    """An answer that is sent while the body is still read; who reads it is told when the client has left."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send all pieces, and leave what is received to who makes them."""
        await self.stream_response(send)


async def take_lines(
    request: Request, memory: Memory, options: StreamRequest, *, work: Work, limits: Limits, closing: asyncio.Event
) -> AsyncGenerator[bytes, None]:
    """Store the steps of a body line by line; yield a receipt a line, and in the end what it came to."""
    spool: deque[bytes] = deque()
    waiting = 0
    news = asyncio.Event()
    room = asyncio.Event()
    room.set()

    async def take() -> None:
        nonlocal waiting
        async with aclosing(_taken(request, memory, options, work=work, limits=limits, closing=closing)) as results:
            async for piece in results:
                spool.append(piece)
                waiting += len(piece)
                news.set()
                if waiting > SPOOL_BYTES:
                    room.clear()
                    await room.wait()

    taking = asyncio.ensure_future(take())
    taking.add_done_callback(lambda _: news.set())
    try:
        while spool or not taking.done():
            await news.wait()
            news.clear()
            while spool:
                piece = spool.popleft()
                yield piece
                waiting -= len(piece)
                room.set()
            if taking.done():
                news.set()
        if not taking.cancelled():
            taking.result()
    finally:
        taking.cancel()
        await asyncio.wait({taking})


async def _taken(
    request: Request, memory: Memory, options: StreamRequest, *, work: Work, limits: Limits, closing: asyncio.Event
) -> AsyncGenerator[bytes, None]:
    """What became of the lines, batch by batch."""
    lines = rejected = 0
    failure = Failure(error="", message="")
    try:
        async with aclosing(read_lines(request, limits, closing=closing)) as coming:
            async for texts in coming:
                for batch in _batches(texts):
                    if closing.is_set():  # what has come is much, and nothing of it is accepted before it is stored
                        raise lines_end()
                    first = lines + 1
                    lines += len(batch)
                    results = await work.step(partial(_store, memory, batch, options, first=first))
                    rejected += sum(result.receipt is None for result in results)
                    yield b"".join(_line(result) for result in results)
    except Gone:
        return
    except Exception as error:  # noqa: BLE001 - the status is sent long since: the last line says it
        failure = Failure.model_validate_json(refused(error).body)
    end = StreamEnd(done=not failure.error, lines=lines, rejected=rejected, **failure.model_dump())
    yield _line(end)


def _batches(lines: Sequence[bytes]) -> Iterator[list[bytes]]:
    batch: list[bytes] = []
    size = 0
    for line in lines:
        if batch and (len(batch) >= BATCH_STEPS or size + len(line) > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(line)
        size += len(line)
    if batch:
        yield batch


def _store(memory: Memory, lines: Sequence[bytes], options: StreamRequest, *, first: int) -> list[StreamedReceipt]:
    """Store a batch, trajectory by trajectory; one result a line, in their order."""
    read = [_read(line, options, number=number) for number, line in enumerate(lines, first)]
    results: dict[int, Receipt | Failure] = {line.number: line.step for line in read if isinstance(line.step, Failure)}
    groups: dict[str, list[_Line]] = {}
    for line in read:
        if isinstance(line.step, Step):
            groups.setdefault(line.trajectory, []).append(line)
    for trajectory, group in groups.items():
        steps = [line.step for line in group if isinstance(line.step, Step)]
        taken = memory.add_each(steps, trajectory=trajectory, wait=options.wait, again=options.again)
        for line, result in zip(group, taken, strict=True):
            results[line.number] = result if isinstance(result, Receipt) else _failure(result)
    return [_result(number, results[number]) for number in sorted(results)]


def _read(text: bytes, options: StreamRequest, *, number: int) -> _Line:
    try:
        fields: Any = orjson.loads(text)
        line = StreamedStep.model_validate(fields)
        trajectory = line.trajectory or options.trajectory
        if trajectory is None:
            raise InputError("the line names no trajectory", hint="give it in the line, or as ?trajectory=ID")
    except orjson.JSONDecodeError as error:
        return _Line(number, "", Failure(error="InputError", message=f"the line is no JSON: {error}"))
    except ValidationError as error:
        message, hint = first_mistake(error)
        return _Line(number, "", Failure(error="InputError", message=message, hint=hint))
    except InputError as error:
        return _Line(number, "", _failure(error))
    given = {name: getattr(line, name) for name in Step.model_fields}
    return _Line(number, trajectory, Step.model_construct(line.model_fields_set - {"trajectory"}, **given))


def _failure(error: InputError | StepRejectedError) -> Failure:
    return Failure(error=type(error).__name__, message=error.message, hint=error.hint)


def _result(number: int, result: Receipt | Failure) -> StreamedReceipt:
    if isinstance(result, Receipt):
        return StreamedReceipt(line=number, receipt=result)
    return StreamedReceipt(line=number, **result.model_dump())


def _line(result: BaseModel) -> bytes:
    return result.model_dump_json(exclude_defaults=True).encode() + b"\n"


async def tell_items(
    first: Sequence[BaseModel], rest: Iterator[BaseModel], *, work: Work, most: int, raw: bool = False
) -> AsyncGenerator[bytes, None]:
    """Yield an answer item by item, as lines of JSON; where it breaks off, the last line says why.

    At most `most` items are made together. With `raw` an item is sent as its `line` is.
    """

    def told(item: BaseModel) -> str:
        return str(item.line) if raw else item.model_dump_json(exclude_unset=True)  # type: ignore[attr-defined]

    items = first
    try:
        while items:
            yield b"".join(told(item).encode() + b"\n" for item in items)
            items = await work.items(rest, most=most)
    except Exception as error:  # noqa: BLE001 - the status is sent long since: the last line says it
        yield refused(error).body + b"\n"
    finally:
        if close := getattr(rest, "close", None):
            await work.step(close)
