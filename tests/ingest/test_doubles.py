"""The public doubles satisfy the contracts of what they stand for."""

from __future__ import annotations

import pytest

from stitch.core import Labeler
from stitch.testing.contracts.labeler import LabelerContract
from stitch.testing.contracts.store import MakeStore, SnippetStoreContract
from stitch.testing.contracts.worlds import DIMENSION
from stitch.testing.labeling import ScriptedLabeler
from stitch.testing.storing import FaultPlan, ListStore, SimulatedCrash, with_faults


class TestListStore(SnippetStoreContract):
    worlds = 1
    questions = 60
    many_snippets = 300

    @pytest.fixture
    def make_store(self) -> MakeStore:
        return lambda: ListStore(dimension=DIMENSION)


class TestScriptedLabeler(LabelerContract):
    @pytest.fixture
    def labeler(self) -> Labeler:
        return ScriptedLabeler()


def test_a_crashed_run_does_nothing_more() -> None:
    plan = FaultPlan(1)
    store = ListStore()
    watched = with_faults(store, plan, "put", "flush")
    with pytest.raises(SimulatedCrash, match="after put"):
        watched.put([])
    with pytest.raises(SimulatedCrash):
        watched.flush()
    assert (len(store.puts), store.flushes) == (1, 0)
    assert plan.crossed == ["before put", "after put"]
    assert watched.count() == 0, "what is not watched works as ever"
