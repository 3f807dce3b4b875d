"""A user corrects, retires and erases steps."""

import json
import sqlite3
from contextlib import closing
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from doubles.files import files_with
from stitch import IntentFilter, Step, open_memory
from stitch.errors import InputError
from stitch.lifecycle.selection import Selector
from stitch.server.operations.upkeep import history

BOAT = Selector(trajectory="trip", step="boat")


def test_a_corrected_scope_is_what_searches_and_labels_say(memory):
    memory.lifecycle.correct("nuts", trajectory="trip", labels={"scope": "allergies"})
    assert memory.get("trip", "nuts").snippet().intent.scope == "allergies"
    assert "allergies" in {scope.name for scope in memory.inventory("trip").scopes}
    assert len(list(memory.lifecycle.corrections())) == 1


@pytest.mark.parametrize(
    "given",
    [
        *({"text": text} for text in ("", " \n", "\x00")),
        {"metadata": {"share": float("nan")}},
        {"metadata": {"of": object()}},
        {"labels": {"event_types": 5}},
    ],
    ids=range(6),
)
def test_a_correction_that_could_not_be_read_again_is_refused_and_nothing_is_written(memory, given):
    before = memory.get("trip", "boat")
    with pytest.raises(InputError):
        memory.lifecycle.correct("boat", trajectory="trip", **given)
    assert (memory.get("trip", "boat"), memory.lifecycle.history("boat", trajectory="trip")) == (before, [])


def test_a_step_that_is_empty_when_its_secrets_are_out_is_refused(tmp_path):
    with open_memory(tmp_path / "m", redact=lambda text: "") as memory, pytest.raises(InputError):
        memory.add(Step(role="user", content="a secret"), trajectory="t")
    with open_memory(tmp_path / "m") as memory:
        assert memory.trajectories() == []


def of_the_first_step(folder, payload):
    with closing(sqlite3.connect(folder / "journal.sqlite")) as journal, journal:
        journal.execute("UPDATE steps SET payload = ? WHERE seq = 1", (payload,))
        journal.execute("UPDATE states SET state = 'labeled' WHERE seq = 1")


def test_a_folder_in_which_a_correction_has_emptied_a_step_opens_and_the_step_is_put_right(tmp_path):
    with open_memory(tmp_path / "m") as memory:
        for text in ("The boat.", "At nine."):
            memory.add({"role": "user", "content": text}, trajectory="t")
    of_the_first_step(tmp_path / "m", b'{"role":"user","content":"","id":"0"}')
    with open_memory(tmp_path / "m") as memory:
        assert next(memory.steps("t")).step.content == ""
        memory.lifecycle.correct("0", trajectory="t", text="The boat to Faro.")
        assert [each.step.content for each in memory.lifecycle.history("0", trajectory="t")] == [""]
        memory.lifecycle.erase(Selector(trajectory="t", step="0"))
        assert memory.lifecycle.verify().disagreements == ()


def test_a_step_that_cannot_be_read_stops_no_other_trajectory(tmp_path):
    with open_memory(tmp_path / "m") as memory:
        for name in ("t", "u"):
            memory.add({"role": "user", "content": "The boat to Faro leaves at nine."}, trajectory=name)
    of_the_first_step(tmp_path / "m", b'{"role":"us\xff')
    with open_memory(tmp_path / "m") as memory:
        memory.add({"role": "user", "content": "And back at ten."}, trajectory="u")
        assert len(memory.search("When does the boat to Faro leave?", trajectory="u", k=8).hits) == 2
        memory.flush()
        assert memory.lifecycle.verify(repair=True).disagreements == ()


def test_a_scope_that_was_renamed_step_by_step_gets_its_name_back(tmp_path):
    with open_memory(tmp_path / "m") as memory:
        for text in ("First the login timeout.", "The login timeout is half a minute."):
            memory.add({"role": "user", "content": text}, trajectory="t")
        before = [scope.name for scope in memory.inventory("t").scopes]
        for name in ("sessions", before[0], "sessions", before[0]):
            for step in ("0", "1"):
                memory.lifecycle.correct(step, trajectory="t", labels={"scope": name})
            assert [(scope.name, scope.steps) for scope in memory.inventory("t").scopes] == [(name, 2)]


def test_what_was_corrected_is_as_it_was_in_the_past(memory):
    memory.lifecycle.correct("boat", trajectory="trip", text="The boat to Faro leaves at eleven.")
    recorded = memory.get("trip", "seen").recorded
    assert "nine" in memory.search("When does the boat to Faro leave?", as_of=recorded, k=8).context()


def test_a_correction_that_changes_nothing_is_not_stored_and_a_person_s_word_for_labels_is(memory):
    made = memory.get("trip", "nuts").snippet().intent
    for revisions in (1, 1):
        memory.lifecycle.correct("nuts", trajectory="trip", labels={"scope": made.scope})
        assert len(memory.lifecycle.history("nuts", trajectory="trip")) == revisions
    memory.lifecycle.correct("boat", trajectory="trip", text=memory.get("trip", "boat").step.content)
    assert memory.lifecycle.history("boat", trajectory="trip") == []


def test_retired_steps_are_put_back_and_their_history_says_so(memory):
    def found():
        return "boat" in [hit.snippet.step for hit in memory.search("the boat to Faro", k=8).hits]

    made, scopes = memory.get("trip", "boat").labels, memory.inventory("trip").scopes
    assert [memory.lifecycle.retire(BOAT, reason="sold out") for _ in range(2)] == [1, 0]
    assert not found()
    assert memory.lifecycle.unretire(Selector(trajectory="trip"), by="ann") == 1
    assert found()
    back = memory.get("trip", "boat")
    assert (back.state.value, back.reason, back.labels) == ("stored", "", made)
    assert memory.inventory("trip").scopes == scopes
    assert memory.lifecycle.unretire(BOAT) == 0
    memory.lifecycle.correct("boat", trajectory="trip", text="The boat goes to Faro at nine.")
    told = [(each.corrected_by, each.retired_at is not None) for each in history(memory, step="boat").revisions]
    assert told == [("ann", True), ("person", False)]
    assert memory.lifecycle.verify().disagreements == ()


def test_a_history_names_scopes_as_they_are_named_now(memory):
    lines = (Path(__file__).parents[2] / "examples" / "trip.jsonl").read_text().splitlines()
    said = [{name: value for name, value in json.loads(line).items() if name != "trajectory"} for line in lines]
    memory.add_many(said, trajectory="porto")
    memory.lifecycle.correct("7", trajectory="porto", text="96 a night.")
    [revision] = history(memory, step="7", trajectory="porto").revisions
    assert (revision.labels or {})["intent"]["scope"] in {scope.name for scope in memory.inventory("porto").scopes}


def test_what_takes_its_words_from_an_erased_step_loses_them(memory):
    memory.lifecycle.erase(Selector(trajectory="trip", step="hotel"))
    memory.lifecycle.erase(Selector(trajectory="trip", step="take"))
    memory.close()
    assert files_with(memory.folder, b"Casa Azul") == []


def test_times_of_python_are_times(memory):
    now = datetime.now(timezone.utc)
    memory.add({"role": "user", "content": "The kayak is red.", "id": "k", "timestamp": now}, trajectory="trip")
    assert memory.get("trip", "k").step.timestamp == now.isoformat()
    assert memory.search("the kayak", asked_at=now, as_of=datetime(2020, 1, 1)).hits == ()
    assert memory.lifecycle.count(Selector(accepted_before=now - timedelta(days=9))) == 0
    assert memory.lifecycle.expire([], now=now).rules == ()
    assert memory.themes(as_of=datetime(2020, 1, 1)) == []


@pytest.mark.parametrize(
    "call",
    [
        lambda memory: memory.add("x", trajectory=5),
        lambda memory: memory.add({"role": "user", "content": "x", "timestamp": True}, trajectory="trip"),
        lambda memory: memory.search("x", trajectory=["a"]),
        lambda memory: memory.search("x", asked_at=[1]),
        lambda memory: memory.search("x", as_of=True),
        lambda memory: memory.lifecycle.correct("boat", trajectory="trip", text=b"x"),
        lambda memory: memory.lifecycle.correct("boat", trajectory="trip", labels="x"),
        lambda memory: memory.lifecycle.correct("boat", trajectory="trip", asks=[5]),
        lambda memory: memory.lifecycle.erase("trip"),
        lambda memory: memory.delete(None),
        lambda memory: memory.delete(None, trajectory="trip"),
    ],
)
def test_what_is_of_a_wrong_type_is_told_in_a_line(memory, call):
    with pytest.raises(InputError) as caught:
        call(memory)
    assert "\n" not in caught.value.message


@pytest.fixture
def two_chats(tmp_path):
    """Two trajectories, of which one has renamed the scope whose name the other keeps."""
    with open_memory(tmp_path / "m") as memory:
        memory.add_many([Step(role="user", content=text) for text in ("Ok.", "Fine, thanks.")], trajectory="a")
        memory.add_many([Step(role="user", content=f"event {n} at the dock") for n in range(30)], trajectory="zz")
        yield memory


def test_a_scope_that_a_trajectory_has_renamed_keeps_its_name_in_another(two_chats):
    (shown,) = {scope.name for scope in two_chats.inventory("a").scopes}
    (renamed,) = {scope.name for scope in two_chats.inventory("zz").scopes}
    assert shown in {merge.alias for merge in two_chats.inventory("zz").merges}
    told = two_chats.inventory().scopes
    assert {(scope.trajectory, scope.name) for scope in told} == {("a", shown), ("zz", renamed)}
    count = two_chats.lifecycle.count
    assert [count(Selector(scope=name)) for name in (shown, renamed)] == [2, 30]
    for name, trajectory in ((shown, "a"), (renamed, "zz")):
        for how in ({"ranking": "strict"}, {}, {"as_of": two_chats.get("zz", "29").recorded}):
            found = two_chats.search("Ok, the dock?", intent_filter=IntentFilter(scopes=(name,)), k=40, **how)
            assert {(hit.snippet.trajectory, hit.snippet.intent.scope) for hit in found.hits if hit.matched} == {
                (trajectory, name)
            }
            carried = sum(bool(hit.matched) for hit in found.hits)
            assert carried == count(Selector(scope=name))
    two_chats.lifecycle.erase(Selector(scope=renamed))
    assert [*two_chats.trajectories()] == ["a"]
