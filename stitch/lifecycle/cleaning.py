"""What other steps have from erased ones, taken out of their labels."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import orjson

from stitch.core import ContextualIntent, StepLabels
from stitch.journal.entries import Entry, encode_labels

NO_SCOPE = "unnamed scope"
"""What a scope is called whose name consisted of erased words."""

_WORD = re.compile(r"\w+")


def cleaner(left: Iterable[dict[str, Any]], gone: Sequence[Entry]) -> Callable[[bytes], bytes | None]:
    """What takes out of the labels of a remaining step all that they have from the erased ones; None if nothing."""
    ids = {entry.id for entry in gone}
    erased_text = "\n".join(_said(entry.step.model_dump(exclude_defaults=True)) for entry in gone)
    words = _words(erased_text) - _words("\n".join(map(_said, left)))
    names = {word.casefold() for word in _WORD.findall(erased_text) if not word.islower() or word.isdigit()} & words
    scopes: dict[str, str] = {}

    def quotes(text: str) -> bool:
        return bool(text) and (text in erased_text or not words.isdisjoint(_words(text)))

    def without(values: Iterable[str]) -> tuple[str, ...]:
        return tuple(value for value in values if names.isdisjoint(_words(value)))

    def says_nothing_of_them(encoded: bytes) -> bool:
        if b"\\" in encoded or not words.isdisjoint(_words(encoded.decode())):
            return False
        fields = orjson.loads(encoded)
        named = any(reference.get("antecedent") in ids for reference in fields.get("references", ()))
        return not named and not quotes(fields.get("context", ""))

    def clean(encoded: bytes) -> bytes | None:
        if says_nothing_of_them(encoded):
            return None
        labels = StepLabels.model_validate_json(encoded)
        intent, scope = labels.intent, labels.intent.scope
        if scope is not None and scope not in scopes:
            kept = " ".join(word for word in scope.split() if words.isdisjoint(_words(word)))
            scopes[scope] = (kept if _WORD.search(kept) else NO_SCOPE) if kept != scope else scope
        made = labels.model_copy(
            update={
                "context": "" if quotes(labels.context) else labels.context,
                "summary": "" if not words.isdisjoint(_words(labels.summary)) else labels.summary,
                "references": tuple(
                    reference
                    for reference in labels.references
                    if reference.antecedent not in ids and words.isdisjoint(_words(reference.replacement))
                ),
                "mentions": tuple(
                    mention
                    for mention in labels.mentions
                    if words.isdisjoint(_words(mention.value)) and without([mention.entity_type])
                ),
                "intent": ContextualIntent(
                    scope=None if scope is None else scopes[scope],
                    event_types=without(intent.event_types),
                    entity_types=without(intent.entity_types),
                    targets=without(intent.targets),
                ),
            }
        )
        return None if made == labels else encode_labels(made, step="")

    return clean


def _said(step: dict[str, Any]) -> str:
    calls = " ".join(
        f"{call['name']} {json.dumps(call.get('arguments', {}), ensure_ascii=False)}"
        for call in step.get("tool_calls", ())
    )
    return f"{step['role']}\n{step.get('content', '')}\n{calls}\n{step.get('tool_name') or ''}"


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))
