"""Versions of a tree in the journal."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doubles.journaling import MemoryJournal
from doubles.trees import random_node, random_operations
from stitch.errors import ConflictError, EditRefusedError, InputError, JournalError
from stitch.trees import Node, Tree
from stitch.trees.core.commits import TREES, dump_snapshot, keys_of, load_entry, load_snapshot, texts_of
from stitch.trees.core.edits import apply
from stitch.trees.core.log import SNAPSHOT_COMMITS, NewCommit, TreeLog
from stitch.trees.core.operations import SetField
from stitch.trees.core.schema import infer, read_schema

ROOT = Node("p", "Plan", fields={"name": "Trip"}, children=[Node("a", "Day", fields={"name": "Mon"})])


@pytest.fixture
def journal():
    return MemoryJournal()


def new(*operations, at=2.0, message="", author="ann", **more):
    return NewCommit(operations, author, message, at, **more)


def made(journal, *, name="trip", root=ROOT, **first):
    return TreeLog.create(
        journal, tenant="t", name=name, root=root, schema=infer(Tree(root)), first=new(at=1.0, message="first", **first)
    )


def opened(journal, name="trip"):
    return TreeLog(journal, tenant="t", name=name)


def rename(name, node="a"):
    return SetField(node, "name", name)


class Overtaken(MemoryJournal):
    """A journal in which somebody else commits between the look and the writing."""

    def __init__(self):
        super().__init__()
        self.before_writing = None

    def append_records(self, tenant, records, *, last=None, instead_of=()):
        if self.before_writing is not None:
            act, self.before_writing = self.before_writing, None
            act()
        return super().append_records(tenant, records, last=last)


def test_who_is_overtaken_at_the_last_moment_is_refused_too():
    journal = Overtaken()
    one, two = made(journal), opened(journal)

    def overtake(branch, parent):
        return lambda: two.append(new(rename("Tue"), message="cheaper"), branch=branch, parent=parent)

    journal.before_writing = overtake("main", "v1")
    with pytest.raises(ConflictError, match=r"v2 by 'ann' \(cheaper\)"):
        one.append(new(rename("Wed")), branch="main", parent="v1")
    one.begin_branch("b", at="v2")
    journal.before_writing = overtake("b", "v2")
    with pytest.raises(ConflictError, match="at the same time"):
        one.append(new(rename("Wed")), branch="main", parent="v2")
    assert one.append(new(rename("Wed")), branch="main", parent="v2").id == "v4"
    assert opened(journal).tree("v4").node("a").fields["name"] == "Wed"


def test_a_version_is_named_by_its_id_or_by_a_time(journal):
    log = made(journal, time="2026-03-01T10:00:00")
    log.append(new(rename("Tue"), time="2026-03-02T10:00:00+02:00"), branch="main", parent="v1")
    assert log.version_at("2026-03-01T12:00", branch="main") == "v1"
    assert log.version_at("2026-03-02T07:59:59Z", branch="main") == "v1"
    assert log.version_at("2026-03-02T08:00:00Z", branch="main") == "v2"
    assert log.version_at(4e9, branch="main") == "v2"
    with pytest.raises(InputError, match="had no version at 2026-02-01"):
        log.version_at("2026-02-01", branch="main")
    with pytest.raises(InputError, match="no version 'yesterday'"):
        log.version_at("yesterday", branch="main")


def test_another_schema_holds_from_its_commit_on(journal):
    log = made(journal)
    schema = read_schema(
        "root: Plan\ntypes: {Plan: {children: [Day], open: true}, Day: {fields: {name: , note: date}}}"
    )
    log.append(new(schema=schema), branch="main", parent="v1")
    with pytest.raises(EditRefusedError, match="no date"):
        log.append(new(SetField("a", "note", "x")), branch="main", parent="v2")
    again = opened(journal)
    assert (again.schema("v2"), again.schema("v1").open) == (schema, True)
    with pytest.raises(InputError, match="does not keep to its schema"):
        again.append(new(schema=read_schema("root: Plan\ntypes: {Plan: {}}")), branch="main", parent="v2")
    assert again.append(new(rename("x", "p")), branch="main", parent="v2").id == "v3"


def test_the_whole_tree_is_kept_again_after_many_commits_and_every_version_can_be_asked(journal):
    log = made(journal)
    names = ["Mon"]
    for number in range(2 * SNAPSHOT_COMMITS + 5):
        names.append(f"day {number}")
        log.append(new(rename(names[-1])), branch="main", parent=f"v{number + 1}")
    wholes = [each.id for each in log.commits if each.snapshot]
    assert wholes == ["v1", f"v{SNAPSHOT_COMMITS + 1}", f"v{2 * SNAPSHOT_COMMITS + 1}"]
    assert len(keys_of(journal, "t", "trip")) == 4
    again = opened(journal)
    for place in random.Random(1).sample(range(len(names)), 12):
        assert again.tree(f"v{place + 1}").node("a").fields["name"] == names[place]
    assert again.append(new(rename("end")), branch="main", parent=f"v{len(names)}").snapshot is False


@given(seed=st.integers(0, 10**9))
def test_any_history_is_read_as_it_was_written(seed):
    rng, journal = random.Random(seed), MemoryJournal()
    root = random_node(rng, depth=3)
    anything = ", ".join(f"{each}: {{children: any}}" for each in ("Day", "POI", "Restaurant", "Option"))
    schema = read_schema(f"{{root: {root.type}, open: true, types: {{{anything}}}}}")
    log = TreeLog.create(journal, tenant="t", name="trip", root=root, schema=schema, first=new(at=1.0))
    trees = [log.tree("v1")]
    for operation in random_operations(rng, trees[0], count=12):
        try:
            expected = apply(trees[-1], [operation])
        except EditRefusedError:
            continue
        log.append(new(operation), branch="main", parent=f"v{len(trees)}")
        trees.append(expected)
    versions = [f"v{number}" for number in range(1, len(trees) + 1)]
    assert [log.tree(version) for version in versions] == trees
    assert [opened(journal).tree(version) for version in versions] == trees


def test_a_deleted_tree_is_gone_for_whoever_has_it_open(journal):
    log = made(journal)
    made(journal, name="other")
    journal.erase_records("t", kind=TREES, key=keys_of(journal, "t", "trip"))
    with pytest.raises(InputError, match=r"no tree 'trip' in this memory") as refused:
        log.append(new(rename("Tue")), branch="main", parent="v1")
    assert "'other'" in refused.value.hint
    made(journal)
    with pytest.raises(InputError, match="no tree 'trip'"):
        log.refresh()
    with pytest.raises(InputError, match="no tree 'x'"):
        opened(journal, "x")


def test_all_that_any_version_says_is_told(journal):
    log = made(journal)
    log.append(new(rename("Tuesday"), message="because"), branch="main", parent="v1")
    said = set(texts_of(journal, "t"))
    assert {"trip", "Trip", "Mon", "Tuesday", "because", "ann", "p", "a", "first"} <= said
    assert "Tuesday" not in set(texts_of(journal, "t", keys=['["trip", "v1"]']))


def test_damage_is_told(journal):
    made(journal)
    for wrong in (b"{", b"[]", b'{"version": 1}'):
        with pytest.raises(JournalError, match="damaged"):
            load_entry(wrong)
    for wrong in (b"{", b"3", b'[["a", "X", {}, 1]]', b'[["a", "X", {}, 0], ["b", "X", {}, 0]]'):
        with pytest.raises(JournalError, match="damaged"):
            load_snapshot(wrong)
    assert load_snapshot(dump_snapshot(ROOT)) == ROOT
    journal.erase_records("t", kind=TREES, key='["trip", "v1"]')
    with pytest.raises(JournalError, match="is missing in the journal"):
        opened(journal).tree("v1")
