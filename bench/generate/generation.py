"""The four phases in order: world, storyboard, language, refinement; then questions, and a check of everything."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from random import Random
from typing import NamedTuple

from stitch.bench.generate import realization as language
from stitch.bench.generate.environment import (
    NAMESPACE,
    ORDINALS,
    PLAIN,
    PLAN,
    DebateWorld,
    TravelWorld,
    Wording,
    build_debate_world,
    build_travel_world,
)
from stitch.bench.generate.questions import GeneratedTrajectory, Turn, ask
from stitch.bench.generate.realization import RealizationRequest, Realize
from stitch.bench.generate.refinement import Refined, refer_in_debate, refer_in_travel, scenes, segment
from stitch.bench.generate.storyboard import Operation, Storyboard, plan_debate, plan_trip
from stitch.errors import StitchError
from stitch.retrieve.context.budget import PieceCounter

CUES = {name: re.compile(pattern, re.IGNORECASE) for name, pattern in PLAN["cues"].items()}


class VerificationError(StitchError):
    """A generated trajectory does not say what its plan says; nothing was written."""


def verify(trajectory: GeneratedTrajectory) -> None:
    """Check a trajectory.

    Raises:
        VerificationError: An operation is not said by its turns.
    """
    said, world, operations = trajectory.by_operation(), trajectory.world, trajectory.storyboard.operations
    for index, op in enumerate(operations):
        turns = said.get(index, ())
        _require(bool(turns) and all(turn.role == op.role for turn in turns), op, "is not said by its role")
        refined = Refined(" ".join(turn.text for turn in turns), turns[0].mentions)
        check(world, op, refined, wording=trajectory.wording)


def check(world: TravelWorld | DebateWorld, op: Operation, said: Refined, *, wording: Wording) -> None:
    """Check that a text says an operation in the words of these people.

    Raises:
        VerificationError: It does not.
    """
    if isinstance(world, TravelWorld):
        _check_travel(world, op, said, plain=wording is PLAIN)
    else:
        _check_debate(world, op, said)


def _require(holds: bool, op: Operation, what: str) -> None:
    if not holds:
        raise VerificationError(f"operation {op.moment} ({op.role}, {op.action}, {', '.join(op.objects)!r}) {what}")


def _check_travel(world: TravelWorld, op: Operation, said: Refined, *, plain: bool) -> None:
    # Plain words show the action by known cues; others may be anybody's.
    text, by_user = said.text, op.role == "user"
    if plain and by_user and op.action in CUES:
        _require(bool(CUES[op.action].search(text)), op, "cannot be recognized in its words")
    if op.action == "SET_DAY":
        _require(days_in(text)[:1] == [op.day], op, "does not name its day")
    if op.action == "PROPOSE" and by_user:
        _require(op.objects[0] in text, op, "does not name what it proposes")
        rest = text.replace(op.objects[0], "")  # a name may sound like a purpose
        _require(bool(CUES[op.slot].search(rest)), op, "does not say what it is for")
    _check_values(world, op, said, plain=plain)
    for mention in said.mentions if by_user else ():
        _require(mention.text.lower() in text.lower(), op, f"lacks {mention.text!r}")


def _check_values(world: TravelWorld, op: Operation, said: Refined, *, plain: bool) -> None:
    """Check that a text asks for or states the values that it should, and mentions its objects."""
    text, values = said.text, [world.place(name).value(wish) for name in op.objects for wish in op.asked]
    if op.role == "user":
        asking = not plain or all(CUES[wish].search(text) for wish in op.asked)
        _require(asking, op, "does not ask for what it should")
    else:
        _require(all(value in text for value in values), op, "does not state the value that was asked for")
    told = set(re.findall(r"\$\d+\.\d\d", text)) - set(values)
    _require(not told, op, f"states {', '.join(sorted(told))}, which was not asked for")
    _require([mention.object for mention in said.mentions] == list(op.objects), op, "does not mention its objects")


def days_in(text: str) -> list[int]:
    """The days that a text names, as numbers or as words."""
    found = re.findall(rf"\bday (\d+)|\b({'|'.join(ORDINALS)}) day\b", text, re.IGNORECASE)
    return [int(number) if number else ORDINALS.index(word.lower()) + 1 for number, word in found]


def _check_debate(world: DebateWorld, op: Operation, said: Refined) -> None:
    text, mentions = said.text, said.mentions
    if op.action == "propose":
        _require(world.contentions[op.target].statement in text, op, "does not state its contention")
    if op.action == "summarize":
        _require(all(world.contentions[name].statement in text for name in op.objects), op, "leaves out a contention")
    for mention in mentions:
        _require(mention.text.lower() in text.lower(), op, f"lacks {mention.text!r}")
        if mention.object in world.evidence:
            _require(world.evidence[mention.object].citation == mention.text, op, f"cites {mention.text!r}")
    if op.action in ("attack", "defend", "concede"):
        wanted = {op.target, *op.objects}
        _require({mention.object for mention in mentions} == wanted, op, "does not mention its objects")
    cited = {evidence.citation for evidence in world.evidence.values() if evidence.citation in text}
    planned = {world.evidence[name].citation for name in op.cited}
    _require(cited == planned, op, "cites other evidence than planned")
    titled = any(evidence.title in text for evidence in world.evidence.values())
    _require(not titled, op, "betrays the title of its evidence")


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
