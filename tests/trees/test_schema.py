"""A schema says what a tree may hold, and guards what is done to it."""

import json
from pathlib import Path

import pytest

from doubles.golden import compare_answers, compare_phrases
from stitch.errors import EditRefusedError, InputError
from stitch.trees import Tree
from stitch.trees.core.edits import apply
from stitch.trees.core.operations import Add, Delete, Move, SetField
from stitch.trees.core.reading import read_text
from stitch.trees.core.schema import infer, read_schema

HERE = Path(__file__).parent
WEEK = """
- Plan: Week {#p}
  - Day: Mon {#d1}
    - date: 2026-03-02
    - POI: Zoo {#a}
      - cost: CAD 20
    - POI: Park {#b}
      - cost: CAD 5-10
    - POI: Pool {#c}
      - cost: CAD 8
      - status: open
  - Day: Tue {#d2}
    - date: 2026-03-03
  - Day: Wed {#d3}
    - date: 2026-03-04
"""
STRICT = """
root: Plan
types:
  Plan: {children: [Day], open: true}
  Day: {children: any, fields: {name: words, date: date}}
  POI:
    fields:
      name: {kind: words, required: true}
      cost: money
      status: {values: [open, done]}
"""


@pytest.fixture
def week():
    return read_text(WEEK)


def refusal(tree, schema, *operations):
    with pytest.raises(EditRefusedError) as refused:
        apply(tree, operations, schema=schema)
    assert "nothing was changed" in refused.value.message
    return refused.value.message


def test_a_schema_is_inferred_from_a_tree_and_says_its_types_children_and_kinds(week):
    assert infer(week).dump() == {
        "root": "Plan",
        "types": {
            "Plan": {"children": ["Day"], "fields": {"name": "words"}},
            "Day": {"children": ["POI"], "fields": {"name": "words", "date": "date"}},
            "POI": {"fields": {"name": "words", "cost": "money", "status": "words"}},
        },
        "open": True,
    }


def test_an_inferred_schema_lets_through_what_is_like_the_tree_and_fields_that_are_new(week):
    schema = infer(week)
    after = apply(
        week,
        [
            SetField("a", "cost", 10),
            SetField("b", "cost", "Free"),
            SetField("c", "cost", None),
            SetField("d2", "note", "rain"),
            Add("d2", {"type": "POI", "fields": {"name": "Fair", "cost": "$4"}}),
            Move("c", parent="d3"),
            Delete("d1"),
        ],
        schema=schema,
    )
    schema.check(after)


def test_what_breaks_an_inferred_schema_is_refused_with_the_reason(week):
    def reason(line):
        return [refusal(week, infer(week), SetField("d1", "name", "Monday"), json.loads(line))]

    compare_answers(HERE / "refused_by_schema.txt", reason)


def test_a_schema_that_a_person_wrote_is_closed_and_knows_required_fields_and_values(week):
    schema = read_schema(STRICT)
    schema.check(week)
    assert "lacks its field 'name'" in refusal(week, schema, SetField("a", "name", None))
    assert "a has the field 'costs', and its type 'POI' has none of this name; 'cost' is near" in refusal(
        week, schema, SetField("a", "costs", "$1")
    )
    assert "is none of 'open', 'done': 'late'" in refusal(week, schema, SetField("a", "status", "late"))
    apply(week, [SetField("a", "status", "done"), SetField("p", "any", "x"), Add("d1", {"type": "Day"})], schema=schema)
    assert read_schema(STRICT) == read_schema(str(schema.dump()))


def test_a_tree_that_is_only_a_root_may_become_anything():
    root = read_text("<List/>")
    schema = infer(root)
    assert schema.dump() == {"root": "List", "types": {"List": {"children": "any"}}, "open": True, "new_types": True}
    apply(root, [Add(root.root, {"type": "Task", "name": "x", "children": [{"type": "Note"}]})], schema=schema)


def test_a_tree_that_does_not_keep_to_a_schema_is_refused(week):
    schema = read_schema(STRICT)
    wrong = "".join(f"<POI id='n{number}'/>" for number in range(9))
    with pytest.raises(InputError, match=r"the root is a Day and no Plan; .* and 1 more") as refused:
        schema.check(read_text(f"<Day>{wrong}</Day>"))
    assert refused.value.message.count("lacks its field 'name'") == 4
    schema.check(Tree(week.root))


def test_what_is_no_schema_is_told():
    def told(_, text):
        with pytest.raises(InputError) as refused:
            read_schema(text)
        said = refused.value.message
        return said.partition(":")[0] if said.startswith("the schema is no YAML:") else said

    compare_phrases(HERE / "no_schema.txt", told)
