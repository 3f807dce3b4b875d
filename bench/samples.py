"""The project's own sample trajectories: a trip over two interleaved days, and in `coding_sample` a coding agent.

Both are told from symbolic plans, so what every step is about is known: its gold scope, event, objects and answer.
They are made to defeat similarity: the same places and files come back under other goals, and answers do not name
what they answer about.
"""

from __future__ import annotations

import json
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from stitch.core import Step, Trajectory


class GoldStep(NamedTuple):
    """What the plan knows of one step. A type of its own: a memory cannot take it in."""

    step: str
    """The id of the step."""
    scope: str
    event: str
    objects: tuple[str, ...] = ()
    """The places or files the step is about, named in it or not."""
    answer: str | None = None
    """The value the step states, if it answers something."""


class SampleQuestion(NamedTuple):
    """A question about a sample, with what is right and why similar text is not enough."""

    text: str
    answer: str
    evidence: tuple[str, ...]
    """Ids of the steps that bear the answer, in order."""
    why_similarity_fails: str


class Sample(NamedTuple):
    """A trajectory with its gold, one `GoldStep` a step, and questions about it."""

    name: str
    trajectory: Trajectory
    gold: tuple[GoldStep, ...]
    questions: tuple[SampleQuestion, ...]


def write_jsonl(sample: Sample, path: Path) -> None:
    """Write the trajectory, without its gold, as one JSON line that `stitch ingest` reads."""
    steps = [step.model_dump(mode="json", exclude_defaults=True) for step in sample.trajectory.steps]
    line = json.dumps({"id": sample.trajectory.id, "steps": steps}, ensure_ascii=False)
    path.write_text(line + "\n", encoding="utf-8")


class Story:
    """Collects the steps of a trajectory together with their gold; every operation takes one minute."""

    def __init__(self, name: str, *, begins: datetime) -> None:
        self.name = name
        self.now = begins
        self.steps: list[Step] = []
        self.gold: list[GoldStep] = []

    def tell(self, step: Step, *, scope: str, event: str, objects: tuple[str, ...], answer: str | None = None) -> None:
        """Add a step, and what is known of it."""
        named = step.model_copy(
            update={"id": f"{self.name}-{len(self.steps) + 1}", "timestamp": f"{self.now:%Y-%m-%dT%H:%M}"}
        )
        self.steps.append(named)
        self.gold.append(GoldStep(str(named.id), scope, event, objects, answer))

    def wait(self) -> None:
        """Let a minute pass."""
        self.now += timedelta(minutes=1)

    def sample(self, questions: tuple[SampleQuestion, ...]) -> Sample:
        """What was told, with these questions."""
        return Sample(self.name, Trajectory(id=self.name, steps=tuple(self.steps)), tuple(self.gold), questions)

    def find(self, *, scope: str, event: str, answer: str, last: bool = False) -> str:
        """The id of the first (or last) step that states an answer."""
        found = [gold.step for gold in self.gold if (gold.scope, gold.event, gold.answer) == (scope, event, answer)]
        return found[-1 if last else 0]


# --- the trip ---------------------------------------------------------------------------------------------------------


class _Turn(NamedTuple):
    """One operation of the trip: an action on options of a slot, by their place in the order of proposing."""

    action: str
    slot: str = ""
    options: tuple[int, ...] = ()
    name: str = ""
    """The place, when it is proposed."""
    value: str = ""
    """What is told: a price or a rating."""


def _day(number: int) -> _Turn:
    return _Turn("set day", options=(number,))


def _propose(slot: str, name: str) -> _Turn:
    return _Turn("propose", slot, name=name)


def _price(slot: str, option: int, value: str) -> _Turn:
    return _Turn("ask price", slot, (option,), value=value)


def _rating(slot: str, option: int, value: str) -> _Turn:
    return _Turn("ask rating", slot, (option,), value=value)


def _compare(slot: str, first: int, second: int) -> _Turn:
    return _Turn("compare", slot, (first, second))


def _decide(slot: str, option: int) -> _Turn:
    return _Turn("decide", slot, (option,))


_TRIP = (
    _day(1),
    _propose("breakfast", "Zephyr Mill"), _propose("breakfast", "Calliope Terrace"),
    _price("breakfast", 1, "$41.80"), _price("breakfast", 2, "$76.22"),
    _propose("stay", "Halcyon Loft"), _propose("stay", "Thalia Harbor House"),
    _day(2),
    _propose("breakfast", "Calliope Terrace"), _propose("breakfast", "Zephyr Mill"),
    _price("breakfast", 2, "$38.15"), _price("breakfast", 1, "$64.90"),
    _propose("stay", "Thalia Harbor House"), _propose("stay", "Halcyon Loft"),
    _rating("stay", 1, "4.4"), _decide("stay", 1),
    _day(1),
    _price("stay", 2, "$203.60"), _propose("dinner", "Calliope Terrace"), _propose("dinner", "Daedalus Grill"),
    _price("dinner", 2, "$88.75"), _rating("breakfast", 2, "3.9"), _compare("stay", 1, 2), _decide("stay", 1),
    _day(2),
    _propose("stay", "Briareus Inn"), _price("stay", 3, "$149.30"), _propose("dinner", "Zephyr Mill"),
    _propose("dinner", "Daedalus Grill"), _price("dinner", 2, "$97.05"), _compare("stay", 1, 3),
    _day(1),
    _decide("breakfast", 2), _propose("visit", "Selene Lens Tower"), _rating("visit", 1, "4.7"), _decide("visit", 1),
    _day(2),
    _decide("stay", 3), _propose("visit", "Selene Lens Tower"), _price("visit", 1, "$22.50"), _decide("breakfast", 2),
)  # fmt: skip

_USER = {
    "set day": (
        "Let's begin with day {day}.",
        "Let's turn to day {day} for a while.",
        "Back to day {day}, there are things left open.",
        "Let's go to day {day} again.",
        "I would like to return to day {day} now.",
        "Once more to day {day}, then we are nearly done.",
    ),
    "propose": (
        "One idea for {slot} is {name}. A colleague could not stop talking about it.",
        "What about {name} for {slot}? It looked friendly in the pictures.",
        "I came across {name}; it might do for {slot}.",
        "For {slot} we could also think of {name}, if it is not too loud.",
        "My sister suggests {name} for {slot}. I know nothing about it.",
        "Could {name} work for {slot}? I like the sound of it.",
        "I keep reading about {name}. Let us consider it for {slot}.",
    ),
    "ask price": (
        "Would {option} stay within our limits?",
        "And {option}, is that something we can allow ourselves?",
        "Before I fall in love with it, what about {option}? You know our limit.",
    ),
    "ask rating": (
        "How do guests rate {option}?",
        "Is {option} well reviewed? I would rather not be surprised.",
    ),
    "compare": (
        "Could you set {option} against {other}? Quiet matters to us more than style.",
        "I cannot choose between {option} and {other}. How do they differ?",
    ),
    "decide": (
        "Then let's settle on {option}, at least until I have slept over it and talked to my sister.",
        "In the end {option} convinces me, so let's choose that one.",
        "Good, {option} it is.",
        "I will go with {option}. Please note it down.",
        "We take {option} instead of what I said before.",
        "Let's book {option}.",
    ),
}

_AGENT = {
    "set day": (
        "Gladly. Tell me what you have in mind and we will fill it piece by piece.",
        "Of course. We can leave the rest as it stands and come back whenever you like.",
    ),
    "propose": (
        "It has been run by one family for three generations, and the tables by the window look over the canal.",
        "People like it for its calm. The rooms are plain, the light is good, and nobody hurries you.",
        "A sound thought. It is a short walk from the old market, and the staff will help with directions.",
        "It is one of the livelier houses of the quarter, so a corner away from the door is worth asking for.",
        "Many of our guests come back to it. It opened in a former customs house, and the vaults are still there.",
        "Good instinct. It is small, so it helps to come early, and the garden behind it is a secret worth keeping.",
        "It divides opinions: some find it old-fashioned, others would not go anywhere else.",
        "A pleasant choice. Last autumn they repainted everything in pale blue, which suits the light there.",
        "It sits at the end of a quiet lane, five minutes from the tram. You will hear bells rather than cars.",
    ),
    "ask price": (
        "It is priced at {value}, service included.",
        "That comes to {value} for both of you.",
        "They ask {value} at the moment. It changes with the day of the week.",
    ),
    "ask rating": (
        "It holds a {value} out of 5 among recent guests.",
        "Visitors give it {value} out of 5, mostly for the welcome.",
    ),
    "compare": (
        "The first is the quieter of the two and has the better beds; the second is nearer to the water and newer.",
        "They are close. One is older and has thick walls, the other is brighter and lies on a street with traffic.",
    ),
    "decide": (
        "Noted. I have put it into the plan.",
        "A fine choice. It is in the plan now, and it can be changed until the evening before.",
    ),
}

_MORE = {
    "propose": (
        "If you go, ask for the house bread. They bake it twice a day, and what is left goes to the neighbors.",
        "I would keep it in mind, though it fills up early. Shall we look at something beside it?",
    ),
    "ask price": ("That is neither the cheapest nor the dearest of what we looked at. Would you like alternatives?",),
    "compare": ("If sleep is what counts, I would lean to the first. But either would serve you well.",),
}
"""What the agent adds in a turn of its own, after every other operation of these kinds."""

_KINDS = {"stay": "hotel", "visit": "sight"}
_PURPOSES = {"stay": "the night", "visit": "the outing"}
_ORDINALS = ("first", "second", "third")


def travel_sample() -> Sample:
    """A trip of two days that are planned in turns: places recur on both, and the agent's answers name none."""
    story = Story("trip", begins=datetime(2026, 3, 14, 9, 0))
    proposed: dict[tuple[int, str], list[str]] = {}
    count: Counter[str] = Counter()
    day = 0
    for turn in _TRIP:
        if turn.action == "set day":
            day = turn.options[0]
        if turn.action == "propose":
            proposed.setdefault((day, turn.slot), []).append(turn.name)
        _tell_turn(story, turn, day=day, known=proposed.get((day, turn.slot), []), nth=count[turn.action])
        count[turn.action] += 1
    second = story.find(scope="day 1", event="ask price", answer="$76.22")
    inn = next(gold.step for gold in story.gold if gold.objects == ("Briareus Inn",))
    return story.sample(
        (
            SampleQuestion(
                "What did breakfast at the second restaurant for day 1 cost?",
                "$76.22",
                (second,),
                "The answer says only 'That comes to ...'; four other prices, one of the same place on day 2, "
                "read alike.",
            ),
            SampleQuestion(
                "Which hotel was chosen for day 2 in the end?",
                "Briareus Inn",
                (inn, story.find(scope="day 2", event="decide", answer="Briareus Inn")),
                "The choice says 'the third hotel I raised'; an earlier choice for day 2 and one for day 1 read alike.",
            ),
        )
    )


def _tell_turn(story: Story, turn: _Turn, *, day: int, known: list[str], nth: int) -> None:
    """Tell the turn for the `nth` time; `known` are the places proposed so far for this day and slot."""
    options = turn.options if known else ()
    objects = (turn.name,) if turn.name else tuple(known[option - 1] for option in options)
    references = (_refer(day, turn.slot, option) for option in options)
    words = {
        **dict(zip(("option", "other"), references, strict=False)),
        "day": day,
        "name": turn.name,
        "value": turn.value,
        "slot": _PURPOSES.get(turn.slot, turn.slot),
    }
    told = [("user", _USER[turn.action]), ("agent", _AGENT[turn.action])]
    if turn.action in _MORE and nth % 2:
        told.append(("agent", _MORE[turn.action]))
    answers = {"user": objects[0] if turn.action == "decide" else None, "agent": turn.value or None}
    for role, texts in told:
        step = Step(role=role, content=texts[nth % len(texts)].format(**words))
        answer = answers.pop(role, None)  # what the agent adds states nothing
        story.tell(step, scope=f"day {day}", event=turn.action, objects=objects, answer=answer)
    story.wait()


def _refer(day: int, slot: str, option: int) -> str:
    kind = _KINDS.get(slot, "restaurant")
    goal = f"day {day}" if slot in _KINDS else f"day {day}'s {slot}"
    return f"the {_ORDINALS[option - 1]} {kind} I raised for {goal}"


_NOTES = """
I bought a blue kite for the party in May. Then the rain began, so I sat in a cafe for two hours and read the
paper from front to back.

The party in May will be in the garden behind the old mill. We need chairs, and somebody has to ask the miller
for the key of the gate.

For the party I also bought twelve paper lanterns. The shop is next to the station; its owner told me a long
story about his uncle's boat.

Who comes to the party in May? So far Ann, Bo and Cy have said yes. Dee is abroad until June, and Eve does not
answer her phone these days.

Today I bought a cake tin for the party. On the way home my bicycle had a flat tire, and I walked the last three
kilometers in the heat.

The party in May was moved by a week. The garden is free on the second Saturday only, because the miller's
daughter marries on the first.
"""
PARTY_NOTES = tuple(
    {"id": f"note-{number}", "role": "user", "content": " ".join(text.split())}
    for number, text in enumerate(_NOTES.split("\n\n"), start=1)
)
"""Notes of which three say what was bought, each among other things."""
