"""Trees in exports and backups: they come back with every version."""

import json

import pytest

from stitch import Step, open_memory
from stitch.errors import JournalError
from stitch.maintenance import restore_memory
from stitch.trees import Add, Delete, SetField

KEY = "sk-abcdefghijklmnopqrstuvwxyz123456"


@pytest.fixture
def memory(tmp_path):
    with open_memory(tmp_path / "m") as opened:
        opened.add(Step(role="user", content="Plan a trip."), trajectory="talk")
        trip = opened.trees.create("trip", {"type": "Plan", "id": "p", "days": [{"id": "d", "n": 1}]}, message="first")
        trip.edit([SetField("d", "n", 2), Add("p", {"type": "days", "id": "e"})], message="more", author="ann")
        cheap = trip.begin_branch("cheap", at="v1")
        cheap.edit([Delete("d")], time="2026-03-01")
        trip.reload().set_schema(None)
        trip.edit([Delete("e")])
        opened.trees.create("list", {"type": "List"})
        yield opened


def everything(memory):
    """All versions of all trees, with what is told of each."""
    told = {}
    for name in memory.trees.names():
        for branch in memory.trees.open(name).branches:
            own = memory.trees.open(name, branch=branch)
            told[name, branch] = [(each.dump(), each.recorded, own.at(each.id).tree) for each in own.history()]
    return told


@pytest.fixture
def other(tmp_path):
    with open_memory(tmp_path / "other") as opened:
        yield opened


def test_an_export_holds_every_version_and_is_taken_in_once(memory, other):
    lines = list(memory.lifecycle.export())
    taken = other.lifecycle.import_lines(lines)
    assert (taken.trees, taken.steps, taken.rejections) == (2, 1, ())
    assert everything(other) == everything(memory)
    assert list(other.lifecycle.export()) == lines
    again = other.lifecycle.import_lines(lines)
    assert (again.trees, again.known, again.rejections) == (0, 1, ())
    memory.trees.open("trip").edit([SetField("p", "x", "y")])
    assert other.lifecycle.import_lines(memory.lifecycle.export()).rejections == ()
    assert everything(other) == everything(memory)
    assert not [line for line in memory.lifecycle.export(trajectory="talk") if '"tree"' in line]


def test_another_tree_of_the_same_name_is_left_as_it_is(memory, other):
    other.trees.create("trip", {"type": "Other"})
    taken = other.lifecycle.import_lines(memory.lifecycle.export())
    reasons = [each.reason for each in taken.rejections]
    assert reasons[0] == "there is another tree 'trip' here"
    assert set(reasons[1:]) == {"tree 'trip' is left out"}
    assert other.trees.names() == ["trip", "list"]
    assert other.trees.open("trip").tree.root.type == "Other"


def changed(lines, kind, change):
    """The lines with the first of a kind changed."""
    made, done = [], False
    for line in lines:
        said = json.loads(line)
        if said["kind"] == kind and not done:
            change(said)
            done = True
        made.append(json.dumps(said))
    assert done
    return made


@pytest.mark.parametrize(
    ("kind", "change", "reason"),
    [
        ("commit", lambda said: said["commit"].update(version="v9"), "comes out of turn"),
        ("commit", lambda said: said["commit"].update(parent="v7"), "v1 by 'person' (first) came after v7"),
        ("commit", lambda said: said["commit"]["operations"].append({"op": "delete", "id": "zz"}), "no node 'zz'"),
        ("commit", lambda said: said["commit"].update(operations=[{"op": "x"}]), "there is no operation 'x'"),
        ("tree", lambda said: said["nodes"].append(["d", "X", {}, 0]), "a tree in the journal is damaged"),
        ("tree", lambda said: said.update(nodes=[["a", "X", {}, 1], ["a", "X", {}, 0]]), "does not keep to its schema"),
        ("tree", lambda said: said.update(tree="renamed"), "tree 'trip' has not begun"),
        ("branch", lambda said: said.update(at="v99"), "no version 'v99'"),
        ("tree", lambda said: said["commit"].update(more=1), "extra inputs are not permitted"),
    ],
)
def test_lines_that_no_memory_writes_are_rejected_and_the_rest_is_taken_in(memory, other, kind, change, reason):
    taken = other.lifecycle.import_lines(changed(memory.lifecycle.export(), kind, change))
    assert any(reason in each.reason for each in taken.rejections), taken.rejections
    assert "list" in other.trees.names()
    assert taken.steps == 1


def test_secrets_in_an_export_stay_outside(memory, other):
    lines = changed(memory.lifecycle.export(), "commit", lambda said: said["commit"].update(message=f"by {KEY}"))
    other.lifecycle.import_lines(changed(lines, "tree", lambda said: said["nodes"][0][2].update(note=KEY)))
    first, second, *_ = other.trees.open("trip").history()
    assert (first.redacted, second.redacted) == ({"openai-key": 1}, {"openai-key": 1})
    assert other.trees.open("trip").tree.root.fields["note"] == "[redacted:openai-key]"


def test_a_backup_is_a_memory_with_its_trees(memory, tmp_path):
    memory.lifecycle.backup(tmp_path / "backup")
    restore_memory(tmp_path / "backup", memory=tmp_path / "restored")
    with open_memory(tmp_path / "restored") as restored:
        assert everything(restored) == everything(memory)


def test_a_backup_with_trees_that_no_memory_writes_is_refused(memory, tmp_path):
    journal = memory._parts.ingestor.journal
    journal.erase_records("default", kind="artifact", key='["list", "v1"]')
    memory.lifecycle.backup(tmp_path / "backup")
    with pytest.raises(JournalError, match="a tree of tenant 'default' is none that a memory writes"):
        restore_memory(tmp_path / "backup", memory=tmp_path / "restored")
