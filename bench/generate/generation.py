"""The four phases in order: world, storyboard, language, refinement; then questions, and a check of everything."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from random import Random
from typing import NamedTuple

from stitch.bench.generate import realization as language
from stitch.bench.generate.environment import (
    NAMESPACE,
    DebateWorld,
    TravelWorld,
    build_debate_world,
    build_travel_world,
)
from stitch.bench.generate.questions import ask
from stitch.bench.generate.realization import RealizationRequest, Realize
from stitch.bench.generate.refinement import Refined, refer_in_debate, refer_in_travel, scenes, segment
from stitch.bench.generate.storyboard import Storyboard, plan_debate, plan_trip
from stitch.bench.generate.trajectory import GeneratedTrajectory, Turn
from stitch.bench.generate.verify import VerificationError, check, verify
from stitch.bench.generate.wordings import PLAIN, Wording
from stitch.retrieve.context.budget import PieceCounter


class Size(NamedTuple):
    """How large a trajectory is to be."""

    tokens: int
    """Table 2: the context length of the partition."""
    days: int
    """Of a trip; those of the release follow from its numbers of questions (42, 50 and 55)."""
    evidence: int
    """Snippets in the world of a debate (A.2.2)."""
    citations: int
    """Pieces of evidence that each side cites for either purpose."""


SIZES = {"S": Size(23_000, 2, 50, 5), "M": Size(137_000, 5, 50, 10), "L": Size(408_000, 10, 200, 20)}

TOLERANCE = 0.03
"""How far from the wanted number of tokens a trajectory may be before it is planned anew with another length."""

_MOST_PLANS = 8
_MOST_WRITINGS = 2
_FIRST_GUESS = {"travel": 340, "debate": 365}
"""Tokens of one exchange, or of one turn of a debate; corrected by what a plan turns out to be."""


def generate(
    domain: str, size: Size, *, seed: str, write: Realize | None = None, writers: int = 1, wording: Wording = PLAIN
) -> GeneratedTrajectory:
    """Generate one trajectory with its questions, verified.

    The same arguments give the same trajectory, on any machine; with `write`, if it does.

    Args:
        domain: `travel` or `debate`.
        size: How large it shall be; tokens by the offline estimate.
        seed: Whatever tells this trajectory from others.
        write: Writes the text of an operation, such as a model. What does not pass the check twice is written by the
            templates. The length is not corrected then, as writing may be dear.
        writers: How many operations are written at the same time; `write` is then called from several threads.
        wording: How people talk. The plan is that of the plain wording of this size and seed, so that the same
            trajectory can be had in several wordings; it is as long as these people are.

    Raises:
        VerificationError: The text does not say what the plan says.
    """
    counter, begin = PieceCounter(), _trip if domain == "travel" else _debate
    length = max(1, size.tokens // _FIRST_GUESS[domain])
    tried: dict[int, tuple[float, GeneratedTrajectory]] = {}
    for _ in range(1 if write else _MOST_PLANS):
        trajectory = _told(begin(size, seed, length, PLAIN), write, writers)
        tokens = sum(counter.count(turn.content) for turn in trajectory.turns)
        tried[length] = abs(tokens / size.tokens - 1), trajectory
        if tried[length][0] <= TOLERANCE:
            break
        step = 1 if tokens < size.tokens else -1
        length = max(1, round(length * size.tokens / tokens))
        while length in tried:
            length += step
    length = min(tried, key=lambda number: tried[number][0])
    trajectory = tried[length][1] if wording is PLAIN else _told(begin(size, seed, length, wording))
    trajectory = trajectory._replace(questions=ask(trajectory, Random(f"questions {seed}")))
    verify(trajectory)
    return trajectory


class _Plan(NamedTuple):
    """A plan, and how its operations are told."""

    made: GeneratedTrajectory
    """Without turns."""
    begins: datetime
    minutes: int
    """Between two moments."""
    requests: Sequence[RealizationRequest]
    templates: Realize
    refine: Callable[[int, str], Refined]
    """The text of an operation, by its index, as it is finally said."""
    split: Callable[[str], tuple[str, ...]]
    """A text of the agent, as turns."""


def _trip(size: Size, seed: str, length: int, wording: Wording) -> _Plan:
    world = build_travel_world(Random(f"world travel {seed}"))
    board = plan_trip(world, Random(f"plan travel {seed}"), days=size.days, exchanges=length)
    seen, rng = list(scenes(world, board.operations)), Random(f"references travel {seed}")
    done: set[tuple[str, int, str]] = set()
    requests = []
    for op in board.operations:
        act = (op.action, op.day, op.slot)
        requests.append(language.travel_request(world, op, again=act in done))
        if op.role != "user":
            done.add(act)

    def refine(index: int, text: str) -> Refined:
        return refer_in_travel(board.operations[index], text, scene=seen[index], rng=rng, wording=wording)

    templates = language.TravelTemplates(Random(f"words travel {seed}"), wording)
    made = _unsaid("trip", "travel", seed, world, board, wording)
    return _Plan(made, datetime(2025, 5, 15, 8, 0), 1, requests, templates, refine, lambda text: segment(text, rng=rng))


def _debate(size: Size, seed: str, length: int, wording: Wording) -> _Plan:
    world = build_debate_world(Random(f"world debate {seed}"), evidence=size.evidence)
    board = plan_debate(world, Random(f"plan debate {seed}"), turns=length, citations=size.citations)
    rng = Random(f"references debate {seed}")
    requests = [language.debate_request(world, op) for op in board.operations]

    def refine(index: int, text: str) -> Refined:
        return refer_in_debate(world, board.operations[index], text, rng=rng, wording=wording)

    templates = language.DebateTemplates(world, Random(f"words debate {seed}"), wording)
    made = _unsaid("topic", "debate", seed, world, board, wording)
    return _Plan(made, datetime(2025, 1, 1), 3, requests, templates, refine, lambda text: (text,))


def _unsaid(
    kind: str, domain: str, seed: str, world: TravelWorld | DebateWorld, board: Storyboard, wording: Wording
) -> GeneratedTrajectory:
    name = f"{kind}-{uuid.uuid5(NAMESPACE, f'{domain} {seed}')}"
    return GeneratedTrajectory(name, domain, world, board, (), wording=wording)


def _told(plan: _Plan, write: Realize | None = None, writers: int = 1) -> GeneratedTrajectory:
    """The trajectory of a plan: of each operation the first draft of the writer that passes, else the templates'."""
    made, accepted = plan.made, 0
    first: list[str] = []
    if write is not None:
        with ThreadPoolExecutor(writers) as pool:  # first drafts are written side by side
            first = list(pool.map(write, plan.requests))

    def drafts(index: int) -> Iterator[str]:
        if write is not None:
            yield first[index]
            yield from (write(plan.requests[index]) for _ in range(_MOST_WRITINGS - 1))

    turns: list[Turn] = []
    for index, op in enumerate(made.storyboard.operations):
        refined = None
        for draft in filter(None, map(str.strip, drafts(index))):
            tried = plan.refine(index, draft)
            try:
                check(made.world, op, tried, wording=made.wording)
            except VerificationError:
                continue
            refined, accepted = tried, accepted + 1
            break
        refined = refined or plan.refine(index, plan.templates(plan.requests[index]))
        stamp = plan.begins + timedelta(minutes=plan.minutes * op.moment)
        for text in (refined.text,) if op.role == "user" else plan.split(refined.text):
            name = f"{made.id}-turn-{len(turns) + 1}"
            turns.append(Turn(name, op.role, text, f"{stamp:%Y-%m-%dT%H:%M}", index, refined.mentions))
    return made._replace(turns=tuple(turns), written=accepted)
