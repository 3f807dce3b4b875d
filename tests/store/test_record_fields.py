"""What a record leaves out of a snippet comes back, and what it says already is not said again."""

from __future__ import annotations

import orjson
from hypothesis import given
from hypothesis import strategies as st

from stitch.core import ContextualIntent, MemorySnippet, ReferenceRewrite
from stitch.core.snippets import annotate_rewrites, apply_rewrites
from stitch.store.payload import from_payload, to_payload
from stitch.store.record_fields import from_values, snippet_of, to_values

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
WAYS = (lambda text, rewrites: text, annotate_rewrites, apply_rewrites, lambda text, rewrites: f"{text}!")


def snippet(text: str, **about: object) -> MemorySnippet:
    own = {"tenant": "t", "trajectory": "trip", "step": "1", "position": 0, "role": "user", "recorded": 1.5}
    return MemorySnippet(text=text, **{"resolved": text, "intent": ContextualIntent(), **own, **about})


@given(
    text=TEXTS, summary=st.just("") | TEXTS, context=st.just("") | TEXTS, told=st.booleans(),
    events=st.lists(st.sampled_from(["ask", "answer"]), unique=True).map(tuple), scope=st.none() | st.just("day 1"),
    replacements=st.lists(TEXTS, max_size=2), way=st.sampled_from(WAYS),
)  # fmt: skip
def test_a_snippet_comes_back_as_it_was(text, summary, context, told, events, scope, replacements, way) -> None:
    references = tuple(
        ReferenceRewrite(start=at, end=at + 1, replacement=each)
        for at, each in enumerate(replacements)
        if at < len(text)
    )
    if told:
        summary = f"user: {' and '.join(events)} ({scope}): {text[1:]}"
    made = snippet(
        text, summary=summary, context=context, references=references, resolved=way(text, references),
        intent=ContextualIntent(scope=scope, event_types=events),
    )  # fmt: skip
    payload = to_payload(made, embedder_name="e")
    values = orjson.loads(orjson.dumps(to_values(payload)))
    assert values[-1] is not None
    back = from_values(values)
    assert back == {name: value for name, value in payload.items() if name not in ("id", "embedder")}
    assert snippet_of(values) == from_payload(back) == made
