"""The payload of a snippet in Qdrant: others can read and filter it, and the snippet comes back from it whole."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime, timezone
from decimal import ROUND_FLOOR, Decimal
from typing import Any
from zlib import crc32

import orjson
from pydantic import ValidationError

from stitch.core.intent import LABEL_FIELDS, ContextualIntent, LabelKind, is_setup
from stitch.core.json_text import read_json
from stitch.core.snippets import SCHEMA_VERSION, MemorySnippet, ReferenceRewrite
from stitch.core.text_cache import text_cache
from stitch.core.trust import USERS, Origin, Trust
from stitch.errors import StoreError
from stitch.text.dates import read_timestamp

Payload = dict[str, Any]

INDEXES: Mapping[str, str] = {
    "tenant": "tenant", "trajectory": "keyword", "scope": "keyword", "event_types": "keyword",
    "entity_types": "keyword", "position": "integer", "trust": "integer", "setup": "integer",
    "happened": "datetime", "recorded": "datetime",
}  # fmt: skip
"""The fields of the payload that are indexed, with their kinds."""

_EPOCH = datetime(1970, 1, 1)
_TRUSTS = (Trust.LOW, Trust.MEDIUM, Trust.HIGH)
_ORIGINS = {origin.value: origin for origin in Origin}
_NO_NAMES = USERS | {"assistant", "agent", "ai", "bot", "model"}
"""Roles that say on whose side somebody speaks, and not who."""
_ALWAYS = ("tenant", "trajectory", "step", "position", "role", "text")
_IF_ANY = {"summary": "", "context": "", "session": None, "labeled_by": None, "tokens": 0}
_LISTS = ("asks", "tools", "entities")


@text_cache(maxsize=65_536)
def label_index(kind: LabelKind, value: str) -> int:
    """The place of a label in the vector `labels`: a hash, so that two may share one; the payload tells them apart."""
    return crc32(f"{kind.value}\0{value}".encode())


@text_cache(maxsize=64)  # steps that came together have one
def clock(seconds: float) -> str:
    """A time as RFC 3339 writes it, with as many digits as bring the same number back.

    Raises:
        ValueError: It is none of the years 1 to 9999.
    """
    exact = Decimal(repr(seconds))
    whole = exact.to_integral_value(ROUND_FLOOR)
    digits = format(exact - whole, "f").partition(".")[2].rstrip("0")
    try:
        day = datetime.fromtimestamp(int(whole), timezone.utc)
    except (OverflowError, OSError) as error:
        raise ValueError(f"{seconds!r} is no time") from error
    return f"{day:%Y-%m-%dT%H:%M:%S}{f'.{digits}' if digits else ''}Z".rjust(20, "0")


def seconds_in(clocked: str) -> float:
    """The seconds of what `clock` wrote."""
    since = datetime.fromisoformat(clocked[:19]) - _EPOCH
    whole = since.days * 86_400 + since.seconds
    digits = clocked[20:-1]
    return float(f"{whole}.{digits}") if whole >= 0 else float(Decimal(whole) + Decimal(f"0.{digits or 0}"))


def to_payload(snippet: MemorySnippet) -> Payload:
    """The payload of a snippet; what is empty is left out, and the resolved text if it is the text.

    `speaker` is the role where it names somebody, `outcome` what flags of a tool's result said, `valid_to` what the
    step's metadata says of until when it holds: others may filter by it, and no search here does.

    Clocks are RFC 3339; `happened_as_said` is what the source wrote, where that is no number. `metadata` is JSON text:
    it is returned and never searched, and survives whatever Qdrant would change (large integers, lone surrogates).

    Raises:
        StoreError: A clock is no time, a position is out of range, or a text is not valid Unicode.
    """
    payload: Payload = {name: getattr(snippet, name) for name in _ALWAYS}
    for name, without in _IF_ANY.items():
        if (value := getattr(snippet, name)) != without:
            payload[name] = value
    for name in _LISTS:
        if value := getattr(snippet, name):
            payload[name] = list(value)
    if snippet.resolved != snippet.text:
        payload["resolved"] = snippet.resolved
    for kind, name in LABEL_FIELDS.items():
        if values := snippet.intent.of(kind):
            payload[name] = values[0] if kind is LabelKind.SCOPE else list(values)
    if snippet.references:
        payload["references"] = [reference.model_dump() for reference in snippet.references]
    if snippet.metadata:
        payload["metadata"] = json.dumps(dict(snippet.metadata))
    payload |= {"origin": snippet.origin.value, "trust": snippet.trust.level}
    payload |= {"setup": int(is_setup(snippet.intent)), "schema_version": SCHEMA_VERSION}
    payload |= {**_told(snippet), **_clocks(snippet)}
    _check(payload, snippet)
    return payload


def _told(snippet: MemorySnippet) -> Payload:
    """The name of who speaks, how a tool's call ended, and until when it holds, where that is known."""
    named = snippet.origin in (Origin.USER, Origin.AGENT) and snippet.role.casefold() not in _NO_NAMES
    told: Payload = {"speaker": snippet.role} if named else {}
    if (outcome := snippet.metadata.get("outcome")) in ("failure", "success"):
        told["outcome"] = outcome
    if until := _moment(snippet.metadata.get("valid_to")):
        told["valid_to"] = until
    return told


def _clocks(snippet: MemorySnippet) -> Payload:
    """Times of recording and happening; the source's own words where they are no time of a calendar."""
    said, clocks = snippet.happened, Payload()
    for name, value in (("recorded", snippet.recorded), ("happened", said)):
        if isinstance(value, (int, float)) and not math.isfinite(value):
            raise StoreError(f"step {snippet.step!r} cannot be stored: {name} is {value!r}")
    try:
        clocks["recorded"] = clock(snippet.recorded)
    except ValueError as error:
        raise StoreError(f"step {snippet.step!r} cannot be stored: recorded is {snippet.recorded!r}") from error
    if happened := _moment(said):
        clocks["happened"] = happened
    if said is not None and not (happened and isinstance(said, (int, float))):
        clocks["happened_as_said"] = said
    return clocks


def _moment(said: object) -> str | None:
    """A time that a source wrote, a number or a text, as `clock` writes it; None if it is none of a calendar."""
    read = read_timestamp(said) if isinstance(said, str) else None
    if read is not None:
        read = read if read.tzinfo is not None else read.replace(tzinfo=timezone.utc)
    with suppress(ValueError, OverflowError):
        if isinstance(said, (int, float)) and not isinstance(said, bool):
            return clock(said)
        if read is not None:
            return clock(round(read.timestamp(), 6))
    return None


def from_payload(payload: Mapping[str, Any], *, validate: bool = False) -> MemorySnippet:
    """The snippet of a payload; what is no field of one is passed over. To `validate` every field takes longer.

    Raises:
        StoreError: It is none.
    """
    if payload.get("schema_version") != SCHEMA_VERSION:
        raise StoreError(f"a stored snippet has schema version {payload.get('schema_version')!r}, not {SCHEMA_VERSION}")
    try:
        fields = _fields(payload)
        return MemorySnippet.model_validate(fields) if validate else _made(fields)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise StoreError(f"a stored snippet cannot be read: {where}: {first['msg'].lower()}") from error
    except (KeyError, ValueError, TypeError, IndexError) as error:
        raise StoreError(f"a stored snippet cannot be read: {type(error).__name__.lower()}: {error}") from error


_SHARED = {
    "__pydantic_fields_set__": set(MemorySnippet.model_fields),
    "__pydantic_extra__": None,
    "__pydantic_private__": None,
}
"""What pydantic keeps beside fields, one for all: a set of each takes two kilobytes."""


def _made(fields: dict[str, Any]) -> MemorySnippet:
    """Build a snippet without validation, in an eighth of the time of `model_construct`.

    Fields are set one by one: then all snippets share a table of their names, which is most of what each would take.
    """
    snippet = MemorySnippet.__new__(MemorySnippet)
    own = vars(snippet)
    for name, value in fields.items():
        own[name] = value
    for name, value in _SHARED.items():
        object.__setattr__(snippet, name, value)
    return snippet


def _fields(payload: Mapping[str, Any]) -> dict[str, Any]:
    text, get = payload["text"], payload.get
    happened = get("happened_as_said")
    if happened is None and (clocked := get("happened")) is not None:
        happened = seconds_in(clocked)
    return {
        "tenant": payload["tenant"],
        "trajectory": payload["trajectory"],
        "step": payload["step"],
        "position": payload["position"],
        "role": payload["role"],
        "text": text,
        "resolved": get("resolved", text),
        "summary": get("summary", ""),
        "context": get("context", ""),
        "asks": tuple(get("asks", ())),
        "intent": stored_intent(
            get("scope"), tuple(get("event_types", ())), tuple(get("entity_types", ())), tuple(get("targets", ()))
        ),
        "references": tuple(ReferenceRewrite(**each) for each in get("references", ())),
        "session": get("session"),
        "happened": happened,
        "recorded": seconds_in(payload["recorded"]),
        "labeled_by": get("labeled_by"),
        "tools": tuple(get("tools", ())),
        "entities": tuple(get("entities", ())),
        "tokens": get("tokens", 0),
        "origin": _ORIGINS[payload["origin"]],
        "trust": _TRUSTS[payload["trust"]],
        "metadata": read_json(payload["metadata"]) if "metadata" in payload else {},
    }


@text_cache(maxsize=4096)
def stored_intent(
    scope: str | None, event_types: tuple[str, ...], entity_types: tuple[str, ...], targets: tuple[str, ...]
) -> ContextualIntent:
    """The intent of stored labels: they were cleaned when they were made, which is half the cost of making one."""
    return ContextualIntent.model_construct(
        scope=scope, event_types=event_types, entity_types=entity_types, targets=targets
    )


def _check(payload: Payload, snippet: MemorySnippet) -> None:
    if not -(2**63) <= snippet.position < 2**63:
        raise StoreError(f"step {snippet.step!r} cannot be stored: position {snippet.position!r} is out of range")
    try:
        orjson.dumps(payload)
    except TypeError:  # it is not valid Unicode, or a number is too large for this library alone
        for name, value in payload.items():
            try:
                json.dumps(value, ensure_ascii=False).encode()
            except UnicodeEncodeError:
                raise StoreError(f"step {snippet.step!r} cannot be stored: {name} is not valid Unicode") from None
