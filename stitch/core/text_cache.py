"""What is remembered of users' texts: bounded, and forgotten when a step is erased or a memory is closed."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from threading import Lock
from typing import ParamSpec, Protocol, TypeVar, cast
from weakref import WeakSet

Given = ParamSpec("Given")
Found = TypeVar("Found")

_CLEARING: list[Callable[[], None]] = []


class RemembersTrajectories(Protocol):
    """Something that remembers words of trajectories from one call to the next."""

    def forget_trajectory(self, trajectory: str, *, tenant: str) -> None:
        """Forget what a trajectory says, until it is told again."""


class RemembersTexts(Protocol):
    """Something that remembers what it made of users' texts."""

    def clear_texts(self) -> None:
        """Forget all of it; what is asked next is made again."""


_HOLDING: WeakSet[RemembersTexts] = WeakSet()
_REMEMBERING: WeakSet[RemembersTrajectories] = WeakSet()
_LOCK = Lock()


def tell_of_erasures(remembering: RemembersTrajectories) -> None:
    """Let something know of erasures from now on, as long as there is anybody who uses it."""
    with _LOCK:
        _REMEMBERING.add(remembering)


def tell_of_clearing(holding: RemembersTexts) -> None:
    """Let `clear_text_caches` reach something from now on, as long as there is anybody who uses it."""
    with _LOCK:
        _HOLDING.add(holding)


def forget_trajectory(trajectory: str, *, tenant: str) -> None:
    """Forget what a trajectory says, wherever it is remembered; what is still true is told again when asked for."""
    with _LOCK:
        told = list(_REMEMBERING)
    for remembering in told:
        remembering.forget_trajectory(trajectory, tenant=tenant)


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
    with _LOCK:
        holding = list(_HOLDING)
    for each in holding:
        each.clear_texts()
