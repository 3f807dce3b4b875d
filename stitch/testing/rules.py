"""Replies to every prompt by the plainest rules, and about as long as a strong model's: for what a model costs."""

from __future__ import annotations

import json
import re
from typing import Any

from stitch.testing.model import Script

_CALLED = {"event_types": "events", "entity_types": "entities"}


def quoted_lines(prompt: str, field: str) -> list[Any]:
    """The JSON lines of a field of a prompt."""
    quoted = prompt.rpartition(f"[[ ## {field} ## ]]\n")[2].partition("\n\nRespond with")[0]
    return [json.loads(line) for line in quoted.splitlines()]


def compact(script: Script) -> Script:
    """The same script, its replies as short as JSON can be, as models write it."""
    return lambda system, user: json.dumps(script(system, user), ensure_ascii=False, separators=(",", ":"))


def reply_by_rules(system: str, prompt: str) -> dict[str, Any]:
    """A script that fills each field for which a rendered prompt asks."""
    del system
    asked = prompt.rpartition("Respond with")[2]
    if "`readings`" in asked:
        steps = quoted_lines(prompt, "steps")
        return {"readings": [{"n": step["n"], **_reading(step["text"])} for step in steps], "renames": []}
    if "`statements`" in asked:
        return {
            "statements": [{"text": each["text"][:160], "steps": [each["n"]]} for each in quoted_lines(prompt, "steps")]
        }
    if "`names`" in asked:
        themes = quoted_lines(prompt, "themes")
        return {"names": [{"n": theme["n"], "name": theme["statements"][0][:30]} for theme in themes]}
    reading = _reading(prompt.rpartition("[[ ## step ## ]]\n")[2])
    return {
        **{name: reading[_CALLED.get(name, name)] for name in ("scope", "event_types", "entity_types", "summary")},
        **{name: [] for name in ("new_event_types", "references", "synonyms", "scopes")},
        "reasoning": "It stands in the last step that says it.",
        "answer": "$41.80",
        "correct_entries": 1,
        "verdict": "CORRECT",
    }


def _reading(text: str) -> dict[str, Any]:
    """A reading about as long as a strong model's: a reference, a summary of 21 words, 30 tokens of asks."""
    named, told = re.findall(r"\bday \d+", text), text.split()
    return {
        "scope": f"itinerary of {named[-1]}" if named else "itinerary",
        "events": ["ask question" if "?" in text else "give answer"],
        "entities": ["price"] if "$" in text else [],
        "references": [f"{told[0]} = {' '.join(told[1:4])}"] if told else [],
        "summary": " ".join(told[:21]),
        "asks": ["which one was it in the end, and why?", "what did it come to?"],
        "words": "choice, reason, total, settled on, outcome, picked",
    }
