"""Whether a memory is a plan in numbered parts: day 1, day 2, and little else.

There, which part a step stands in tells what it is about, and turns say things in passing ("that one it is, then"): a
sentence that is like the question need not be the one that answers it, and whole steps of the part are shown instead.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stitch.core import LabelInventory

_PART = re.compile(r"(?P<unit>[^\W\d_]+) (?P<number>\d{1,4})\b", re.IGNORECASE)
_SHARE = 0.5
"""So large a share of the steps stands in parts that are counted by one word."""
_MOST_SCOPES = 256
"""A memory of more scopes is of many things, whatever some of them are called."""


def is_plan_in_parts(inventory: LabelInventory) -> bool:
    """Whether most steps stand in two parts or more that one word counts."""
    if not 2 <= len(inventory.scopes) <= _MOST_SCOPES:
        return False
    counted, steps = _counted(inventory), Counter[str]()
    parts = Counter(unit for unit, _ in {(unit, number) for unit, number, _ in counted})
    for unit, _, count in counted:
        steps[unit] += count
    return any(count >= _SHARE * inventory.steps and parts[unit] > 1 for unit, count in steps.items())


def _counted(inventory: LabelInventory) -> list[tuple[str, str, int]]:
    """The scopes whose names begin with a counted word: that word, the number, and how many steps stand in it."""
    found = ((_PART.match(scope.name.lower()), scope.steps) for scope in inventory.scopes)
    return [(match["unit"], match["number"], steps) for match, steps in found if match is not None]
