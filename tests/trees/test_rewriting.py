"""Nodes and versions taken out of the whole history of a tree."""

import random
from contextlib import suppress

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from doubles.journaling import MemoryJournal
from doubles.trees import random_node, random_operations
from stitch.errors import ConflictError, EditRefusedError, InputError
from stitch.journal import NewRecord
from stitch.trees import Node, Tree
from stitch.trees.core.commits import TREES, log_key, snapshot_key, texts_of
from stitch.trees.core.log import NewCommit, TreeLog
from stitch.trees.core.operations import Delete, Move, SetField
from stitch.trees.core.rewriting import rewritten, without
from stitch.trees.core.schema import infer, read_schema

ROOT = Node("p", "Plan", children=[
    Node("a", "Day", fields={"name": "Monday"}, children=[Node("x", "Stop", fields={"name": "Harbor"})]),
    Node("b", "Day", fields={"name": "Tuesday"}),
])  # fmt: skip


@pytest.fixture
def journal():
    return MemoryJournal()


def made(journal, root=ROOT, schema=None):
    first = NewCommit((), "ann", "the first plan", 1.0)
    chosen = schema or infer(Tree(root))
    return TreeLog.create(journal, tenant="t", name="trip", root=root, schema=chosen, first=first)


def commit(log, *operations, message="", branch="main"):
    return log.append(NewCommit(operations, "ann", message, 2.0), branch=branch, parent=log.head(branch))


def erase(log, *, nodes=(), versions=()):
    left = rewritten(log, nodes=nodes, versions=versions)
    log.rewrite(left.records)
    return left


def test_an_erased_node_was_never_there_with_all_that_stood_below_it(journal):
    log = made(journal)
    commit(log, SetField("x", "name", "Lighthouse"), message="Lighthouse instead")
    commit(log, SetField("b", "name", "Wednesday"), Move("x", parent="b"), message="later")
    commit(log, Delete("x"), message="too windy")
    left = erase(log, nodes=["x"])
    assert (left.nodes, left.versions, left.messages) == ({"x"}, (), ("v2",))
    assert left.said == {"x", "Harbor", "Lighthouse", "Lighthouse instead"}
    assert [each.message for each in log.commits] == ["the first plan", "", "later", "too windy"]
    assert [len(each.operations) for each in log.commits] == [0, 0, 1, 0]
    for version in ("v1", "v2", "v3", "v4"):
        assert "x" not in log.tree(version)
    assert log.tree("v3").node("b").fields == {"name": "Wednesday"}
    assert not {"x", "Harbor", "Lighthouse"} & set(texts_of(journal, "t"))
    assert list(log.faults()) == []


def test_what_was_moved_out_of_an_erased_node_before_stays_and_stood_in_its_place(journal):
    log = made(journal)
    commit(log, Move("x", parent="b"))
    erase(log, nodes=["a"])
    assert [child.id for child in log.tree("v1").root.children] == ["x", "b"]
    assert [child.id for child in log.tree("v2").node("b").children] == ["x"]


def test_an_erased_version_is_done_by_the_next_one_and_its_id_is_not_given_again(journal):
    log = made(journal)
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
    assert [each.id for each in TreeLog(journal, tenant="t", name="trip").commits] == ["v1", "v4"]


def test_the_first_version_can_be_erased_and_branches_begin_where_they_can(journal):
    log = made(journal)
    commit(log, Delete("x"))
    log.begin_branch("other", at="v2")
    commit(log, Delete("b"))
    commit(log, SetField("b", "name", "Saturday"), branch="other")
    erase(log, versions=["v1"])
    assert log.commits[0].parent is None
    assert log.tree("v2") == Tree(without(Tree(ROOT), {"x"}))
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
    log = made(journal)
    with pytest.raises(InputError, match=said):
        rewritten(log, nodes=nodes, versions=versions)


def test_a_commit_that_came_meanwhile_is_not_lost(journal):
    log = made(journal)
    left = rewritten(log, nodes=["x"], versions=())
    commit(TreeLog(journal, tenant="t", name="trip"), Delete("b"))
    with pytest.raises(ConflictError, match="nothing was erased"):
        log.rewrite(left.records)
    log.refresh()
    assert [each.id for each in log.commits] == ["v1", "v2"]


def test_whoever_has_the_tree_open_sees_what_is_left(journal):
    log = made(journal)
    commit(log, SetField("x", "name", "Pier"))
    other = TreeLog(journal, tenant="t", name="trip")
    erase(log, nodes=["x"])
    other.refresh()
    assert "x" not in other.tree("v2")


@given(seed=st.integers(0, 10**9))
def test_any_history_without_a_node_is_that_of_trees_without_it(seed):
    rng = random.Random(seed)
    journal = MemoryJournal()
    root = random_node(rng, depth=3)
    anything = ", ".join(f"{each}: {{children: any}}" for each in ("Day", "POI", "Restaurant", "Option"))
    log = made(journal, root, read_schema(f"{{root: {root.type}, open: true, types: {{{anything}}}}}"))
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
    again = TreeLog(journal, tenant="t", name="trip")
    assert set(nodes) <= left.nodes
    for version in trees.keys() - set(versions):
        assert again.tree(version) == Tree(without(trees[version], left.nodes))
    assert list(again.faults()) == []


def test_damage_of_a_commit_or_a_whole_tree_is_found(journal):
    log = made(journal)
    for number in range(70):
        commit(log, SetField("a", "name", f"day {number}"))
    assert list(log.faults()) == []
    whole = [each.id for each in log.commits if each.snapshot][1]

    def replaced(key, change):
        """Keep other payloads under a key."""
        records = [NewRecord(TREES, key, change(each.payload)) for each in journal.records("t", kind=TREES, key=key)]
        journal.append_records("t", records, instead_of=[key])
        return list(TreeLog(journal, tenant="t", name="trip").faults())

    key = snapshot_key("trip", whole)
    assert replaced(key, lambda payload: payload.replace(b"Tuesday", b"Doomsday")) == [
        f"version {whole}: version {whole!r} of tree 'trip' is damaged in the journal"
    ]
    assert replaced(key, lambda payload: payload.replace(b"Doomsday", b"Tuesday")) == []

    def other_value(payload):
        said = orjson.loads(payload)
        del said["digest"]
        return orjson.dumps(said).replace(b'"value":"day 7"', b'"value":"day x"')

    assert replaced(log_key("trip"), other_value) == [
        "version v10: operation 1: field 'name' of 'a' says 'day x', and not 'day 7'; nothing was changed"
    ]
