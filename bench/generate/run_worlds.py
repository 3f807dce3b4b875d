"""Worlds of an agent's runs: code with tests, tickets, a shop, a house, a database.

A world is a state machine: what its tools answer follows from its state, so the evidence of its questions is exact.
Here it is drawn what happens; what is said, called, answered and asked stands in `phrases/runs.json`, part by part.
The abilities asked for are those of AMA-Bench: recall, cause, state update, abstraction.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from stitch.bench.generate.wordings import read_phrases

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
    """What an agent did for one request.

    Args:
        world: The name of its world.
        facts: What the fields of the phrases stand for.
    """

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
