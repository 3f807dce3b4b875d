"""Values out of JSON that strangers wrote."""

from __future__ import annotations

import json
from typing import Any


def read_json(text: str | bytes) -> Any:
    """The value of a text of JSON.

    Raises:
        ValueError: It is none, or nested so deeply that the interpreter would end in a `RecursionError`, which whoever
            reads what may be no JSON would not expect.
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
