"""Replies in the place of a model's: by the plainest rules, and as long, or of labels that are known."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stitch.core import Step

if TYPE_CHECKING:
    from dspy import lm15

Known = Mapping[str, Mapping[str, Any]]
"""Fields of a reading by id of a step."""
_CALLED = {"event_types": "events", "entity_types": "entities"}


class RuleCompletion:
    """Answers labeling prompts by rule, in no time."""

    def complete(self, request: lm15.Request) -> lm15.Response:
        """Return a reply as long as a model's would be."""
        from stitch.lm.replies import prompt_of, reply_of

        system, user = prompt_of(request)
        text = json.dumps(self.reply(user), ensure_ascii=False, separators=(",", ":"))
        schema = json.dumps(dict(request.config.response_format or {}), separators=(",", ":"), default=str)
        return reply_of(text, model=request.model, usage=((len(system) + len(user) + len(schema)) // 4, len(text) // 4))

    def reply(self, prompt: str) -> dict[str, Any]:
        """The reply to a rendered prompt."""
        return reply_to(prompt)


def _quoted(prompt: str, field: str) -> list[Any]:
    """The JSON lines of a field of a prompt."""
    quoted = prompt.rpartition(f"[[ ## {field} ## ]]\n")[2].partition("\n\nRespond with")[0]
    return [json.loads(line) for line in quoted.splitlines()]


def reply_to(prompt: str) -> dict[str, Any]:
    """A reply to a rendered prompt: each field that it asks for, filled by rule."""
    asked = prompt.rpartition("Respond with")[2]
    if "`readings`" in asked:
        steps = _quoted(prompt, "steps")
        return {"readings": [{"n": step["n"], **_reading(step["text"])} for step in steps], "renames": []}
    if "`statements`" in asked:
        return {"statements": [{"text": each["text"][:160], "steps": [each["n"]]} for each in _quoted(prompt, "steps")]}
    if "`names`" in asked:
        themes = _quoted(prompt, "themes")
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


class KnownCompletion(RuleCompletion):
    """Answers windows with labels that are known, such as those written in the place of a strong model.

    Args:
        steps: Of the trajectory, in order.
        known: The labels; steps of which nothing is known are read by rule.
        asks: Whether a reply says what a step is found by in other words.
    """

    def __init__(self, steps: Sequence[Step], known: Known, *, asks: bool = True) -> None:
        from stitch.label.model.quoting import shown_text

        self._labels = [(shown_text(step), known.get(str(step.id), {})) for step in steps]
        self._done, self._asks = 0, asks

    def reply(self, prompt: str) -> dict[str, Any]:
        """The readings of the next steps."""
        reply = reply_to(prompt)
        if "readings" not in reply:
            return reply
        shown = [step["text"] for step in _quoted(prompt, "steps")]
        place = next((n for n in range(self._done, -1, -1) if self._labels[n][0] == shown[0]), self._done)
        for reading, (_, known) in zip(reply["readings"], self._labels[place:], strict=False):
            reading.update(known)
            if "words" in known:
                reading["words"] = ", ".join(known["words"])
            for name in () if self._asks else ("asks", "words"):
                del reading[name]
        self._done = place + len(shown)
        return reply


def read_known(files: Sequence[Path]) -> dict[str, dict[str, dict[str, Any]]]:
    """Known labels by trajectory and step, out of files of JSON lines with `trajectory` and `id` each."""
    known: dict[str, dict[str, dict[str, Any]]] = {}
    for line in (line for file in files for line in file.read_text(encoding="utf-8").splitlines()):
        told = {_CALLED.get(name, name): value for name, value in json.loads(line).items()}
        if pairs := told.get("references"):
            told["references"] = [f"{own['phrase']} = {own['means']}" for own in pairs]
        known.setdefault(told.pop("trajectory"), {}).setdefault(told.pop("id"), {}).update(told)
    return known
