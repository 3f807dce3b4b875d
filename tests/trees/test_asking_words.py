"""Trees and the memory of steps asked in words."""

import pytest

from stitch import Step, open_memory
from stitch.errors import InputError, SettingsError
from stitch.lifecycle.selection import Selector

TRIP = {
    "type": "Plan",
    "children": [
        {"type": "Day", "children": [{"id": "a", "type": "POI", "fields": {"name": "Fish market", "cost": "CAD 12"}}]},
        {"type": "Day", "children": [{"id": "b", "type": "POI", "fields": {"name": "Client meeting", "cost": "Work"}}]},
    ],
}
SAID = [
    ("user", "The login page shows an error after I sign in."),
    ("assistant", "I looked into the login form."),
    ("user", "The login still fails with a timeout error."),
    ("user", "Now book a flight to Lisbon for Friday."),
    ("assistant", "Booked the flight TP 123."),
]


@pytest.fixture
def memory(tmp_path):
    with open_memory(tmp_path / "m") as opened:
        for role, content in SAID:
            opened.add(Step(role=role, content=content), trajectory="run")
        opened.add(Step(role="user", content="Water the plants."), trajectory="home")
        yield opened


def test_a_tree_is_asked_in_words(memory):
    trip = memory.trees.create("trip", TRIP)
    assert trip.select('//POI[node ~= "seafood"]').ids == ("a",)
    assert trip.select('//Day[some(/POI[node ~= "meeting"])]//POI').ids == ("b",)
    for scorer in ("exact", "lexical"):
        assert trip.select('//POI[node ~= "meeting"]', scorer=scorer).ids == ("b",)
    assert trip.select('//POI[node ~= "meeting"]', threshold=1.0).ids == ()
    with pytest.raises(SettingsError, match="no scorer 'best'"):
        trip.select('//POI[node ~= "meeting"]', scorer="best")


def test_steps_are_asked_as_a_tree_of_trajectories_and_scopes(memory):
    scopes = memory.select("//Scope").ids
    assert len(scopes) == len(set(scopes)) >= 2
    assert memory.select('//Trajectory[@name = "run"]//Step').ids == tuple(f"run/{place}" for place in range(5))
    assert memory.select('//Step[@role = "user"][-1]', trajectory="home").ids == ("home/0",)
    assert memory.select('//Step[text ~= "flight"]').ids[0] in ("run/3", "run/4")
    assert memory.select('//Step[node ~= "login"]/ancestor::Trajectory').ids == ("run",)


def test_retired_steps_are_no_steps_any_more(memory):
    before = memory.select("//Step", trajectory="run").ids
    memory.lifecycle.retire(Selector(trajectory="run", step="0"))
    assert memory.select("//Step", trajectory="run").ids == before[1:]


def test_times_of_steps_are_times(tmp_path):
    with open_memory(tmp_path / "m") as memory:
        memory.add(Step(role="user", content="Hello.", timestamp="2026-03-01T10:00:00"), trajectory="t")
        memory.add(Step(role="user", content="Good bye.", timestamp=1_780_000_000.0), trajectory="t")
        assert memory.select('//Step[@time in "2026-03"]').ids == ("t/0",)
        assert memory.select('//Step[@time > "2026-04"]').ids == ("t/1",)


def test_a_memory_without_steps_has_none_and_a_slip_of_the_pen_is_still_told(tmp_path):
    with open_memory(tmp_path / "m") as memory:
        query = '//Scope[name ~= "login"]/Step[@event_type = "report error"][-1]'
        assert memory.select(query).ids == ()
        assert "nothing is found" in memory.select(query).explain()
        with pytest.raises(InputError, match="no node has the type 'Stpe'") as refused:
            memory.select("//Stpe")
        assert refused.value.hint == "did you mean Step, Scope"
