"""What labeling the trajectories of a set costs, with labels that are known in the place of a model's replies."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stitch.core import Labeler, Step

if TYPE_CHECKING:
    from dspy import lm15


class RuleCompletion:
    """Answers labeling prompts by the plainest rules, in no time."""

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


def steps_in(prompt: str) -> list[str]:
    """The lines of the steps that a prompt asks about."""
    quoted = prompt.rpartition("[[ ## steps ## ]]\n")[2].partition("\n\nRespond with")[0]
    return quoted.splitlines()


def reply_to(prompt: str) -> dict[str, Any]:
    """A reply to a rendered prompt: each field that it asks for, filled by rule."""
    if "`readings`" in prompt.rpartition("Respond with")[2]:
        steps = [json.loads(line) for line in steps_in(prompt)]
        return {"readings": [{"n": step["n"], **_reading(step["text"])} for step in steps], "renames": []}
    if "`statements`" in prompt.rpartition("Respond with")[2]:
        steps = [json.loads(line) for line in steps_in(prompt)]
        return {"statements": [{"text": step["text"][:160], "steps": [step["n"]]} for step in steps]}
    if "`names`" in prompt.rpartition("Respond with")[2]:
        quoted = prompt.rpartition("[[ ## themes ## ]]\n")[2].partition("\n\nRespond with")[0]
        themes = [json.loads(line) for line in quoted.splitlines()]
        return {"names": [{"n": theme["n"], "name": theme["statements"][0][:30]} for theme in themes]}
    reading = _reading(prompt.rpartition("[[ ## step ## ]]\n")[2])
    return {
        "scope": reading["scope"],
        "event_types": reading["events"],
        "new_event_types": [],
        "entity_types": reading["entities"],
        "references": [],
        "synonyms": [],
        "summary": reading["summary"],
        "scopes": [],
        "reasoning": "It stands in the last step that says it.",
        "answer": "$41.80",
        "correct_entries": 1,
        "verdict": "CORRECT",
    }


def _reading(text: str) -> dict[str, Any]:
    """A reading about as long as a strong model's: a reference, a summary of 21 words, 30 tokens of asks."""
    named = re.findall(r"\bday \d+", text)
    told = text.split()
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
        known: Fields of a reading by id of a step.
        asks: Whether a reply says what a step is found by in other words.
    """

    def __init__(self, steps: Sequence[Step], known: Mapping[str, Mapping[str, Any]], *, asks: bool = True) -> None:
        from stitch.label.model.quoting import shown_text

        self._labels = [(shown_text(step), known.get(str(step.id), {})) for step in steps]
        self._done, self._asks = 0, asks

    def reply(self, prompt: str) -> dict[str, Any]:
        """The readings of the next steps; those of which nothing is known are read by rule."""
        reply = reply_to(prompt)
        if "readings" not in reply:
            return reply
        shown = [json.loads(line)["text"] for line in steps_in(prompt)]
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
    """Fields of readings by trajectory and step, out of files of JSON lines with `trajectory` and `id` each."""
    known: dict[str, dict[str, dict[str, Any]]] = {}
    for file in files:
        for line in file.read_text(encoding="utf-8").splitlines():
            said = json.loads(line)
            told = {_CALLED.get(name, name): value for name, value in said.items() if name not in ("trajectory", "id")}
            if pairs := told.get("references"):
                told["references"] = [f"{own['phrase']} = {own['means']}" for own in pairs]
            known.setdefault(said["trajectory"], {}).setdefault(said["id"], {}).update(told)
    return known


_CALLED = {"event_types": "events", "entity_types": "entities"}


def measure_labeler(labeler: Labeler, steps: Sequence[Step], *, ledger: Any) -> dict[str, float]:
    """Calls, tokens and our own time a step over one trajectory."""
    began = time.thread_time()
    labeler.begin("trip").label(list(steps))
    cpu_s, spent, count = time.thread_time() - began, ledger.total(), len(steps)
    own = sum(len(_text_of(step)) for step in steps) / 4 / count
    return {
        "calls_per_step": round(spent.calls / count, 4),
        "tokens_per_step": round(spent.tokens / count, 1),
        "prompt_tokens_per_step": round(spent.prompt_tokens / count, 1),
        "own_tokens_per_step": round(own, 1),
        "beyond_own_tokens_per_step": round(spent.tokens / count - own, 1),
        "cpu_ms_per_step": round(1_000 * cpu_s / count, 3),
    }


def _text_of(step: Step) -> str:
    """The text of a step, what it calls included, uncut."""
    return step.content + "".join(f"{call.name}{json.dumps(dict(call.arguments))}" for call in step.tool_calls)


def measure_material(data: Path, *, known: Sequence[Path], ways: Sequence[str]) -> dict[str, dict[str, float]]:
    """Calls and tokens a step of labeling each trajectory of a set of questions, or of CAME-Bench, in each way."""
    from stitch.bench.data.came import load_came
    from stitch.bench.data.sets import load_questions
    from stitch.embed import StaticEmbedder
    from stitch.label.local import LocalLabeler
    from stitch.label.model import StepwiseLabeler, WindowedLabeler
    from stitch.lm import LanguageModel

    labels, found = read_known(known), {}
    loaded = (load_questions if any(data.glob("trajectories.jsonl*")) else load_came)(data)
    for trajectory in loaded.trajectories:
        for way in ways:
            model = LanguageModel(
                "known",
                completion=KnownCompletion(trajectory.steps, labels.get(trajectory.id, {}), asks=way == "windowed"),
            )
            labeler: Labeler = (
                StepwiseLabeler(model, embedder=StaticEmbedder(), fallback=LocalLabeler(), asks=False)
                if way == "stepwise"
                else WindowedLabeler(model, fallback=LocalLabeler(), asks=way == "windowed")
            )
            found[f"{trajectory.id}, {way}"] = measure_labeler(labeler, trajectory.steps, ledger=model.ledger)
    return found
