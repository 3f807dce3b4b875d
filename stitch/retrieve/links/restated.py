"""What somebody said that they said otherwise later: a budget, a day, what they prefer.

Compared are claims (`stitch.text.claims`) of one person in one trajectory, of the same thing and with values of the
same class. Where people just say another value, they mostly speak of another thing ("the meeting is on Friday", a
month later). So the later one has to say that it changes something, or has to be of a thing of which there is one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from stitch.core import MemorySnippet, Origin, SupersededValue
from stitch.text.claims import Claim, Form, claims_in, may_say_change

_SHORT = 3
"""Preferences of more words that carry matter are of a style or a way, of which there are many."""
NEAR = 6
"""So many steps before a claim that points ("make it 700") the value stands that it points at."""
_NOT_PEOPLE = frozenset(("assistant", "system", "developer", "tool", "function", "model", "ai", "bot"))


class _Said(NamedTuple):
    snippet: MemorySnippet
    claim: Claim


def restated(
    snippets: Sequence[MemorySnippet], *, of: Collection[str] | None = None
) -> dict[str, tuple[SupersededValue, ...]]:
    """Of snippets by id: what of their claims who made them made otherwise later, each with what was said last.

    Args:
        snippets: In any order; the more of a trajectory is there, the more is found.
        of: The ids of those that are asked about; all of them by default.
    """
    found: dict[str, list[SupersededValue]] = defaultdict(list)
    asked = {(step.trajectory, step.role) for step in snippets if of is None or step.id in of}
    by_person: dict[tuple[str, str], list[MemorySnippet]] = defaultdict(list)
    for step in snippets:
        if (person := (step.trajectory, step.role)) in asked and _is_person(step):
            by_person[person].append(step)
    for steps in by_person.values():
        if _may_be_restated(steps, of=of):
            own = sorted((step for step in steps if claims_in(step.text)), key=lambda one: (one.position, one.step))
            for earlier, later in _otherwise(own, of=of):
                found[earlier.snippet.id].append(_as_superseded(earlier, later))
    return {name: tuple(values) for name, values in found.items()}


def _may_be_restated(steps: Sequence[MemorySnippet], *, of: Collection[str] | None) -> bool:
    """Whether anything that is asked about may have been said otherwise: mostly not, and to read all takes long."""
    about = [step for step in steps if of is None or step.id in of]
    first = min((step.position for step in about), default=0)
    changing = [step for step in steps if step.position > first and may_say_change(step.text)]
    last = max((step.position for step in changing), default=0)
    asked = [_Said(step, claim) for step in about if step.position < last for claim in claims_in(step.text)]
    return any(_may_supersede(asked, step) for step in changing)


def _may_supersede(asked: Sequence[_Said], step: MemorySnippet) -> bool:
    """Whether a step may supersede any of these claims, whatever those that point turn out to point at."""
    before = [one.claim for one in asked if one.snippet.position < step.position]
    return any(
        _supersedes(earlier, later) and (not (earlier.about and later.about) or _is_of_the_same(earlier, later))
        for later in (claims_in(step.text) if before else ())
        for earlier in before
    )


def may_be_pointed_at(step: MemorySnippet) -> bool:
    """Whether a step claims a value that a step near it may change without a word for what it is of."""
    return _is_person(step) and any(claim.form in (Form.VALUE, Form.MENTION) for claim in claims_in(step.text))


def _is_person(step: MemorySnippet) -> bool:
    if step.tools or step.origin not in (Origin.USER, Origin.AGENT):
        return False
    return step.origin is Origin.USER or step.role.strip().casefold() not in _NOT_PEOPLE


def _otherwise(steps: Sequence[MemorySnippet], *, of: Collection[str] | None) -> Iterator[tuple[_Said, _Said]]:
    """Each claim with the last one of the same person that says it otherwise."""
    said = _resolved([_Said(step, claim) for step in steps for claim in claims_in(step.text)])
    for at, earlier in enumerate(said):
        last = _said_last(said, at) if of is None or earlier.snippet.id in of else None
        if last is not None and not _says_too(earlier, last, said):
            yield earlier, last


def _said_last(said: Sequence[_Said], at: int) -> _Said | None:
    """The last of the claims behind one that is of the same, where any of them says that it changes it."""
    earlier, last = said[at], None
    for place, later in enumerate(said[at + 1 :], at + 1):
        if later.snippet.position <= earlier.snippet.position or not _is_of_the_same(earlier.claim, later.claim):
            continue
        if _is_named_in_part(earlier.claim, later.claim) and not _is_what_was_said_last(earlier, place, said):
            continue
        if _supersedes(earlier.claim, later.claim) or (last is not None and _says(earlier.claim, later.claim)):
            last = later
    return last


def _resolved(said: Sequence[_Said]) -> list[_Said]:
    """Claims that point get what they point at, the last one of the same class shortly before; without one they go."""
    found: list[_Said] = []
    for one in said:
        claim = one.claim
        if not claim.about:
            pointed = next(
                (
                    other.claim
                    for other in reversed(found)
                    if (other.claim.form is claim.form or other.claim.form is Form.MENTION)
                    and other.claim.kind == claim.kind
                    and one.snippet.position - NEAR <= other.snippet.position < one.snippet.position
                ),
                None,
            )
            if pointed is None:
                continue
            claim = claim._replace(about=pointed.about, field=pointed.field)
        found.append(_Said(one.snippet, claim))
    return found


def _is_of_the_same(earlier: Claim, later: Claim) -> bool:
    if _is_named_in_part(earlier, later):
        return True
    if earlier.form is not later.form or earlier.kind != later.kind:
        return False
    if later.form is Form.PREFERENCE:
        return max(len(earlier.about), len(later.about)) <= _SHORT and not later.about.isdisjoint(earlier.about)
    return later.about == earlier.about


def _is_named_in_part(earlier: Claim, later: Claim) -> bool:
    """Whether a change of a day or time names its matter in fewer words: "the meeting", of a meeting with Ana."""
    return (
        earlier.form in (Form.MENTION, Form.VALUE)
        and later.form is Form.VALUE
        and later.changes
        and earlier.kind == later.kind in ("day", "time")
        and (later.about < earlier.about or (later.about == earlier.about and earlier.form is Form.MENTION))
    )


def _is_what_was_said_last(earlier: _Said, place: int, said: Sequence[_Said]) -> bool:
    """Whether of all claims that a change may mean, this one says what the last of them says."""
    later = said[place]
    meant = next(
        (
            one
            for one in reversed(said[:place])
            if one.snippet.position < later.snippet.position and _is_named_in_part(one.claim, later.claim)
        ),
        earlier,
    )
    return _says(meant.claim, earlier.claim)


def _supersedes(earlier: Claim, later: Claim) -> bool:
    """Whether a claim of the same thing says that the earlier one no longer holds."""
    return later.changes and not _says(earlier, later)


def _says(earlier: Claim, later: Claim) -> bool:
    return later.value.casefold() == earlier.value.casefold()


def _says_too(earlier: _Said, later: _Said, said: Sequence[_Said]) -> bool:
    """Whether the step of the earlier claim says the later value as well: then it is of both, and neither is old."""
    return any(one.snippet is earlier.snippet and _says(one.claim, later.claim) for one in said)


def _as_superseded(earlier: _Said, later: _Said) -> SupersededValue:
    return SupersededValue(
        thing=earlier.snippet.role,
        field=earlier.claim.field or later.claim.field,
        value=earlier.claim.value,
        now=later.claim.value,
        step=later.snippet.step,
        position=later.snippet.position,
    )
