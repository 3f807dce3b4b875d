"""What a record leaves out of a snippet comes back, and what it says already is not said again."""

from __future__ import annotations

import orjson
from hypothesis import given
from hypothesis import strategies as st

from stitch.core import ContextualIntent, MemorySnippet, ReferenceRewrite
from stitch.core.snippets import annotate_rewrites, apply_rewrites
from stitch.core.summaries import place_of, summary_at
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


def test_words_of_the_text_stand_in_a_record_once() -> None:
    text = "It is 226 for 3; the Zorblatt is in the file."
    references = (ReferenceRewrite(start=0, end=2, replacement="the room", antecedent="1"),)
    made = snippet(
        text, summary=f"user: answer (day 1): {text}", references=references,
        resolved=annotate_rewrites(text, references), intent=ContextualIntent(scope="day 1", event_types=("answer",)),
    )  # fmt: skip
    assert orjson.dumps(to_values(to_payload(made, embedder_name="e"))).count(b"Zorblatt") == 1


def test_a_summary_is_a_place_only_where_it_says_what_stands_there() -> None:
    about = {"role": "user", "event_types": ("ask", "book"), "scope": "day 1", "text": "I ask for a room."}
    head = "user: ask and book (day 1)"
    for summary, place in (
        (f"{head}: a room.", [10, 17]), (head, []), (f"{head}: a hall.", f"{head}: a hall."), ("a room.", "a room."),
        (f"{head}: ", [0, 0]),
    ):  # fmt: skip
        assert place_of(summary, **about) == place  # type: ignore[arg-type]
        assert summary_at(place, **about) == summary  # type: ignore[arg-type]
