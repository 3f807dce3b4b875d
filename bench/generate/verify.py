"""Checks what was generated against the plan (Appendix A.1, A.6): every operation says what it should.

It reads the finished text and knows none of the templates: actions are recognized by cues. So it judges a model's
realizations by the same measure. That references can be resolved is a property of `refinement`, which makes them.
"""

from __future__ import annotations

import re

from stitch.bench.generate.environment import DebateWorld, TravelWorld
from stitch.bench.generate.refinement import Refined
from stitch.bench.generate.storyboard import Operation
from stitch.bench.generate.trajectory import GeneratedTrajectory
from stitch.bench.generate.wordings import ORDINALS, PLAIN, PLAN, Wording
from stitch.errors import StitchError

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
