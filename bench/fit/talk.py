"""Trajectories with gold scopes as the tracker reads them, and others woven from their stretches.

One set hardly ever switches, another at every step; one has many speakers, another tools. A model fitted to a few sets
takes such habits for laws. Here the same stretches are woven at many rates: in turn and cut short (`chain`), left and
taken up again (`weave`), among many speakers who name each other or do not (`room`); some with calls of made-up tools.
Sessions with an assistant are woven apart (`chat`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from math import exp, log
from operator import itemgetter
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from stitch.bench.data.sets import read_records
from stitch.core import Step, ToolCall
from stitch.label.local.reading import Reading, read_step
from stitch.text.sentences import sentence_spans
from stitch.text.values import find_mentions
from stitch.text.words import FUNCTION_WORDS, words

_MIN_STEPS = 3
_SYLLABLES = ["ba", "de", "ki", "lo", "mu", "ra", "se", "ti", "vo", "xa", "ne", "zu", "fi", "go", "ha", "jo"]
_GREETINGS = ("hi", "hello all", "hi everybody", "hey there", "hello, I am new here", "good evening")


class LabeledTrajectory(NamedTuple):
    """A trajectory as it is read, with the gold scopes of each step; empty where there are none."""

    readings: list[Reading]
    gold: list[tuple[str, ...]]
    coarse: frozenset[int]
    """Steps that open something new inside a gold scope: nothing is learned from them."""


def read_set(path: Path) -> list[LabeledTrajectory]:
    """The trajectories of a file of labeled trajectories."""
    return [_labeled(record["steps"]) for _, record in read_records(path)]


def read_chats(path: Path, *, most: int) -> list[LabeledTrajectory]:
    """The distinct sessions of a file of trajectories in which two speak in turn, each as a trajectory."""
    found: dict[str, LabeledTrajectory] = {}
    gold = {"scope": ["chat"], "event_types": []}
    for _, record in read_records(path):
        for _, session in groupby(record["steps"], key=itemgetter("session")):
            said = list(session)
            roles = [step["role"] for step in said]
            in_turn = len(set(roles)) == 2 and all(before != after for before, after in pairwise(roles))
            if in_turn and said[0]["content"] not in found:
                found[said[0]["content"]] = _labeled([{**step, "gold": gold} for step in said])
            if len(found) >= most:
                return list(found.values())
    return list(found.values())


def _labeled(steps: Sequence[Mapping[str, Any]]) -> LabeledTrajectory:
    gold = [tuple(sorted(step["gold"]["scope"])) for step in steps]
    coarse: set[int] = set()
    readings = read_steps(
        Step(role=step["role"], content=step["content"] or " . ", timestamp=step.get("timestamp")) for step in steps
    )
    for number, step in enumerate(steps):
        # Where an intent is announced again inside one goal, the gold is coarser than the scopes that are wanted.
        announces = any("INTENT" in event for event in step["gold"]["event_types"])
        if announces and gold[number] and gold[number][0].startswith("goal ") and gold[number] in gold[:number]:
            coarse.add(number)
    return LabeledTrajectory(readings, gold, frozenset(coarse))


def read_steps(steps: Iterable[Step]) -> list[Reading]:
    """Steps as they are read one after the other, with the speakers known so far."""
    speakers: dict[str, int] = {}
    readings = []
    for step in steps:
        readings.append(reading := read_step(step, speakers=speakers))
        if not reading.is_notice:
            speakers[reading.role] = 1
    return readings


Stretch = list[list[Step]]
"""Steps of one subject, in bundles that nothing comes between: a call, its result, and what is said of it."""


class Woven(NamedTuple):
    """The steps of a trajectory, each with the number of its stretch."""

    steps: list[Step]
    scopes: list[int]

    def add(self, bundle: list[Step], number: int) -> None:
        """Let a bundle come next."""
        self.steps.extend(bundle)
        self.scopes.extend([number] * len(bundle))


def stretches(readings: Sequence[Reading], gold: Sequence[tuple[str, ...]]) -> list[Stretch]:
    """The stretches of steps of one gold scope, without tools, by two speakers named by who opened it."""
    found: list[list[Reading]] = []
    last: tuple[str, ...] = ()
    for reading, scope in zip(readings, gold, strict=True):
        if scope != last:
            found.append([])
        last = scope
        if scope and not reading.data.calls and not reading.answers_tool:
            found[-1].append(reading)
    return [
        [[Step(role="user" if each.role == own[0].role else "agent", content=each.step.content)] for each in own]
        for own in found
        if len(own) >= _MIN_STEPS
    ]


def chain(rng: Random, pool: Sequence[Stretch]) -> Woven:
    """Stretches in turn; some are cut short, and what would have come next leads over to the next one."""
    chosen = rng.sample(pool, min(len(pool), rng.randint(1, 8)))
    tools = _Tools(rng)
    cuts, leads = rng.random() < 0.6, rng.uniform(0.0, 0.8)
    woven, lead = Woven([], []), ""
    for number, stretch in enumerate(chosen):
        end = min(len(stretch), rng.randint(2, 7)) if cuts else len(stretch)
        kept = stretch[:end]
        if woven.steps and woven.steps[-1].role == kept[0][0].role:
            kept = [[_said("agent" if s.role == "user" else "user", s.content) for s in bundle] for bundle in kept]
        if lead:
            kept = [[_said(kept[0][0].role, f"{lead} {kept[0][0].content}")], *kept[1:]]
        for bundle in tools.use(kept):
            woven.add(bundle, number)
        lead = ""
        if end < len(stretch) and rng.random() < leads:
            text = stretch[end][0].content
            first, last = (*sentence_spans(text), (0, 0))[0]
            lead = text[first:last] if last - first < 80 else ""
    return woven


def weave(rng: Random, pool: Sequence[Stretch]) -> Woven:
    """Stretches that are left and taken up again, by two speakers."""
    tools = _Tools(rng)
    chosen = [tools.use(stretch) for stretch in rng.sample(pool, min(len(pool), rng.randint(2, 8)))]
    opener = "user" if rng.random() < 0.5 else ""
    return _interleave(rng, chosen, run=_between(rng, 1.5, 10.0), live=rng.randint(2, 4), opener=opener)


def room(rng: Random, pool: Sequence[Stretch]) -> Woven:
    """Stretches at the same time, each by two of many speakers; a few speakers help in several."""
    chosen = rng.sample(pool, min(len(pool), rng.randint(6, 16)))
    names = [
        "".join(rng.choice(_SYLLABLES) for _ in range(rng.randint(2, 3))) + rng.choice(("", "", "1", "_"))
        for _ in range(4 + 2 * len(chosen))
    ]
    naming, splitting = rng.uniform(0.15, 0.7), rng.uniform(0.0, 0.6)
    greeting = rng.choice((0.0, 0.0, 0.5))
    threads: list[Stretch] = []
    for number, stretch in enumerate(chosen):
        helper = rng.choice(names[:4]) if rng.random() < 0.5 else names[4 + 2 * number]
        speakers = {"user": names[5 + 2 * number], "agent": helper}
        spoken = list(_spoken(rng, stretch, speakers, naming=naming, splitting=splitting))
        if rng.random() < greeting:
            spoken.insert(0, [_said(speakers["user"], rng.choice(_GREETINGS))])
        threads.append(spoken)
    return _interleave(rng, threads, run=_between(rng, 1.15, 3.5), live=rng.randint(2, 6), opener="")


def chat(rng: Random, pool: Sequence[Stretch]) -> Woven:
    """Stretches in turn, or left and taken up again, each where an exchange ends: an assistant answers at once."""
    chosen = [
        [[step for bundle in stretch[first : first + 2] for step in bundle] for first in range(0, len(stretch), 2)]
        for stretch in rng.sample(pool, min(len(pool), rng.randint(1, 6)))
    ]
    return _interleave(rng, chosen, run=_between(rng, 1.2, 30.0), live=rng.randint(2, 4), opener="")


KINDS: dict[str, Callable[[Random, Sequence[Stretch]], Woven]] = {"chain": chain, "weave": weave, "room": room}


def _said(role: str, content: str) -> Step:
    return Step(role=role, content=content)


def _spoken(
    rng: Random, stretch: Stretch, speakers: dict[str, str], *, naming: float, splitting: float
) -> Iterator[list[Step]]:
    """The steps as said by these speakers: sentence by sentence or not, to somebody by name or not."""
    splits, seen = rng.random() < splitting, set[str]()
    for step in (step for bundle in stretch for step in bundle):
        speaker, other = speakers[step.role], speakers["agent" if step.role == "user" else "user"]
        spans = sentence_spans(step.content)[:4]
        parts = [step.content[a:b] for a, b in spans] if splits and spans else [step.content]
        if other in seen and rng.random() < naming:
            parts[0] = rng.choice((f"{other}: {parts[0]}", f"{other}, {parts[0]}", f"{parts[0]} {other}"))
        seen.add(speaker)
        yield from ([_said(speaker, part)] for part in parts)


def _following(rng: Random, waiting: list[int], others: list[int], *, full: bool, current: int) -> int:
    """The stretch that goes on: a new one, the last left, any other that is open, or the same again."""
    if waiting and (not others or (not full and rng.random() < 0.5)):
        return waiting.pop()
    if others:
        return others[-1] if rng.random() < 0.5 else rng.choice(others)
    return current


def _interleave(rng: Random, chosen: Sequence[Stretch], *, run: float, live: int, opener: str) -> Woven:
    """The stretches interleaved: `run` bundles in a row on average, `live` at a time, left where `opener` speaks."""
    woven = Woven([], [])
    left = [deque(stretch) for stretch in chosen]
    waiting, others = list(range(len(chosen)))[::-1], list[int]()
    current = -1
    while waiting or others or (current >= 0 and left[current]):
        over = current < 0 or not left[current]
        # Anybody may leave a stretch; if there is an opener, only where the opener speaks next.
        if over or ((not opener or left[current][0][0].role == opener) and rng.random() < 1.0 / run):
            under_way = [*others, *([] if over else [current])]
            current = _following(rng, waiting, others, full=len(under_way) >= live, current=current)
            others = [number for number in under_way if number != current]
        woven.add(left[current].popleft(), current)
    return woven


class _Tools:
    """How the tools of a trajectory are called, if any are."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._often = rng.uniform(0.3, 0.9) if rng.random() < 0.4 else 0.0
        self._written = rng.random() < 0.5
        """Whether a call is written out as text by a role of its own."""

    def use(self, stretch: Stretch) -> Stretch:
        """The stretch with calls before some of the agent's steps, named after words of the stretch."""
        if not self._often:
            return stretch
        said = [word for bundle in stretch for step in bundle for word in words(step.content.lower())]
        content = list(filter(_carries, said)) or ["look"]
        names = ["_".join(self._rng.sample(content, min(2, len(content)))) for _ in range(self._rng.randint(1, 2))]
        used: Stretch = []
        known: dict[str, str] = {}
        for bundle in stretch:
            step = bundle[0]
            found = {mention.entity_type: mention.value for mention in find_mentions(step.content)}
            if step.role == "agent" and used and self._rng.random() < self._often:
                used.append([*self._called(self._rng.choice(names), known, found), step])
            else:
                used.append(bundle)
            known |= found
        return used

    def _called(self, name: str, given: dict[str, str], told: dict[str, str]) -> Iterator[Step]:
        call = ToolCall(name=name, arguments=dict(given))
        if self._written:
            yield Step(role="agent_call", content=call.model_dump_json(exclude={"id"}))
        else:
            yield Step(role="agent", content="", tool_calls=(call,))
        result = ", ".join(f'"{key}": "{value}"' for key, value in (told or {"status": "ok"}).items())
        yield Step(role="tool", content="{" + result + "}", tool_name=name)


def _carries(word: str) -> bool:
    return word.isalpha() and len(word) > 3 and word not in FUNCTION_WORDS


def _between(rng: Random, least: float, most: float) -> float:
    return exp(rng.uniform(log(least), log(most)))
