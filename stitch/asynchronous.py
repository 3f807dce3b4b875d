"""The same methods for asyncio: each crosses over to a thread, here and nowhere else."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

Owner = TypeVar("Owner")
Options = ParamSpec("Options")
Result = TypeVar("Result")


def for_asyncio(
    method: Callable[Concatenate[Owner, Options], Result],
) -> Callable[Concatenate[Owner, Options], Coroutine[Any, Any, Result]]:
    """Return a method that runs another one in a thread, with the same options and types, and does not block the loop.

    A call that is cancelled is not awaited any more; what its thread had begun is finished.
    """

    @wraps(method)
    async def crossing(self: Owner, /, *arguments: Options.args, **options: Options.kwargs) -> Result:
        return await asyncio.to_thread(getattr(self, name), *arguments, **options)

    name = method.__name__
    crossing.__name__ = f"a{name}"
    crossing.__qualname__ = method.__qualname__.replace(name, crossing.__name__)
    crossing.__doc__ = f"As `{name}`, with the same options, for asyncio."
    return crossing
