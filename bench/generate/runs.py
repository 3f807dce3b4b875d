"""Agents' runs with questions: goals of several worlds, woven into memories of any length, in several formats.

A world is a state machine: what its tools answer follows from its state, so the evidence of its questions is exact.
Here it is drawn what happens; what is said, called, answered and asked stands in `phrases/runs.json`, part by part.
The abilities asked for are those of AMA-Bench: recall, cause, state update, abstraction. A goal is left and taken up
again where no call waits for its result. All is drawn from the seed.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from stitch.bench.generate.environment import read_phrases
from stitch.errors import InputError

RUNS = read_phrases("runs")


class Event(NamedTuple):
    """One step of a goal, in no format yet."""

    kind: str
    """`user`, `call`, `result` or `say`."""
    text: str = ""
    """What is said; of a result, its text form."""
    tool: str = ""
    arguments: Mapping[str, Any] = {}
    data: Any = None
    """Of a result, its JSON form."""
    act: str = ""
    """The gold event type."""


class Ask(NamedTuple):
    """A question with the numbers of the events that answer it; `abstraction` asks for all goals that answer it."""

    ability: str
    text: str
    answer: str
    evidence: tuple[int, ...]


@dataclass
class State:
    """What is true in all worlds of one memory."""

    rng: random.Random
    orders: dict[str, dict[str, Any]] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)

    def fresh(self, prefix: str) -> str:
        """An identifier that is not in use."""
        while (name := f"{prefix}-{self.rng.randrange(10_000, 99_999)}") in self.used:
            pass
        self.used.add(name)
        return name


class Goal:
    """What an agent did for one request; `facts` are what the fields of the phrases stand for."""

    def __init__(self, world: str, **facts: Any) -> None:
        self._parts, self._facts = RUNS[world], facts
        self.name: str = self._parts["name"].format(**facts)
        self.events: list[Event] = []
        self.asks: list[Ask] = []
        self.marks: dict[str, int] = {}
        """Numbers of events by the names that the phrases give them; of a result, also `... call`."""

    def tell(self, part: str, **facts: Any) -> None:
        """Add the events and questions of a part."""
        self._facts |= facts
        for line in self._parts[part]:
            told = {key: _filled(value, self._facts) for key, value in line.items()}
            if "ask" in told:
                evidence = tuple(self.marks[name] for name in told["of"])
                self.asks.append(Ask(told["ask"], told["text"], str(told["answer"]), evidence))
            elif "call" in told:
                self.events.append(Event("call", tool=told["call"], arguments=told["given"], act=told["act"]))
                result = Event("result", str(told["text"]), tool=told["call"], data=told["data"], act=told["came"])
                self._add(result, told)
            else:
                kind = "user" if "user" in told else "say"
                self._add(Event(kind, told[kind], act=told.get("act", "instruct")), told)

    def _add(self, event: Event, told: Mapping[str, Any]) -> None:
        self.events.append(event)
        if name := told.get("as"):
            self.marks |= {name: len(self.events) - 1, f"{name} call": len(self.events) - 2}


def _filled(value: Any, facts: Mapping[str, Any]) -> Any:
    """A value with its fields filled; what is a field and nothing else becomes the fact itself."""
    if isinstance(value, dict):
        return {key: _filled(each, facts) for key, each in value.items()}
    if isinstance(value, tuple):
        return [_filled(each, facts) for each in value]
    if not isinstance(value, str):
        return value
    return facts[value[1:-1]] if value[:1] == "{" and value[1:-1] in facts else value.format(**facts)


def _code(state: State) -> Goal:
    """A test fails; its cause is found, mended, and the tests are run again."""
    rng = state.rng
    module, (error, message, cause, short) = rng.choice(RUNS["modules"]), rng.choice(RUNS["faults"])
    number, line = state.fresh("ISS"), rng.randrange(20, 240)
    goal = Goal("code", module=module, error=error, message=message, cause=cause, short=short, number=number, line=line,
                path=f"src/{module}.py", test=f"tests/test_{module}.py")  # fmt: skip
    goal.tell("open", start=line - 3, shown="\n".join(f"{n}: ..." for n in range(line - 3, line + 3)))
    tries = rng.choice((1, 2))
    for attempt in range(tries):
        done = attempt == tries - 1
        counted = "3 passed" if done else f"1 failed, 2 passed: {error} again at line {line + 7}"
        came = "success" if done else "failure"
        goal.tell("edit", edited_line=line + attempt, attempt=attempt, counted=counted, came=came)
        if not done:
            goal.tell("still red")
    goal.tell("end")
    if tries > 1:
        goal.tell("edited twice")
    return goal


def _ticket(state: State) -> Goal:
    """A ticket is read, tried to be settled, perhaps refused, and left in a state."""
    rng = state.rng
    number, who = state.fresh("TCK"), rng.choice(RUNS["people"])
    problem = rng.choice(RUNS["failures"]).format(n=rng.randrange(2, 60))
    priority, owner = rng.choice(("low", "high", "urgent")), rng.choice(("network", "desktop", "billing"))
    goal = Goal("tickets", number=number, who=who, problem=problem, priority=priority, owner=owner)
    goal.tell("open")
    if rng.random() < 0.45:
        goal.tell("refused")
    goal.tell("end")
    return goal


def _shop(state: State) -> Goal:
    """A customer sends something back or changes an order; the same order comes up again later."""
    rng = state.rng
    known = [name for name, order in state.orders.items() if order["status"] != "refunded"]
    if known and rng.random() < 0.5:
        number = rng.choice(known)
        order = state.orders[number]
    else:
        number = state.fresh("ORD")
        order = {"customer": rng.choice(RUNS["people"]), "item": rng.choice(RUNS["things"]),
                 "price": rng.randrange(12, 240), "status": "delivered", "days": rng.randrange(2, 60)}  # fmt: skip
        state.orders[number] = order
    goal = Goal("shop", item=order["item"], who=order["customer"], number=number, used=len(state.used))
    state.used.add(goal.name)
    wish = rng.choice(("return", "exchange", "status"))
    goal.tell(wish)
    shown = {"order_id": number, **order}
    goal.tell("look", price=order["price"], state=order["status"], days=order["days"], order=shown)
    if wish == "status":
        goal.tell("told")
    elif order["days"] > 30 and wish == "return":
        goal.tell("refused")
    else:
        order["status"] = "refunded" if wish == "return" else "exchanged"
        act = "return" if wish == "return" else "edit"
        goal.tell("done", tool=f"{wish}_item", act=act, state=order["status"])
        order["changed"] = (goal.name, goal.marks["done"])
    return goal


def _house(state: State) -> Goal:
    """A thing is looked for in a house and put somewhere else."""
    rng = state.rng
    thing, room, end = rng.choice(RUNS["objects"]), *rng.sample(RUNS["rooms"], 2)
    goal = Goal("house", thing=thing, room=room, end=end, number=state.fresh("ERR"))
    places = [f"{place} {rng.randrange(1, 9)}" for place in rng.sample(RUNS["places"], rng.randrange(2, 4))]
    goal.tell("open", places=places, seen=", ".join(places))
    for place in places[:-1]:
        goal.tell("empty", place=place)
    goal.tell("end", last=places[-1])
    return goal


def _database(state: State) -> Goal:
    """A table is asked, with a column that is not there at first."""
    rng = state.rng
    table, group, column = rng.choice(RUNS["tables"])
    number, value = state.fresh("QRY"), rng.randrange(100, 9_999)
    wrong = rng.choice(("amount", "total", "sum_of_all"))
    goal = Goal("database", table=table, group=group, column=column, number=number, value=value, wrong=wrong)
    goal.tell("all")
    return goal


WORLDS: Mapping[str, Callable[[State], Goal]] = {
    "code": _code, "tickets": _ticket, "shop": _shop, "house": _house, "database": _database,
}  # fmt: skip

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
