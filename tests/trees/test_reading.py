"""Trees of files: what each format says, that it comes back, and what no file can do to whoever reads it."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doubles.golden import compare_phrases
from stitch.errors import InputError
from stitch.trees import Node, Tree
from stitch.trees.core.making import MAX_DEPTH
from stitch.trees.core.reading import FORMATS, read_mapping, read_text, read_tree, write_tree

NAMES = st.from_regex(r"[A-Za-zé東][\w.-]{0,6}", fullmatch=True).filter(lambda name: name != "id")
TEXTS = st.text(max_size=20).map(lambda text: read_mapping({"type": "X", "t": text}).root.fields["t"])
NODES: st.SearchStrategy = st.recursive(
    st.builds(lambda name, fields: (name, fields, []), NAMES, st.dictionaries(NAMES, TEXTS, max_size=3)),
    lambda below: st.builds(
        lambda name, fields, children: (name, fields, children),
        NAMES, st.dictionaries(NAMES, TEXTS, max_size=3), st.lists(below, max_size=3),
    ),
    max_leaves=8,
)  # fmt: skip


def made(parts, path="n"):
    type_, fields, children = parts
    return Node(path, type_, fields=fields, children=[made(each, f"{path}.{at}") for at, each in enumerate(children)])


@pytest.mark.parametrize("form", FORMATS)
@given(parts=NODES)
@settings(max_examples=3 * settings().max_examples)
def test_what_is_written_is_read_as_the_same_tree(form, parts):
    tree = Tree(made(parts))
    assert read_text(write_tree(tree, form=form), form=form) == tree


@pytest.mark.parametrize("form", FORMATS)
@given(given=st.text(st.characters(codec="utf-8") | st.sampled_from('{}#"\\ '), min_size=1, max_size=30))
def test_an_id_comes_back_whatever_signs_it_has(form, given):
    try:
        tree = read_mapping({"type": "Plan", "id": given, "name": "x"})
    except InputError:
        return  # nothing that can be an id is left of it
    assert read_text(write_tree(tree, form=form), form=form) == tree


def test_names_that_xml_does_not_allow_come_back_too():
    tree = Tree(Node("a", "A\u0149", fields={"東京": "x", "_x0041_": "y", "a_x_b": "z"}))
    assert read_text(write_tree(tree, form="xml")) == tree


def test_an_element_is_a_node_its_attributes_are_fields_and_its_id_is_none():
    tree = read_text('<Plan id="p"><Title>A <b>big</b> trip</Title><POI cost="CAD 10" due-date="x"/></Plan>')
    title, poi = tree.root.children
    assert tree.root == Node("p", "Plan", children=[title, poi])
    assert title.fields == {"text": "A trip"}
    assert (title.children[0].type, title.children[0].fields) == ("b", {"text": "big"})
    assert poi.fields == {"cost": "CAD 10", "due-date": "x"}


def test_a_dictionary_says_fields_and_children_by_what_its_keys_hold():
    tree = read_mapping(
        {
            "title": "Week", "open": True, "size": 1.50, "none": None, "tags": ["a", 2],
            "due date": "2026-03-01", "days": [{"name": "Mon", "meals": [{"id": 7, "type": "Meal"}]}, "Tue"],
            "owner": {"name": "Ann"},
        }
    )  # fmt: skip
    root = tree.root
    assert root.type == "Root"
    assert root.fields == {"title": "Week", "open": "true", "size": "1.5", "tags": "a, 2", "due_date": "2026-03-01"}
    assert [child.type for child in root.children] == ["days", "days", "owner"]
    assert root.children[0].children[0] == Node("7", "Meal")
    assert root.children[1].fields == {"text": "Tue"}


def test_values_of_json_and_yaml_are_as_they_are_written():
    assert read_text('{"a": 1.10, "b": 12345678901234567890, "c": null}').root.fields == {
        "a": "1.10",
        "b": "12345678901234567890",
    }
    assert read_text("a: 1.10\nb: 2026-03-01\nc: yes\nd: ~\ne: '~'\nf: |\n  two\n  lines\n").root.fields == {
        "a": "1.10", "b": "2026-03-01", "c": "yes", "e": "~", "f": "two\nlines\n",
    }  # fmt: skip
    for text in ('["a", {"type": "X"}]', "- a\n- type: X\n"):
        tree = read_text(text, form="json" if text[0] == "[" else "yaml")
        assert [(each.type, dict(each.fields)) for each in tree.root.children] == [("Item", {"text": "a"}), ("X", {})]


def test_an_outline_of_headings_bullets_and_tasks_is_a_tree():
    tree = read_text(
        "# Plan: Ten days {#p}\n\nTwo lines\nof text.\n\n- days: 10\n## Monday\n1. POI: Zoo\n   - cost: CAD 45\n"
        '   - [ ] Buy tickets\n   - [x] Task: Call\n* /meal: "quoted: {#no}"\n  - @Note: x\n# Other\n'
    )
    plan, other = tree.root.children
    assert (plan.id, plan.type, dict(plan.fields)) == (
        "p", "Plan", {"name": "Ten days", "text": "Two lines\nof text.", "days": "10"},
    )  # fmt: skip
    (monday,) = plan.children
    zoo, meal = monday.children
    assert (monday.type, monday.fields["name"]) == ("Section", "Monday")
    assert (zoo.type, dict(zoo.fields)) == ("POI", {"name": "Zoo", "cost": "CAD 45"})
    assert [(each.type, dict(each.fields)) for each in zoo.children] == [
        ("Item", {"name": "Buy tickets", "done": "false"}),
        ("Task", {"name": "Call", "done": "true"}),
    ]
    assert (meal.type, dict(meal.fields)) == ("meal", {"name": "quoted: {#no}", "Note": "x"})
    assert (other.type, tree.root.type) == ("Section", "Root")


def test_ids_that_a_file_does_not_give_are_the_same_each_time_and_survive_a_new_sibling():
    text = "- Plan: Trip\n  - POI: Zoo\n  - POI: Zoo\n"
    one, two = read_text(text), read_text(text)
    assert one == two
    assert len({node.id for node in one}) == 3
    more = read_text("- Plan: Trip\n  - POI: Park\n  - POI: Zoo\n  - POI: Zoo\n")
    assert [node.id for node in more.root.children[1:]] == [node.id for node in one.root.children]


def test_a_file_is_read_by_its_ending_or_by_how_it_begins(tmp_path):
    for name, text in (
        ("a.xml", "<X/>"),
        ("a.json", '{"type": "X"}'),
        ("a.yml", "type: X"),
        ("a.md", "- X: "),
        ("a", "<X/>"),
    ):
        (tmp_path / name).write_text("\ufeff" + text, encoding="utf-8")
        assert read_tree(tmp_path / name).root.type == "X"
    assert read_tree(str(tmp_path / "a.xml"), form="xml").root.type == "X"
    tree = read_tree({"type": "X"})
    assert read_tree(tree) == tree


def test_what_is_malformed_or_would_run_is_refused_with_its_place():
    def refusal(form, text):
        with pytest.raises(InputError) as refused:
            read_text(text, form=form)
        said = refused.value.message
        return said.partition(":")[0] if said.startswith(("this is no JSON:", "this is no YAML:")) else said

    compare_phrases(Path(__file__).parent / "refused.txt", refusal)
    for form, text, reason in (
        ("xml", "", "no element found"),
        ("yaml", "a: \x00", "this is no YAML"),
        ("yaml", "a: \ud800", "half of a character"),
        ("pdf", "", "no format 'pdf'"),
    ):
        assert reason in refusal(form, text)


def nested(form, depth):
    return {
        "xml": "<a>" * depth + "</a>" * depth,
        "json": '{"a":' * depth + "1" + "}" * depth,
        "yaml": "{a: " * depth + "1" + "}" * depth,
        "outline": "\n".join("  " * level + "- X" for level in range(depth)),
    }[form]


@pytest.mark.parametrize("declared", ["utf-8", "ISO-8859-1", "UTF-16", "UTF-7", "x-unheard-of", "base64"])
def test_text_that_was_read_is_not_read_again_by_the_encoding_that_xml_declares(declared):
    tree = read_text(f'<?xml version="1.0" encoding="{declared}"?><Plan name="Café +AGE-"/>', form="xml")
    assert tree.root.fields["name"] == "Café +AGE-"


@pytest.mark.parametrize("form", FORMATS)
def test_what_is_too_deep_is_refused(form):
    with pytest.raises(InputError, match="deep"):
        read_text(nested(form, 3_000 if form == "outline" else 10_000), form=form)
    read_text(nested(form, MAX_DEPTH - 1), form=form)


def test_a_structure_that_contains_itself_is_refused():
    endless: dict[str, object] = {"type": "X"}
    endless["children"] = [endless]
    with pytest.raises(InputError, match="levels deep"):
        read_mapping(endless)


@pytest.mark.parametrize("form", ["xml", "json", "outline"])
def test_what_is_too_large_is_refused(form, monkeypatch):
    monkeypatch.setattr("stitch.trees.core.making.MAX_NODES", 50)
    text = {
        "xml": "<a>" + "<b/>" * 50 + "</a>",
        "json": json.dumps({"type": "a", "children": [{"type": "b"}] * 50}),
        "outline": "- a\n" + "  - b\n" * 50,
    }[form]
    with pytest.raises(InputError, match="more than"):
        read_text(text, form=form)


def test_files_that_cannot_be_read_are_named(tmp_path, monkeypatch):
    with pytest.raises(InputError, match=r"none.xml' cannot be read: no such file"):
        read_tree(tmp_path / "none.xml")
    (tmp_path / "a.xml").write_bytes(b"\xff\xfe<a/>")
    with pytest.raises(InputError, match="no text in UTF-8"):
        read_tree(tmp_path / "a.xml")
    (tmp_path / "b.xml").write_text("<a>")
    with pytest.raises(InputError, match=r"b.xml': this is no XML"):
        read_tree(tmp_path / "b.xml")
    monkeypatch.setattr("stitch.trees.core.reading.MAX_FILE_BYTES", 2)
    with pytest.raises(InputError, match="MB, at most"):
        read_tree(tmp_path / "b.xml")


def test_a_value_that_is_neither_text_nor_number_is_refused():
    for said in ({"a": {1: "x"}}, {"a": b"x"}, {"a": object()}):
        with pytest.raises(InputError):
            read_mapping(said)


@pytest.mark.parametrize("source", [None, 3, ["a"]])
def test_what_is_neither_file_nor_dictionary_is_refused(source):
    with pytest.raises(InputError, match="a tree cannot be made of"):
        read_tree(source)
