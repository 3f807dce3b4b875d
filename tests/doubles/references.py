"""Reading the references of generated trajectories as a person would: by their words alone."""

from __future__ import annotations

import re
from collections.abc import Sequence

from stitch.bench.generate.environment import CARDINALS, ORDINALS, DebateWorld, Wording
from stitch.bench.generate.generation import CUES, days_in
from stitch.bench.generate.refinement import Scene
from stitch.bench.generate.storyboard import Operation


def resolve(expression: str, operation: Operation, scene: Scene) -> str | None:
    """The name that a traveler's expression stands for, read from its words; None if it names nothing.

    Args:
        expression: Such as "the second restaurant I raised for day 1's breakfast".
        operation: Tells which day and slot the expression has to be about.
        scene: What was proposed for them so far, and spoken of last.
    """
    if any(day != operation.day for day in days_in(expression)):
        return None
    described = [name for name, *told in scene.told if any(trait in expression for trait in told)]
    for _, *told in scene.told:
        for trait in told:
            expression = expression.replace(trait, "")
    if not scene.near and not CUES[operation.slot].search(expression):
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
    elif _CHOSEN.search(expression):
        found = [scene.chosen]
    elif len(scene.known) == 1:
        found = scene.known
    elif scene.near:
        found = [scene.last]
    return found[0] or None if len(found) == 1 else None


_CHOSEN = re.compile(r"\b(?:booked|bagged|locked in|resolved|put down)\b", re.IGNORECASE)
_OWN = re.compile(r"\b(?:our|ours|we)\b(?! opponents)", re.IGNORECASE)
_OTHER = re.compile(r"\b(?:your|yours|you|their|they|opponents?|opposing|other side)\b", re.IGNORECASE)
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


def contention(world: DebateWorld, op: Operation, expression: str, wording: Wording) -> str | None:
    """The contention that an expression stands for in the mouth of the operation's role, read from its words."""
    aliases = wording.debate["aliases"]
    themes = [theme for theme, alias in aliases.items() if alias in expression]
    for theme in themes:
        expression = expression.replace(aliases[theme], "")
    own, other = bool(_OWN.search(expression)), bool(_OTHER.search(expression))
    if own == other:
        return None
    speaker = op.role.split("-")[0]
    side = speaker if own else {"pro": "con", "con": "pro"}[speaker]
    if themes:
        about = [contention.id for contention in world.of_side(side) if contention.theme.name in themes]
        return about[0] if len(about) == 1 else None
    place = _counted(expression)
    return f"{side}_contention_{place}" if place and place > 0 else None
