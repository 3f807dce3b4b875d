"""What path queries mean, on a small trip: both surface syntaxes, positions, aggregates, types, versions, errors."""

import json
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stitch.errors import InputError
from stitch.retrieve.path import Cut, Forest, PathSyntaxError, parse_query, select, selection_of
from stitch.retrieve.path.forest import Version, version_forest
from stitch.retrieve.path.scorers import ExactScorer
from stitch.retrieve.path.semantics import Scored, ScorerSemantics
from stitch.trees.core.edits import apply
from stitch.trees.core.nodes import Node, Several, Tree


def stop(identity, kind="POI", **fields):
    return Node(identity, kind, fields=fields)


TRIP = Tree(
    Node("plan", "Plan", fields={"title": "Three days"}, children=[
        Node("d1", "Day", fields={"date": "2026-06-30"}, children=[
            stop("p1", name="Welcome reception", time="6:00 PM - 8:00 PM", cost="Free", rating="4"),
            stop("p2", name="Old town walk", time="9:00 AM - 11:00 AM", cost="CAD 10", rating="4.5"),
        ]),
        Node("d2", "Day", fields={"date": "2026-07-01"}, children=[
            Node("p3", "POI", fields={"name": "Conference talks", "time": "9:00 AM - 12:00 PM", "cost": "CAD 30-45",
                                      "tags": Several(["work", "indoor"])}),
            stop("r1", "Meal", name="Lunch", time="12:30 PM", cost="CAD 25", rating="3"),
            stop("p4", name="Conference poster session", time="2:00 PM - 4:00 PM", cost="Free", rating="5"),
        ]),
        Node("d3", "Day", fields={"date": "2026-07-02"}, children=[
            stop("p5", name="Workshop", time="9:00 AM - 1:00 PM", cost="CAD 60", rating="5", after="p4"),
            stop("p6", name="Beach", time="2:00 PM", cost="Free", rating="4"),
            stop("p7", name="Zoo", time="4:00 PM", rating="3"),
        ]),
        Node("d4", "Day", fields={"date": "2026-07-03"}),
    ])
)  # fmt: skip
SCORES = {("conference", "p3"): 0.9, ("conference", "p4"): 0.8, ("conference", "p1"): 0.4, ("poster", "p4"): 0.9,
          ("workshop", "p5"): 0.9, ("fun", "p6"): 0.9, ("fun", "p7"): 0.7, ("fun", "p2"): 0.6}  # fmt: skip


class Told:
    """Scores as a table tells them."""

    def __init__(self):
        self.asked = []

    def scored(self, condition, places, *, forest):
        self.asked.append((condition.words, len(places)))
        return Scored({place: SCORES.get((condition.words, forest.node(place).id), 0.1) for place in places}, 0.5)

    def apart(self, places, *, forest):
        return lambda one, other: float(forest.node(places[one]).type == forest.node(places[other]).type)


def ask(query, cut=None, tree=TRIP, semantics=None):
    return select(query, forest=Forest(tree), semantics=semantics or Told(), cut=cut or Cut())


MEANS = {
    # the paper's queries, and the same in the syntax of its code
    '//Day[avg(/POI[node~="conference"])]': "d2",
    '//Day[avg(POI[node ≈ "conference"])]': "d2",
    '//Day[agg_avg(/POI[node =~ "conference"])]': "d2",
    '//Day[3]/POI[1-[node~="workshop"]]': "p6 p7",
    '//Day[3]/POI[1-node =~ "workshop"]': "p6 p7",
    '//Day[3]/POI[not(node ~= "workshop")]': "p6 p7",
    '//POI[node~="poster"]': "p4",
    '//POI[. ~= "poster"]': "p4",
    '//Day[agg_max(POI[node =~ "poster"])]': "d2",
    '//Day[max(/POI[node ~= "poster"])]': "d2",
    '//Day[1-agg_max(/POI[node =~ "conference"])]': "d4 d3 d1",
    '//Day[agg_min(/POI[node =~ "conference"])]': "d4 d2",
    '//Day[gmean(/POI[node ~= "conference"])]': "d2",
    '//POI[(node ~= "conference" + node ~= "poster")/2]': "p4 p3",
    '//POI[node ~= "conference" * node ~= "poster"]': "p4",
    '//POI[node ~= "conference" · node ~= "poster"]': "p4",
    '//POI[min([node ~= "conference"], [node ~= "poster"])]': "p4",
    '//POI[node ~= "workshop" or node ~= "poster"]': "p4 p5",
    '//POI[max(node ~= "workshop", node ~= "poster")]': "p4 p5",
    '//POI[gmean(node ~= "conference", node ~= "poster")]': "p4",
    # positions are per parent, brackets go from left to right, best-first only in parentheses
    "//Day[3]": "d3",
    "//POI[2]": "p2 p4 p6",
    "(//POI)[2]": "p2",
    "//POI[-1]": "p2 p4 p7",
    "//POI[last()]": "p2 p4 p7",
    "//Day[3]/POI[2:]": "p6 p7",
    "//Day[3]/POI[:2]": "p5 p6",
    "//Day[3]/POI[-2:-1]": "p6 p7",
    "//Day[3]/POI[-3:-1]": "p5 p6 p7",
    "//Day[3]/POI[position() >= 2]": "p6 p7",
    '//Day[3]/POI[node ~= "fun"][1]': "p6",
    '//Day[3]/POI[1][node ~= "fun"]': "",
    '(//POI[node ~= "fun"])[1]': "p6",
    '(//POI[node ~= "fun"])[-1]': "p2",
    '(//POI[node ~= "fun"])[1:2]/following-sibling::POI': "p7",
    "//POI[@rating = 5][1]": "p4 p5",
    "//Day/POI[1][@-1]": "",
    "//Meal[@+1]": "p4",
    "//Meal[@-1]": "p3",
    # axes, and the root that may be left out
    "/Plan/Day[1]": "d1",
    "/Day[1]": "d1",
    "Day[1]": "d1",
    "/": "plan",
    "/*": "plan",
    "//Meal/..": "d2",
    "//Meal/parent::Day": "d2",
    "//Meal/ancestor::*": "plan d2",
    "//Meal/following-sibling::*": "p4",
    "//Day[2]/*[1]/following-sibling::*": "r1 p4",
    "//Day[2]/*[3]/preceding-sibling::*": "p3 r1",
    "//Day[2]/*[3]/preceding-sibling::*[1]": "r1",
    "//Meal/preceding-sibling::POI[1]": "p3",
    "/Plan/desc::Meal": "r1",
    "//Day[4]/*": "",
    "//*//Meal": "r1",
    # types
    "//POI[@cost <= 45]": "p2 p3",
    "//POI[@cost < 45]": "p2",
    "//POI[start(@cost) < 45]": "p2 p3",
    "//POI[end(@cost) > 40]": "p3 p5",
    '//POI[@cost = "Free"]': "p1 p4 p6",
    '//*[@time >= "2:00 PM"]': "p1 p4 p6 p7",
    '//*[@time in "2:00 PM - 5:00 PM"]': "p4 p6 p7",
    '//Day[@date in "2026-07"]': "d2 d3 d4",
    '//Day[@date < "2026-07"]': "d1",
    '//Day[@date in ("2026-06-30", "2026-07-03")]': "d1 d4",
    "//POI[@rating in (3, 4)]": "p1 p6 p7",
    '//POI[contains(@name, "onference")]': "p3 p4",
    '//POI[@tags = "indoor"]': "p3",
    "//POI[not(@cost)]": "p7",
    "//POI[@after]": "p5",
    '//POI[@id = "p5"]': "p5",
    "//Day[POI]": "d1 d2 d3",
    "//Day[some(/POI)]": "d1 d2 d3",
    "//Day[every(/POI[@rating >= 3])]": "d1 d3 d4",
    "//Day[avg(/POI[@rating >= 4])]": "d1 d3 d2",
    "//Day[avg(/POI[@rating >= 4]) >= 0.6]": "d1 d3",
    "//Day[count(/POI) = 2]": "d1 d2",
    "//Day[count(//*) >= 3]": "d2 d3",
    "//Day[sum(/*/@cost) > 60]": "",
    "//Day[sum(/*/@cost) >= 55]": "d2 d3",
    "//Day[min(/POI/@rating) = 3]": "d3",
    "//Day[avg(/POI/@rating) > 4.2]": "d1 d2",
    '//POI[@after = /Plan//POI[@rating = 5]/@id]': "p5",
    '//POI[@id = //POI/@after]': "p4",
    '//POI[../@date = "2026-06-30"]': "p1 p2",
    "//Day[some(root()//Meal)]": "d1 d2 d3 d4",
    # pipes: ties are kept, nodes without a value take no part
    "//POI | top 1 by @rating": "p4 p5",
    "//POI | top 1 by @cost asc": "p2",
    "//POI | top 2 by @cost": "p5 p3",
    "//Day | top 1 by count(/POI)": "d3",
    "//Day | top 1 by max(/POI/@cost)": "d3",
    "//POI[@rating >= 4] | top 3 by @time asc | limit 1": "p2",
    "//Day/* | diverse 2": "p1 r1",
    '//POI[node ~= "fun"] | limit 2': "p6 p7",
    # sets
    "//Meal | //POI[@rating = 3]": "r1 p7",
    "//POI except //POI[@rating >= 4]": "p3 p7",
    "//POI intersect //Day[1]/*": "p1 p2",
    "(//Meal | //POI)[1:2]": "p1 p2",
}  # fmt: skip


@pytest.mark.parametrize("query", MEANS)
def test_a_query_means_and_its_canonical_form_is_read_as_the_same_query(query):
    assert " ".join(ask(query).ids) == MEANS[query]
    read = parse_query(query)
    assert parse_query(str(read)) == read


CANONICAL = {
    '//Day[avg(/POI[node ~= "x"])]': ('//Day[agg_avg(POI[node =~ "x"])]', "//Day[ avg ( /POI [ node ≈ 'x' ] ) ]"),
    "//A[@x or @y]": ("//A[max(@x, @y)]",),
    "//A[@x and @y]": ("//A[min(@x, @y)]", "//A[[@x] and [@y]]"),
    "//A[not(@x)]": ("//A[1-@x]", "//A[1 - (@x)]", "//A[not @x]", "//A[1-[@x]]"),
    "//A[-1]": ("//A[last()]", "//A[position() = last()]"),
    "//A[avg(@x, @y)]": ("//A[(@x + @y)/2]",),
    "//A[@x <= 2]": ("//A[x ≤ 2.0]", "//A[2 >= @x]"),
    "//A[@x != 2]": ("//A[@x ≠ 2]",),
    "//A[@x = 2]": ("//A[@x == 2]",),
    "//A[@x = 2.5]": ("//A[@x = 2.50]",),
    "//A[@x = -2]": ("//A[@x = -2.0]",),
    "//A | top 2 by @x": ("//A | top(2, @x)", "//A | top 2 by x desc"),
    "//A | top 2 by @x asc": ("//A | top 2 by x asc",),
    "//A | diverse 2": ("//A | diverse(2)",),
    "//A[@x = true]": ("//A[@x = true()]", "//A[x = true]"),
    "//A[@x != @False]": ("//A[@x != False]",),
    "//POI[@text = 3]": ("//POI[. = 3]",),
}


@pytest.mark.parametrize("query", CANONICAL)
def test_spellings_of_one_meaning_have_one_canonical_form(query):
    assert {str(parse_query(spelling)) for spelling in (query, *CANONICAL[query])} == {query}


NAMES = st.from_regex(r"[^\W\d][\w]{0,5}", fullmatch=True) | st.sampled_from(["a b", "not", "node", "or", "x-y", "1st"])
TEXTS = st.text(max_size=8).filter(lambda text: text.strip())


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


@st.composite
def conditions(draw, depth=2):
    field = f"@`{draw(NAMES)}`"
    simple = [
        f"{field} ~= {quoted(draw(TEXTS))}",
        f"{field} {draw(st.sampled_from(['=', '<', '>=', '!=']))} {draw(st.integers(-9, 9)) / 4}",
        f"contains({field}, {quoted(draw(TEXTS))})",
        f"{field} in ({quoted(draw(TEXTS))}, 2)",
        f"`{draw(NAMES)}`[{draw(st.sampled_from(['1', '-2', ':3', '@+1']))}]",
    ]
    if not depth:
        return draw(st.sampled_from(simple))
    one, two, three = (draw(conditions(depth - 1)) for _ in range(3))
    how = draw(st.sampled_from(["and", "or", "*"]))
    return draw(
        st.sampled_from(
            [*simple, f"({one}) {how} ({two})", f"not({one})", f"avg({one}, {two}, {three})",
             f"some(//`{draw(NAMES)}`[{one}])", f"count(/B[{one}]) > 1",
             f"({one} + {two})/2", f"{one} {how} {two} or {three}"]
        )
    )  # fmt: skip


@given(NAMES, conditions())
def test_what_is_printed_is_read_as_the_same_query(name, condition):
    read = parse_query(f"//`{name}`[{condition}] | limit 3")
    assert parse_query(str(read)) == read


WRONG = {
    "//Day[": (7, "found the end"),
    "//Day[node ~= conference]": (15, "expected a text in quotes"),
    "//Day[0]": (7, "positions begin with 1"),
    "//Day[1.5]": (7, "whole number"),
    "//Day[@a AND @b]": (10, "small letters"),
    "//Day[AND(@a, @b)]": (7, "small letters"),
    '//Day[starts-with(@a, "x")]': (7, "no starts-with(..) here"),
    '//POI[text() = "x"]': (7, "@text is what a node says itself"),
    "count(//Day)": (1, "no count(..) here"),
    "//Day[sum(@cost) > 3]": (7, "sum(/Option/@cost)"),
    '//Day[@x="abc]': (10, "not closed"),
    "//Day/@x": (1, "not the field 'x'"),
    "(//Day)[1]/A/@x": (1, "not the field 'x'"),
    "//A[count(/B)]": (14, "a comparison"),
    "//A[@x * 2 > 30]": (12, "said by the query itself"),
    '//A["x" in ("x", "y")]': (9, "said by the query itself"),
    "//A[sum(/B) > 3]": (5, "takes a path to a field"),
    "//A[count(/B/@x) > 3]": (5, "counts nodes"),
    "//A[avg(/B/@c)]": (5, "compare it"),
    "//A[some(@x, @y)]": (5, "takes one path"),
    "//A[gmean(/B/@c) > 1]": (5, "a path to nodes"),
    "//A[avg(@x = 1) > 1]": (5, "give it a path"),
    "//A[(@x+@y)/3]": (13, "divided by 2"),
    '//A[name ~= ""]': (13, "no words"),
    '//A[3 ~= "x"]': (7, "compares `node`"),
    "//A[@+0]": (5, "one place away"),
    "//A[last()+1]": (11, "found '+1]'"),
    "//A[last()1]": (11, "nothing comes after last()"),
    "//A[position() != 2]": (5, "compared with"),
    "//A[position() < 1]": (5, "no position comes before 1"),
    "//A[B/@x/C]": (9, "nothing can follow"),
    "//A[B//@x]": (6, "whose field"),
    '//A | top 3 by "x"': (5, "name what to order by"),
    "//A | top 0 by @x": (11, "from 1 on"),
    "": (1, "found the end"),
    "[" * 60: (51, "brackets are open"),
    "//A[" + "not " * 60 + "@x]": (5, "negations in a row"),
    "//A" * 4000: (10_001, "characters"),
    '//A[node ~= "\ud800"]': (14, "half of a character"),
}


def test_an_error_points_at_the_character_and_says_what_is_wrong():
    for query, (character, said) in WRONG.items():
        with pytest.raises(PathSyntaxError, match=f"at character {character}: ") as refused:
            parse_query(query)
        assert said in str(refused.value), query
        assert refused.value.position == character - 1
        assert "⟨here⟩" in refused.value.hint
        f"{refused.value} {refused.value.hint}".encode()


def test_an_unknown_type_is_named_with_near_ones():
    with pytest.raises(InputError, match="no node has the type 'Dya'") as refused:
        ask("//Dya[2]/POI")
    assert refused.value.hint == "did you mean Day"
    with pytest.raises(InputError) as refused:
        ask("//Xylophone")
    assert refused.value.hint == "there are Day, Meal, POI, Plan"


LONG = Tree(
    Node("r", "R", children=[
        Node(f"d{n}", "Day", children=[stop(f"a{n}"), stop(f"m{n}", "Meal"), stop(f"b{n}")][: n % 4]) for n in range(90)
    ])
)  # fmt: skip


@pytest.mark.parametrize(
    ("query", "kinds"),
    [
        ("/Day/POI", {1: "a", 2: "a", 3: "ab"}),
        ("/Day/POI[1]", {1: "a", 2: "a", 3: "a"}),
        ("/Day/POI[2]", {3: "b"}),
        ("/Day/*[2]", {2: "m", 3: "m"}),
        ("/Day/*[-1]", {1: "a", 2: "m", 3: "b"}),
        ("//Day/Meal", {2: "m", 3: "m"}),
        ("/Day//POI[2]", {3: "b"}),
    ],
)
def test_children_of_many_nodes_are_those_of_each(query, kinds):
    every = [f"{kind}{n}" for n in range(90) for kind in kinds.get(n % 4, "")]
    assert list(ask(query, tree=LONG).ids) == every


def test_what_costs_nothing_is_decided_first():
    told = Told()
    ask('//POI[node ~= "conference"][@rating = 5]', semantics=told)
    assert told.asked == [("conference", 2)]
    told = Told()
    ask('//POI[node ~= "conference" and @rating = 5]', semantics=told)
    assert told.asked == [("conference", 2)]
    told = Told()
    ask('//Day[avg(/POI[node ~= "conference"])]', semantics=told)
    assert told.asked == [("conference", 7)]


def test_the_trace_tells_how_many_nodes_were_scored_for_each_condition():
    told = [stage["scored"] for stage in ask('//POI[node ~= "fun"][node ~= "poster"]').as_json()["trace"]]
    assert [each for each in told if each] == [{'node ~= "fun"': 7}, {'node ~= "poster"': 3}]
    [twice] = [
        stage.scored for stage in ask('//Day[POI[1][node ~= "fun"] or Meal[node ~= "fun"]]').trace if stage.scored
    ]
    assert twice == {'node ~= "fun"': 4}


def test_threshold_margin_and_k_are_settings():
    assert ask('//POI[node ~= "conference"]', Cut(threshold=0.85)).ids == ("p3",)
    assert ask('//POI[node ~= "conference"]', Cut(threshold=0.3)).ids == ("p3", "p4", "p1")
    assert ask('//POI[node ~= "conference"]', Cut(threshold=0.3, margin=0.2)).ids == ("p3", "p4")
    assert ask('//POI[node ~= "conference"]', Cut(k=1)).ids == ("p3",)


@pytest.mark.parametrize(
    "query", ["//POI[@tags]", "//Day[9]", '//POI[node ~= "fun"][node ~= "poster"]', "//Day | top 1 by @date"]
)
def test_a_selection_is_made_again_of_what_was_written_of_it(query):
    found = ask(query)
    again = selection_of(json.loads(json.dumps(found.as_json())))
    assert again.as_json() == found.as_json()
    assert (again.ids, again.explain()) == (found.ids, found.explain())
    assert [node.fields for node in again] == [node.fields for node in found]


def test_without_a_threshold_a_condition_still_does_not_hold_where_nothing_speaks_for_it():
    exact = ScorerSemantics(ExactScorer())
    assert ask('//POI[name ~= "zoo"]', Cut(threshold=0.0), semantics=exact).ids == ("p7",)
    assert ask("//POI[@rating = 5]", Cut(threshold=0.0)).ids == ("p4", "p5")


AFTER = apply(TRIP, [{"op": "delete", "id": "p4"}])
LAST = apply(AFTER, [{"op": "set", "id": "p3", "field": "cost", "old": "CAD 30-45", "value": "CAD 99"}])
VERSIONS = version_forest(
    [
        Version("v1", 1, "2026-06-01T10:00:00", "ann", "First plan", None),
        Version("v2", 2, "2026-06-02T10:00:00", "bo", "Delete poster session for a client meeting", "v1"),
        Version("v3", 3, "2026-06-03T10:00:00", "ann", "Dearer talks", "v2"),
    ],
    tree={"v1": TRIP, "v2": AFTER, "v3": LAST}.__getitem__,
)


def versions(query):
    return select(query, forest=VERSIONS, semantics=ScorerSemantics(ExactScorer()))


@pytest.mark.parametrize("cut", [{"threshold": 7}, {"threshold": -0.1}, {"margin": 2}, {"k": 0}])
def test_a_cut_out_of_its_bounds_is_refused(cut):
    with pytest.raises(InputError, match=next(iter(cut))):
        Cut(**cut)


def test_content_is_the_node_where_no_node_has_such_a_field():
    found = ask('//POI[content =~ "poster"]')
    assert found.ids == ("p4",)
    assert "no node has the field 'content': it is read as `node`" in found.explain()
    semantics = ScorerSemantics(ExactScorer())
    assert ask('//POI[content =~ "zoo"]', semantics=semantics).ids == ("p7",)
    notes = Tree(Node("r", "R", children=[stop("a", content="zoo"), stop("b", name="zoo")]))
    assert ask('//POI[content =~ "zoo"]', tree=notes, semantics=semantics).ids == ("a",)


def test_a_tree_of_5000_levels_is_asked_without_recursion():
    node = Node("leaf", "B", fields={"x": "1"})
    for level in range(5_000):
        node = Node(f"n{level}", "A", children=[node])
    assert ask("//B[@x = 1]/ancestor::A[last()]", tree=Tree(node)).ids == ("n4999",)
    assert ask("//A[B]", tree=Tree(node)).ids == ("n0",)


def test_the_readme_shows_the_rules_of_the_grammar():
    room = files("stitch.retrieve.path")
    grammar = room.joinpath("grammar.lark").read_text(encoding="utf-8")
    rules = grammar[: grammar.index("\nAXIS")].strip()
    assert rules in room.joinpath("README.md").read_text(encoding="utf-8")


def exactly(query, tree=TRIP):
    return ask(query, tree=tree, semantics=ScorerSemantics(ExactScorer()))


SAID = Tree(
    Node("p", "Plan", children=[
        stop("a", window="2026-01-05 - 2026-02-13", name="Coat", isWaterproof="yes"),
        stop("b", window="2026-02", isWaterproof="no"),
    ])
)  # fmt: skip


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ('start(@window) = "2026-01-05"', ("a",)),
        ('end(@window) = "2026-02-13"', ("a",)),
        ('end(@window) = "2026-02-28"', ("b",)),
        ('start(@window) <= "2026-01-05"', ("a",)),
        ('start(@window) < "2026-01-05"', ()),
        ('node ~= "waterproof"', ("a",)),
    ],
)
def test_ends_of_ranges_of_days_are_days_and_a_field_that_says_yes_is_read_by_its_name(condition, found):
    assert exactly(f"//POI[{condition}]", SAID).ids == found


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ('//Day[node ~= "workshop"]', ("d3",)),
        ('//Day[own ~= "workshop"]', ()),
        ('//POI[name ~= "zoo"]', ("p7",)),
        ('//POI[title ~= "zoo"]', ()),
    ],
)
def test_a_field_an_own_text_and_what_is_contained_are_asked_apart(query, found):
    assert exactly(query).ids == found


@pytest.mark.parametrize(
    ("query", "scores"),
    [
        ('//POI[node ~= "poster"] | //POI[node ~= "conference"]', {"p3": 0.9, "p4": 0.9}),
        ('//POI[node ~= "conference"][node ~= "poster"]', {"p4": 0.72}),
        ('//POI[node ~= "fun"]/..', {"d3": 0.9, "d1": 0.6}),
        ('//POI[node ~= "fun"]/ancestor::Plan', {"plan": 0.9}),
        ('//POI[node ~= "fun"]/preceding-sibling::POI', {"p5": 0.9, "p6": 0.7, "p1": 0.6}),
        ('//POI[node ~= "conference"]/../POI', {"p3": 0.9, "p4": 0.9}),
    ],
)
def test_scores_of_brackets_are_multiplied_and_of_several_ways_to_a_node_the_best_counts(query, scores):
    found = {node.id: node.score for node in ask(query)}
    assert {id_: score for id_, score in found.items() if id_ in scores} == pytest.approx(scores)


MIXED = Tree(Node("r", "R", children=[stop("a", x="7 PM"), stop("b", x="8 PM"), stop("c", x="4")]))


@pytest.mark.parametrize(
    ("query", "note"),
    [
        ("//POI[@cost < 100]", "@cost is mixed, no number: 'Free'"),
        ("//POI[@cost < 40]", "a part of it only: 'CAD 30-45'"),
        ("//POI | top 1 by @rating", "1 more tie with the last of 1 and are kept"),
        ("//POI | top 1 by @cost", "no value to order by: 'Free' (4 nodes)"),
        ("//POI | top 1 by @x", "values of several kinds: ordered are those of kind time"),
        ("//Day[every(/POI[@rating])]", "every(..) of nothing is 1"),
        ("//Day[sum(/*/@cost) > 1]", "no number to add up"),
        ('//POI[@name = "beach"]', "@name says it in other letters: 'Beach'"),
        ('//POI[@name in ("beach", "zoo")]', "@name says it in other letters: 'Beach', 'Zoo'"),
        ('//POI[@rating > "high"]', "'high' is no number, as @rating is"),
        ("//Day[@date = max(//Day/@date)]", "root()//.. asks the whole tree"),
        ("//POI[@rating > 2][@ratign > 4]", "no node has the field 'ratign': did you mean rating"),
        ('//Day[2]/POI[node ~= "fun"]', 'nothing is found: no node passes [node ~= "fun"]; the nearest has 0.10'),
        ('//Day[2]/POI[node ~= "fun"]', "fell short: 0.10  /Plan/Day[2]/POI[1]  (p3)"),
        ("//Day[4]/POI", "nothing is found"),
    ],
)
def test_the_trace_tells_what_failed_and_why(query, note):
    assert note in ask(query, tree=MIXED if "@x" in query else TRIP).explain()


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ('/Version[message ~= "poster session"]/preceding-sibling::Version[1]//Day[2]/POI', "p3 p4"),
        ('/Version[message ~= "poster session"][@-1]//Day[2]/POI', "p3 p4"),
        ("/Version[-1]//Day[2]/POI", "p3"),
        ('/Version[@time < "2026-06-02"]/Plan/Day[2]/Meal', "r1"),
        ('/Version[@author = "ann"][2]/Day[1]', "d1"),
        ("//POI[@rating = 5]/ancestor::Version", "v1 v2 v3"),
        ("/Version[1]//POI except /Version[-1]//POI", "p4"),
        # what a version took away is found by asking for it in words, and not by its number
        ('//Version[message ~= "delete poster session"]//POI[name ~= "poster"]', "p4"),
        ('//Version[message ~= "dearer"]//POI[name ~= "poster"]', ""),
        ('/Version[2]//POI[@name = "Conference poster session"]', ""),
        ("/Version[2]//POI except /Version[1]//POI", ""),
    ],
)
def test_versions_are_asked_one_by_one_and_all_at_once(query, found):
    assert " ".join(versions(query).ids) == found


def test_a_node_says_in_which_versions_it_was_found():
    [talks] = versions('//Version//POI[@cost > 50][@id = "p3"]')
    assert (talks.version, talks.versions, talks.path) == ("v3", ("v3",), "/Plan/Day[2]/POI[1]")
    [lunch] = versions("//Meal")
    assert (lunch.versions, lunch.as_json()["version"]) == (("v1", "v2", "v3"), "v3")
    gone = versions('//Version[message ~= "delete poster session"]//POI[name ~= "poster"]')
    assert gone[0].version == "v2"
    assert "what they took away" in gone.explain()
