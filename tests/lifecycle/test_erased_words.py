"""What is known of erased steps: their traces, what of them others' labels say, and lines that speak of them."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from stitch.core import ContextualIntent, EntityMention, ReferenceRewrite, Step, StepLabels, ToolCall
from stitch.journal.entries import encode_labels
from stitch.lifecycle.erased_words import NO_SCOPE, ErasedWords, cleaned, spoken
from stitch.lifecycle.side_files import ErasureTarget, remove_mentions

GONE = Step(
    id="gone", role="user", content="Zorblatt hums a lovely tune at johnKarwick 7pm",
    tool_calls=(ToolCall(name="cancel", arguments={"crew": ["Xylo"]}),),
)  # fmt: skip
LEFT: list[dict[str, Any]] = [
    {"role": "user", "content": "It hums at 7pm. A lovely dog barks", "tool_calls": [{"name": "ring"}]},
    {"role": "tool", "tool_name": "clock", "content": "john met a tune"},
]


def test_words_are_erased_that_no_remaining_step_says_in_any_form() -> None:
    words = ErasedWords(
        ["Zorblatt hums a lovely tune at johnKarwick. Grumbling"], ["he hummed lovely", "john, a tune at"]
    )
    said = {
        text: (words.said_in(text), words.quoted_in(text), words.named_in(text), words.renamed(text))
        for text in (
            "zorblatt's day", "my Zorblatts", "hums", "hum", "Karwick", "johnKarwick", "a lovely tune",
            "john at a tune", "Lovely Tune", "grumble", "7",
        )
    }  # fmt: skip
    assert said == {
        "zorblatt's day": (True, True, True, "day"),
        "my Zorblatts": (True, True, True, "my"),
        "hums": (True, True, True, NO_SCOPE),
        "hum": (False, False, False, "hum"),
        "Karwick": (True, True, True, NO_SCOPE),
        "johnKarwick": (True, True, True, NO_SCOPE),
        "a lovely tune": (False, True, False, "a lovely tune"),
        "john at a tune": (False, False, False, "john at a tune"),
        "Lovely Tune": (False, False, False, "Lovely Tune"),
        "grumble": (True, True, True, NO_SCOPE),
        "7": (False, False, False, "7"),
    }
    assert [ErasedWords(["x y"], []).renamed(name) for name in ("x - z", "x -")] == ["- z", NO_SCOPE]


def refer(replacement: str, antecedent: str | None = None) -> ReferenceRewrite:
    return ReferenceRewrite(start=0, end=2, replacement=replacement, antecedent=antecedent)


def labels(**fields: Any) -> StepLabels:
    about = {
        "intent": ContextualIntent(
            scope="day 1", event_types=("ask",), entity_types=("price",), targets=("hotel",)
        ),
        "made_by": "local", "summary": "a dog barks", "context": "john met",
        "references": (refer("a dog", "left"),),
        "mentions": (EntityMention(entity_type="price", value="7pm"),),
    }  # fmt: skip
    return StepLabels(**{**about, **fields})


@pytest.mark.parametrize(
    ("had", "has"),
    [
        ({}, None),
        ({"summary": "Zorblatt barks"}, {"summary": ""}),
        ({"summary": "hums a lovely"}, {"summary": ""}),
        ({"context": "with xylo"}, {"context": ""}),
        ({"references": (refer("a dog", "gone"),)}, {"references": ()}),
        ({"references": (refer("Zorblatt"),)}, {"references": ()}),
        ({"references": (refer("hums a lovely"), refer("a dog"))}, {"references": (refer("a dog"),)}),
        ({"mentions": (EntityMention(entity_type="price", value="Karwick"),)}, {"mentions": ()}),
        ({"mentions": (EntityMention(entity_type="zorblatt", value="7pm"),)}, {"mentions": ()}),
        (
            {"intent": ContextualIntent(scope="Zorblatt day", event_types=("ask", "call zorblatt"))},
            {"intent": ContextualIntent(scope="day", event_types=("ask",))},
        ),
        (
            {"intent": ContextualIntent(scope="Zorblatt", entity_types=("karwick", "price"), targets=("xylo", "dog"))},
            {"intent": ContextualIntent(scope=NO_SCOPE, entity_types=("price",), targets=("dog",))},
        ),
        ({"intent": ContextualIntent(scope=None, event_types=("cancel",)), "summary": 'a "dog"'}, None),
        ({"summary": 'a "zorblatt"'}, {"summary": ""}),
    ],
)  # fmt: skip
def test_labels_of_a_remaining_step_lose_what_they_have_from_erased_ones(
    had: dict[str, Any], has: dict[str, Any] | None
) -> None:
    erased = ErasedWords([spoken(GONE.model_dump(exclude_defaults=True))], map(spoken, LEFT))
    told = [(7, encode_labels(labels(**had), step="left")), (8, None)]
    made = [] if has is None else [(7, encode_labels(labels(**{**had, **has}), step="left"))]
    assert cleaned(told, erased=erased, ids={"gone"}) == made


def test_what_is_taken_out_of_a_file_is_overwritten_for_whoever_has_it_open(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    gone = ErasureTarget("a", steps=frozenset({("t", "s1")}), traces=frozenset({b"zorblatt hums"}))

    def line(step: str, text: str, tenant: str = "a") -> bytes:
        return orjson.dumps({"tenant": tenant, "trajectory": "t", "step": step, "text": text}) + b"\n"

    kept, theirs = line("s2", "It hums"), line("s1", "Zorblatt hums", "b")
    path.write_bytes(b"Zorblatt hums\n" + kept + line("s1", "It hums") + theirs + line("s3", "Zorblatt Hums"))
    with path.open("ab") as appending:
        remove_mentions(tmp_path, gone)
        appending.write(b"{}\n")
    assert [orjson.loads(each) for each in path.read_bytes().splitlines()] == [*map(orjson.loads, (kept, theirs)), {}]
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_bytes().replace(b" " * len(line("s1", "It hums")), b"").endswith(kept + theirs + b"{}\n")
