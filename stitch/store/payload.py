"""What a snippet looks like in Qdrant: JSON types only, no field lost, labels as keyword lists for filters."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import orjson
from pydantic import ValidationError

from stitch.core.intent import ContextualIntent, Label, LabelKind
from stitch.core.json_text import read_json
from stitch.core.snippets import SCHEMA_VERSION, MemorySnippet
from stitch.core.text_cache import text_cache
from stitch.core.trust import Origin, Trust, origin_of
from stitch.errors import StoreError

Payload = dict[str, Any]

LABEL_FIELDS: Mapping[LabelKind, str] = {
    LabelKind.SCOPE: "scope",
    LabelKind.EVENT_TYPE: "event_types",
    LabelKind.ENTITY_TYPE: "entity_types",
    LabelKind.TARGET: "targets",
}
"""Under which key the labels of each kind stand."""
_LABEL_FIELDS = tuple(LABEL_FIELDS.values())

_ORIGINS = {origin.value: origin for origin in Origin}
_TRUSTS = {trust.value: trust for trust in Trust}

_ALWAYS = ("tenant", "trajectory", "step", "position", "role", "text", "recorded")
_IF_ANY = {"summary": "", "context": "", "session": None, "happened": None, "labeled_by": None}


def to_payload(snippet: MemorySnippet, *, embedder_name: str) -> Payload:
    """Return the payload of a snippet; what is empty is left out, and the resolved text if it is the text.

    `metadata` is kept as JSON text: it is returned and never searched, and so it survives whatever Qdrant would change
    (large integers, lone surrogates).

    Raises:
        StoreError: A clock is not a finite number, or a text is not valid Unicode.
    """
    payload: Payload = {
        "id": snippet.id,
        "schema_version": SCHEMA_VERSION,
        "embedder": embedder_name,
        **{name: getattr(snippet, name) for name in _ALWAYS},
        "origin": snippet.origin.value,
        "trust": snippet.trust.value,
    }
    for name, without in _IF_ANY.items():
        if (value := getattr(snippet, name)) != without:
            payload[name] = value
    if snippet.resolved != snippet.text:
        payload["resolved"] = snippet.resolved
    intent = snippet.intent
    for kind, name in LABEL_FIELDS.items():
        if values := intent.of(kind):
            payload[name] = list(values)
    if snippet.references:
        payload["references"] = [reference.model_dump() for reference in snippet.references]
    if snippet.asks:
        payload["asks"] = list(snippet.asks)
    if snippet.tools:
        payload["tools"] = list(snippet.tools)
    if snippet.metadata:
        payload["metadata"] = json.dumps(dict(snippet.metadata))
    _check(payload, snippet)
    return payload


def from_payload(payload: Mapping[str, Any]) -> MemorySnippet:
    """Return the snippet of a payload that `to_payload` made.

    Raises:
        StoreError: The payload is not one of a snippet, or of another schema.
    """
    if payload.get("schema_version") != SCHEMA_VERSION:
        raise StoreError(f"a stored snippet has schema version {payload.get('schema_version')!r}, not {SCHEMA_VERSION}")
    fields = {**payload}  # what is no field of a snippet is passed over
    fields["origin"], fields["trust"] = origin_and_trust(payload)
    if "resolved" not in fields:
        fields["resolved"] = payload.get("text")
    fields["intent"] = stored_intent(*[tuple(payload[name]) if name in payload else () for name in _LABEL_FIELDS])
    if metadata := payload.get("metadata"):
        fields["metadata"] = read_json(metadata)
    try:
        return MemorySnippet.model_validate(fields)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise StoreError(f"a stored snippet cannot be read: {where}: {first['msg'].lower()}") from error


@text_cache(maxsize=4096)
def stored_intent(
    scope: tuple[str, ...], event_types: tuple[str, ...], entity_types: tuple[str, ...], targets: tuple[str, ...]
) -> ContextualIntent:
    """The intent of stored labels: they were cleaned when they were made, which is half the cost of making one."""
    return ContextualIntent.model_construct(
        scope=scope[0] if scope else None, event_types=event_types, entity_types=entity_types, targets=targets
    )


def origin_and_trust(payload: Mapping[str, Any]) -> tuple[Origin, Trust]:
    """The origin and trust of a payload; of one written before there were any, what its role and tools say.

    There, a text that took in words of other steps is not trusted: nobody wrote down whose words.
    """
    if "trust" in payload:
        return _ORIGINS[payload["origin"]], _TRUSTS[payload["trust"]]
    agent = origin_of(payload["role"], answers_tool=False) is Origin.AGENT  # who calls tools, not who answers
    origin = origin_of(payload["role"], answers_tool=bool(payload.get("tools")) and not agent)
    return origin, Trust.LOW if payload.get("resolved") or payload.get("context") else origin.trust


def labels_of(payload: Mapping[str, Any]) -> list[Label]:
    """The labels of a payload, as they were stored."""
    return [Label(kind, value) for kind, name in LABEL_FIELDS.items() for value in payload.get(name, ())]


def intent_labels(intent: ContextualIntent) -> list[Label]:
    """The labels of a snippet in the order in which `labels_of` gives them."""
    return [Label(kind, value) for kind in LABEL_FIELDS for value in intent.of(kind)]


def _check(payload: Payload, snippet: MemorySnippet) -> None:
    for name in ("recorded", "happened"):
        value = payload.get(name)
        if isinstance(value, float) and not math.isfinite(value):
            raise StoreError(f"step {snippet.step!r} cannot be stored: {name} is {value!r}")
    if not -(2**63) <= snippet.position < 2**63:
        raise StoreError(f"step {snippet.step!r} cannot be stored: position {snippet.position!r} is out of range")
    try:
        orjson.dumps(payload)
    except TypeError:  # it is not valid Unicode, or a number is too large for this library alone
        for name, value in payload.items():
            if not _is_unicode(value):
                raise StoreError(f"step {snippet.step!r} cannot be stored: {name} is not valid Unicode") from None


def _is_unicode(value: object) -> bool:
    if isinstance(value, str):
        if value.isascii():
            return True
        try:
            value.encode()
        except UnicodeEncodeError:
            return False
        return True
    if isinstance(value, dict):  # to ask for a Mapping or Sequence costs ten times as much
        return all(map(_is_unicode, value.values()))
    if isinstance(value, list | tuple):
        return all(map(_is_unicode, value))
    return True
