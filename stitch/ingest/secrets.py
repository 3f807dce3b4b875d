"""Secrets in what an agent did, replaced before anything is written."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from stitch.core import Redaction, Step, ToolCall
from stitch.core.text_cache import text_cache
from stitch.errors import InputError
from stitch.ingest.secret_rules import IN_PLACE, LONG_RUN, RULES, SECRET_NAME, Rule, is_placeholder, looks_random

REDACTED = "[redacted:{kind}]"
"""What stands in the place of a secret."""


def redact_text(text: str) -> tuple[str, Counter[str]]:
    """Return a text without its secrets, and how many of each kind there were."""
    found: Counter[str] = Counter()
    folded = text.lower()
    if "-----begin " in folded:
        text = _without_keys(text, found)
    for rule in RULES if LONG_RUN.search(text) else IN_PLACE:
        if any(map(folded.__contains__, rule.signs)) and (rule.guard is None or rule.guard.search(folded)):
            text = _replace(rule, text, found)
    return text, found


def redact_step(step: Step) -> tuple[Step, tuple[Redaction, ...]]:
    """Return a step without the secrets in its content, tool calls, names and metadata, and what was taken out.

    In an id, a digest stands behind the replacement, so that two ids do not become one.
    """
    found: dict[str, Counter[str]] = {}
    changed: dict[str, Any] = {}

    def clean(text: str, place: str) -> str:
        cleaned, kinds = redact_text(text)
        if kinds:
            found.setdefault(place, Counter()).update(kinds)
        return cleaned

    def clean_id(text: str, place: str) -> str:
        cleaned = clean(text, place)
        return cleaned if cleaned == text else f"{cleaned}-{hashlib.blake2b(text.encode(), digest_size=6).hexdigest()}"

    changed["content"] = clean(step.content, "content")
    for name in ("role", "tool_name"):
        if (value := getattr(step, name)) is not None and not _is_clean(value):
            changed[name] = clean(value, name)
    for name in ("id", "parent", "session"):
        if (value := getattr(step, name)) is not None:
            changed[name] = clean_id(value, name)
    if isinstance(step.timestamp, str):
        changed["timestamp"] = clean(step.timestamp, "timestamp")
    if step.tool_calls:
        changed["tool_calls"] = tuple(_clean_call(call, found) for call in step.tool_calls)
    if step.metadata:
        changed["metadata"] = _clean_value(dict(step.metadata), "metadata", found)
    if not found:
        return step, ()
    redactions = (
        Redaction(kind=kind, count=count, place=place)
        for place, kinds in found.items()
        for kind, count in kinds.items()
    )
    return step.model_copy(update=changed), tuple(redactions)


@text_cache(maxsize=1024)
def _is_clean(name: str) -> bool:
    """Whether a name of a role or a tool, of which there are few, holds no secret."""
    return not redact_text(name)[1]


def redact_steps(
    steps: Sequence[Step], *, tenant: str, trajectory: str
) -> tuple[list[Step], dict[int, tuple[Redaction, ...]]]:
    """Return steps without secrets, and what was taken out of those that had any, by their place.

    Raises:
        InputError: The name of the tenant or trajectory holds a secret: it cannot be changed, or nobody would find it.
    """
    for what, name in (("tenant", tenant), ("trajectory", trajectory)):
        if kind := next(iter(redact_text(name)[1]), ""):
            raise InputError(
                f"the name of the {what} holds a secret ({kind}); nothing is written", hint="give it another name"
            )
    cleaned = [redact_step(step) for step in steps]
    return [step for step, _ in cleaned], {place: taken for place, (_, taken) in enumerate(cleaned) if taken}


def _clean_call(call: ToolCall, found: dict[str, Counter[str]]) -> ToolCall:
    where = "tool_calls"
    update = {"name": _clean_value(call.name, where, found), "arguments": _clean_value(call.arguments, where, found)}
    return call.model_copy(update={**update, "id": _clean_value(call.id, where, found)})


def _clean_value(value: Any, place: str, found: dict[str, Counter[str]]) -> Any:
    """JSON without secrets; what stands under a key such as `password` is one, whatever it looks like."""
    if isinstance(value, str):
        cleaned, kinds = redact_text(value)
        if kinds:
            found.setdefault(place, Counter()).update(kinds)
        return cleaned
    if isinstance(value, Mapping):
        return {_clean_value(key, place, found): _clean_item(key, item, place, found) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_clean_value(item, place, found) for item in value]
    return value


def _clean_item(key: str, value: Any, place: str, found: dict[str, Counter[str]]) -> Any:
    named = SECRET_NAME.search(key[-64:]) if isinstance(value, str) and not is_placeholder(value) else None
    if named and (named.lastgroup == "strict" or looks_random(value)):
        kind = "password" if named.group().lower().startswith(("pass", "pwd")) else "secret"
        found.setdefault(place, Counter()).update([kind])
        return REDACTED.format(kind=kind)
    return _clean_value(value, place, found)


def _replace(rule: Rule, text: str, found: Counter[str]) -> str:
    def redacted(match: re.Match[str]) -> str:
        group = "secret" if "secret" in rule.pattern.groupindex else 0
        secret = match.group(group)
        if secret is None or is_placeholder(secret) or not rule.accepts(secret):
            return match.group()
        found[rule.kind] += 1
        start, end = match.start(group) - match.start(), match.end(group) - match.start()
        whole = match.group()
        return whole[:start] + REDACTED.format(kind=rule.kind) + whole[end:]

    return rule.pattern.sub(redacted, text)


def _without_keys(text: str, found: Counter[str]) -> str:
    """A text without private keys: each from its first line to its last, or as far as it goes if it was cut."""
    parts, at = [], 0
    while begin := _KEY_BEGIN.search(text, at):
        end = _KEY_END.search(text, begin.end())
        body = _KEY_BODY.match(text, begin.end())
        assert body is not None
        parts += [text[at : begin.start()], REDACTED.format(kind="private-key")]
        found["private-key"] += 1
        at = end.end() if end is not None and end.start() - begin.end() < _KEY_CHARS else body.end()
    return "".join(parts) + text[at:]


_KEY_CHARS = 20_000
_KEY_BEGIN = re.compile(r"-----BEGIN (?:[A-Z0-9]{2,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_KEY_END = re.compile(r"-----END (?:[A-Z0-9]{2,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_KEY_BODY = re.compile(r"(?:[A-Za-z0-9+/=:,.\s-]|\\[nr])*")


def kinds() -> Iterator[str]:
    """The kinds of secrets that are known."""
    yield from dict.fromkeys(("private-key", *(rule.kind for rule in RULES)))
