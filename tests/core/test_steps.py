"""Steps and snippets: what is accepted, what is cleaned, what names them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from stitch.core import (
    LabelInventory,
    MemorySnippet,
    ReferenceRewrite,
    ScopeSummary,
    Step,
    ToolCall,
    UnitedScopes,
    annotate_rewrites,
    apply_rewrites,
    clean_name,
    clean_text,
    snippet_id,
)
from stitch.core.steps import MAX_NAME_CHARS


@pytest.mark.parametrize("field", ["id", "session", "parent"])
def test_numbers_serve_as_ids(field):
    assert getattr(Step.model_validate({"role": "user", "content": "hi", field: 7}), field) == "7"


def test_a_step_must_say_something_unless_a_tool_is_involved():
    with pytest.raises(ValidationError, match="content is empty"):
        Step(role="user", content=" \n")
    assert Step(role="assistant", content="", tool_calls=(ToolCall(name="search"),)).tool_calls[0].arguments == {}
    assert Step(role="tool", content="", tool_name="search").content == ""


@given(st.text(max_size=50))
def test_names_are_bounded_printable_and_cleaned_once(text):
    try:
        name = clean_name(text)
    except ValueError:
        return
    assert name
    assert "\n" not in name
    assert clean_name(name) == name


def test_a_copy_of_a_snippet_has_the_id_of_where_it_stands():
    snippet = MemorySnippet(
        tenant="t", trajectory="x", step="1", position=0, role="user", text="hi", resolved="hi", recorded=0.0
    )
    assert snippet.id == snippet_id("t", "x", "1")
    assert snippet.model_copy(update={"text": "ho"}).id == snippet.id
    assert snippet.model_copy(update={"step": "2"}).id == snippet_id("t", "x", "2")
    assert snippet == snippet.model_copy()


def test_a_name_that_is_empty_or_too_long_is_refused():
    with pytest.raises(ValueError, match="tenant is empty"):
        clean_name("\x00 \n", what="tenant")
    with pytest.raises(ValueError, match=str(MAX_NAME_CHARS + 1)):
        clean_name("x" * (MAX_NAME_CHARS + 1))


@given(st.text(st.characters(), max_size=50))
def test_text_keeps_its_lines_and_can_be_written(text):
    cleaned = clean_text(text)
    assert cleaned.count("\n") == text.count("\n")
    cleaned.encode("utf-8")


@given(st.tuples(*[st.text(max_size=4)] * 3), st.tuples(*[st.text(max_size=4)] * 3))
def test_two_steps_share_an_id_only_if_they_share_all_names(one, two):
    assert (snippet_id(*one) == snippet_id(*two)) == (one == two)


def test_rewrites_replace_and_insert_where_they_say():
    text = "It costs 5. What about Sunday?"
    rewrites = (
        ReferenceRewrite(start=29, end=29, replacement=" for the museum", antecedent="1", confidence=0.8),
        ReferenceRewrite(start=0, end=2, replacement="The museum"),
    )
    assert apply_rewrites(text, rewrites) == "The museum costs 5. What about Sunday for the museum?"
    assert apply_rewrites(text, ()) == text
    assert annotate_rewrites(text, rewrites) == "It [The museum] costs 5. What about Sunday [for the museum]?"
    assert annotate_rewrites(text, ()) == text


def test_scopes_of_many_trajectories_are_written_and_read_as_others_are():
    scopes = [ScopeSummary(name=name, trajectory=name, spans=((0, 1),), steps=2) for name in ("cup", "bowl")]
    united = LabelInventory.model_construct(scopes=UnitedScopes([(scope,) for scope in scopes], phases=()))
    assert LabelInventory.model_validate_json(united.model_dump_json()) == LabelInventory(scopes=scopes)
