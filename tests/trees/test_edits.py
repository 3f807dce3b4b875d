"""Operations on trees: all or none, found again by a comparison."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doubles.golden import compare_answers
from doubles.trees import random_node, random_operations
from stitch.errors import EditRefusedError, InputError
from stitch.trees import Node, Tree
from stitch.trees.core.differences import diff
from stitch.trees.core.edits import Index, apply
from stitch.trees.core.operations import Add, Delete, Move, Replace, SetField, operation_json

SEEDS = st.integers(0, 10**9)


@pytest.fixture
def plan():
    days = [
        Node("d1", "Day", children=[Node("a", "POI", fields={"name": "Zoo"}), Node("b", "POI"), Node("c", "POI")]),
        Node("d2", "Day"),
    ]
    return Tree(Node("plan", "Plan", fields={"title": "Trip"}, children=days))


def children(tree, name):
    return [child.id for child in tree.node(name).children]


@given(SEEDS)
@settings(max_examples=3 * settings().max_examples)
def test_operations_are_found_by_a_comparison_and_done_again_as_they_were_written(seed):
    rng = random.Random(seed)
    before = Tree(random_node(rng))
    index, done, written = Index(before.root), list[Any](), list[Any]()
    for operation in random_operations(rng, before, count=8):
        root = index.root
        try:
            done += index.edit([operation])
            written.append(operation_json(operation))
        except EditRefusedError:
            assert index.root is root
        fresh = Index(index.root)
        assert (index.nodes, index.parents) == (fresh.nodes, fresh.parents)
    after = Tree(index.root)
    assert apply(before, json.loads(json.dumps([operation_json(each) for each in done]))) == after
    assert apply(before, written) == after
    found = diff(before, after)
    assert apply(before, found.operations) == after
    assert bool(found) == (before != after) == any((found.added, found.removed, found.moved, found.changed))
    assert apply(after, diff(after, before).operations) == before


def test_unlike_trees_are_compared_by_their_ids_alone():
    for seed in range(60):
        rng = random.Random(seed)
        one, two = (Tree(Node("root", "Root", children=[random_node(rng, depth=3)])) for _ in range(2))
        assert apply(one, diff(one, two).operations) == two


def test_the_comparison_says_what_was_added_removed_moved_and_changed(plan):
    after = apply(
        plan,
        [
            Delete("b"),
            Move("c", parent="d2"),
            SetField("a", "name", "Museum"),
            SetField("a", "cost", 10),
            SetField("plan", "title", None),
            Add("d2", {"id": "x", "type": "POI", "children": [{"id": "y", "type": "Note"}]}, at=1),
        ],
    )
    found = diff(plan, after)
    assert [(each.node.id, each.parent, each.path) for each in found.added] == [("x", "d2", "/Plan/Day[2]/POI[1]")]
    assert [each.node.id for each in found.removed] == ["b"]
    assert [(each.node.id, each.before, each.after) for each in found.moved] == [
        ("c", "/Plan/Day[1]/POI[3]", "/Plan/Day[2]/POI[2]")
    ]
    assert [(each.field, each.old, each.new) for each in found.changed] == [
        ("title", "Trip", None),
        ("name", "Zoo", "Museum"),
        ("cost", None, "10"),
    ]
    assert found.dump()["added"][0]["children"] == [{"id": "y", "type": "Note", "fields": {}}]


def test_a_node_never_becomes_one_of_another_type(plan):
    after = apply(plan, [Replace("d1", {"id": "d1", "type": "Night", "children": []})])
    found = diff(plan, after)
    assert ([each.node.type for each in found.removed], [each.node.type for each in found.added]) == (
        ["Day"],
        ["Night"],
    )
    assert apply(plan, found.operations) == after
    with pytest.raises(InputError, match="different trees"):
        diff(plan, Tree(plan.node("d1")))


def test_positions_count_all_children_after_the_moved_node_was_taken_out(plan):
    [operation] = diff(plan, apply(plan, [Move("a", parent="d1")])).operations
    assert operation == Move("a", parent="d1", at=3)
    assert children(apply(plan, [Move("a", parent="d1", at=3)]), "d1") == ["b", "c", "a"]
    assert children(apply(plan, [Move("a", after="b")]), "d1") == ["b", "a", "c"]
    assert children(apply(plan, [Move("c", before=plan.node("a"))]), "d1") == ["c", "a", "b"]
    assert children(apply(plan, [Add("d1", Node("n", "POI"), at=2)]), "d1") == ["a", "n", "b", "c"]
    assert children(apply(plan, [Add("d1", Node("n", "POI"))]), "d1") == ["a", "b", "c", "n"]
    replaced = apply(plan, [Replace("b", Node("n", "POI"))])
    assert children(replaced, "d1") == ["a", "n", "c"]


def test_what_cannot_be_done_is_refused_and_nothing_of_its_company_is_done(plan):
    def refusal(operation):
        index = Index(plan.root)
        with pytest.raises(InputError, match="operation 2") as refused:
            index.edit([SetField("b", "name", "Park"), operation])
        assert index.root is plan.root
        assert ("nothing was changed" in refused.value.message) == isinstance(refused.value, EditRefusedError)
        return [refused.value.message]

    compare_answers(Path(__file__).parent / "refused_edits.txt", lambda line: refusal(json.loads(line)))
    assert "characters" in refusal(SetField("a", "name", "x" * 1_000_001))[0]


def test_a_tree_gets_no_deeper_than_it_may(plan):
    chain = Node("c0", "X")
    for level in range(97):
        chain = Node(f"c{level + 1}", "X", children=[chain])
    deep = apply(plan, [Add("d2", chain)])
    with pytest.raises(EditRefusedError, match="levels deep"):
        apply(deep, [Add("c0", Node("n", "X"))])
    with pytest.raises(EditRefusedError, match="levels deep"):
        apply(deep, [Add("d1", Node("o", "X")), Move("c97", parent="o")])
    for _ in range(60):
        chain = Node(chain.id + "x", "X", children=[chain])
    with pytest.raises(EditRefusedError, match="levels deep"):
        apply(plan, [Add("d2", chain)])


def test_a_new_node_gets_an_id_that_is_the_same_each_time(plan):
    new = {"type": "POI", "fields": {"name": "Park"}}
    one, two = (apply(plan, [Add("d2", new), Add("d2", new)]) for _ in range(2))
    assert one == two
    assert len({child.id for child in one.node("d2").children}) == 2
