"""Only so many calls at once; questions first, then who is furthest behind."""

from __future__ import annotations

import threading
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stitch.lm.limits import Places


def order_of(positions: Iterable[int | None]) -> list[int | None]:
    """In which order those that wait for the only place get it."""
    places, order = Places(1), list[int | None]()

    def wait(position: int | None) -> None:
        with places.taken(position):
            order.append(position)

    threads = [threading.Thread(target=wait, args=(position,)) for position in positions]
    with places.taken(0):
        for n, thread in enumerate(threads, start=1):
            thread.start()
            while len(places._waiting) < n:  # so that they queue up in this order
                pass
    for thread in threads:
        thread.join()
    return order


@given(st.lists(st.none() | st.integers(0, 5), max_size=6))
def test_questions_go_first_then_who_is_furthest_behind(positions: list[int | None]) -> None:
    assert order_of(positions) == sorted(positions, key=lambda position: -1 if position is None else position)


def test_never_more_are_under_way_than_there_are_places() -> None:
    places, inside, most, lock = Places(3), 0, 0, threading.Lock()

    def work(position: int) -> None:
        nonlocal inside, most
        for _ in range(50):
            with places.taken(position):
                with lock:
                    inside += 1
                    most = max(most, inside)
                with lock:
                    inside -= 1

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 1 <= most <= 3
    assert places._free == 3


def test_a_call_that_fails_gives_its_place_back() -> None:
    places = Places(1)
    for _ in range(3):
        try:
            with places.taken(None):
                raise ValueError
        except ValueError:
            continue
    assert places._free == 1


class Interrupted(threading.Event):
    """Ctrl-C comes while its turn is waited for."""

    def wait(self, timeout: float | None = None) -> bool:
        raise KeyboardInterrupt


def test_who_is_interrupted_while_waiting_takes_no_place(monkeypatch: pytest.MonkeyPatch) -> None:
    places = Places(1)
    with places.taken(0):
        monkeypatch.setattr(threading, "Event", Interrupted)
        with pytest.raises(KeyboardInterrupt), places.taken(1):
            raise AssertionError
        assert not places._waiting
    assert places._free == 1


def test_who_is_interrupted_when_its_turn_has_come_gives_the_place_back(monkeypatch: pytest.MonkeyPatch) -> None:
    places = Places(1)

    class TooLate(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            places._give_back()  # who was before has just ended
            raise KeyboardInterrupt

    before = places.taken(0)
    before.__enter__()
    monkeypatch.setattr(threading, "Event", TooLate)
    with pytest.raises(KeyboardInterrupt), places.taken(1):
        raise AssertionError
    assert places._free == 1
