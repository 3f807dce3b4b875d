"""The four phases in order: world, storyboard, language, refinement; then questions, and a check of everything."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from random import Random
from typing import NamedTuple

from stitch.bench.generate.environment import (
    NAMESPACE,
    build_debate_world,
    build_travel_world,
)
from stitch.bench.generate.questions import ask
from stitch.bench.generate.realization import (
    DebateTemplates,
    RealizationRequest,
    Realize,
    TravelTemplates,
    debate_request,
    travel_request,
)
from stitch.bench.generate.refinement import Refined, refer_in_debate, refer_in_travel, segment
from stitch.bench.generate.storyboard import Operation, Storyboard, plan_debate, plan_trip
from stitch.bench.generate.trajectory import GeneratedTrajectory, Turn
from stitch.bench.generate.verify import VerificationError, check_debate, check_travel, verify

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

_MOST_PLANS = 8
_MOST_WRITINGS = 2
_FIRST_GUESS = {"travel": 340, "debate": 365}
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
        write: Writes the text of an operation, such as a model. What does not pass the check twice is written by the
            templates. The length is not corrected then, as writing may be dear.
        counter: Counts the tokens that `size` speaks of; the offline estimate by default.

    Raises:
        VerificationError: The text does not say what the plan says.
    """
    counter = counter or PieceCounter()
    tell = _tell_trip if domain == "travel" else _tell_debate
    length = max(1, size.tokens // _FIRST_GUESS[domain])
    tried: dict[int, tuple[float, GeneratedTrajectory]] = {}
    for _ in range(1 if write else _MOST_PLANS):
        trajectory = tell(size, seed, length, write)
        tokens = sum(counter.count(turn.content) for turn in trajectory.turns)
        tried[length] = abs(tokens / size.tokens - 1), trajectory
        if tried[length][0] <= TOLERANCE:
            break
        step = 1 if tokens < size.tokens else -1
        length = max(1, round(length * size.tokens / tokens))
        while length in tried:
            length += step
    _, trajectory = min(tried.values(), key=lambda found: found[0])
    trajectory = trajectory._replace(questions=ask(trajectory, Random(f"questions {seed}")))
    verify(trajectory)
    return trajectory


def _tell_trip(size: Size, seed: str, length: int, write: Realize | None) -> GeneratedTrajectory:
    world = build_travel_world(Random(f"world travel {seed}"))
    board = plan_trip(world, Random(f"plan travel {seed}"), days=size.days, exchanges=length)
    templates, rng = TravelTemplates(Random(f"words travel {seed}")), Random(f"references travel {seed}")
    known: dict[tuple[int, str], tuple[str, ...]] = defaultdict(tuple)
    done: set[tuple[str, int, str]] = set()

    def say(op: Operation) -> tuple[Refined, tuple[str, ...]]:
        if op.role == "user" and op.action == "PROPOSE":
            known[op.day, op.slot] += op.objects
        names, act = known[op.day, op.slot], (op.action, op.day, op.slot)
        said = _realize(
            travel_request(world, op, again=act in done),
            write=write,
            templates=templates,
            refine=lambda text: refer_in_travel(op, text, known=names, rng=rng),
            check=lambda refined: check_travel(world, op, refined, known=names),
        )
        if op.role != "user":
            done.add(act)
        return said, (said.text,) if op.role == "user" else segment(said.text, rng=rng)

    name = f"trip-{uuid.uuid5(NAMESPACE, f'travel {seed}')}"
    turns = tuple(_number(map(say, board.operations), board, name=name, begins=datetime(2025, 5, 15, 8, 0), minutes=1))
    return GeneratedTrajectory(name, "travel", world, board, turns)


def _tell_debate(size: Size, seed: str, length: int, write: Realize | None) -> GeneratedTrajectory:
    world = build_debate_world(Random(f"world debate {seed}"), evidence=size.evidence)
    board = plan_debate(world, Random(f"plan debate {seed}"), turns=length, citations=size.citations)
    templates, rng = DebateTemplates(world, Random(f"words debate {seed}")), Random(f"references debate {seed}")

    def say(op: Operation) -> tuple[Refined, tuple[str, ...]]:
        said = _realize(
            debate_request(world, op),
            write=write,
            templates=templates,
            refine=lambda text: refer_in_debate(world, op, text, rng=rng),
            check=lambda refined: check_debate(world, op, refined),
        )
        return said, (said.text,)

    name = f"topic-{uuid.uuid5(NAMESPACE, f'debate {seed}')}"
    turns = tuple(_number(map(say, board.operations), board, name=name, begins=datetime(2025, 1, 1), minutes=3))
    return GeneratedTrajectory(name, "debate", world, board, turns)


def _realize(
    request: RealizationRequest,
    *,
    write: Realize | None,
    templates: Realize,
    refine: Callable[[str], Refined],
    check: Callable[[Refined], None],
) -> Refined:
    """What is said: by the writer if it passes the check within `_MOST_WRITINGS` attempts, else by the templates."""
    if write is not None:
        for _ in range(_MOST_WRITINGS):
            refined = refine(write(request).strip())
            try:
                check(refined)
            except VerificationError:
                continue
            return refined
    return refine(templates(request))


def _number(
    said: Iterable[tuple[Refined, tuple[str, ...]]], board: Storyboard, *, name: str, begins: datetime, minutes: int
) -> Iterator[Turn]:
    """Give the turns of each operation their ids and times; the turns of one moment share theirs."""
    number = 0
    for index, (refined, texts) in enumerate(said):
        op = board.operations[index]
        stamp = begins + timedelta(minutes=minutes * op.moment)
        for text in texts:
            number += 1
            turn = f"{name}-turn-{number}"
            yield Turn(turn, op.role, text, f"{stamp:%Y-%m-%dT%H:%M}", index, refined.mentions)
