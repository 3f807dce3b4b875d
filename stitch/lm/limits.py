"""Limits and budgets of a model, turns of those who ask it, and the giving up of calls."""

from __future__ import annotations

import itertools
import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import copy_context
from dataclasses import dataclass
from typing import TypeVar

from stitch.errors import BudgetSpentError, CallInterruptedError
from stitch.lm.ledger import Price, Purpose, Totals, current_purpose

T = TypeVar("T")
_SLOW_S = 20.0
"""Whoever waits so long for a call is told so."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Limits:
    """Limits of a model.

    Attributes:
        timeout_s: How long to wait for a reply.
        retries: How often what is transient is tried again, with growing pauses or those the provider asks for.
        concurrency: How many calls may be under way at once.
        budget_tokens: Tokens that may be spent, prompts and replies together; calls under way may go over it.
        budget_usd: Money that may be spent; needs a price.
        budget_calls: Calls that may be made.
    """

    timeout_s: float = 120.0
    retries: int = 3
    concurrency: int = 8
    budget_tokens: int | None = None
    budget_usd: float | None = None
    budget_calls: int | None = None

    def check(self, spent: Totals, *, prompt_tokens: int, price: Price | None) -> None:
        """Refuse a call that a budget does not allow.

        Raises:
            BudgetSpentError: It is spent.
        """
        hint, paid = "`stitch relabel --model-budget-{} N` goes on", spent.cost_usd or 0.0
        if self.budget_tokens is not None and spent.tokens + prompt_tokens > self.budget_tokens:
            told = f"{self.budget_tokens} tokens is spent: {spent.tokens} used, {prompt_tokens} asked"
            raise BudgetSpentError(f"the budget of {told}", hint=hint.format("tokens"))
        if self.budget_calls is not None and spent.calls >= self.budget_calls:
            raise BudgetSpentError(f"the budget of {self.budget_calls} calls is spent", hint="allow more calls")
        if self.budget_usd is not None and price and paid + price.of(prompt_tokens, 0) > self.budget_usd:
            told = f"${self.budget_usd:g} is spent: ${paid:.4f} used"
            raise BudgetSpentError(f"the budget of {told}", hint=hint.format("usd"))


class Calls:
    """Calls that wait for a provider: only so many at once, and whoever waits for one can be told to give it up.

    First goes what has no position in a trajectory, such as a question; then what is nearest to the beginning of its
    trajectory, for the calls of one are made one after the other. A call runs in a thread of its own, because nothing
    ends a thread that waits for a socket; one that is given up goes on there, and nobody hears of it.

    Args:
        name: Of the model, for what is raised.
        most: How many may be under way.
    """

    def __init__(self, name: str, *, most: int) -> None:
        self._name, self._free = name, most
        self._waiting: list[tuple[int, int]] = []
        self._tickets = itertools.count()
        self._changed = threading.Condition()
        self._given_up = False

    def run(self, call: Callable[[], T], *, position: int | None = None) -> T:
        """Return or raise what a call returns or raises, once it is its turn.

        Raises:
            CallInterruptedError: `interrupt` was called before it was over.
        """
        reply: Future[T] = Future()

        def settle() -> None:
            try:
                reply.set_result(call())
            except BaseException as error:  # noqa: BLE001 - whoever waits raises it
                reply.set_exception(error)
            with self._changed:
                self._changed.notify_all()

        # What is bound to the caller, such as where replies are kept, is bound there.
        thread = threading.Thread(target=copy_context().run, args=(settle,), name="stitch-model-call", daemon=True)
        turn = (-1 if position is None else position, next(self._tickets))
        with self._changed:
            self._waiting.append(turn)
            try:
                self._wait(lambda: self._free > 0 and turn == min(self._waiting) and not self._given_up)
            finally:
                self._waiting.remove(turn)
                self._changed.notify_all()
            self._free -= 1
            try:
                thread.start()
                if not self._wait(reply.done, _SLOW_S):
                    self._tell_slow(current_purpose.get())
                    self._wait(reply.done)
            finally:
                self._free += 1
                self._changed.notify_all()
        return reply.result()

    def _tell_slow(self, purpose: Purpose) -> None:
        of = f" of {purpose.trajectory!r} from position {purpose.position}" if purpose.trajectory else ""
        told = "model %r has not answered for %g s (%s%s); the setting model_timeout_s says how long is waited"
        _log.warning(told, self._name, _SLOW_S, purpose.stage, of)

    def pause(self, seconds: float) -> None:
        """Wait so long, or until an interruption, which is raised."""
        with self._changed:
            self._wait(lambda: False, seconds)

    def interrupt(self) -> None:
        """Give up all calls, and let no more begin."""
        with self._changed:
            self._given_up = True
            self._changed.notify_all()

    def _wait(self, until: Callable[[], bool], seconds: float | None = None) -> bool:
        done = self._changed.wait_for(lambda: self._given_up or until(), seconds)
        if self._given_up and not until():
            raise CallInterruptedError(
                f"the call of model {self._name!r} was given up",
                hint="opening the memory again goes on with its labels",
            )
        return done
