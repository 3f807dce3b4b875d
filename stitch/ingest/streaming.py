"""From an iterator that may be slow or endless to batches: as large as what has come, and never more than a bound."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Generator, Iterable, Iterator, Mapping, Sequence
from queue import Queue
from typing import Any, TypeAlias, TypeVar

from stitch.core import Receipt, Rejection, SourcedStep, Step
from stitch.core.process import ForkGuard
from stitch.errors import InputError, StepRejectedError

T = TypeVar("T")

Given: TypeAlias = Step | Mapping[str, object] | SourcedStep | Rejection
"""What a stream holds: a step, a mapping of its fields, or what a source yields."""

BUFFER_STEPS = 1024
"""Capacity of a stream's buffer, in steps; while it is full, whoever makes them waits."""

_EXCERPT_CHARS = 200
_END = object()


def batches(items: Iterable[T], *, bound: int = BUFFER_STEPS) -> Generator[list[T], None, None]:
    """Yield lists of what has come since the last one, in order; what comes is waited for in a thread of its own.

    An item that comes alone is yielded alone and at once; what comes faster than it is taken comes in larger lists.
    At most `bound` items wait. An error of the iterator is raised here, after all that came before.
    """
    coming, left, errors = Queue[Any](bound), threading.Event(), list[BaseException]()

    def fill() -> None:
        try:
            for item in items:
                coming.put(item)
                if left.is_set():
                    return
        except BaseException as error:  # noqa: BLE001 - whoever takes the items raises it again
            errors.append(error)
        coming.put(_END)

    threading.Thread(target=fill, name="stitch-stream", daemon=True).start()
    try:
        while True:
            batch = [coming.get()]
            while batch[-1] is not _END and len(batch) < bound and not coming.empty():
                batch.append(coming.get())
            ended = batch[-1] is _END
            if batch := batch[: len(batch) - ended]:
                yield batch
            if ended:
                if errors:
                    raise errors[0]
                return
    finally:
        left.set()
        while not coming.empty():  # whoever makes them may be waiting for room
            coming.get_nowait()


async def abatches(items: AsyncIterable[T], *, bound: int = BUFFER_STEPS) -> AsyncGenerator[list[T], None]:
    """As `batches`, of an iterator of asyncio, which waits while the buffer is full."""
    queue = asyncio.Queue[T](bound)

    async def fill() -> None:
        async for item in items:
            await queue.put(item)

    filling = asyncio.ensure_future(fill())
    try:
        while True:
            getting = asyncio.ensure_future(queue.get())
            await asyncio.wait({getting, filling}, return_when=asyncio.FIRST_COMPLETED)
            if not getting.done() and filling.done() and queue.empty():
                getting.cancel()
                break
            batch = [await getting]
            while not queue.empty():
                batch.append(queue.get_nowait())
            yield batch
        await filling
    finally:
        filling.cancel()


def take_in(
    add_each: Callable[..., list[Receipt | StepRejectedError]],
    items: Sequence[Given],
    *,
    trajectory: str | None,
    wait: bool,
    again: bool = False,
) -> list[Receipt | Rejection]:
    """Store a batch of a stream by `Memory.add_each`, trajectory by trajectory; one result an item, in order.

    Raises:
        InputError: A step has no trajectory; nothing of the batch was stored.
    """
    parts: dict[str, list[tuple[int, Step | Mapping[str, object]]]] = {}
    results: dict[int, Receipt | Rejection] = {}
    for number, item in enumerate(items):
        if isinstance(item, Rejection):
            results[number] = item
            continue
        name, step = (item.trajectory, item.step) if isinstance(item, SourcedStep) else (trajectory, item)
        if name is None:
            raise InputError("a step of a stream has no trajectory", hint="name it: stream(..., trajectory=ID)")
        parts.setdefault(name, []).append((number, step))
    for name, numbered in parts.items():
        taken = add_each([step for _, step in numbered], trajectory=name, wait=wait, again=again)
        for (number, step), result in zip(numbered, taken, strict=True):
            results[number] = result if isinstance(result, Receipt) else _refused(result, step, items[number])
    return [results[number] for number in range(len(items))]


def each_checked(results: Iterable[T], begun: ForkGuard) -> Iterator[T]:
    """Results one by one; a fork does not go on with what its parent has begun."""
    for result in results:
        begun.check()
        yield result


def _refused(error: StepRejectedError, step: Step | Mapping[str, object], item: Given) -> Rejection:
    source, line = (item.source, item.line) if isinstance(item, SourcedStep) else ("-", 0)
    text = step.content if isinstance(step, Step) else str(step.get("content", ""))
    return Rejection(source=source, line=line, reason=error.message, text=text[:_EXCERPT_CHARS])
