"""Labels are untrusted text; merges of labels are recorded, applied when reading, and undone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stitch.core import ContextualIntent, IntentFilter, Label, LabelKind, LabelMerge, LabelVocabulary, clean_label
from stitch.core.intent import MAX_LABEL_CHARS, MAX_LABELS_PER_KIND

EVENT = LabelKind.EVENT_TYPE


def merge(alias: str, into: str) -> LabelMerge:
    return LabelMerge(kind=EVENT, alias=alias, into=into)


def test_a_long_label_is_cut_at_a_word():
    assert clean_label("word " * 60) == ("word " * (MAX_LABEL_CHARS // 5)).strip()
    assert clean_label("x" * 500) == "x" * MAX_LABEL_CHARS


def test_labels_of_a_step_are_distinct_and_bounded():
    intent = ContextualIntent(event_types=tuple(f"e{n}" for n in range(99)), entity_types=("a", " a ", ""))
    assert len(intent.event_types) == MAX_LABELS_PER_KIND
    assert intent.entity_types == ("a",)


def test_an_intent_gives_its_labels_with_their_kinds():
    intent = ContextualIntent(scope="s", event_types=("e",), entity_types=("k",), targets=("t",))
    assert intent.labels() == {
        Label(LabelKind.SCOPE, "s"), Label(EVENT, "e"), Label(LabelKind.ENTITY_TYPE, "k"), Label(LabelKind.TARGET, "t"),
    }  # fmt: skip
    assert ContextualIntent().of(LabelKind.SCOPE) == ()
    assert ContextualIntent(scope=" \n").scope is None


def test_only_a_filter_without_labels_is_empty():
    assert not IntentFilter()
    assert IntentFilter(scopes=("s",))
    assert len(IntentFilter(targets=tuple(map(str, range(50)))).labels()) == 50


def test_merges_chain_and_all_aliases_are_known():
    vocabulary = LabelVocabulary([merge("a", "b"), merge("b", "c")])
    assert vocabulary.canonical(EVENT, "a") == "c"
    assert vocabulary.canonical(LabelKind.SCOPE, "a") == "a"
    assert vocabulary.aliases(Label(EVENT, "c")) == {"a", "b", "c"}
    assert vocabulary.aliases(Label(EVENT, "z")) == {"z"}


def test_undoing_a_merge_restores_the_labels_as_they_were():
    vocabulary = LabelVocabulary([merge("a", "b")])
    vocabulary.merge(merge("c", "b"))
    assert vocabulary.undo(EVENT, "a")
    assert vocabulary.canonical(EVENT, "a") == "a"
    assert vocabulary.aliases(Label(EVENT, "b")) == {"b", "c"}
    assert vocabulary.merges == (merge("c", "b"),)
    assert not vocabulary.undo(EVENT, "a")


@pytest.mark.parametrize("second", [merge("a", "c"), merge("b", "a")], ids=["merged twice", "circle"])
def test_a_merge_that_contradicts_another_is_refused(second):
    vocabulary = LabelVocabulary([merge("a", "b")])
    with pytest.raises(ValueError, match="merged"):
        vocabulary.merge(second)


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from("abcdef")), max_size=12))
def test_canonical_labels_are_stable_whatever_was_merged(pairs):
    vocabulary = LabelVocabulary()
    for alias, into in pairs:
        try:
            vocabulary.merge(merge(alias, into))
        except ValueError:
            continue
    for value in "abcdef":
        canonical = vocabulary.canonical(EVENT, value)
        assert vocabulary.canonical(EVENT, canonical) == canonical
        assert value in vocabulary.aliases(Label(EVENT, canonical))
