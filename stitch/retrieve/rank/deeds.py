"""What was done: whether a step is of the kind that a question about runs asks for, and where in its goal it stands.

"Which error did the second run give?" is answered by a result that has none of these words; its call has them. "Why?"
is answered by what explains and by what a user said, "which command?" by a call, "what did she want?" by what opens a
goal. Of a task that is given nothing counts but what others like it began with.
"""

from __future__ import annotations

from collections.abc import Sequence

from stitch.retrieve.kinds import Kind, changes, failed
from stitch.retrieve.rank.goals import named_goals
from stitch.retrieve.rank.pool import Pool
from stitch.retrieve.rank.runs import Runs, runs


def exchange(pool: Pool) -> Sequence[float] | None:
    """By how much another step of its exchange is more alike: a call and its result, a result and what follows."""
    found = pool.once(runs)
    if found is None or found.asked.task:
        return None
    alike = [one.similarity for one in pool.candidates]
    return [
        pool.constants.runs_exchange * (max([own, *(alike[other] for other in others)]) - own)
        for own, others in zip(alike, found.partners, strict=True)
    ]


def deed(pool: Pool) -> Sequence[float] | None:
    """Whether it is a call, a result or words as the question asks for, and went wrong if it asks what did."""
    found, constants = pool.once(runs), pool.constants
    if found is None or found.asked.task:
        return None
    asked = found.asked
    worth = dict.fromkeys(Kind, 0.0)
    worth[Kind.CALL] += constants.runs_call * asked.action
    worth[Kind.AGENT] += constants.runs_words_action * asked.action
    worth[Kind.USER] += constants.runs_user * asked.cause - constants.runs_not_user * (asked.action or asked.result)
    # How a thing stands is told by what changed it, not by any result.
    worth[Kind.RESULT] += constants.runs_result * (asked.result and not asked.state)
    gains = [worth[kind] for kind in found.kinds]
    if asked.cause:
        for number, one in enumerate(pool.candidates):
            gains[number] += constants.runs_explained * ("explain" in one.snippet.intent.event_types)
    if asked.error:
        for number, one in enumerate(pool.candidates):
            if found.kinds[number] is not Kind.SETUP and number not in found.openings and failed(one.snippet):
                gains[number] += constants.runs_failure
    if asked.calls:
        for number in range(len(gains)):
            gains[number] += _changed(pool, found, number)
    return gains


def opening(pool: Pool) -> Sequence[float] | None:
    """Whether it opens a goal, where a task is given that others were like, or what somebody wanted is asked."""
    found, constants = pool.once(runs), pool.constants
    if found is None or not (found.asked.task or found.asked.requests):
        return None
    return [constants.runs_opening * (number in found.openings) for number in range(len(pool.candidates))]


def place(pool: Pool) -> Sequence[float] | None:
    """How late in its goal it stands: what comes late tells more, most of all where the last is asked for.

    The shorter a goal, the less its end tells, unless the question names the goal and leaves open which of its steps:
    of two steps, the second would outweigh any similarity.
    """
    found, constants = pool.once(runs), pool.constants
    if found is None or found.asked.task:
        return None
    asked = found.asked
    asked_for = constants.runs_last * asked.last - constants.runs_first * asked.first
    gains, named = [0.0] * len(pool.candidates), named_goals(pool)
    for goal, own in zip(found.named, found.members, strict=True):
        last = len(own) - 1
        share = 1.0 if goal in named else min(1.0, max(0, last - 1) / constants.runs_long)
        late = constants.runs_late * share + asked_for
        for order, number in enumerate(own):
            gains[number] = late * order / max(1, last)
    return gains


def _changed(pool: Pool, found: Runs, number: int) -> float:
    """What it counts to have changed something, for a call and for its result."""
    if found.kinds[number] is Kind.CALL:
        return pool.constants.runs_change * changes(pool.candidates[number].snippet)
    call = found.result_of[number]
    return pool.constants.runs_changed_result * (call >= 0 and changes(pool.candidates[call].snippet))
