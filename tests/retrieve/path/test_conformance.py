"""What path queries mean, on a small trip: both surface syntaxes, positions, aggregates, types, versions, errors."""

import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doubles.golden import compare_answers
from stitch.errors import InputError
from stitch.retrieve.path import Cut, Forest, PathSyntaxError, parse_query, select, selection_of
from stitch.retrieve.path.forest import Version, version_forest
from stitch.retrieve.path.scorers import ExactScorer
from stitch.retrieve.path.semantics import Scored, ScorerSemantics
from stitch.trees.core.edits import apply
from stitch.trees.core.nodes import Node, Several, Tree

HERE = Path(__file__).parent


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


class TableScorer:
    """Scores as a table tells them."""

    def __init__(self):
        self.asked = []

    def scored(self, condition, places, *, forest):
        self.asked.append((condition.words, len(places)))
        return Scored({place: SCORES.get((condition.words, forest.node(place).id), 0.1) for place in places}, 0.5)

    def apart(self, places, *, forest):
        return lambda one, other: float(forest.node(places[one]).type == forest.node(places[other]).type)


def ask(query, cut=None, tree=TRIP, semantics: Any = None):
    scored: Any = semantics or TableScorer()
    return select(query, forest=Forest(tree), semantics=scored, cut=cut or Cut())


def test_queries_mean_what_they_meant_and_canonical_forms_are_read_as_the_same():
    def meaning(query):
        read = parse_query(query)
        assert parse_query(str(read)) == read
        return [" ".join(ask(query).ids) or "nothing"]

    compare_answers(HERE / "means.txt", meaning)


def test_spellings_of_one_meaning_have_one_canonical_form():
    form = ""
    for line in (HERE / "spellings.txt").read_text(encoding="utf-8").splitlines():
        form = form if line.startswith("    ") else line
        assert str(parse_query(line.strip())) == form


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


def refusal(query):
    with pytest.raises(PathSyntaxError) as refused:
        parse_query(query)
    f"{refused.value} {refused.value.hint}".encode()
    assert f"at character {refused.value.position + 1}: " in refused.value.message
    return [refused.value.message, refused.value.hint]


def test_an_error_points_at_the_character_and_says_what_is_wrong():
    compare_answers(HERE / "wrong.txt", refusal)


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("", "at character 1: .* found the end"),
        ("[" * 60, "at character 51: .*brackets are open"),
        ("//A[" + "not " * 60 + "@x]", "at character 5: .*negations in a row"),
        ("//A" * 4000, "at character 10001: .*characters"),
        ('//A[node ~= "\ud800"]', "at character 14: .*half of a character"),
    ],
)
def test_what_is_empty_or_endless_is_an_error_too(query, said):
    assert re.search(said, refusal(query)[0])


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
    told = TableScorer()
    ask('//POI[node ~= "conference"][@rating = 5]', semantics=told)
    assert told.asked == [("conference", 2)]
    told = TableScorer()
    ask('//POI[node ~= "conference" and @rating = 5]', semantics=told)
    assert told.asked == [("conference", 2)]
    told = TableScorer()
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


def test_ends_of_ranges_own_texts_and_fields_that_say_yes_are_asked_apart():
    def found(query):
        return [
            " ".join(exactly(query, SAID if "@window" in query or "waterproof" in query else TRIP).ids) or "nothing"
        ]

    compare_answers(HERE / "exact.txt", found)


MIXED = Tree(Node("r", "R", children=[stop("a", x="7 PM"), stop("b", x="8 PM"), stop("c", x="4")]))


def test_nodes_have_scores_and_the_trace_tells_what_failed_and_why():
    """Scores of brackets are multiplied; of several ways to a node the best counts."""

    def told(query):
        found = ask(query, tree=MIXED if "@x" in query else TRIP)
        scores = ", ".join(f"{node.id} {node.score:.4g}" for node in found)
        return [scores or "nothing", *found.explain().splitlines()]

    compare_answers(HERE / "explained.txt", told)


def test_versions_are_asked_one_by_one_and_all_at_once():
    compare_answers(HERE / "versions.txt", lambda query: [" ".join(versions(query).ids) or "nothing"])


def test_a_node_says_in_which_versions_it_was_found():
    [talks] = versions('//Version//POI[@cost > 50][@id = "p3"]')
    assert (talks.version, talks.versions, talks.path) == ("v3", ("v3",), "/Plan/Day[2]/POI[1]")
    [lunch] = versions("//Meal")
    assert (lunch.versions, lunch.as_json()["version"]) == (("v1", "v2", "v3"), "v3")
    gone = versions('//Version[message ~= "delete poster session"]//POI[name ~= "poster"]')
    assert gone[0].version == "v2"
    assert "what they took away" in gone.explain()
