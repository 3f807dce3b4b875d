"""Structure and types mean what a real XPath engine says they mean, on random trees and queries."""

import random
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from stitch.retrieve.path import Forest, select
from stitch.trees import Node, Tree

TYPES = ("A", "B", "C")
WORDS = ("red", "green", "a red one", "blue")
QUICK, FULL = 500, 20_000


class NoWords:
    """Nothing here asks for words."""

    def scored(self, condition, places, *, forest):
        raise AssertionError(f"{condition} was scored")

    def apart(self, places, *, forest):
        raise AssertionError("nodes were compared")


NO_WORDS: Any = NoWords()


def random_tree(drawn):
    root = ET.Element("R", id="n0")
    elements = [root]
    for number in range(drawn.randint(0, 25)):
        element = ET.SubElement(drawn.choice(elements[-8:]), drawn.choice(TYPES), id=f"n{number + 1}")
        if drawn.random() < 0.7:
            element.set("x", str(drawn.randint(0, 4)))
        if drawn.random() < 0.5:
            element.set("w", drawn.choice(WORDS))
        elements.append(element)
    return root


def as_tree(element):
    fields = {name: said for name, said in element.attrib.items() if name != "id"}
    return Node(element.get("id"), element.tag, fields=fields, children=[as_tree(child) for child in element])


def type_test(drawn):
    return drawn.choice((*TYPES, *TYPES, "*"))


def position(drawn):
    """A position as we write it, and as XPath does."""
    first, last = sorted((drawn.randint(1, 4), drawn.randint(1, 4)))
    return drawn.choice(
        (
            (f"[{first}]", f"[{first}]"),
            ("[last()]", "[last()]"),
            ("[-2]", "[last() - 1]"),
            ("[last()-1]", "[last() - 1]"),
            (f"[{first}:{last}]", f"[position() >= {first} and position() <= {last}]"),
            (f"[:{last}]", f"[position() <= {last}]"),
            (f"[{first}:]", f"[position() >= {first}]"),
            ("[-2:]", "[position() >= last() - 1]"),
            ("[-3:-2]", "[position() >= last() - 2 and position() <= last() - 1]"),
            (f"[position() < {last + 1}]", f"[position() < {last + 1}]"),
        )
    )


def condition(drawn, depth):
    order, number = drawn.choice(("=", "!=", "<", "<=", ">", ">=")), drawn.randint(0, 4)
    inner = relative(drawn, depth - 1) if depth else ("B", "B")
    simple = [
        (f"@x {order} {number}",) * 2,
        (f"{number} {order} @x",) * 2,
        (f'@w = "{drawn.choice(WORDS)}"',) * 2,
        (f'@w != "{drawn.choice(WORDS)}"',) * 2,
        ('contains(@w, "red")',) * 2,
        ("@w",) * 2,
        ('@w in ("red", "blue")', '@w = ("red", "blue")'),
        ("@x in (1, 3)", "@x = (1, 3)"),
        inner,
        (f"../@x {order} {number}",) * 2,
        ("@x = //B/@x",) * 2,
    ]
    if not depth:
        return drawn.choice(simple)
    one, other = condition(drawn, depth - 1), condition(drawn, depth - 1)
    path, xpath = relative(drawn, depth - 1)
    each = f"$e{drawn.randrange(10**6)}"
    return drawn.choice(
        (
            *simple,
            (f"not({one[0]})", f"not({one[1]})"),
            (f"1 - ({one[0]})", f"not({one[1]})"),
            (f"({one[0]}) and ({other[0]})", f"({one[1]}) and ({other[1]})"),
            (f"max({one[0]}, {other[0]})", f"({one[1]}) or ({other[1]})"),
            (f"count({path}) {order} {number}", f"count({xpath}) {order} {number}"),
            (f"sum({path}/@x) {order} {number}", f"sum({xpath}/@x) {order} {number}"),
            (f"max({path}/@x) {order} {number}", f"max({xpath}/@x) {order} {number}"),
            (f"every({path}[{one[0]}])", f"every {each} in {xpath} satisfies {each}[{one[1]}]"),
            (f"some({path}[{one[0]}])", f"some {each} in {xpath} satisfies {each}[{one[1]}]"),
            (f"{path}/@x {order} {number}", f"{xpath}/@x {order} {number}"),
        )
    )


def brackets(drawn, depth):
    ours = theirs = ""
    for _ in range(drawn.choice((0, 0, 1, 1, 2))):
        if drawn.random() < 0.4:
            one = position(drawn)
        else:
            said = condition(drawn, depth)
            one = f"[{said[0]}]", f"[{said[1]}]"
        ours, theirs = ours + one[0], theirs + one[1]
    return ours, theirs


def step(drawn, depth):
    axis = drawn.choice(
        ("", "", "", "child::", "parent::", "ancestor::", "following-sibling::", "preceding-sibling::", "descendant::",
         "ancestor-or-self::", "descendant-or-self::", "self::")
    )  # fmt: skip
    ours, theirs = brackets(drawn, depth)
    test = type_test(drawn)
    if drawn.random() < 0.1:
        return "..", "parent::*"  # of the root, XPath has a document node above it; we have nothing
    return f"{axis}{test}{ours}", f"{axis}{test}{theirs}"


def relative(drawn, depth):
    ours, theirs = step(drawn, depth)
    ours, theirs = (".//" + ours, ".//" + theirs) if drawn.random() < 0.2 else (ours, theirs)
    for _ in range(drawn.choice((0, 0, 1))):
        separator, further = drawn.choice(("/", "//")), step(drawn, depth)
        ours, theirs = f"{ours}{separator}{further[0]}", f"{theirs}{separator}{further[1]}"
    return ours, theirs


def absolute(drawn):
    ours, theirs = drawn.choice((("/R", "/R"), ("/*", "/*"), ("", "")))
    for number in range(drawn.randint(1, 3)):
        separator = "//" if number == 0 and not ours else drawn.choice(("/", "//"))
        further = step(drawn, 2)
        ours, theirs = f"{ours}{separator}{further[0]}", f"{theirs}{separator}{further[1]}"
    return ours, theirs


def query(drawn):
    ours, theirs = absolute(drawn)
    if drawn.random() < 0.2:  # elementpath does not sort longer paths in parentheses
        test, said = type_test(drawn), brackets(drawn, 1)
        ours, theirs = f"//{test}{said[0]}", f"//{test}{said[1]}"
        where, further = position(drawn), step(drawn, 1)
        ours, theirs = f"({ours}){where[0]}/{further[0]}", f"({theirs}){where[1]}/{further[1]}"
    elif drawn.random() < 0.3:
        operator, other = drawn.choice(("|", "except", "intersect")), absolute(drawn)
        ours, theirs = f"{ours} {operator} {other[0]}", f"{theirs} {operator} {other[1]}"
    return ours, theirs


def compare(cases, *, seed):
    elementpath = pytest.importorskip("elementpath")  # which takes a third of a second
    drawn = random.Random(seed)
    answered = 0
    for _ in range(cases):
        root = random_tree(drawn)
        ours, theirs = query(drawn)
        found = {each.get("id") for each in elementpath.select(ET.ElementTree(root), theirs)}
        expected = [each.get("id") for each in root.iter() if each.get("id") in found]
        try:
            got = list(select(ours, forest=Forest(Tree(as_tree(root))), semantics=NO_WORDS).ids)
        except Exception as error:
            if "no node has the type" in str(error) and not expected:
                continue
            raise AssertionError(f"{ours}   {ET.tostring(root).decode()}") from error
        assert got == expected, f"{ours}   {theirs}   {ET.tostring(root).decode()}"
        answered += bool(expected)
    return answered / cases


def test_hundreds_of_random_queries_find_what_xpath_finds():
    assert compare(QUICK, seed=7) > 0.2


@pytest.mark.slow
def test_many_thousands_of_random_queries_find_what_xpath_finds():
    assert compare(FULL, seed=random.randrange(10**9)) > 0.2
