"""Labels stand in a journal without names of fields and without words of their step, and come back byte for byte."""

from __future__ import annotations

import orjson
from hypothesis import given
from hypothesis import strategies as st

from stitch.core import ContextualIntent, EntityMention, ReferenceRewrite, Step, StepLabels, Trust
from stitch.journal.entries import encode_labels, encode_step
from stitch.journal.sqlite.compact import expand, shrink

TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12)
NAMES = st.lists(st.sampled_from(["ask", "answer", "price of a room", "hotel"]), unique=True, max_size=3).map(tuple)
REFERENCES = st.builds(
    ReferenceRewrite,
    start=st.integers(0, 5), end=st.integers(5, 9), replacement=TEXTS, antecedent=st.none() | TEXTS,
    confidence=st.sampled_from([1.0, 0.6]),
)  # fmt: skip
LABELS = st.builds(
    StepLabels,
    intent=st.builds(
        ContextualIntent,
        scope=st.none() | st.sampled_from(["day 1", "day 2 price"]), event_types=NAMES, entity_types=NAMES,
        targets=NAMES,
    ),
    made_by=st.sampled_from(["local-1", "a model", "ann"]),
    references=st.lists(REFERENCES, max_size=2).map(tuple),
    summary=st.just("") | TEXTS,
    mentions=st.lists(st.builds(EntityMention, entity_type=TEXTS, value=TEXTS), max_size=3).map(tuple),
    context=st.just("") | TEXTS,
    asks=st.lists(TEXTS, max_size=3).map(tuple),
    trust=st.none() | st.sampled_from(Trust),
)  # fmt: skip


@given(LABELS, TEXTS, TEXTS, TEXTS, st.booleans())
def test_labels_come_back_byte_for_byte(labels: StepLabels, role: str, before: str, said: str, told: bool) -> None:
    step = Step(id="s", role=f"a{role}", content=f"b{before}{said}")
    intent = labels.intent
    head = f"{step.role}: {' and '.join(intent.event_types)} ({intent.scope})"
    if told:
        labels = labels.model_copy(update={"summary": f"{head}: {said}"})
    made, (payload, _) = encode_labels(labels, step="s"), encode_step(step, max_chars=10**6)
    row = shrink(made, payload)
    assert expand(row, payload) == made
    assert len(row) < len(made)
    if told:
        assert isinstance(orjson.loads(row)[6], list)
