"""Candidates: the items of which a gold or generated answer consists.

The rules of CAME-Bench's released evaluation: a JSON list is split item by item, anything else as one text, at `;`, `,`
and line breaks; what is empty is dropped. So a comma inside prose or "$1,234" makes a further candidate, as it does
there.
"""

from __future__ import annotations

import json
import re

_SEPARATORS = re.compile(r"[;,\n]")


def candidates(text: str) -> tuple[str, ...]:
    """The candidates of an answer, in order, repeated as they occur; none in an empty answer."""
    try:
        loaded = json.loads(text)
    except ValueError:
        loaded = text
    texts = [str(item) for item in loaded] if isinstance(loaded, list) else [text]
    return tuple(part.strip() for item in texts for part in _SEPARATORS.split(item) if part.strip())
