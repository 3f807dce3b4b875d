"""Worlds in which an agent works for one goal after the other: code with tests, tickets, a shop, a house, a database.

Each world is a state machine: tools read or change its state, and what they answer follows from it. A goal is what one
agent did in a world, event by event, with questions whose evidence is known because the world made it. The abilities
asked for are those of AMA-Bench: recall, cause, state update, abstraction.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

_PEOPLE = (
    "Ada Berg", "Ben Okafor", "Cleo Marsh", "Dario Lund", "Edith Novak", "Farid Haas", "Greta Solis", "Hugo Tanaka",
    "Ines Calder", "Jonas Weir", "Kira Dahl", "Leo Amsel", "Mona Fisk", "Nils Corde", "Olga Reyes", "Pavel Stone",
)  # fmt: skip
_THINGS = ("kettle", "lantern", "backpack", "rain coat", "desk lamp", "water filter", "hammock", "bike pump", "stove")
_MODULES = ("parser", "scheduler", "cache", "router", "tokenizer", "exporter", "mailer", "resolver", "throttle")
_FAULTS = (
    ("IndexError", "list index out of range", "the loop ran one element too far", "off by one"),
    ("KeyError", "'timezone'", "a setting without a default was read", "missing default"),
    ("ZeroDivisionError", "division by zero", "an empty batch was not guarded against", "empty batch"),
    ("TypeError", "can only concatenate str", "a number was joined to a text", "mixed types"),
    ("RecursionError", "maximum recursion depth exceeded", "a node could be its own parent", "endless recursion"),
)
_FAILURES = (
    "the login page stays blank", "the printer on floor {n} is offline", "the report of week {n} has no totals",
    "mail to partner {n} bounces", "the badge reader at gate {n} is dead",
)  # fmt: skip
_ROOMS = ("kitchen", "study", "cellar", "attic", "hallway", "workshop")
_PLACES = ("drawer", "shelf", "cupboard", "basket", "box")
_OBJECTS = ("mug", "key ring", "notebook", "torch", "scarf", "tape roll")
_TABLES = (("harvest", "orchard", "kilos"), ("trips", "driver", "miles"), ("loans", "branch", "items"),
           ("shifts", "ward", "hours"))  # fmt: skip


class Event(NamedTuple):
    """One step of a goal, in no format yet."""

    kind: str
    """`user`, `call`, `result` or `say`."""
    text: str = ""
    """What is said; of a result, its text form."""
    tool: str = ""
    arguments: Mapping[str, Any] = {}
    """Of a call."""
    data: Any = None
    """Of a result, its JSON form."""
    act: str = ""
    """The gold event type."""


class Ask(NamedTuple):
    """A question with the numbers of the events that answer it."""

    ability: str
    text: str
    answer: str
    evidence: tuple[int, ...]


class Note(NamedTuple):
    """What a goal adds to questions about many goals: something of a kind happened at these events."""

    about: str
    """The question that asks for all of the kind."""
    answer: str
    evidence: tuple[int, ...]


@dataclass
class Goal:
    """What an agent did for one request."""

    name: str
    events: list[Event] = field(default_factory=list)
    asks: list[Ask] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)

    def user(self, text: str) -> int:
        """Somebody asks for something."""
        return self._add(Event("user", text, act="instruct"))

    def say(self, text: str, *, act: str = "tell") -> int:
        """The agent says something."""
        return self._add(Event("say", text, act=act))

    def call(self, tool: str, arguments: Mapping[str, Any], text: str, data: Any, *, act: str, came: str) -> int:
        """The agent calls a tool, which answers; returns the number of the result, the call stands before it."""
        self._add(Event("call", tool=tool, arguments=arguments, act=act))
        return self._add(Event("result", text, tool=tool, data=data, act=came))

    def ask(self, ability: str, text: str, answer: str, *evidence: int) -> None:
        """A question, and the events that answer it."""
        self.asks.append(Ask(ability, text, answer, evidence))

    def _add(self, event: Event) -> int:
        self.events.append(event)
        return len(self.events) - 1


@dataclass
class State:
    """What is true in all worlds of one memory, and where it was last changed."""

    rng: random.Random
    orders: dict[str, dict[str, Any]] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)

    def fresh(self, prefix: str) -> str:
        """An identifier that is not in use."""
        while True:
            name = f"{prefix}-{self.rng.randrange(10_000, 99_999)}"
            if name not in self.used:
                self.used.add(name)
                return name


World = Callable[[State], Goal]


def code(state: State) -> Goal:
    """A test fails; its cause is found, mended, and the tests are run again."""
    rng = state.rng
    module, (error, message, cause, short) = rng.choice(_MODULES), rng.choice(_FAULTS)
    number = state.fresh("ISS")
    path, test, line = f"src/{module}.py", f"tests/test_{module}.py", rng.randrange(20, 240)
    goal = Goal(f"{short} in {module} ({number})")
    goal.user(
        f"{number}: the {module} breaks on some inputs. Please find out why and mend it; the tests are in {test}."
    )
    goal.say("I run the tests first, to see it break.", act="plan")
    red = goal.call(
        "run_tests", {"target": test}, f"F..\n{path}:{line}: {error}: {message}\n1 failed, 2 passed",
        {"failed": 1, "passed": 2, "error": f"{path}:{line}: {error}: {message}"}, act="run", came="failure",
    )  # fmt: skip
    goal.call(
        "read_file", {"path": path, "start": line - 3}, "\n".join(f"{n}: ..." for n in range(line - 3, line + 3)),
        {"path": path, "lines": 6}, act="read", came="success",
    )  # fmt: skip
    why = goal.say(f"So {cause}: that explains the {error}.", act="tell")
    goal.ask("recall", f"For {number}, at which line did the {module} break?", str(line), red)
    goal.ask("cause", f"What made the {module} of {number} break, in the agent's view?", cause, why)
    tries, edited, again = rng.choice((1, 2)), red, red
    for attempt in range(tries):
        edited = goal.call(
            "edit_file", {"path": path, "line": line + attempt, "new": f"guard({attempt})"}, f"{path} saved",
            {"saved": path}, act="edit", came="success",
        )  # fmt: skip
        done = attempt == tries - 1
        counted = "3 passed" if done else f"1 failed, 2 passed: {error} again at line {line + 7}"
        again = goal.call(
            "run_tests", {"target": test}, counted, {"summary": counted}, act="run",
            came="success" if done else "failure",
        )  # fmt: skip
        if not done:
            goal.ask("cause", f"Why was {number} not finished after the first edit?", counted, again)
    goal.ask("state update", f"How do the tests of {number} stand at the end?", "3 passed", again)
    goal.ask("recall", f"Which line was rewritten last for {number}?", str(line + tries - 1), edited - 1)
    goal.say(f"{number} is mended.", act="report result")
    if tries > 1:
        goal.notes.append(Note("Which of the code issues needed a second edit?", number, (again - 2,)))
    return goal


def ticket(state: State) -> Goal:
    """A ticket is read, tried to be settled, perhaps refused, and left in a state."""
    rng = state.rng
    number, who = state.fresh("TCK"), rng.choice(_PEOPLE)
    problem = rng.choice(_FAILURES).format(n=rng.randrange(2, 60))
    goal = Goal(f"{number} of {who}")
    opened = goal.user(f"{who} writes: {problem}. It is ticket {number}.")
    priority, owner = rng.choice(("low", "high", "urgent")), rng.choice(("network", "desktop", "billing"))
    shown = goal.call(
        "get_ticket", {"id": number}, f"{number}: {problem}; priority {priority}; nobody has it",
        {"id": number, "priority": priority, "owner": None}, act="read", came="success",
    )  # fmt: skip
    goal.ask("recall", f"What trouble did {who} report with {number}?", problem, opened)
    goal.ask("recall", f"How pressing was {number} when it was looked up?", priority, shown)
    if rng.random() < 0.45:
        refused = goal.call(
            "close_ticket", {"id": number}, f"refused: {number} has no owner", {"error": "no owner", "id": number},
            act="edit", came="refusal",
        )  # fmt: skip
        why = goal.say("It cannot be closed before somebody owns it, so I hand it over first.", act="plan")
        goal.ask("cause", f"Why was {number} given to a team before anything else?", "no owner", refused, why)
        goal.notes.append(Note("Which tickets could not be closed at the first attempt?", number, (refused,)))
    given = goal.call(
        "assign_ticket", {"id": number, "team": owner}, f"{number} goes to {owner}", {"id": number, "owner": owner},
        act="edit", came="success",
    )  # fmt: skip
    goal.ask("state update", f"Who is in charge of {number} now?", owner, given)
    goal.say(f"{number} is with the {owner} team.", act="report result")
    return goal


def shop(state: State) -> Goal:
    """A customer sends something back or changes an order; the same order comes up again later."""
    rng = state.rng
    known = [name for name, order in state.orders.items() if order["status"] != "refunded"]
    if known and rng.random() < 0.5:
        number = rng.choice(known)
        order = state.orders[number]
    else:
        number = state.fresh("ORD")
        order = {"customer": rng.choice(_PEOPLE), "item": rng.choice(_THINGS), "price": rng.randrange(12, 240),
                 "status": "delivered", "days": rng.randrange(2, 60)}  # fmt: skip
        state.orders[number] = order
    who, item = order["customer"], order["item"]
    goal = Goal(f"{item} of {who} ({number}, {len(state.used)})")
    state.used.add(goal.name)
    wish = rng.choice(("return", "exchange", "status"))
    asked = {
        "return": f"This is {who}. The {item} from {number} does not suit me, I want my money back.",
        "exchange": f"This is {who}. I would rather have another color of the {item} from {number}.",
        "status": f"This is {who}. Could you tell me where the {item} from {number} is?",
    }[wish]
    goal.user(asked)
    shown = goal.call(
        "get_order", {"order_id": number},
        f"{number}: {item}, ${order['price']}, {order['status']}, day {order['days']}",
        {"order_id": number, **order}, act="read", came="success",
    )  # fmt: skip
    if wish == "status":
        goal.say(f"It is {order['status']}.", act="report result")
        goal.ask("recall", f"What had {who} paid for the {item} of {number}?", f"${order['price']}", shown)
    elif order["days"] > 30 and wish == "return":
        refused = goal.call(
            "return_item", {"order_id": number}, "refused: the 30 days are over", {"error": "window closed"},
            act="return", came="refusal",
        )  # fmt: skip
        told = goal.say("I am sorry, the time to send it back has passed.", act="refuse")
        goal.ask("cause", f"On what ground did {who} not get the money for the {item} back?", "30 days", refused, told)
        goal.notes.append(Note("Whose wish to send something back was turned down?", who, (refused,)))
    else:
        tool, status = ("return_item", "refunded") if wish == "return" else ("exchange_item", "exchanged")
        order["status"] = status
        done = goal.call(
            tool, {"order_id": number, "confirm": True}, f"{number} is {status}",
            {"order_id": number, "status": status},
            act="return" if wish == "return" else "edit", came="success",
        )  # fmt: skip
        goal.say(f"Done: {number} is {status}.", act="report result")
        order["changed"] = (goal.name, done)
        goal.ask("recall", f"By which call was the {item} of {number} {status}?", tool, done - 1)
    return goal


def house(state: State) -> Goal:
    """A thing is looked for in a house and put somewhere else."""
    rng = state.rng
    thing, room, end = rng.choice(_OBJECTS), *rng.sample(_ROOMS, 2)
    number = state.fresh("ERR")
    goal = Goal(f"{thing} to the {end} ({number})")
    goal.user(f"Errand {number}: find a {thing} and bring it to the {end}.")
    places = [f"{place} {rng.randrange(1, 9)}" for place in rng.sample(_PLACES, rng.randrange(2, 4))]
    goal.call("go", {"to": room}, f"You are in the {room}. You see {', '.join(places)}.",
              {"room": room, "sees": places}, act="navigate", came="success")  # fmt: skip
    empty = 0
    for place in places[:-1]:
        empty = goal.call("open", {"what": place}, f"The {place} is empty.", {"opened": place, "holds": []},
                          act="click", came="empty")  # fmt: skip
    found = goal.call("open", {"what": places[-1]}, f"In the {places[-1]} is a {thing}.",
                      {"opened": places[-1], "holds": [thing]}, act="click", came="success")  # fmt: skip
    why = goal.say(f"Nothing was in the {places[-2]}, so the {places[-1]} was next, and there it is.", act="tell")
    goal.call("take", {"what": thing}, f"You have the {thing}.", {"holding": thing}, act="edit", came="success")
    goal.call("go", {"to": end}, f"You are in the {end}.", {"room": end}, act="navigate", came="success")
    put = goal.call(
        "put", {"what": thing}, f"The {thing} lies in the {end}.", {"lies": end}, act="edit", came="success"
    )
    goal.ask("recall", f"Where was the {thing} of {number} hidden?", places[-1], found)
    goal.ask("cause", f"What led to the last thing being opened on errand {number}?", "empty", empty, why)
    goal.ask("state update", f"Where does the {thing} of errand {number} lie now?", end, put)
    return goal


def database(state: State) -> Goal:
    """A table is asked, with a column that is not there at first."""
    rng = state.rng
    table, group, column = rng.choice(_TABLES)
    number, value = state.fresh("QRY"), rng.randrange(100, 9_999)
    wrong = rng.choice(("amount", "total", "sum_of_all"))
    goal = Goal(f"{column} of {table} ({number})")
    goal.user(f"{number}: what do all {table} of last month come to, in {column}?")
    queries = [f"SELECT SUM({each}) FROM {table}" for each in (wrong, column)]  # noqa: S608 (nothing runs it)
    failed = goal.call("run_sql", {"query": queries[0]}, f"Error: no such column: {wrong}",
                       {"error": f"no such column: {wrong}"}, act="run", came="failure")  # fmt: skip
    listed = goal.call("run_sql", {"query": f"PRAGMA table_info({table})"}, f"{group}, month, {column}",
                       {"columns": [group, "month", column]}, act="read", came="success")  # fmt: skip
    got = goal.call("run_sql", {"query": f"{queries[1]} WHERE month = 'last'"}, str(value),
                    {"rows": [[value]]}, act="run", came="success")  # fmt: skip
    goal.say(f"All together: {value}.", act="report result")
    goal.ask("recall", f"What number came out for {number}?", str(value), got)
    goal.ask("cause", f"Why did {number} need a look at the table first?", wrong, failed)
    goal.ask("recall", f"Which fields does the table behind {number} have?", f"{group}, month, {column}", listed)
    goal.notes.append(Note("Which inquiries began with a field that is not there?", number, (failed,)))
    return goal


WORLDS: Mapping[str, World] = {"code": code, "tickets": ticket, "shop": shop, "house": house, "database": database}
"""All worlds by name."""
