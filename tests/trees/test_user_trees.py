"""Trees of a memory: made, asked, edited, compared, undone, erased; and all that holds for steps holds for them."""

import os
import signal
import subprocess
import sys
from typing import Any

import pytest

from contracts.trees import PLAN as TRIP
from doubles.files import files_with
from stitch import Step, open_memory, open_tenants
from stitch.errors import ConflictError, EditRefusedError, InputError
from stitch.lifecycle.selection import Selector
from stitch.trees import Add, Delete, Node, SetField, Tree

KEY = "sk-abcdefghijklmnopqrstuvwxyz123456"


@pytest.fixture
def trip(memory):
    return memory.trees.create("trip", TRIP, message="first plan", time="2026-03-01T10:00")


def test_commits_of_a_file_come_after_the_version_that_they_say_all_or_none(trip):
    second = {
        "version": "v2", "parent": "v1", "time": "2026-03-02", "author": "ann", "message": "cheaper",
        "operations": [{"op": "set", "id": "zoo", "field": "cost", "old": "CAD 40", "value": "CAD 4"}],
    }  # fmt: skip
    assert [each.id for each in trip.edit_all([second])] == ["v2"]
    assert [(each.time, each.author) for each in trip.history()][1] == ("2026-03-02", "ann")
    gone = [{"op": "delete", "id": "zoo"}]
    with pytest.raises(ConflictError, match="comes after v1, and the last version of tree 'trip' is v2"):
        trip.edit_all([{**second, "version": "v4", "operations": gone}])
    wrong: Any
    for wrong in ({"operations": []}, {"operations": "x"}):
        with pytest.raises(InputError, match="commit 1 does not say its operations"):
            trip.edit_all([wrong])
    with pytest.raises(EditRefusedError):
        trip.edit_all([{"operations": gone}] * 2)
    assert "zoo" in trip.tree


def test_going_back_brings_the_schema_back_and_a_tree_that_breaks_one_is_not_made(memory, trip, tmp_path):
    loose = trip.schema.dump()
    loose["types"]["POI"]["fields"]["cost"] = "words"
    trip.set_schema(loose, author="ann")
    trip.edit([SetField("zoo", "cost", "cheap")])
    trip.revert("v1")
    with pytest.raises(EditRefusedError, match="'cost' of zoo is no money"):
        trip.edit([SetField("zoo", "cost", "cheap")])
    (tmp_path / "s.yaml").write_text("root: Plan\ntypes: {Plan: {}}\n")
    with pytest.raises(InputError, match="does not keep to its schema"):
        memory.trees.create("b", TRIP, schema=tmp_path / "s.yaml")
    with pytest.raises(InputError, match="schema is wrong"):
        memory.trees.create("b", TRIP, schema={"root": 3})
    assert memory.trees.names() == ["trip"]
    assert memory.trees.create("c", Tree(Node("x", "Plan")), schema=trip.schema).schema == trip.schema


def test_a_step_tells_of_so_many_changes_and_no_more(memory, trip):
    many = [Add("d1", {"type": "POI", "name": "word " * 100}) for _ in range(60)]
    trip.edit(many, trajectory="talk")
    (entry,) = memory.steps("talk")
    lines = entry.step.content.splitlines()
    assert lines[-1] == "and 10 more changes"
    assert max(map(len, lines)) <= 160


def test_secrets_are_taken_out_of_what_comes_in(memory):
    trip = memory.trees.create("t", {"type": "Plan", "note": f"key {KEY}", "password": "hunter2secret9"}, message=KEY)
    trip.edit(
        [
            SetField(trip.tree.root, "note", f"again {KEY}"),
            Add(trip.tree.root, {"type": "Plan", "id": "n", "text": KEY}),
        ],
        message=f"with {KEY}",
        author=KEY,
    )
    first, second = trip.history()
    assert first.redacted == {"openai-key": 2, "password": 1}
    assert second.redacted == {"openai-key": 4}
    assert trip.tree.root.fields["note"] == "again [redacted:openai-key]"
    assert trip.tree.node("n").fields["text"] == "[redacted:openai-key]"
    memory.flush()
    assert files_with(memory.folder, KEY.encode()) == []
    assert files_with(memory.folder, b"hunter2secret9") == []
    for wrong in ({"type": "Plan", "id": KEY}, {"type": "Plan", KEY: "x"}):
        with pytest.raises(InputError, match="holds a secret"):
            memory.trees.create("u", wrong)
    with pytest.raises(InputError, match="name of the tree holds a secret"):
        memory.trees.create(KEY, {"type": "Plan"})


def test_what_cannot_be_a_name_a_message_or_a_time_is_refused(memory, trip):
    for name in ("", "\x00", "x" * 600, "\ud800"):
        with pytest.raises(InputError):
            memory.trees.create(name, TRIP)
    with pytest.raises(InputError, match="at most 10000"):
        trip.edit([Delete("zoo")], message="x" * 10_001)
    with pytest.raises(InputError, match="is no time"):
        trip.edit([Delete("zoo")], time="soon")
    assert trip.version == "v1"


def test_an_erased_tree_is_in_no_file_any_more(memory, trip):
    trip.edit([SetField("park", "name", "Zeppelin hangar")], message="Wolpertinger")
    memory.trees.create("other", {"type": "Plan", "name": "Kaleidoscope"})
    memory.flush()
    assert files_with(memory.folder, b"butterfly") != []
    erased = memory.trees.delete("trip")
    assert (erased.trees, erased.versions, erased.proof.found) == (1, 2, ())
    assert erased.proof.traces > 5
    for word in ("butterfly", "zeppelin", "wolpertinger", "quiet park"):
        assert files_with(memory.folder, word.encode()) == []
    assert memory.trees.names() == ["other"]
    for act in (lambda: trip.edit([Delete("zoo")]), trip.reload, lambda: memory.trees.delete("trip")):
        with pytest.raises(InputError, match="no tree 'trip'"):
            act()
    assert memory.trees.create("trip", TRIP).version == "v1"


def test_what_others_say_too_is_no_trace(memory, trip):
    memory.add(Step(role="user", content="We saw the Butterfly house."), trajectory="talk")
    memory.trees.create("copy", TRIP)
    erased = memory.trees.delete("trip")
    assert erased.proof.found == ()
    assert erased.proof.said_elsewhere > 0
    gone = memory.lifecycle.erase(Selector(trajectory="talk"))
    assert gone.proof.found == (), "the copy says it too"


def test_with_everything_of_a_tenant_its_trees_go(tmp_path):
    folder = tmp_path / "m"
    with open_tenants(folder) as tenants:
        ann, bob = tenants.memory("ann"), tenants.memory("bob")
        ann.trees.create("trip", TRIP)
        bob.trees.create("trip", {"type": "Plan", "name": "Kaleidoscope"})
        assert ann.trees.open("trip").tree != bob.trees.open("trip").tree
        erased = ann.lifecycle.erase(Selector(everything=True))
        assert erased.proof.found == ()
        assert (ann.trees.names(), bob.trees.names()) == ([], ["trip"])
        assert files_with(folder, b"butterfly") == []
        assert files_with(folder, b"kaleidoscope") != []


VICTIM = """
import sys
from stitch import open_memory
from stitch.trees import SetField
with open_memory(sys.argv[1]) as memory:
    trip = memory.trees.create("trip", {"type": "Plan", "id": "p", "n": 0})
    for number in range(1, 100_000):
        commit = trip.edit([SetField("p", "n", number)], message=f"number {number}")
        print(commit.id, flush=True)
"""


@pytest.mark.slow
def test_a_commit_that_was_acknowledged_survives_kill_9(tmp_path):
    folder = tmp_path / "m"
    victim = subprocess.Popen([sys.executable, "-c", VICTIM, str(folder)], stdout=subprocess.PIPE, text=True)
    assert victim.stdout is not None
    with victim:
        told = [victim.stdout.readline().strip() for _ in range(80)]
        os.kill(victim.pid, signal.SIGKILL)
        told += [line.strip() for line in victim.stdout if line.endswith("\n")]
    with open_memory(folder) as memory:
        trip = memory.trees.open("trip")
        history = trip.history()
        assert [each.id for each in history][1 : len(told) + 1] == told
        assert len(history) - 1 - len(told) in (0, 1)
        for place in (1, 64, 65, len(history) - 1):
            assert trip.at(f"v{place + 1}").tree.root.fields["n"] == str(place)
