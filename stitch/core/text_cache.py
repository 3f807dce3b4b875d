"""Caches of users' texts: bounded, and emptied when a step is erased or a memory is closed."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from threading import Lock
from typing import Any, ParamSpec, Protocol, TypeVar, cast
from weakref import WeakSet

Given = ParamSpec("Given")
Cached = TypeVar("Cached")


class TrajectoryCache(Protocol):
    """A cache of words of trajectories."""

    def forget_trajectory(self, trajectory: str, *, tenant: str) -> None:
        """Forget what a trajectory says, until it is told again."""


_OF_TEXTS: WeakSet[Any] = WeakSet()
"""What `lru_cache` makes of functions."""
_OF_TRAJECTORIES: WeakSet[TrajectoryCache] = WeakSet()
_LOCK = Lock()


def register_cache(cache: TrajectoryCache) -> None:
    """Register what `forget_trajectory` is passed on to, as long as it lives."""
    with _LOCK:
        _OF_TRAJECTORIES.add(cache)


def forget_trajectory(trajectory: str, *, tenant: str) -> None:
    """Forget what a trajectory says, wherever it is remembered; what is still true is told again when asked for."""
    with _LOCK:
        told = list(_OF_TRAJECTORIES)
    for cache in told:
        cache.forget_trajectory(trajectory, tenant=tenant)


def text_cache(maxsize: int) -> Callable[[Callable[Given, Cached]], Callable[Given, Cached]]:
    """As `functools.lru_cache`, for functions of users' words: `clear_text_caches` empties it."""

    def cached(function: Callable[Given, Cached]) -> Callable[Given, Cached]:
        made = lru_cache(maxsize=maxsize)(function)
        with _LOCK:
            _OF_TEXTS.add(made)
        return cast("Callable[Given, Cached]", made)

    return cached


def clear_text_caches() -> None:
    """Forget all words that caches of this process hold, of all tenants; what is asked next is computed again."""
    with _LOCK:
        caches = list(_OF_TEXTS)
    for cache in caches:
        cache.cache_clear()
