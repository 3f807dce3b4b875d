"""What a record says of a snippet, without what it says already: names of fields, and words of the text again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stitch.core.summaries import place_of, summary_at
from stitch.store.payload import LABEL_FIELDS, Payload

FIELDS = (
    "tenant", "trajectory", "step", "position", "recorded", "schema_version", "origin", "trust", "role", "text",
    *LABEL_FIELDS.values(), "labeled_by", "summary", "context", "references", "resolved", "happened", "tools",
    "session", "metadata",
)  # fmt: skip
"""The fields of a payload in the order in which a record has their values; nulls at the end are left out."""

_REFERENCE = ("start", "end", "replacement", "antecedent", "confidence")
_ANNOTATED = 1
"""In the place of a resolved text: the text, and behind each reference what it stands for, in brackets."""


def to_values(payload: Payload) -> list[Any]:
    """The values of a payload as a record has them."""
    written = dict(payload)
    if "summary" in payload:
        written["summary"] = place_of(payload["summary"], **_beside(payload))
    if "references" in payload:
        written["references"] = [[each[name] for name in _REFERENCE] for each in payload["references"]]
        if payload.get("resolved") == _annotated(payload):
            written["resolved"] = _ANNOTATED
    values = [written.get(name) for name in FIELDS]
    while values and values[-1] is None:
        values.pop()
    return values


def from_values(values: Sequence[Any]) -> Payload:
    """The payload of which `to_values` made these."""
    payload = {name: value for name, value in zip(FIELDS, values, strict=False) if value is not None}
    if isinstance(place := payload.get("summary"), list):
        payload["summary"] = summary_at(place, **_beside(payload))
    if (references := payload.get("references")) is not None:
        # A search reads a hundred snippets: what is written out here takes half as long as a loop over names.
        payload["references"] = [
            {"start": start, "end": end, "replacement": replacement, "antecedent": antecedent, "confidence": confidence}
            for start, end, replacement, antecedent, confidence in references
        ]
        if payload.get("resolved") == _ANNOTATED:
            payload["resolved"] = _annotated(payload)
    return payload


def _beside(payload: Mapping[str, Any]) -> dict[str, Any]:
    """What stands beside a summary."""
    scope = payload.get("scope") or (None,)
    return {
        "role": payload["role"], "text": payload["text"], "scope": scope[0],
        "event_types": payload.get("event_types", ()),
    }  # fmt: skip


def _annotated(payload: Mapping[str, Any]) -> str:
    # Spelled out here, for it is part of the format: `annotate_rewrites` may change, what is written does not.
    text: str = payload["text"]
    for each in sorted(payload["references"], key=lambda reference: reference["start"], reverse=True):
        text = f"{text[: each['end']]} [{each['replacement'].strip()}]{text[each['end'] :]}"
    return text
