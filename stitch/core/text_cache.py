"""Caches of what was read from users' texts: bounded, and emptied when a step is erased or a memory is closed."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import ParamSpec, TypeVar, cast

Given = ParamSpec("Given")
Found = TypeVar("Found")

_CLEARING: list[Callable[[], None]] = []


def text_cache(maxsize: int) -> Callable[[Callable[Given, Found]], Callable[Given, Found]]:
    """As `functools.lru_cache`, for functions that are given users' words: `clear_text_caches` forgets them."""

    def cached(function: Callable[Given, Found]) -> Callable[Given, Found]:
        made = lru_cache(maxsize=maxsize)(function)
        _CLEARING.append(made.cache_clear)
        return cast("Callable[Given, Found]", made)

    return cached


def clear_text_caches() -> None:
    """Forget all words that caches of this process hold, of all tenants; what is asked next is computed again."""
    for clear in _CLEARING:
        clear()
