"""Which moment and which trajectory are meant, and what is said where there are none."""

from __future__ import annotations

from typing import Any

import pytest

from doubles.journaling import MemoryJournal
from stitch.core import Step
from stitch.core.snippets import Moment
from stitch.errors import InputError
from stitch.lifecycle.as_of import moment_of
from stitch.lifecycle.transfer import export_lines

NOON_S = 1_772_366_400.0  # 2026-03-01T12:00Z


@pytest.fixture
def journal() -> MemoryJournal:
    made = MemoryJournal()
    for trajectory in ("trip", "work"):
        steps = [Step(id=name, role="user", content="Hello") for name in ("a", "b")]
        made.append_many(steps, tenant="ann", trajectory=trajectory, recorded=NOON_S)
    return made


def test_a_moment_is_named_by_seconds_by_a_time_or_by_a_step(journal: MemoryJournal) -> None:
    times = (NOON_S, int(NOON_S), "1772366400", " 1772366400.0 ", "2026-03-01T12:00", "2026-03-01T13:00+01:00")
    assert {moment_of(journal, as_of, tenant="ann", trajectory=None) for as_of in times} == {Moment(NOON_S)}
    assert moment_of(journal, "b", tenant="ann", trajectory="trip") == Moment(NOON_S, "trip", 1)
    for trajectory, tenant in ((None, "ann"), ("trip", "bob")):
        with pytest.raises(InputError, match="'b' is no time, and no step of the trajectory"):
            moment_of(journal, "b", tenant=tenant, trajectory=trajectory)


def test_who_exports_a_trajectory_that_is_not_there_is_told_which_are(journal: MemoryJournal) -> None:
    with pytest.raises(InputError, match="no trajectory 'trop' in this memory") as caught:
        list(export_lines(journal, tenant="ann", trajectory="trop"))
    assert [name in str(caught.value.hint) for name in ("trip", "work", "there are")] == [True] * 3


@pytest.mark.parametrize("odd", [float("nan"), True, [1], {}, b"2026"])
def test_what_is_no_time_is_refused_and_not_taken_for_the_beginning(journal: MemoryJournal, odd: Any) -> None:
    with pytest.raises(InputError, match="is no time"):
        moment_of(journal, odd, tenant="ann", trajectory=None)
