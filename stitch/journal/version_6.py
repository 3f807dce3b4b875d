"""Labels as rows of version 6 have them: JSON lists without names of fields, and without the words of their step.

    [scope, event types, entity types, targets, made by, trust, summary, context, references, mentions, asks]

What is not there is null, or left out at the end. A summary that says who did what in which scope, and then words of
the step, is where these words begin and end in its content. A reference is a list of its fields, of which the last may
be missing; mentions are one list, an entity type and a value in turn. A row that is no list is JSON as it is today.
"""

from __future__ import annotations

from typing import Any

import orjson

_REFERENCE = ("start", "end", "replacement", "antecedent", "confidence")
_AS_IT_IS = {"made_by": 4, "context": 7, "asks": 10, "trust": 5}
_INTENT = ("scope", "event_types", "entity_types", "targets")
_SUMMARY, _REFERENCES, _MENTIONS = 6, 8, 9
_LENGTH = 11


def expand(row: bytes, step: bytes) -> bytes:
    """The labels of a row as JSON; of a row that cannot be read, as it is."""
    try:
        made = orjson.loads(row)
        return orjson.dumps(_labels(made, orjson.loads(step))) if isinstance(made, list) else row
    except (ValueError, KeyError, TypeError, IndexError, AttributeError):
        return row


def _labels(row: list[Any], step: dict[str, Any]) -> dict[str, Any]:
    row += [None] * (_LENGTH - len(row))
    made: dict[str, Any] = {
        "intent": {name: value for name, value in zip(_INTENT, row, strict=False) if value is not None},
        "made_by": row[_AS_IT_IS["made_by"]],
    }
    if (references := row[_REFERENCES]) is not None:
        named = (zip(_REFERENCE, values, strict=False) for values in references)
        made["references"] = [{name: value for name, value in pairs if value is not None} for pairs in named]
    if (summary := row[_SUMMARY]) is not None:
        made["summary"] = summary if isinstance(summary, str) else _summary(summary, row, step)
    if (mentions := row[_MENTIONS]) is not None:
        pairs = zip(mentions[::2], mentions[1::2], strict=True)
        made["mentions"] = [{"entity_type": kind, "value": value} for kind, value in pairs]
    for name in ("context", "asks", "trust"):
        if (value := row[_AS_IT_IS[name]]) is not None:
            made[name] = value
    return made


def _summary(place: list[int], row: list[Any], step: dict[str, Any]) -> str:
    head = f"{step['role']}: {' and '.join(row[1] or ())} ({row[0]})"
    return f"{head}: {step['content'][place[0] : place[1]]}" if place else head
