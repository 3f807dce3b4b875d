"""Nodes and trees: values with an index."""

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stitch.errors import InputError
from stitch.trees.core.nodes import Node, Several, Tree, own_text, whole_text

TYPES = ("A", "B", "C")


@st.composite
def trees(draw):
    """A tree of up to 40 nodes with ids in document order of their making."""
    nodes = [[draw(st.sampled_from(TYPES)), []]]
    for number in range(draw(st.integers(0, 39))):
        parent = draw(st.integers(0, number))
        nodes.append([draw(st.sampled_from(TYPES)), []])
        nodes[parent][1].append(number + 1)

    def build(number):
        return Node(f"n{number}", nodes[number][0], children=[build(child) for child in nodes[number][1]])

    return Tree(build(0))


def plan():
    one = Node("d1", "Day", children=[Node("a", "POI", fields={"name": "Museum", "cost": "3"})])
    two = Node("d2", "Day", children=[Node("b", "Meal"), Node("c", "POI", fields={"name": "Park"})])
    return Tree(Node("p", "Plan", fields={"title": "Trip"}, children=[one, two]))


def test_a_path_counts_siblings_of_one_type():
    tree = plan()
    assert [tree.path(node.id) for node in tree] == [
        "/Plan", "/Plan/Day[1]", "/Plan/Day[1]/POI[1]", "/Plan/Day[2]", "/Plan/Day[2]/Meal[1]", "/Plan/Day[2]/POI[1]",
    ]  # fmt: skip


def test_a_tree_finds_nodes_by_id_type_and_place():
    tree = plan()
    assert len(tree) == 6
    assert "c" in tree
    assert tree.node("c").fields["name"] == "Park"
    assert tree.parent("c") is tree.node("d2")
    assert tree.parent("p") is None
    assert [tree.nodes[place].id for place in tree.children(0)] == ["d1", "d2"]
    assert [tree.nodes[place].id for place in tree.below(0, type="POI")] == ["a", "c"]
    assert [tree.nodes[place].id for place in tree.below(3)] == ["b", "c"]
    assert tree.above(tree.position("c")) == [3, 0]
    assert list(tree.of_type) == ["Plan", "Day", "POI", "Meal"]


def test_an_unknown_id_and_an_id_twice_are_refused():
    with pytest.raises(InputError, match="no node 'x'"):
        plan().node("x")
    with pytest.raises(InputError, match="one id: 'a'"):
        Tree(Node("r", "R", children=[Node("a", "A"), Node("a", "A")])).node("a")


def test_text_is_the_fields_with_or_without_what_is_below():
    tree = plan()
    assert own_text(tree.root) == "Trip"
    assert whole_text(tree.root) == "Trip\nMuseum\n3\nPark"


def test_nodes_cannot_be_changed():
    node = Node("a", "A", fields={"name": "x"})
    with pytest.raises(AttributeError, match="cannot"):
        node.id = "b"  # type: ignore[misc]
    with pytest.raises(AttributeError, match="cannot"):
        del node.id
    with pytest.raises(TypeError):
        node.fields["name"] = "y"  # type: ignore[index]
    assert node.with_fields({"name": "y"}).fields == {"name": "y"}
    assert node.with_children([Node("b", "B")]).children[0].id == "b"
    assert node.with_fields({}) == Node("a", "A")


def test_several_values_are_one_string_that_knows_its_parts():
    several = Several(["book", "pay"])
    assert several == "book, pay"
    assert several.values == ("book", "pay")
    assert pickle.loads(pickle.dumps(several)).values == several.values
    assert copy.copy(several).values == several.values


def test_a_tree_of_10000_levels_is_read_compared_and_hashed():
    def deep():
        node = Node("n0", "A", fields={"text": "end"})
        for level in range(1, 10_000):
            node = Node(f"n{level}", "A", children=[node])
        return Tree(node)

    one, other = deep(), deep()
    assert one == other
    assert one.path("n0").count("/") == 10_000
    assert whole_text(one.root) == "end"
    assert "1 children" in repr(one)
    assert one.ends[9_999] == 10_000


@given(trees())
def test_positions_parents_and_ends_agree(tree):
    for position, node in enumerate(tree.nodes):
        children = [tree.positions[child.id] for child in node.children]
        assert tree.children(position) == children
        assert all(tree.parents[child] == position for child in children)
        assert list(tree.below(position)) == [tree.positions[below.id] for below in list(node.walk())[1:]]
        assert tree.above(position) == (
            [] if position == 0 else [tree.parents[position], *tree.above(tree.parents[position])]
        )
    assert len({tree.path(node.id) for node in tree}) == len(tree)
