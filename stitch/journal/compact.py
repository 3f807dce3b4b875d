"""Labels as a row has them: values without names of fields, and of a summary what the step does not say itself.

More than half of labels as JSON are names, and a sentence that stands in the step beside them. A row is a JSON list:

    [scope, event types, entity types, targets, made by, trust, summary, context, references, mentions,
     asks]

What is not there is null, or left out at the end. A summary that says who did what in which scope, and then words of
the step, is where these words begin and end in its content. A reference is a list of its fields, of which the last may
be missing; mentions are one list, an entity type and a value in turn. Labels that this does not give back byte for byte
stand in a row as they are: a JSON object.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, overload

import orjson

from stitch.core.summaries import place_of, summary_at

_REFERENCE = ("start", "end", "replacement", "antecedent", "confidence")
_AS_IT_IS = {"made_by": 4, "context": 7, "asks": 10, "trust": 5}
_INTENT = ("scope", "event_types", "entity_types", "targets")
_SUMMARY, _REFERENCES, _MENTIONS = 6, 8, 9
_LENGTH = 11


def shrink(labels: bytes, step: bytes) -> bytes:
    """Labels as a row has them."""
    try:
        said = orjson.loads(step)
        row = _row(orjson.loads(labels), said)
        while row and row[-1] is None:
            row.pop()
        shrunk = orjson.dumps(row)
        return shrunk if orjson.dumps(_labels(row, lambda: said)) == labels else labels
    except (ValueError, KeyError, TypeError, IndexError, AttributeError):
        return labels


@overload
def expand(row: bytes, step: bytes) -> bytes: ...


@overload
def expand(row: bytes | None, step: bytes) -> bytes | None: ...


def expand(row: bytes | None, step: bytes) -> bytes | None:
    """The labels of which `shrink` made a row, as JSON; a row that is none, or damaged, as it is."""
    try:
        made = orjson.loads(row) if row is not None else None
        return orjson.dumps(_labels(made, lambda: orjson.loads(step))) if isinstance(made, list) else row
    except (ValueError, KeyError, TypeError, IndexError, AttributeError):
        return row


def read_row(row: bytes) -> tuple[str | None, Sequence[str], str]:
    """Scope, event types and maker of labels in a row; of damaged ones nothing."""
    try:
        made = orjson.loads(row)
        if isinstance(made, list):
            return made[0], made[1] or (), made[_AS_IT_IS["made_by"]]
        return made["intent"].get("scope"), made["intent"].get("event_types") or (), made["made_by"]
    except (ValueError, KeyError, TypeError, IndexError, AttributeError):
        return None, (), "None"


def _row(labels: dict[str, Any], step: dict[str, Any]) -> list[Any]:
    row: list[Any] = [labels["intent"].get(name) for name in _INTENT] + [None] * (_LENGTH - len(_INTENT))
    for name, place in _AS_IT_IS.items():
        row[place] = labels.get(name)
    if "summary" in labels:
        row[_SUMMARY] = place_of(labels["summary"], **_beside(row, step))
    if "references" in labels:
        row[_REFERENCES] = [_values(reference) for reference in labels["references"]]
    if "mentions" in labels:
        pairs = [(mention["entity_type"], mention["value"]) for mention in labels["mentions"]]
        row[_MENTIONS] = [each for pair in pairs for each in pair]
    return row


def _labels(row: list[Any], step: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    row += [None] * (_LENGTH - len(row))
    made: dict[str, Any] = {
        "intent": {name: value for name, value in zip(_INTENT, row, strict=False) if value is not None},
        "made_by": row[_AS_IT_IS["made_by"]],
    }
    if (references := row[_REFERENCES]) is not None:
        named = (zip(_REFERENCE, values, strict=False) for values in references)
        made["references"] = [{name: value for name, value in pairs if value is not None} for pairs in named]
    if (summary := row[_SUMMARY]) is not None:
        made["summary"] = summary if isinstance(summary, str) else summary_at(summary, **_beside(row, step()))
    if (mentions := row[_MENTIONS]) is not None:
        pairs = zip(mentions[::2], mentions[1::2], strict=True)
        made["mentions"] = [{"entity_type": kind, "value": value} for kind, value in pairs]
    for name in ("context", "asks", "trust"):
        if (value := row[_AS_IT_IS[name]]) is not None:
            made[name] = value
    return made


def _beside(row: list[Any], step: dict[str, Any]) -> dict[str, Any]:
    """The fields beside a summary."""
    return {"role": step["role"], "event_types": row[1] or (), "scope": row[0], "text": step["content"]}


def _values(reference: dict[str, Any]) -> list[Any]:
    values = [reference.get(name) for name in _REFERENCE]
    while values and values[-1] is None:
        values.pop()
    return values
