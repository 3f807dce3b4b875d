"""A snippet survives the way into a payload and back; a payload of something else does not become a snippet."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stitch.core import SCHEMA_VERSION, ContextualIntent, MemorySnippet, ReferenceRewrite
from stitch.errors import StoreError
from stitch.store.payload import from_payload, intent_labels, labels_of, to_payload

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
INTENTS = st.builds(
    ContextualIntent,
    scope=st.none() | st.sampled_from(["day 1", "dinner <b>"]),
    event_types=st.lists(TEXT, max_size=3),
    entity_types=st.lists(TEXT, max_size=3),
    targets=st.lists(TEXT, max_size=2),
)
REFERENCES = st.builds(
    ReferenceRewrite,
    start=st.integers(0, 9),
    end=st.integers(0, 9),
    replacement=TEXT,
    antecedent=st.none() | TEXT,
    confidence=st.floats(0, 1),
)
SNIPPETS = st.builds(
    MemorySnippet,
    tenant=TEXT,
    trajectory=TEXT,
    step=TEXT,
    position=st.integers(-(2**63), 2**63 - 1),
    role=TEXT,
    text=TEXT,
    resolved=TEXT,
    summary=TEXT,
    context=TEXT,
    intent=INTENTS,
    references=st.lists(REFERENCES, max_size=2).map(tuple),
    session=st.none() | TEXT,
    happened=st.none() | TEXT | st.floats(allow_nan=False, allow_infinity=False),
    recorded=st.floats(allow_nan=False, allow_infinity=False),
    labeled_by=st.none() | TEXT,
    tools=st.lists(TEXT, max_size=2).map(tuple),
    metadata=st.dictionaries(st.text(max_size=5), JSON, max_size=3),
)


@given(SNIPPETS)
def test_no_field_of_a_snippet_is_lost(snippet: MemorySnippet) -> None:
    payload = to_payload(snippet, embedder_name="e")
    through_json: dict[str, Any] = json.loads(json.dumps(payload))
    assert from_payload(through_json) == snippet
    assert labels_of(payload) == intent_labels(snippet.intent)
    assert set(labels_of(payload)) == snippet.intent.labels()
    assert (payload["schema_version"], payload["embedder"], payload["id"]) == (SCHEMA_VERSION, "e", snippet.id)


@pytest.mark.parametrize("payload", [{}, {"schema_version": 99}, {"schema_version": None, "text": "x"}])
def test_a_payload_of_another_schema_is_refused(payload: dict[str, Any]) -> None:
    with pytest.raises(StoreError, match="schema version"):
        from_payload(payload)
