"""The four phases in order: world, storyboard, language, refinement; then questions, and a check of everything."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from random import Random
from typing import NamedTuple

from stitch.bench.generate.environment import (
    NAMESPACE,
    TravelWorld,
    build_debate_world,
    build_travel_world,
)
from stitch.bench.generate.focus import Focus
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
from stitch.bench.generate.wordings import PLAIN, Wording
from stitch.retrieve.context.budget import PieceCounter, TokenCounter


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
    writers: int = 1,
    counter: TokenCounter | None = None,
    wording: Wording = PLAIN,
) -> GeneratedTrajectory:
    """Generate one trajectory with its questions, verified.

    The same arguments give the same trajectory, on any machine; with `write`, if it does.

    Args:
        domain: `travel` or `debate`.
        size: How large it shall be.
        seed: Whatever tells this trajectory from others.
        write: Writes the text of an operation, such as a model. What does not pass the check twice is written by the
            templates. The length is not corrected then, as writing may be dear.
        writers: How many operations are written at the same time; `write` is then called from several threads.
        counter: Counts the tokens that `size` speaks of; the offline estimate by default.
        wording: How people talk. The plan is that of the plain wording of this size and seed, so that the same
            trajectory can be had in several wordings; it is as long as these people are.

    Raises:
        VerificationError: The text does not say what the plan says.
    """
    counter = counter or PieceCounter()
    tell = _tell_trip if domain == "travel" else _tell_debate
    length = max(1, size.tokens // _FIRST_GUESS[domain])
    tried: dict[int, tuple[float, GeneratedTrajectory]] = {}
    for _ in range(1 if write else _MOST_PLANS):
        trajectory = tell(size, seed, length, _Writing(write, writers), PLAIN)
        tokens = sum(counter.count(turn.content) for turn in trajectory.turns)
        tried[length] = abs(tokens / size.tokens - 1), trajectory
        if tried[length][0] <= TOLERANCE:
            break
        step = 1 if tokens < size.tokens else -1
        length = max(1, round(length * size.tokens / tokens))
        while length in tried:
            length += step
    length = min(tried, key=lambda number: tried[number][0])
    trajectory = tried[length][1] if wording is PLAIN else tell(size, seed, length, _Writing(None, 1), wording)
    trajectory = trajectory._replace(questions=ask(trajectory, Random(f"questions {seed}")))
    verify(trajectory)
    return trajectory


def _tell_trip(size: Size, seed: str, length: int, writing: _Writing, wording: Wording) -> GeneratedTrajectory:
    world = build_travel_world(Random(f"world travel {seed}"))
    board = plan_trip(world, Random(f"plan travel {seed}"), days=size.days, exchanges=length)
    templates, rng = TravelTemplates(Random(f"words travel {seed}"), wording), Random(f"references travel {seed}")
    focus = Focus(world)

    def say(op: Operation, request: RealizationRequest, drafts: Iterator[str]) -> tuple[Refined, tuple[str, ...]]:
        scene = focus.scene(op)
        focus.hear(op)
        said = writing.realize(
            request,
            drafts=drafts,
            templates=templates,
            refine=lambda text: refer_in_travel(op, text, scene=scene, rng=rng, wording=wording),
            check=lambda refined: check_travel(world, op, refined, scene=scene, plain=wording is PLAIN),
        )
        return said, (said.text,) if op.role == "user" else segment(said.text, rng=rng)

    name = f"trip-{uuid.uuid5(NAMESPACE, f'travel {seed}')}"
    said = map(say, board.operations, *writing.begin(_travel_requests(world, board)))
    turns = tuple(_number(said, board, name=name, begins=datetime(2025, 5, 15, 8, 0), minutes=1))
    return GeneratedTrajectory(name, "travel", world, board, turns, written=writing.accepted, wording=wording)


def _travel_requests(world: TravelWorld, board: Storyboard) -> list[RealizationRequest]:
    done: set[tuple[str, int, str]] = set()
    requests = []
    for op in board.operations:
        act = (op.action, op.day, op.slot)
        requests.append(travel_request(world, op, again=act in done))
        if op.role != "user":
            done.add(act)
    return requests


def _tell_debate(size: Size, seed: str, length: int, writing: _Writing, wording: Wording) -> GeneratedTrajectory:
    world = build_debate_world(Random(f"world debate {seed}"), evidence=size.evidence)
    board = plan_debate(world, Random(f"plan debate {seed}"), turns=length, citations=size.citations)
    templates = DebateTemplates(world, Random(f"words debate {seed}"), wording)
    rng = Random(f"references debate {seed}")

    def say(op: Operation, request: RealizationRequest, drafts: Iterator[str]) -> tuple[Refined, tuple[str, ...]]:
        said = writing.realize(
            request,
            drafts=drafts,
            templates=templates,
            refine=lambda text: refer_in_debate(world, op, text, rng=rng, wording=wording.debate),
            check=lambda refined: check_debate(world, op, refined, aliases=wording.debate.aliases),
        )
        return said, (said.text,)

    name = f"topic-{uuid.uuid5(NAMESPACE, f'debate {seed}')}"
    said = map(say, board.operations, *writing.begin([debate_request(world, op) for op in board.operations]))
    turns = tuple(_number(said, board, name=name, begins=datetime(2025, 1, 1), minutes=3))
    return GeneratedTrajectory(name, "debate", world, board, turns, written=writing.accepted, wording=wording)


class _Writing:
    """Asks a writer for texts, several at a time, and the templates for what it gets wrong.

    Args:
        write: The writer; None leaves everything to the templates.
        writers: How many texts are written at the same time.
    """

    def __init__(self, write: Realize | None, writers: int) -> None:
        self._write, self._writers = write, writers
        self.accepted = 0

    def begin(
        self, requests: Sequence[RealizationRequest]
    ) -> tuple[Sequence[RealizationRequest], Iterable[Iterator[str]]]:
        """The requests, each with the attempts of the writer; the first attempts are made side by side."""
        if self._write is None:
            return requests, (iter(()) for _ in requests)
        with ThreadPoolExecutor(self._writers) as pool:
            first = list(pool.map(self._write, requests))
        return requests, map(self._attempts, requests, first)

    def _attempts(self, request: RealizationRequest, first: str) -> Iterator[str]:
        assert self._write is not None
        yield first
        for _ in range(_MOST_WRITINGS - 1):
            yield self._write(request)

    def realize(
        self,
        request: RealizationRequest,
        *,
        drafts: Iterator[str],
        templates: Realize,
        refine: Callable[[str], Refined],
        check: Callable[[Refined], None],
    ) -> Refined:
        """What is said: the first draft that passes the check, else what the templates say."""
        for draft in drafts:
            if not draft.strip():
                continue
            refined = refine(draft.strip())
            try:
                check(refined)
            except VerificationError:
                continue
            self.accepted += 1
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
