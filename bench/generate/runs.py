"""Agents' runs with questions: goals of several worlds, woven into memories of any length, in several formats.

A goal is left and taken up again where no call waits for its result. All is drawn from the seed.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stitch.bench.generate.run_worlds import WORLDS, Ask, Event, Goal, State
from stitch.errors import InputError

FORMATS = ("calls", "json", "text")
"""Calls with results as text; calls with results as JSON; actions and observations as text alone."""
_LEAST_BLOCK = 3
_MOST_EVIDENCE = 6
_SYSTEM = "You are an assistant that works with tools. Say briefly what you do, and report when a task is done."


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """What to generate."""

    steps: int = 500
    """About how many steps a memory has; the last goal is finished."""
    memories: int = 1
    formats: Sequence[str] = FORMATS
    """How calls and results are written; each goal draws one."""
    woven: int = 3
    """How many goals are under way at the same time."""
    seed: int = 0


@dataclass(frozen=True)
class Memory:
    """Runs as one trajectory, with questions, in the format of `stitch bench retrieval`."""

    trajectory: dict[str, Any]
    questions: list[dict[str, Any]]


def generate_runs(settings: RunSettings) -> Iterator[Memory]:
    """Memories of runs.

    Raises:
        InputError: A format is not known.
    """
    for name in settings.formats:
        if name not in FORMATS:
            raise InputError(f"no format {name!r}", hint=f"one of {', '.join(FORMATS)}")
    for number in range(settings.memories):
        rng = random.Random(f"runs {settings.seed} {number}")
        yield _memory(f"runs-{settings.seed}-{number}", settings, rng)


def write_runs(memories: Sequence[Memory], folder: Path, *, settings: RunSettings) -> dict[str, Any]:
    """Write memories as a data set and return what is in it.

    Raises:
        InputError: The folder holds a data set already.
    """
    if any((folder / name).exists() for name in ("trajectories.jsonl", "questions.jsonl")):
        raise InputError(f"{str(folder)!r} holds a data set already", hint="name another folder")
    folder.mkdir(parents=True, exist_ok=True)
    questions = [question for memory in memories for question in memory.questions]
    digest = hashlib.sha256()
    for name, rows in (("trajectories", [memory.trajectory for memory in memories]), ("questions", questions)):
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        digest.update(text.encode())
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    figures = {
        "memories": len(memories),
        "steps": sum(len(memory.trajectory["steps"]) for memory in memories),
        "questions": len(questions),
        "questions_by_type": dict(sorted(Counter(row["type"] for row in questions).items())),
        "seed": settings.seed,
        "formats": list(settings.formats),
        "woven": settings.woven,
        "sha256": digest.hexdigest(),
    }
    (folder / "manifest.json").write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    return figures


def _memory(name: str, settings: RunSettings, rng: random.Random) -> Memory:
    state, goals, planned = State(rng), list[Goal](), 0
    while planned < settings.steps:
        goals.append(rng.choice(list(WORLDS.values()))(state))
        planned += len(goals[-1].events)
    formats = [rng.choice(list(settings.formats)) for _ in goals]
    places: dict[tuple[int, int], str] = {}
    steps: list[dict[str, Any]] = [{"id": "0", "role": "system", "content": _SYSTEM, "gold": {"scope": ["setup"]}}]
    for goal, number in _woven(goals, rng, at_once=settings.woven):
        event = goals[goal].events[number]
        places[goal, number] = str(len(steps))
        gold = {"scope": [goals[goal].name], "event_types": [event.act]}
        steps.append({"id": places[goal, number], **_written(event, formats[goal], rng), "gold": gold})
    questions = [
        {
            "id": f"{name}-q{number}", "trajectory": name, "type": ability, "question": text, "answer": answer,
            "evidence": [places[event] for event in evidence], **({"gold": {"scope": [scope]}} if scope else {}),
        }
        for number, (ability, text, answer, evidence, scope) in enumerate(_asked(goals, state))
    ]  # fmt: skip
    return Memory({"id": name, "steps": steps}, questions)


def _woven(goals: Sequence[Goal], rng: random.Random, *, at_once: int) -> Iterator[tuple[int, int]]:
    """The events of all goals in the order in which they happen, each as its goal and its number there."""
    waiting = list(range(len(goals)))
    under_way: dict[int, int] = {}
    while waiting or under_way:
        while waiting and len(under_way) < at_once:
            under_way[waiting.pop(0)] = 0
        goal = rng.choice(list(under_way))
        done, events = under_way[goal], goals[goal].events
        end = min(len(events), done + rng.randrange(_LEAST_BLOCK, 2 * _LEAST_BLOCK + 1)) if at_once > 1 else len(events)
        while end < len(events) and events[end].kind == "result":
            end += 1
        yield from ((goal, number) for number in range(done, end))
        under_way[goal] = end
        if end == len(events):
            del under_way[goal]


def _written(event: Event, form: str, rng: random.Random) -> dict[str, Any]:
    if event.kind in ("user", "say"):
        return {"role": "user" if event.kind == "user" else "assistant", "content": event.text}
    if form == "text":
        if event.kind == "result":
            return {"role": "environment", "content": event.text}
        told = " ".join(str(value) for value in event.arguments.values())
        return {"role": "assistant", "content": f"Action: {event.tool} {told}"}
    if event.kind == "result":
        content = json.dumps(event.data, ensure_ascii=False) if form == "json" else event.text
        return {"role": "tool", "content": content, "tool_name": event.tool}
    words = rng.choice(("", "", "Next step.", "I look that up."))
    return {"role": "assistant", "content": words, "words": words,
            "tool_calls": [{"name": event.tool, "arguments": dict(event.arguments)}]}  # fmt: skip


_Asked = tuple[str, str, str, list[tuple[int, int]], str]
"""Ability, question, answer, evidence as goals and numbers of events, and the goal where it is one."""


def _asked(goals: Sequence[Goal], state: State) -> Iterator[_Asked]:
    """Questions about one goal, about orders that several may have changed (the last says it), and about many goals."""
    many: dict[str, list[tuple[int, Ask]]] = {}
    for number, goal in enumerate(goals):
        for ask in goal.asks:
            if ask.ability == "abstraction":
                many.setdefault(ask.text, []).append((number, ask))
            else:
                yield ask.ability, ask.text, ask.answer, [(number, event) for event in ask.evidence], goal.name
    numbers = {goal.name: number for number, goal in enumerate(goals)}
    for order, known in state.orders.items():
        if "changed" in known:
            name, event = known["changed"]
            yield "state update", f"How does {order} stand at present?", known["status"], [(numbers[name], event)], name
    for text, found in many.items():
        if 2 <= len(found) <= _MOST_EVIDENCE:
            evidence = [(number, event) for number, ask in found for event in ask.evidence]
            yield "abstraction", text, ", ".join(ask.answer for _, ask in found), evidence, ""
