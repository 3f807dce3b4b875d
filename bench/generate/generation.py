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
    PLAIN,
    DebateWorld,
    TravelWorld,
    Wording,
    build_debate_world,
    build_travel_world,
)
from stitch.bench.generate.questions import GeneratedTrajectory, Turn, ask
from stitch.bench.generate.realization import RealizationRequest, Realize
from stitch.bench.generate.refinement import Refined, known_names, refer_in_debate, refer_in_travel, segment
from stitch.bench.generate.storyboard import plan_debate, plan_trip
from stitch.errors import StitchError
from stitch.text.words import count_tokens


class VerificationError(StitchError):
    """A generated trajectory does not say what its plan says; nothing was written."""


def says(request: RealizationRequest, draft: str, *, world: TravelWorld | DebateWorld) -> bool:
    """Whether a draft says literally what it has to, and no price, title or citation beside that."""
    text, wanted = draft.lower(), [each.lower() for each in request.must_say]
    strange = (each for each in map(str.lower, world.telling()) if each in text)
    return all(each in text for each in wanted) and all(any(each in said for said in wanted) for each in strange)


def verify(trajectory: GeneratedTrajectory) -> None:
    """Check that each operation is said by its role, with an expression for each of its objects but by the agent.

    Raises:
        VerificationError: One is not.
    """
    said = trajectory.by_operation()
    for index, op in enumerate(trajectory.storyboard.operations):
        turns = said.get(index, ())
        text = " ".join(turn.text for turn in turns).lower()
        mentions = turns[0].mentions if turns and op.role != "travel_agent" else ()
        lacking = [mention.text for mention in mentions if mention.text.lower() not in text]
        if not turns or lacking or any(turn.role != op.role for turn in turns):
            what = f"lacks {lacking[0]!r}" if lacking else "is not said by its role"
            raise VerificationError(f"operation {op.moment} ({op.role}, {op.action}) {what}")


class Size(NamedTuple):
    """The size of a trajectory."""

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
    """Generate one trajectory of a domain (`travel`, `debate`) with its questions, verified.

    The same arguments give the same trajectory, on any machine; with `write`, if it does. It writes the text of an
    operation, as a model does, in so many threads (`writers`). What does not pass the check twice is written by the
    templates, and the length is not corrected then, as writing may be dear. The plan is that of the plain wording of
    this size and seed, so that the same trajectory can be had in several wordings.

    Raises:
        VerificationError: The text does not say what the plan says.
    """
    begin = _trip if domain == "travel" else _debate
    length = max(1, size.tokens // _FIRST_GUESS[domain])
    tried: dict[int, tuple[float, GeneratedTrajectory]] = {}
    while length not in tried and len(tried) < (1 if write else _MOST_PLANS):
        made = _told(begin(size, seed, length, PLAIN), write, writers)
        tokens = sum(count_tokens(turn.content) for turn in made.turns)
        tried[length] = abs(tokens / size.tokens - 1), made
        if tried[length][0] > TOLERANCE:
            length = max(1, round(length * size.tokens / tokens))
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
    known, rng = list(known_names(board.operations)), Random(f"references travel {seed}")
    done: set[tuple[str, int, str]] = set()
    requests = []
    for op in board.operations:
        act = (op.action, op.day, op.slot)
        requests.append(language.travel_request(world, op, again=act in done))
        if op.role != "user":
            done.add(act)

    def refine(index: int, text: str) -> Refined:
        return refer_in_travel(board.operations[index], text, known=known[index], rng=rng, wording=wording)

    templates = language.Templates(world, Random(f"words travel {seed}"), wording)
    name = f"trip-{uuid.uuid5(NAMESPACE, f'travel {seed}')}"
    made = GeneratedTrajectory(name, "travel", world, board, (), wording=wording)
    return _Plan(made, datetime(2025, 5, 15, 8, 0), 1, requests, templates, refine, lambda text: segment(text, rng=rng))


def _debate(size: Size, seed: str, length: int, wording: Wording) -> _Plan:
    world = build_debate_world(Random(f"world debate {seed}"), evidence=size.evidence)
    board = plan_debate(world, Random(f"plan debate {seed}"), turns=length, citations=size.citations)
    rng = Random(f"references debate {seed}")
    requests = [language.debate_request(world, op) for op in board.operations]

    def refine(index: int, text: str) -> Refined:
        return refer_in_debate(world, board.operations[index], text, rng=rng, wording=wording)

    templates = language.Templates(world, Random(f"words debate {seed}"), wording)
    name = f"topic-{uuid.uuid5(NAMESPACE, f'debate {seed}')}"
    made = GeneratedTrajectory(name, "debate", world, board, (), wording=wording)
    return _Plan(made, datetime(2025, 1, 1), 3, requests, templates, refine, lambda text: (text,))


def _told(plan: _Plan, write: Realize | None = None, writers: int = 1) -> GeneratedTrajectory:
    """The trajectory of a plan: of each operation the first draft of the writer that passes, else the templates'."""
    made, turns = plan.made, list[Turn]()

    def written(request: RealizationRequest) -> str | None:
        drafts: Iterator[str] = (write(request).strip() for _ in range(_MOST_WRITINGS)) if write else iter(())
        return next((draft for draft in drafts if draft and says(request, draft, world=made.world)), None)

    with ThreadPoolExecutor(writers) as pool:
        drafts = list(pool.map(written, plan.requests))
    for index, (op, request, draft) in enumerate(zip(made.storyboard.operations, plan.requests, drafts, strict=True)):
        refined = plan.refine(index, draft or plan.templates(request))
        stamp = plan.begins + timedelta(minutes=plan.minutes * op.moment)
        for text in (refined.text,) if op.role == "user" else plan.split(refined.text):
            name = f"{made.id}-turn-{len(turns) + 1}"
            turns.append(Turn(name, op.role, text, f"{stamp:%Y-%m-%dT%H:%M}", index, refined.mentions))
    return made._replace(turns=tuple(turns), written=sum(draft is not None for draft in drafts))
