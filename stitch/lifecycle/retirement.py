"""When a step was retired: it stands in the reason that its receipt gives."""

from __future__ import annotations

import math
from datetime import datetime, timezone

_RETIRED = "retired "


def retirement_note(at: float, reason: str) -> str:
    """The reason of a retired step's receipt.

    Args:
        at: When it is retired, in Unix seconds.
        reason: Why; may be empty.
    """
    moment = datetime.fromtimestamp(at, timezone.utc).isoformat()
    return f"{_RETIRED}{moment}" + (f": {reason}" if reason else "")


def retired_at(note: str) -> float:
    """When a step was retired, in Unix seconds, by `retirement_note`; minus infinity if the note does not say it."""
    try:
        return datetime.fromisoformat(note.removeprefix(_RETIRED).split(": ")[0]).timestamp()
    except ValueError:  # it comes from an export that another has made
        return -math.inf
