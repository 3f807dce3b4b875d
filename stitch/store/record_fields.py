"""What a record says of a snippet, without what it says already: names of fields, and words of the text again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel

from stitch.core.snippets import SCHEMA_VERSION, MemorySnippet, ReferenceRewrite
from stitch.core.summaries import place_of, summary_at
from stitch.core.trust import Origin, Trust
from stitch.store.payload import Payload, from_payload, stored_intent

_Model = TypeVar("_Model", bound=BaseModel)

FIELDS = (
    "tenant", "trajectory", "step", "position", "recorded", "schema_version", "origin", "trust", "role", "text",
    "scope", "event_types", "entity_types", "labeled_by", "summary", "context", "references", "resolved", "happened",
    "tools", "session", "targets", "metadata", "asks",
)  # fmt: skip
"""The fields of a payload in the order in which a record has their values; nulls at the end are left out."""

_ORIGINS, _TRUSTS = ("user", "agent", "tool", "document"), ("low", "medium", "high")
"""The place in these stands for the word."""
_ORIGIN_OF, _TRUST_OF = tuple(map(Origin, _ORIGINS)), tuple(map(Trust, _TRUSTS))
_NOTHING = (None,) * len(FIELDS)
_REFERENCE = ("start", "end", "replacement", "antecedent", "confidence")
_ALL_OF_SNIPPET, _ALL_OF_REFERENCE = set(MemorySnippet.model_fields), set(ReferenceRewrite.model_fields)
_set = object.__setattr__
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
    if "trust" in payload:
        written["origin"], written["trust"] = _ORIGINS.index(payload["origin"]), _TRUSTS.index(payload["trust"])
    values = [written.get(name) for name in FIELDS]
    while values and values[-1] is None:
        values.pop()
    return values


def from_values(values: Sequence[Any]) -> Payload:
    """The payload of which `to_values` made these."""
    payload = {name: value for name, value in zip(FIELDS, values, strict=False) if value is not None}
    if "trust" in payload:
        payload["origin"], payload["trust"] = _ORIGINS[payload["origin"]], _TRUSTS[payload["trust"]]
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


def snippet_of(values: Sequence[Any]) -> MemorySnippet:
    """The snippet that a record says these values of: `from_payload(from_values(values))`, in a third of the time.

    A record is checked by its checksum when it is read, so that what was valid when it was written is not looked at
    again: a search reads a hundred.

    Raises:
        StoreError: They are not those of a snippet, or of another schema.
    """
    every: Sequence[Any] = (*values, *_NOTHING[len(values) :])
    (
        tenant, trajectory, step, position, recorded, version, origin, trust, role, text, scope, events, entities,
        labeled_by, summary, context, references, resolved, happened, tools, session, targets, metadata, asks,
    ) = every  # fmt: skip
    if version != SCHEMA_VERSION or trust is None or metadata is not None or text is None:
        return from_payload(from_values(values))
    if summary.__class__ is list:
        summary = summary_at(summary, role=role, text=text, scope=scope[0] if scope else None, event_types=events or ())
    if resolved == _ANNOTATED:
        resolved = _with_annotations(text, [(start, end, said) for start, end, said, *_ in references])
    fields = {
        "tenant": tenant,
        "trajectory": trajectory,
        "step": step,
        "position": position,
        "role": role,
        "text": text,
        "resolved": text if resolved is None else resolved,
        "summary": summary or "",
        "context": context or "",
        "asks": _tuple(asks),
        "intent": stored_intent(*map(_tuple, (scope, events, entities, targets))),
        "references": tuple(map(_reference, _tuple(references))),
        "session": session,
        "happened": happened,
        "recorded": recorded,
        "labeled_by": labeled_by,
        "tools": _tuple(tools),
        "origin": _ORIGIN_OF[origin],
        "trust": _TRUST_OF[trust],
        "metadata": {},
    }
    return _made(MemorySnippet, fields, _ALL_OF_SNIPPET)


def _tuple(values: Sequence[Any] | None) -> tuple[Any, ...]:
    return tuple(values) if values else ()


def _reference(values: Sequence[Any]) -> ReferenceRewrite:
    start, end, replacement, antecedent, confidence = values
    fields = {
        "start": start, "end": end, "replacement": replacement, "antecedent": antecedent, "confidence": confidence,
    }  # fmt: skip
    return _made(ReferenceRewrite, fields, _ALL_OF_REFERENCE)


def _made(model: type[_Model], fields: dict[str, Any], names: set[str]) -> _Model:
    """What `model_construct` makes of all fields, without what that looks at first."""
    made = model.__new__(model)
    _set(made, "__dict__", fields)
    _set(made, "__pydantic_fields_set__", names)  # of all the same: they are frozen, and a copy has its own
    _set(made, "__pydantic_extra__", None)
    _set(made, "__pydantic_private__", None)
    return made


def _beside(payload: Mapping[str, Any]) -> dict[str, Any]:
    """What stands beside a summary."""
    scope = payload.get("scope") or (None,)
    return {
        "role": payload["role"], "text": payload["text"], "scope": scope[0],
        "event_types": payload.get("event_types", ()),
    }  # fmt: skip


def _annotated(payload: Mapping[str, Any]) -> str:
    places = [(each["start"], each["end"], each["replacement"]) for each in payload["references"]]
    return _with_annotations(payload["text"], places)


def _with_annotations(text: str, places: Sequence[tuple[int, int, str]]) -> str:
    # Spelled out here, for it is part of the format: `annotate_rewrites` may change, what is written does not.
    for _, end, replacement in sorted(places, key=lambda place: place[0], reverse=True):
        text = f"{text[:end]} [{replacement.strip()}]{text[end:]}"
    return text
