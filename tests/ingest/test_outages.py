"""A store that cannot be reached for a while: steps wait for it and are put by themselves; none fails."""

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doubles.observing import RecordingObserver
from doubles.storing import ListStore
from stitch.core import MemoryEvent, SnippetRecord, StepsFailed, StepsStored, StepState, StoreAway, StoreBack
from stitch.errors import StoreUnavailableError
from stitch.ingest import store_health
from stitch.lifecycle.correct import Changes, correct

Make = Callable[..., Any]


class HangingStore(ListStore):
    """A store whose answers get lost while it hangs, though it does what it was asked for."""

    hangs = False

    def put(self, records: Sequence[SnippetRecord]) -> None:
        """Write snippets."""
        super().put(records)
        if self.hangs:
            raise StoreUnavailableError("timed out")


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_health, "FIRST_PAUSE_S", 3600.0)


def states(receipts: Sequence[Any]) -> list[str]:
    return [receipt.state.value for receipt in receipts]


def test_the_store_is_put_by_itself_once_it_is_back(worlds: Make, steps: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    stored = threading.Event()

    class Waits(RecordingObserver):
        def notice(self, event: MemoryEvent) -> None:
            super().notice(event)
            if isinstance(event, StepsStored):
                stored.set()

    monkeypatch.setattr(store_health, "FIRST_PAUSE_S", 0.001)
    world = worlds(observer=Waits())
    world.store.away = True
    world.add(*steps(2))
    world.store.away = False
    assert stored.wait(120)
    world.ingestor.flush()
    assert states(world.ingestor.receipts("a")) == ["stored"] * 2


def test_closing_says_how_many_wait_and_the_next_opening_puts_them(
    worlds: Make, steps: Make, caplog: pytest.LogCaptureFixture, tmp_path: Any
) -> None:
    world = worlds(tmp_path / "j")
    world.add(*steps(2))
    world.store.away = True
    world.add(*steps(3, start=2))
    world.ingestor.close()
    assert [record.getMessage() for record in caplog.records] == [
        "3 steps wait for the store; who opens the memory next puts them"
    ]
    world.store.away = False
    world.store.reopen()
    again = worlds(tmp_path / "j", store=world.store)
    again.ingestor.recover()
    assert states(again.ingestor.receipts("a")) == ["stored"] * 5


def test_a_correction_while_it_is_away_is_told_and_put_when_it_is_back(world: Any, steps: Make) -> None:
    world.add(*steps(2))
    world.store.away = True
    with pytest.raises(StoreUnavailableError, match="is corrected, and is not found so yet: nobody answers") as told:
        correct(world.ingestor, Changes(text="Book the Ritz"), tenant="a", trajectory="t", step="s0", at=1.0)
    assert "by itself" in told.value.hint
    world.store.away = False
    world.ingestor.flush()
    assert {snippet.text for snippet in world.store.scroll("a")} >= {"Book the Ritz"}


acts = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.sampled_from("tu"), st.integers(1, 4)),
        st.sampled_from([("away",), ("hangs",), ("back",), ("flush",), ("lost reply",), ("reopen",)]),
    ),
    max_size=14,
)


@given(acts)
def test_whatever_outages_there_are_all_steps_are_stored_none_failed_none_doubled_in_their_order(
    world_type: Any, steps: Make, acts: list[tuple[Any, ...]]
) -> None:
    observer = RecordingObserver()
    calm, troubled = world_type(), world_type(store=HangingStore(), observer=observer)
    store, journal = troubled.store, troubled.journal
    lengths = Counter[str]()
    for what, *about in acts:
        if what == "add":
            trajectory, count = about
            new = steps(count, start=lengths[trajectory])
            lengths[trajectory] += count
            calm.add(*new, trajectory=trajectory)
            for receipt in troubled.add(*new, trajectory=trajectory):
                assert receipt.state in (StepState.STORED, StepState.LABELED)
        elif what == "flush":
            troubled.ingestor.flush()
        elif what == "lost reply":
            store.fail_next(StoreUnavailableError("reset"))
        elif what == "reopen":
            store.away = store.hangs = False
            troubled.ingestor.worker.threads.close()
            troubled = world_type(store=store, journal=journal, observer=observer)
            store._failures.clear()
            troubled.ingestor.recover()
        else:
            store.away, store.hangs = what == "away", what == "hangs"
    store.away = store.hangs = False
    store._failures.clear()
    troubled.ingestor.flush()
    troubled.ingestor.worker.threads.close()
    assert troubled.snippets() == calm.snippets()
    assert troubled.truth() == calm.truth()
    assert not any(isinstance(event, StepsFailed) for event in observer.events)
    stored = [
        (each.trajectory, step) for each in observer.events if isinstance(each, StepsStored) for step in each.steps
    ]
    for trajectory, count in lengths.items():
        assert [step for name, step in stored if name == trajectory] == [f"s{n}" for n in range(count)]
    away = [type(event) for event in observer.events if isinstance(event, StoreAway | StoreBack)]
    assert away == [StoreAway, StoreBack] * (len(away) // 2) or "reopen" in {what for what, *_ in acts}
    for world in (calm, troubled):
        world.journal.close()
