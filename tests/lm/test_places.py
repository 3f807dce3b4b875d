"""Only so many calls at once; questions first, then who is furthest behind; what is given up ends at once."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stitch.errors import CallInterruptedError
from stitch.lm.limits import Calls


def order_of(positions: Iterable[int | None]) -> list[int | None]:
    """In which order those that wait for the only place get it."""
    calls, order, ended = Calls("m", most=1), list[int | None](), threading.Event()
    with ThreadPoolExecutor(9) as pool:
        first = pool.submit(calls.run, ended.wait)
        while not calls._under_way:
            pass
        waiting: list[Future[Any]] = []
        for n, position in enumerate(positions, start=1):
            waiting.append(pool.submit(calls.run, lambda own=position: order.append(own), position=position))
            while len(calls._waiting) < n:  # so that they queue up in this order
                pass
        ended.set()
        assert {each.exception() for each in waiting} | {first.exception()} == {None}
    return order


@given(st.lists(st.none() | st.integers(0, 5), max_size=6))
def test_questions_go_first_then_who_is_furthest_behind(positions: list[int | None]) -> None:
    assert order_of(positions) == sorted(positions, key=lambda position: -1 if position is None else position)


def test_never_more_are_under_way_than_there_are_places_and_one_that_fails_gives_its_place_back() -> None:
    calls, inside, most, lock = Calls("m", most=3), 0, 0, threading.Lock()

    def work() -> None:
        nonlocal inside, most
        with lock:
            inside += 1
            most = max(most, inside)
        with lock:
            inside -= 1
        raise ValueError

    with ThreadPoolExecutor(8) as pool:
        made = [pool.submit(calls.run, work, position=n) for n in range(100)]
    assert all(isinstance(each.exception(), ValueError) for each in made)
    assert 1 <= most <= 3
    assert calls._free == 3


def test_what_is_given_up_ends_at_once_wherever_it_waits() -> None:
    calls, ended = Calls("m", most=1), threading.Event()
    with ThreadPoolExecutor(3) as pool:
        made = [pool.submit(calls.run, ended.wait) for _ in range(3)]
        while not (calls._under_way and len(calls._waiting) == 2):
            pass
        calls.interrupt()
        assert all(isinstance(each.exception(), CallInterruptedError) for each in made)
    with pytest.raises(CallInterruptedError):
        calls.run(lambda: 1)
    with pytest.raises(CallInterruptedError):
        calls.pause(60)
    ended.set()
    assert calls._free == 1


def test_who_is_interrupted_while_waiting_takes_no_place(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = Calls("m", most=0)

    def press(*_: object) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(calls._changed, "wait_for", press)
    with pytest.raises(KeyboardInterrupt):
        calls.run(lambda: 1)
    assert (calls._waiting, calls._free) == ([], 0)
