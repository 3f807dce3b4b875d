"""Nodes and trees, and what a field says and how it compares."""

import copy
import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doubles.golden import compare_phrases
from stitch.errors import InputError
from stitch.trees.core.nodes import Node, Several, Tree, own_text, whole_text
from stitch.trees.core.values import Order, comparable, holds, read_value, straddles, within

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


HOUR = 3600.0

SAME_DAY = ("2026-03-03", "3 March 2026", "March 3, 2026", "Mar 3rd, 2026", "Tuesday, 3 March 2026", "2026/3/3")


def test_fields_are_read_as_what_they_say_and_whatever_is_not_surely_a_value_is_words():
    def read(_, text):
        value = read_value(text)
        return "words" if value.kind == "words" else f"{value.kind} {value.low:g} {value.high:g} {value.unit}"

    compare_phrases(Path(__file__).parent / "values.txt", read)
    assert {read_value(text).kind for text in ("", "x" * 200)} == {"words"}


def test_a_date_is_a_day_however_it_is_written():
    assert len({read_value(text)[:3] for text in SAME_DAY}) == 1
    assert within(read_value("2026-03-03"), read_value("2026-03"))
    assert within(read_value("2026-03-03"), read_value("2026"))
    assert within(read_value("2026-03-03T09:00"), read_value("2026-03-03"))
    assert within(read_value("2026-03-03"), read_value("2026-03-01 - 2026-03-05"))
    assert not within(read_value("2026-04-01"), read_value("2026-03"))
    assert read_value("2026-03-03T09:00:00+02:00").low == read_value("2026-03-03T07:00:00Z").low


ORDERS: tuple[Order, ...] = ("=", "!=", "<", "<=", ">", ">=")


@pytest.mark.parametrize(
    ("value", "holding", "asked"),
    [
        ("CAD 20-25", ("<=", "!="), "25"), ("CAD 20-30", ("!=",), "25"), ("6h", ("<", "<=", "!="), "1d"),
        ("7:30 AM - 8:30 AM", ("<", "<=", "!="), "10:00 AM"), ("8:00 PM - 9:00 PM", (">", ">=", "!="), "6:00 PM"),
        ("2026-03-01", ("<", "<=", "!="), "2026-03-02"), ("2026-03-01", ("<=", ">=", "!="), "2026-03"),
        ("apple", ("<", "<=", "!="), "banana"), ("banana", ("=", "<=", ">="), "banana"),
        # what cannot be compared has no order
        ("Free", ("!=",), "25"), ("CAD 5", ("!=",), "EUR 9"), ("3 km", ("!=",), "5 kg"), ("7 PM", ("!=",), "25"),
        # numbers that are written are equal if they are written alike, and times if they are the same
        ("19:30", ("=", "<=", ">="), "7:30 PM"), ("2.0", ("<=", ">=", "!="), "2"), ("5", ("!=",), "open"),
    ],
)  # fmt: skip
def test_an_order_holds_of_a_range_when_it_holds_of_all_of_it(value, holding, asked):
    said, against = read_value(value), read_value(asked)
    assert {order for order in ORDERS if holds(said, order, against)} == set(holding)


def test_an_order_may_hold_of_a_part_and_amounts_are_compared_with_numbers():
    assert straddles(read_value("CAD 20-30"), "<=", read_value("25"))
    assert not straddles(read_value("CAD 30-40"), "<=", read_value("25"))
    assert comparable(read_value("€5"), read_value("9"))
    assert within(read_value("open"), read_value("open"))


def test_the_ends_of_a_range_are_values():
    value = read_value("7:30 AM - 8:30 AM")
    assert (value.start.low, value.end.high) == (7.5 * HOUR, 8.5 * HOUR)
    assert value.start.low == value.start.high
    assert holds(value.end, "=", read_value("8:30"))


@given(st.text(max_size=90))
def test_any_text_is_some_value_with_its_ends_in_order(text):
    value = read_value(text)
    assert value.low <= value.high
    assert value.text == text
