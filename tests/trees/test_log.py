"""Versions of a tree in the journal, and nodes and versions taken out of its history."""

import random
from contextlib import suppress

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from doubles.journaling import MemoryJournal
from doubles.trees import random_node, random_operations
from stitch.errors import ConflictError, EditRefusedError, InputError, JournalError
from stitch.journal import NewRecord
from stitch.trees import Node, Tree
from stitch.trees.core.commits import TREES, keys_of, load_entry, load_whole, log_key, texts_of, whole_key, whole_record
from stitch.trees.core.edits import apply
from stitch.trees.core.log import NewCommit, TreeLog
from stitch.trees.core.operations import Delete, Move, SetField
from stitch.trees.core.rewriting import rewritten, without
from stitch.trees.core.schema import infer, read_schema

ROOT = Node("p", "Plan", fields={"name": "Trip"}, children=[Node("a", "Day", fields={"name": "Mon"})])
DAYS = Node("p", "Plan", children=[
    Node("a", "Day", fields={"name": "Monday"}, children=[Node("x", "Stop", fields={"name": "Harbor"})]),
    Node("b", "Day", fields={"name": "Tuesday"}),
])  # fmt: skip


@pytest.fixture
def journal():
    return MemoryJournal()


def new(*operations, at=2.0, message="", author="ann", **more):
    return NewCommit(operations, author, message, at, **more)


def made(journal, *, name="trip", root=ROOT, schema=None, **first):
    begun = new(at=1.0, message="first", **first)
    chosen = schema or infer(Tree(root))
    return TreeLog.create(journal, tenant="t", name=name, root=root, schema=chosen, first=begun)


def anything_below(root):
    """A schema in which any type may stand below any."""
    types = ", ".join(f"{each}: {{children: any}}" for each in ("Day", "POI", "Restaurant", "Option"))
    return read_schema(f"{{root: {root.type}, open: true, types: {{{types}}}}}")


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


def test_the_whole_tree_is_kept_once_and_every_version_can_be_asked(journal):
    log = made(journal)
    names = ["Mon"]
    for number in range(130):
        names.append(f"day {number}")
        log.append(new(rename(names[-1])), branch="main", parent=f"v{number + 1}")
    assert keys_of(journal, "t", "trip") == [log_key("trip"), whole_key("trip", "v1")]
    again = opened(journal)
    for place in random.Random(1).sample(range(len(names)), 12):
        assert again.tree(f"v{place + 1}").node("a").fields["name"] == names[place]


def test_entries_of_older_memories_with_checksums_and_whole_trees_between_are_read(journal):
    log = made(journal)
    log.append(new(rename("Tue")), branch="main", parent="v1")

    def older(payload):
        return orjson.dumps({**orjson.loads(payload), "snapshot": True, "whole": "00ff", "digest": "00ff"})

    key = log_key("trip")
    records = [NewRecord(TREES, key, older(each.payload)) for each in journal.records("t", kind=TREES, key=key)]
    journal.append_records("t", [*records, whole_record("trip", "v2", ROOT)], instead_of=[key])
    again = opened(journal)
    assert again.tree("v2").node("a").fields["name"] == "Tue"
    assert list(again.faults()) == []
    erase(again, versions=["v1"])
    assert keys_of(journal, "t", "trip") == [key, whole_key("trip", "v2")]
    assert opened(journal).tree("v2").node("a").fields["name"] == "Tue"


@given(seed=st.integers(0, 10**9))
def test_any_history_is_read_as_it_was_written(seed):
    rng, journal = random.Random(seed), MemoryJournal()
    root = random_node(rng, depth=3)
    log = made(journal, root=root, schema=anything_below(root))
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
            load_whole(wrong)
    assert load_whole(whole_record("trip", "v1", ROOT).payload) == ROOT
    journal.erase_records("t", kind=TREES, key='["trip", "v1"]')
    with pytest.raises(JournalError, match="is missing in the journal"):
        opened(journal).tree("v1")


# Nodes and versions taken out of the whole history.


def commit(log, *operations, message="", branch="main"):
    return log.append(NewCommit(operations, "ann", message, 2.0), branch=branch, parent=log.head(branch))


def erase(log, *, nodes=(), versions=()):
    left = rewritten(log, nodes=nodes, versions=versions)
    log.rewrite(left.records)
    return left


def test_an_erased_node_was_never_there_with_all_that_stood_below_it(journal):
    log = made(journal, root=DAYS)
    commit(log, SetField("x", "name", "Lighthouse"), message="Lighthouse instead")
    commit(log, SetField("b", "name", "Wednesday"), Move("x", parent="b"), message="later")
    commit(log, Delete("x"), message="too windy")
    left = erase(log, nodes=["x"])
    assert (left.nodes, left.versions, left.messages) == ({"x"}, (), ("v2",))
    assert left.said == {"x", "Harbor", "Lighthouse", "Lighthouse instead"}
    assert [each.message for each in log.commits] == ["first", "", "later", "too windy"]
    assert [len(each.operations) for each in log.commits] == [0, 0, 1, 0]
    for version in ("v1", "v2", "v3", "v4"):
        assert "x" not in log.tree(version)
    assert log.tree("v3").node("b").fields == {"name": "Wednesday"}
    assert not {"x", "Harbor", "Lighthouse"} & set(texts_of(journal, "t"))
    assert list(log.faults()) == []


def test_an_erased_version_is_done_by_the_next_one_and_its_id_is_not_given_again(journal):
    log = made(journal, root=DAYS)
    commit(log, SetField("a", "name", "secret plans"))
    commit(log, SetField("a", "name", "Sunday"), SetField("b", "name", "Friday"))
    left = erase(log, versions=["v2"])
    assert (left.nodes, left.versions, left.said) == (set(), ("v2",), {"secret plans"})
    assert [(each.id, each.parent) for each in log.commits] == [("v1", None), ("v3", "v1")]
    assert log.tree("v3").node("a").fields == {"name": "Sunday"}
    with pytest.raises(InputError, match="no version 'v2'") as refused:
        log.commit("v2")
    assert refused.value.hint == "it was erased"
    erase(log, versions=["v3"])
    assert log.head("main") == "v1"
    assert commit(log, Delete("b")).id == "v4"
    assert [each.id for each in opened(journal).commits] == ["v1", "v4"]


def test_the_first_version_can_be_erased_and_branches_begin_where_they_can(journal):
    log = made(journal, root=DAYS)
    commit(log, Delete("x"))
    log.begin_branch("other", at="v2")
    commit(log, Delete("b"))
    commit(log, SetField("b", "name", "Saturday"), branch="other")
    erase(log, versions=["v1"])
    assert log.commits[0].parent is None
    assert log.tree("v2") == Tree(without(Tree(DAYS), {"x"}))
    assert list(log.faults()) == []
    with pytest.raises(InputError, match="several versions of tree 'trip' come after the first one"):
        rewritten(log, nodes=(), versions=["v2"])
    erase(log, versions=["v4"])
    assert log.branches == {"main": "v3", "other": "v2"}


@pytest.mark.parametrize(
    ("nodes", "versions", "said"),
    [
        (["p"], [], "nothing would be left"),
        ([], ["v1"], "nothing would be left"),
        (["zoo"], [], "no version of tree 'trip' has a node 'zoo'"),
        ([], ["v9"], "no version 'v9'"),
    ],
)
def test_what_is_not_there_or_all_there_is_cannot_be_erased(journal, nodes, versions, said):
    log = made(journal, root=DAYS)
    with pytest.raises(InputError, match=said):
        rewritten(log, nodes=nodes, versions=versions)


def test_a_commit_that_came_meanwhile_is_not_lost(journal):
    log = made(journal, root=DAYS)
    left = rewritten(log, nodes=["x"], versions=())
    commit(opened(journal), Delete("b"))
    with pytest.raises(ConflictError, match="nothing was erased"):
        log.rewrite(left.records)
    log.refresh()
    assert [each.id for each in log.commits] == ["v1", "v2"]


def test_whoever_has_the_tree_open_sees_what_is_left(journal):
    log = made(journal, root=DAYS)
    commit(log, SetField("x", "name", "Pier"))
    other = opened(journal)
    erase(log, nodes=["x"])
    other.refresh()
    assert "x" not in other.tree("v2")


@given(seed=st.integers(0, 10**9))
def test_any_history_without_a_node_is_that_of_trees_without_it(seed):
    rng = random.Random(seed)
    journal = MemoryJournal()
    root = random_node(rng, depth=3)
    log = made(journal, root=root, schema=anything_below(root))
    for operation in random_operations(rng, log.tree("v1"), count=8):
        with suppress(EditRefusedError):
            commit(log, operation)
    trees = {each.id: log.tree(each.id) for each in log.commits}
    candidates = sorted(
        {node.id for tree in trees.values() for node in tree} - {tree.root.id for tree in trees.values()}
    )
    nodes = rng.sample(candidates, min(2, len(candidates)))
    later = sorted(trees)[1:]
    versions = rng.sample(later, min(1, len(later)))
    left = erase(log, nodes=nodes, versions=versions)
    again = opened(journal)
    assert set(nodes) <= left.nodes
    for version in trees.keys() - set(versions):
        assert again.tree(version) == Tree(without(trees[version], left.nodes))
    assert list(again.faults()) == []


def test_damage_of_a_commit_or_the_whole_tree_is_found(journal):
    log = made(journal, root=DAYS)
    for number in range(9):
        commit(log, SetField("a", "name", f"day {number}"))
    assert list(log.faults()) == []

    def replaced(key, change):
        """Keep other payloads under a key."""
        records = [NewRecord(TREES, key, change(each.payload)) for each in journal.records("t", kind=TREES, key=key)]
        journal.append_records("t", records, instead_of=[key])
        return list(opened(journal).faults())

    key = whole_key("trip", "v1")
    assert replaced(key, lambda payload: payload.replace(b"Monday", b"Doomsday")) == [
        "version v2: operation 1: field 'name' of 'a' says 'Doomsday', and not 'Monday'; nothing was changed"
    ]
    assert replaced(key, lambda payload: payload.replace(b"Doomsday", b"Monday")) == []
    assert replaced(log_key("trip"), lambda payload: payload.replace(b'"value":"day 7"', b'"value":"day x"')) == [
        "version v10: operation 1: field 'name' of 'a' says 'day x', and not 'day 7'; nothing was changed"
    ]
