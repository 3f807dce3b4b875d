"""Replies in the place of a model's, of labels that are known."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from stitch.testing.model import ScriptedCompletion
from stitch.testing.rules import compact, quoted_lines, reply_by_rules

_CALLED = {"event_types": "events", "entity_types": "entities"}


class KnownCompletion(ScriptedCompletion):
    """Answers windows with labels that are known, such as those written in the place of a strong model.

    Args:
        steps: Of the trajectory in order, each as a prompt shows it, with its labels; steps of which nothing is known
            are read by rule.
        asks: Whether a reply says what a step is found by in other words.
    """

    def __init__(self, steps: Sequence[tuple[str, Mapping[str, Any]]], *, asks: bool = True) -> None:
        super().__init__(compact(self._reply))
        self._labels, self._done, self._asks = steps, 0, asks

    def _reply(self, system: str, prompt: str) -> dict[str, Any]:
        """The readings of the next steps."""
        reply = reply_by_rules(system, prompt)
        if "readings" not in reply:
            return reply
        shown = [step["text"] for step in quoted_lines(prompt, "steps")]
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
