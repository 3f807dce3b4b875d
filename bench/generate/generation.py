"""The four phases in order: world, storyboard, language, refinement; then questions, and a check of everything."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from datetime import datetime, timedelta
from random import Random
from typing import NamedTuple

from stitch.bench.generate.environment import (
    NAMESPACE,
    DebateWorld,
    TravelWorld,
    build_debate_world,
    build_travel_world,
)
from stitch.bench.generate.questions import ask
from stitch.bench.generate.realization import (
    DebateTemplates,
    Realize,
    TravelTemplates,
    WriterRealizer,
    debate_request,
    travel_request,
)
from stitch.bench.generate.refinement import refer_in_debate, refer_in_travel, segment
from stitch.bench.generate.storyboard import Storyboard, plan_debate, plan_trip
from stitch.bench.generate.trajectory import GeneratedTrajectory, Turn
from stitch.bench.generate.verify import verify

from stitch.retrieve.budget import PieceCounter, TokenCounter


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

_MOST_PLANS = 4
_FIRST_GUESS = {"travel": 310, "debate": 350}
"""Tokens of one exchange, or of one turn of a debate; corrected by what a plan turns out to be."""


def generate(
    domain: str,
    size: Size,
    *,
    seed: str,
    write: Realize | None = None,
    counter: TokenCounter | None = None,
) -> GeneratedTrajectory:
    """Generate one trajectory with its questions, verified.

    The same arguments give the same trajectory, on any machine; with `write`, if it does.

    Args:
        domain: `travel` or `debate`.
        size: How large it shall be.
        seed: Whatever tells this trajectory from others.
        write: Writes the text of an operation instead of the templates, such as a model; see `WriterRealizer`.
        counter: Counts the tokens that `size` speaks of; the offline estimate by default.

    Raises:
        VerificationError: The text does not say what the plan says.
    """
    counter = counter or PieceCounter()
    tell = _tell_trip if domain == "travel" else _tell_debate
    length = max(1, size.tokens // _FIRST_GUESS[domain])
    best: tuple[float, GeneratedTrajectory] | None = None
    for _ in range(1 if write else _MOST_PLANS):
        trajectory = tell(size, seed, length, write)
        tokens = sum(counter.count(turn.text) for turn in trajectory.turns)
        off = abs(tokens / size.tokens - 1)
        if best is None or off < best[0]:
            best = (off, trajectory)
        if off <= TOLERANCE:
            break
        length = max(1, round(length * size.tokens / tokens))
    assert best is not None
    trajectory = best[1]
    trajectory = trajectory._replace(questions=ask(trajectory, Random(f"questions {seed}")))
    verify(trajectory)
    return trajectory


def _tell_trip(size: Size, seed: str, length: int, write: Realize | None) -> GeneratedTrajectory:
    world = build_travel_world(Random(f"world travel {seed}"))
    board = plan_trip(world, Random(f"plan travel {seed}"), days=size.days, exchanges=length)
    name = f"trip-{uuid.uuid5(NAMESPACE, f'travel {seed}')}"
    realize = _realizer(TravelTemplates(Random(f"words travel {seed}")), write)
    parts = _say_trip(world, board, realize, Random(f"references travel {seed}"))
    turns = tuple(_number(parts, name=name, begins=datetime(2025, 5, 15, 8, 0), minutes=1, board=board))
    return GeneratedTrajectory(name, "travel", world, board, turns)


def _say_trip(world: TravelWorld, board: Storyboard, realize: Realize, rng: Random) -> Iterator[tuple[Turn, ...]]:
    known: dict[tuple[int, str], tuple[str, ...]] = {}
    done: set[tuple[str, int, str]] = set()
    for index, op in enumerate(board.operations):
        place, act = (op.day, op.slot), (op.action, op.day, op.slot)
        if op.role == "user" and op.action == "PROPOSE":
            known[place] = (*known.get(place, ()), *op.objects)
        text = realize(travel_request(world, op, again=act in done))
        if op.role != "user":
            done.add(act)
        refined = refer_in_travel(op, text, known=known.get(place, ()), rng=rng)
        texts = (refined.text,) if op.role == "user" else segment(refined.text, rng=rng)
        yield tuple(Turn("", op.role, said, "", index, refined.mentions) for said in texts)


def _tell_debate(size: Size, seed: str, length: int, write: Realize | None) -> GeneratedTrajectory:
    world = build_debate_world(Random(f"world debate {seed}"), evidence=size.evidence)
    board = plan_debate(world, Random(f"plan debate {seed}"), turns=length, citations=size.citations)
    name = f"topic-{uuid.uuid5(NAMESPACE, f'debate {seed}')}"
    realize = _realizer(DebateTemplates(world, Random(f"words debate {seed}")), write)
    parts = _say_debate(world, board, realize, Random(f"references debate {seed}"))
    turns = tuple(_number(parts, name=name, begins=datetime(2025, 1, 1), minutes=3, board=board))
    return GeneratedTrajectory(name, "debate", world, board, turns)


def _say_debate(world: DebateWorld, board: Storyboard, realize: Realize, rng: Random) -> Iterator[tuple[Turn, ...]]:
    for index, op in enumerate(board.operations):
        refined = refer_in_debate(world, op, realize(debate_request(world, op)), rng=rng)
        yield (Turn("", op.role, refined.text, "", index, refined.mentions),)


def _realizer(templates: Realize, write: Realize | None) -> Realize:
    return WriterRealizer(write, fallback=templates) if write else templates


def _number(
    parts: Iterator[tuple[Turn, ...]], *, name: str, begins: datetime, minutes: int, board: Storyboard
) -> Iterator[Turn]:
    """Give the turns their ids and times; the turns of one moment share theirs."""
    number = 0
    for turns in parts:
        for turn in turns:
            number += 1
            stamp = begins + timedelta(minutes=minutes * board.operations[turn.operation].moment)
            yield turn._replace(id=f"{name}-turn-{number}", stamp=f"{stamp:%Y-%m-%dT%H:%M}")
