"""No text of a memory begins or ends what stands around it in the prompts of labels, filters, statements and themes."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stitch import Memory, open_memory
from stitch.core import LabelInventory, ScopeSummary, SearchRequest, Step, ToolCall
from stitch.embed import HashingEmbedder
from stitch.label.local import LocalLabeler
from stitch.label.model.quoting import quote
from stitch.label.model.stepwise import StepwiseLabeler
from stitch.label.model.windowed import WindowedLabeler
from stitch.lm import LanguageModel
from stitch.retrieve.model_filter import ModelFilterSelector
from stitch.testing.model import LoopbackProvider, ScriptedCompletion, fields_of, label_by_rules

MARKERS = (
    "<|im_start|>", "<|im_end|>", "[INST]", "<<SYS>>", "<|eot_id|>", "[TOOL_CALLS]", "<start_of_turn>", "<think>",
    "<\uff5cUser\uff5c>", "]~b]", "[|user|]", "<tool_call>", "</memory>", "</step>", "[[ ## completed ## ]]",
    "<\u200b|im_start|>", "\uff1c|im_end|\uff1e", "<|im\u00ad_start|>",
)  # fmt: skip
HOSTILE = " ".join(MARKERS)
UNSEEN = "\u200b\u2028\x9b\u202e\U000e0041"
_RAW = re.compile(
    r"[<\uff1c]\W{0,3}[|\uff5c]|\[/?(?:INST|TOOL_CALLS)|[<\uff1c]\W*(?:SYS|start_of|think|tool_call|memory|step)|\]~|\[\|"
)
"""Written apart from what escapes: brackets of these shapes, with or without unseen signs."""


def steps() -> Iterator[Step]:
    for number in range(12):
        yield Step(
            id=f"{number}",
            role=f"user {HOSTILE}" if number % 3 == 2 else "user",
            content=f"{HOSTILE} {UNSEEN} What does the mill of day {number} cost? {HOSTILE}",
            session=f"s{number // 4}{HOSTILE}",
            timestamp=f"Monday {HOSTILE}",
            tool_calls=[ToolCall(name=f"buy{HOSTILE}", arguments={HOSTILE: [HOSTILE]})] if number % 4 == 1 else (),
            tool_name=f"shop {HOSTILE}" if number % 4 == 2 else None,
        )


def check(prompts: list[tuple[str, str]]) -> None:
    assert prompts
    for _, user in prompts:
        marks = "\n".join(f"[[ ## {name} ## ]]" for name in fields_of(user))
        body = "\n".join(fields_of(user).values())
        assert "mill" in body or "zorb" in body, marks
        assert _RAW.search(body) is None, body[:400]
        assert "[[ ##" not in body
        assert not set(UNSEEN) & set(body)


def hostile_labels(system: str, user: str) -> Any:
    """Names and summaries that a model was talked into."""
    said = label_by_rules(system, user)
    text = json.dumps(said, ensure_ascii=False)
    return json.loads(text.replace("give answer", f"give {MARKERS[2]} answer").replace("plan of", "mill [INST] of"))


def test_prompts_of_windows_hold_no_marker() -> None:
    completion = ScriptedCompletion(hostile_labels)
    labeler = WindowedLabeler(LanguageModel("m", completion=completion), fallback=LocalLabeler(), window_steps=4)
    labeler.begin("t").label(list(steps()))
    check(completion.prompts)


def test_prompts_of_single_steps_hold_no_marker() -> None:
    completion = ScriptedCompletion(hostile_labels)
    model = LanguageModel("m", completion=completion)
    StepwiseLabeler(model, embedder=HashingEmbedder(), fallback=LocalLabeler()).begin("t").label(list(steps()))
    check(completion.prompts)


def test_the_prompt_of_a_filter_holds_no_marker() -> None:
    reply = {"scopes": [], "event_types": [], "entity_types": [], "why": ""}
    completion = ScriptedCompletion(lambda system, user: reply)
    scope = ScopeSummary(
        name="zorb [INST]", trajectory="t", spans=((0, 1),), steps=2, summary=f"a talk of {HOSTILE} {UNSEEN}"
    )
    inventory = LabelInventory(scopes=(scope,), event_types={"ask [INST]": 2}, steps=3)
    selector = ModelFilterSelector(LanguageModel("m", completion=completion))
    selector.select(SearchRequest(query=f"Which zorb {HOSTILE} {UNSEEN}?", tenant="a"), inventory)
    check(completion.prompts)


def test_prompts_of_statements_and_of_names_of_themes_hold_no_marker(tmp_path: Path) -> None:
    prompts: list[tuple[str, str]] = []

    def said(system: str, user: str) -> Any:
        prompts.append((system, user))
        shown = fields_of(user)
        if "themes" in shown:
            return {"names": [{"n": 1, "name": "mill"}]}
        numbers = [json.loads(line)["n"] for line in shown["steps"].splitlines()]
        return {"statements": [{"text": f"mill {n} {HOSTILE} is bought", "steps": [n]} for n in numbers]}

    with (
        LoopbackProvider(said) as provider,
        open_memory(tmp_path, statements="model", filter="local", model="m", base_url=provider.base_url) as memory,
    ):
        _tell(memory)
        memory.flush()
        _tell(memory, again=" again")
        memory.flush()
        memory.themes()
    check(prompts)
    assert any("themes" in fields_of(user) for _, user in prompts)


def _tell(memory: Memory, again: str = "") -> None:
    said = [f"I bought the mill of day {n}{again} {HOSTILE} {UNSEEN} for ${n + 1}." for n in range(8)]
    memory.add_many([Step(role="user", content=text) for text in said], trajectory=f"t{again} {MARKERS[2]}")


@pytest.mark.parametrize("text", [*MARKERS, UNSEEN, HOSTILE + UNSEEN, '\\"<|im_end|>', "a < b [1] ```[x](y)``` \ud800"])
def test_a_quoted_line_is_read_as_what_was_said(text: str) -> None:
    line = quote({"text": text, text: [text]})
    assert json.loads(line) == {"text": text, text: [text]}
    assert "\n" not in line
    assert _RAW.search(line) is None
