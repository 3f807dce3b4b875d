"""Checks what was generated against the plan (Appendix A.1, A.6): every operation and every reference.

It reads the finished text and knows none of the templates: references are resolved by their words, actions recognized
by cues. So it judges a model's realizations by the same measure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import repeat

from stitch.bench.generate.environment import DebateWorld, TravelWorld
from stitch.bench.generate.refinement import Refined, Scene, scenes
from stitch.bench.generate.storyboard import Operation
from stitch.bench.generate.trajectory import GeneratedTrajectory
from stitch.bench.generate.wordings import CARDINALS, ORDINALS, PLAIN, PLAN, Wording
from stitch.errors import StitchError

_CUES = {name: re.compile(pattern, re.IGNORECASE) for name, pattern in PLAN["cues"].items()}


class VerificationError(StitchError):
    """A generated trajectory does not say what its plan says; nothing was written."""


def verify(trajectory: GeneratedTrajectory) -> None:
    """Check a trajectory.

    Raises:
        VerificationError: An operation is not said by its turns, or an expression stands for something else than was
            meant.
    """
    said, world, operations = trajectory.by_operation(), trajectory.world, trajectory.storyboard.operations
    seen = scenes(world, operations) if isinstance(world, TravelWorld) else repeat(Scene(()))
    for index, (op, scene) in enumerate(zip(operations, seen, strict=False)):
        turns = said.get(index, ())
        _require(bool(turns) and all(turn.role == op.role for turn in turns), op, "is not said by its role")
        refined = Refined(" ".join(turn.text for turn in turns), turns[0].mentions)
        check(world, op, refined, scene=scene, wording=trajectory.wording)


def check(world: TravelWorld | DebateWorld, op: Operation, said: Refined, *, scene: Scene, wording: Wording) -> None:
    """Check that a text says an operation in the words of these people.

    Raises:
        VerificationError: It does not, or an expression in it stands for something else.
    """
    if isinstance(world, TravelWorld):
        _check_travel(world, op, said, scene=scene, plain=wording is PLAIN)
    else:
        _check_debate(world, op, said, wording=wording)


def _require(holds: bool, op: Operation, what: str) -> None:
    if not holds:
        raise VerificationError(f"operation {op.moment} ({op.role}, {op.action}, {', '.join(op.objects)!r}) {what}")


def _check_travel(world: TravelWorld, op: Operation, said: Refined, *, scene: Scene, plain: bool) -> None:
    # Plain words show the action by known cues; others may be anybody's.
    text, by_user = said.text, op.role == "user"
    if plain and by_user and op.action in _CUES:
        _require(bool(_CUES[op.action].search(text)), op, "cannot be recognized in its words")
    if op.action == "SET_DAY":
        _require(_days(text)[:1] == [op.day], op, "does not name its day")
    if op.action == "PROPOSE" and by_user:
        _require(op.objects[0] in text, op, "does not name what it proposes")
        rest = text.replace(op.objects[0], "")  # a name may sound like a purpose
        _require(bool(_CUES[op.slot].search(rest)), op, "does not say what it is for")
    _check_values(world, op, said, plain=plain)
    for mention in said.mentions if by_user else ():
        _require(mention.text.lower() in text.lower(), op, f"lacks {mention.text!r}")
        if mention.object not in mention.text:
            _require(resolve(mention.text, op, scene) == mention.object, op, f"is misled by {mention.text!r}")


def _check_values(world: TravelWorld, op: Operation, said: Refined, *, plain: bool) -> None:
    """Check that a text asks for or states the values that it should, and mentions its objects."""
    text, values = said.text, [world.place(name).value(wish) for name in op.objects for wish in op.asked]
    if op.role == "user":
        asking = not plain or all(_CUES[wish].search(text) for wish in op.asked)
        _require(asking, op, "does not ask for what it should")
    else:
        _require(all(value in text for value in values), op, "does not state the value that was asked for")
    told = set(re.findall(r"\$\d+\.\d\d", text)) - set(values)
    _require(not told, op, f"states {', '.join(sorted(told))}, which was not asked for")
    _require([mention.object for mention in said.mentions] == list(op.objects), op, "does not mention its objects")


def _days(text: str) -> list[int]:
    """The days that a text names, as numbers or as words."""
    found = re.findall(rf"\bday (\d+)|\b({'|'.join(ORDINALS)}) day\b", text, re.IGNORECASE)
    return [int(number) if number else ORDINALS.index(word.lower()) + 1 for number, word in found]


def resolve(expression: str, operation: Operation, scene: Scene) -> str | None:
    """The name that a traveler's expression stands for, read from its words; None if it names nothing.

    Args:
        expression: Such as "the second restaurant I raised for day 1's breakfast".
        operation: Tells which day and slot the expression has to be about.
        scene: What was proposed for them so far, and spoken of last.
    """
    if any(day != operation.day for day in _days(expression)):
        return None
    described = [name for name, *told in scene.told if any(trait in expression for trait in told)]
    for _, *told in scene.told:
        for trait in told:
            expression = expression.replace(trait, "")
    if not scene.near and not _CUES[operation.slot].search(expression):
        return None
    if described:
        return described[0] if len(described) == 1 else None
    return _pointed_at(expression, scene)


def _pointed_at(expression: str, scene: Scene) -> str | None:
    """The name that an expression without description finds in a scene, by what is left, counted, chosen or near."""
    place = _counted(expression)
    found: Sequence[str] = ()
    if re.search(r"\bother\b", expression):
        found = [name for name in scene.known if name != scene.last]
    elif place is not None:
        found = scene.known[place - 1 : place] if place > 0 else scene.known[-1:]
    elif _CUES["chosen"].search(expression):
        found = [scene.chosen]
    elif len(scene.known) == 1:
        found = scene.known
    elif scene.near:
        found = [scene.last]
    return found[0] or None if len(found) == 1 else None


_ORDINAL = re.compile(
    rf"\b(?P<word>{'|'.join(ORDINALS)})\b"
    r"|\b(?P<number>\d+)(?:st|nd|rd|th)\b|(?:#|\b(?:number|no\.|option|point) )(?P<counted>\d+)\b|\b(?P<dotted>\d+)\. "
    rf"|\bnumber(?:ed)? (?P<cardinal>{'|'.join(CARDINALS)})\b"
    r"|\b(?P<last>last|latest|newest|most recent|most recently)\b",
    re.IGNORECASE,
)


def _counted(expression: str) -> int | None:
    """The place, from 1, that an expression counts; -1 for the last, None if it counts nothing."""
    found = _ORDINAL.search(expression)
    if found is None:
        return None
    if found["last"]:
        return -1
    for name, numbers in (("word", ORDINALS), ("cardinal", CARDINALS)):
        if found[name]:
            return numbers.index(found[name].lower()) + 1
    return int(found["number"] or found["counted"] or found["dotted"])


def _check_debate(world: DebateWorld, op: Operation, said: Refined, *, wording: Wording) -> None:
    text, mentions = said.text, said.mentions
    if op.action == "propose":
        _require(world.contentions[op.target].statement in text, op, "does not state its contention")
    if op.action == "summarize":
        _require(all(world.contentions[name].statement in text for name in op.objects), op, "leaves out a contention")
    for mention in mentions:
        _require(mention.text.lower() in text.lower(), op, f"lacks {mention.text!r}")
        if mention.object in world.contentions:
            meant = _contention(world, op, mention.text, wording)
            _require(meant == mention.object, op, f"is misled by {mention.text!r}")
        else:
            _require(world.evidence[mention.object].citation == mention.text, op, f"cites {mention.text!r}")
    if op.action in ("attack", "defend", "concede"):
        wanted = {op.target, *op.objects}
        _require({mention.object for mention in mentions} == wanted, op, "does not mention its objects")
    cited = {evidence.citation for evidence in world.evidence.values() if evidence.citation in text}
    planned = {world.evidence[name].citation for name in op.cited}
    _require(cited == planned, op, "cites other evidence than planned")
    titled = any(evidence.title in text for evidence in world.evidence.values())
    _require(not titled, op, "betrays the title of its evidence")


def _contention(world: DebateWorld, op: Operation, expression: str, wording: Wording) -> str | None:
    """The contention that an expression stands for in the mouth of the operation's role, read from its words."""
    aliases = wording.debate["aliases"]
    themes = [theme for theme, alias in aliases.items() if alias in expression]
    for theme in themes:
        expression = expression.replace(aliases[theme], "")
    own, other = bool(_CUES["own"].search(expression)), bool(_CUES["other"].search(expression))
    if own == other:
        return None
    speaker = op.role.split("-")[0]
    side = speaker if own else {"pro": "con", "con": "pro"}[speaker]
    if themes:
        about = [contention.id for contention in world.of_side(side) if contention.theme.name in themes]
        return about[0] if len(about) == 1 else None
    place = _counted(expression)
    return f"{side}_contention_{place}" if place and place > 0 else None
