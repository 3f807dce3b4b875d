"""Trajectories woven from stretches of others, to learn from kinds of talk that the labeled sets lack.

One set hardly ever switches, another at every step; one has many speakers, another tools. A model fitted to a few sets
takes such habits for laws. Here the same stretches are woven at many rates: in turn and cut short (`chain`), left and
taken up again (`weave`), among many speakers who name each other or do not (`room`); some with calls of made-up tools.
Sessions with an assistant are woven apart (`chat`).
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from math import exp, log
from typing import NamedTuple

from stitch.core import Step, ToolCall
from stitch.label.local.reading import Reading
from stitch.text.sentences import sentence_spans
from stitch.text.values import find_mentions
from stitch.text.words import FUNCTION_WORDS, words

_MIN_STEPS = 3
_SYLLABLES = ["ba", "de", "ki", "lo", "mu", "ra", "se", "ti", "vo", "xa", "ne", "zu", "fi", "go", "ha", "jo"]
_GREETINGS = ("hi", "hello all", "hi everybody", "hey there", "hello, I am new here", "good evening")

Stretch = list[list[Step]]
"""Steps of one subject, in bundles that nothing comes between: a call, its result, and what is said of it."""


class Woven(NamedTuple):
    """The steps of a trajectory, each with the number of its stretch."""

    steps: list[Step]
    scopes: list[int]


def stretches(readings: Sequence[Reading], gold: Sequence[tuple[str, ...]]) -> list[Stretch]:
    """The stretches of steps of one gold scope, without tools, by two speakers named by who opened it."""
    found: list[Stretch] = []
    last: tuple[str, ...] = ()
    for reading, scope in zip(readings, gold, strict=True):
        if scope != last:
            found.append([])
        last = scope
        if scope and not reading.data.calls and not reading.answers_tool:
            found[-1].append([Step(role=reading.role, content=reading.step.content)])
    return [_by_two(stretch) for stretch in found if len(stretch) >= _MIN_STEPS]


def _by_two(stretch: Stretch) -> Stretch:
    first = stretch[0][0].role
    return [[Step(role="user" if s.role == first else "agent", content=s.content) for s in b] for b in stretch]


def chain(rng: random.Random, pool: Sequence[Stretch]) -> Woven:
    """Stretches in turn; some are cut short, and what would have come next leads over to the next one."""
    chosen = rng.sample(pool, min(len(pool), rng.randint(1, 8)))
    tools = _Tools.some(rng)
    cuts, leads = rng.random() < 0.6, rng.uniform(0.0, 0.8)
    woven, lead = Woven([], []), ""
    for number, stretch in enumerate(chosen):
        end = min(len(stretch), rng.randint(2, 7)) if cuts else len(stretch)
        kept = stretch[:end]
        if woven.steps and woven.steps[-1].role == kept[0][0].role:
            kept, stretch = _swapped(kept), _swapped(stretch)
        if lead:
            kept = [[Step(role=kept[0][0].role, content=f"{lead} {kept[0][0].content}")], *kept[1:]]
        for bundle in tools.use(kept):
            woven.steps.extend(bundle)
            woven.scopes.extend([number] * len(bundle))
        lead = _first_sentence(stretch[end][0].content) if end < len(stretch) and rng.random() < leads else ""
    return woven


def weave(rng: random.Random, pool: Sequence[Stretch]) -> Woven:
    """Stretches that are left and taken up again, by two speakers."""
    tools = _Tools.some(rng)
    chosen = [tools.use(stretch) for stretch in rng.sample(pool, min(len(pool), rng.randint(2, 8)))]
    opener = "user" if rng.random() < 0.5 else ""
    return _interleave(rng, chosen, run=_between(rng, 1.5, 10.0), live=rng.randint(2, 4), opener=opener)


def room(rng: random.Random, pool: Sequence[Stretch]) -> Woven:
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
            spoken.insert(0, [Step(role=speakers["user"], content=rng.choice(_GREETINGS))])
        threads.append(spoken)
    return _interleave(rng, threads, run=_between(rng, 1.15, 3.5), live=rng.randint(2, 6), opener="")


def chat(rng: random.Random, pool: Sequence[Stretch]) -> Woven:
    """Stretches in turn, or left and taken up again, each where an exchange ends: an assistant answers at once."""
    chosen = [list(_exchanges(stretch)) for stretch in rng.sample(pool, min(len(pool), rng.randint(1, 6)))]
    return _interleave(rng, chosen, run=_between(rng, 1.2, 30.0), live=rng.randint(2, 4), opener="")


KINDS: dict[str, Callable[[random.Random, Sequence[Stretch]], Woven]] = {"chain": chain, "weave": weave, "room": room}


def _spoken(
    rng: random.Random, stretch: Stretch, speakers: dict[str, str], *, naming: float, splitting: float
) -> Iterator[list[Step]]:
    """The steps as said by these speakers: sentence by sentence or not, to somebody by name or not."""
    splits, seen = rng.random() < splitting, set[str]()
    for bundle in stretch:
        for step in bundle:
            speaker, other = speakers[step.role], speakers["agent" if step.role == "user" else "user"]
            spans = sentence_spans(step.content)[:4]
            parts = [step.content[a:b] for a, b in spans] if splits and spans else [step.content]
            if other in seen and rng.random() < naming:
                parts[0] = rng.choice((f"{other}: {parts[0]}", f"{other}, {parts[0]}", f"{parts[0]} {other}"))
            seen.add(speaker)
            yield from ([Step(role=speaker, content=part)] for part in parts)


def _exchanges(stretch: Stretch) -> Iterator[list[Step]]:
    """What is asked, in one bundle with what answers it."""
    for first in range(0, len(stretch), 2):
        yield [step for bundle in stretch[first : first + 2] for step in bundle]


def _next(rng: random.Random, waiting: list[int], others: list[int], *, full: bool, current: int) -> int:
    """The stretch that goes on: a new one, the last left, any other that is open, or the same again."""
    if waiting and (not others or (not full and rng.random() < 0.5)):
        return waiting.pop()
    if others:
        return others[-1] if rng.random() < 0.5 else rng.choice(others)
    return current


def _interleave(rng: random.Random, chosen: Sequence[Stretch], *, run: float, live: int, opener: str) -> Woven:
    """The stretches interleaved: `run` bundles in a row on average, `live` at a time, left where `opener` speaks."""
    woven = Woven([], [])
    left = [deque(stretch) for stretch in chosen]
    waiting, open_ones = list(range(len(chosen)))[::-1], list[int]()
    current = -1
    while waiting or open_ones:
        over = current < 0 or not left[current]
        if over or (_speaks_next(left[current], opener) and rng.random() < 1.0 / run):
            if over:
                open_ones = _without(open_ones, current)
            if not waiting and not open_ones:
                break
            others = _without(open_ones, current)
            current = _next(rng, waiting, others, full=len(open_ones) >= live, current=current)
            open_ones = [*_without(open_ones, current), current]
        bundle = left[current].popleft()
        woven.steps.extend(bundle)
        woven.scopes.extend([current] * len(bundle))
    return woven


def _without(numbers: list[int], left_out: int) -> list[int]:
    return [number for number in numbers if number != left_out]


def _speaks_next(left: Sequence[list[Step]], role: str) -> bool:
    """Whether a role says what comes next of a stretch; anybody is no role."""
    return not role or left[0][0].role == role


class _Tools(NamedTuple):
    """How the tools of a trajectory are called."""

    rng: random.Random
    often: float
    written: bool
    """Whether a call is written out as text by a role of its own."""

    @classmethod
    def some(cls, rng: random.Random) -> _Tools:
        return cls(rng, rng.uniform(0.3, 0.9) if rng.random() < 0.4 else 0.0, rng.random() < 0.5)

    def use(self, stretch: Stretch) -> Stretch:
        """The stretch with calls before some of the agent's steps, named after words of the stretch."""
        if not self.often:
            return stretch
        content = [w for b in stretch for s in b for w in words(s.content.lower()) if _carries(w)] or ["look"]
        names = ["_".join(self.rng.sample(content, min(2, len(content)))) for _ in range(self.rng.randint(1, 2))]
        used: Stretch = []
        known: dict[str, str] = {}
        for bundle in stretch:
            step = bundle[0]
            found = {mention.entity_type: mention.value for mention in find_mentions(step.content)}
            if step.role == "agent" and used and self.rng.random() < self.often:
                used.append([*self._called(self.rng.choice(names), known, found), step])
            else:
                used.append(bundle)
            known |= found
        return used

    def _called(self, name: str, given: dict[str, str], told: dict[str, str]) -> Iterator[Step]:
        call = ToolCall(name=name, arguments=dict(given))
        if self.written:
            yield Step(role="agent_call", content=call.model_dump_json(exclude={"id"}))
        else:
            yield Step(role="agent", content="", tool_calls=(call,))
        result = ", ".join(f'"{key}": "{value}"' for key, value in (told or {"status": "ok"}).items())
        yield Step(role="tool", content="{" + result + "}", tool_name=name)


def _carries(word: str) -> bool:
    return word.isalpha() and len(word) > 3 and word not in FUNCTION_WORDS


def _swapped(stretch: Stretch) -> Stretch:
    return [[Step(role="agent" if s.role == "user" else "user", content=s.content) for s in b] for b in stretch]


def _first_sentence(text: str) -> str:
    start, end = (*sentence_spans(text), (0, 0))[0]
    return text[start:end] if end - start < 80 else ""


def _between(rng: random.Random, least: float, most: float) -> float:
    return exp(rng.uniform(log(least), log(most)))
