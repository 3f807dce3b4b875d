"""Steps, labels and other JSON without secrets: what stands in texts, under telling keys, and beside telling names."""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from stitch.core import Redaction, Step, StepLabels, ToolCall
from stitch.core.text_cache import text_cache
from stitch.errors import InputError
from stitch.ingest.secrets.texts import REDACTED, redact_parts, redact_text
from stitch.ingest.secrets.values import is_placeholder, is_quoted_password, looks_random
from stitch.ingest.secrets.words import SECRET_NAME

_MOST_ARGUMENTS = 200
_VALUES = frozenset({"value", "val", "text", "keys", "content", "input"})
"""Keys under which the value of a field stands whose name stands beside it."""
_NAMED_VALUE = re.compile(r"[\w #.\[\]=\"'-]{1,80}")


def redact_step(step: Step) -> tuple[Step, tuple[Redaction, ...]]:
    """Return a step without the secrets in its content, tool calls, names and metadata, and what was taken out.

    In an id, a digest stands behind the replacement, so that two ids do not become one.
    """
    found: dict[str, Counter[str]] = {}
    changed: dict[str, Any] = {"content": Cleaner("content", found).text(step.content)}
    for name in ("role", "tool_name"):
        if (value := getattr(step, name)) is not None and not _is_clean(value):
            changed[name] = Cleaner(name, found).text(value)
    for name in ("id", "parent", "session"):
        if (value := getattr(step, name)) is not None:
            changed[name] = _clean_id(value, Cleaner(name, found))
    if isinstance(step.timestamp, str):
        changed["timestamp"] = Cleaner("timestamp", found).text(step.timestamp)
    if step.tool_calls:
        changed["tool_calls"] = tuple(_clean_call(call, Cleaner("tool_calls", found)) for call in step.tool_calls)
    if step.metadata:
        changed["metadata"] = Cleaner("metadata", found).value(dict(step.metadata))
    if not found:
        return step, ()
    redactions = (
        Redaction(kind=kind, count=count, place=place)
        for place, kinds in found.items()
        for kind, count in kinds.items()
    )
    return step.model_copy(update=changed), tuple(redactions)


def redact_steps(
    steps: Sequence[Step], *, tenant: str, trajectory: str
) -> tuple[list[Step], dict[int, tuple[Redaction, ...]]]:
    """Return steps without secrets, and what was taken out of those that had any, by their place.

    Raises:
        InputError: The name of the tenant or trajectory holds a secret: it cannot be changed, or nobody would find it.
    """
    for what, name in (("tenant", tenant), ("trajectory", trajectory)):
        if kind := _secret_in(name):
            raise InputError(
                f"the name of the {what} holds a secret ({kind}); nothing is written", hint="give it another name"
            )
    cleaned = [redact_step(step) for step in steps]
    return [step for step, _ in cleaned], {place: taken for place, (_, taken) in enumerate(cleaned) if taken}


@text_cache(maxsize=1_024)  # whoever adds step by step names them each time
def _secret_in(name: str) -> str:
    """The kind of a secret that a name holds; empty if it holds none."""
    return next(iter(redact_text(name)[1]), "")


def redact_value(value: Any) -> Any:
    """Return JSON without the secrets in its texts and keys, and in what stands under telling keys."""
    return Cleaner("", {}).value(value)


def redact_path(path: str) -> str:
    """Return a path without secrets in the names of its files and folders; each still tells itself from others."""
    return os.sep.join(map(_clean_name, path.split(os.sep)))


def _clean_name(name: str) -> str:
    cleaned = redact_text(name)[0]
    return cleaned if cleaned == name else f"{_digest(name)}-{cleaned}"


def redact_labels(labels: StepLabels) -> StepLabels:
    """Return labels that came from outside without secrets; the very same if they hold none."""
    given = labels.model_dump(mode="json")
    cleaned = redact_value(given)
    return labels if cleaned == given else StepLabels.model_validate(cleaned)


@text_cache(maxsize=1024)
def _is_clean(name: str) -> bool:
    """Whether a name of a role or a tool, of which there are few, holds no secret."""
    return not redact_text(name)[1]


def _clean_id(text: str, cleaner: Cleaner) -> str:
    cleaned = cleaner.text(text)
    return cleaned if cleaned == text else f"{cleaned}-{_digest(text)}"


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogateescape"), digest_size=6).hexdigest()


def _clean_call(call: ToolCall, cleaner: Cleaner) -> ToolCall:
    return call.model_copy(
        update={
            "name": cleaner.text(call.name),
            "arguments": cleaner.value(call.arguments),
            "id": cleaner.value(call.id),
        }
    )


class Cleaner:
    """Takes secrets out of what stands in one place of a step, and counts them by kind."""

    def __init__(self, place: str, found: dict[str, Counter[str]]) -> None:
        self._place, self._found = place, found

    def text(self, text: str) -> str:
        """A text without secrets."""
        cleaned, kinds = redact_text(text)
        self._count(kinds)
        return cleaned

    def value(self, value: Any) -> Any:
        """JSON without secrets."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            if (name := named_beside(value)) is not None:
                value = {key: self._secret(item, name) if key in _VALUES else item for key, item in value.items()}
            return {self.value(key): self._item(key, item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            if _is_command(value):
                value, kinds = redact_parts(value)
                self._count(kinds)
            return [self.value(item) for item in value]
        return value

    def _item(self, key: Any, value: Any) -> Any:
        """What stands under a key such as `password` is a secret, whatever it looks like."""
        name = SECRET_NAME.search(key[-64:]) if isinstance(key, str) else None
        if name is None:
            return self.value(value)
        if isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
            return [self._secret(item, name) for item in value]
        return self._secret(value, name)

    def _secret(self, value: Any, name: re.Match[str]) -> Any:
        if not _is_secret(value, name):
            return self.value(value)
        kind = "password" if name.group().lower().startswith(("pass", "pwd")) else "secret"
        self._count(Counter([kind]))
        return REDACTED.format(kind=kind)

    def _count(self, kinds: Counter[str]) -> None:
        if kinds:
            self._found.setdefault(self._place, Counter()).update(kinds)


def _is_secret(value: Any, name: re.Match[str]) -> bool:
    """Whether a value under a telling name is a secret: a number may be, if the name is that of a password or PIN."""
    if isinstance(value, int) and not isinstance(value, bool):
        return len(str(value)) >= 3 and (
            name.lastgroup == "short" or name.group().lower().startswith(("pass", "pwd", "pin"))
        )
    if not isinstance(value, str) or is_placeholder(value):
        return False
    if name.lastgroup == "short":
        return len(value) >= 3 and value.isdigit()
    return name.lastgroup == "strict" or looks_random(value)


def named_beside(value: Mapping[Any, Any]) -> re.Match[str] | None:
    """The telling name that stands beside a value, as in `{"name": "DB_PASSWORD", "value": "x"}`; None if none does."""
    given = next((value[key] for key in value if key in _VALUES), None)
    if not isinstance(given, str) or not is_quoted_password(given):
        return None
    for key, item in value.items():
        if key not in _VALUES and isinstance(item, str) and _NAMED_VALUE.fullmatch(item):
            for word in re.split(r"[^\w-]+", item):
                if (name := SECRET_NAME.search(word)) is not None and name.lastgroup == "strict":
                    return name
    return None


def _is_command(items: Sequence[Any]) -> bool:
    """Whether it is a command with its arguments, of which one may say what the next is."""
    return (
        1 < len(items) <= _MOST_ARGUMENTS
        and all(isinstance(item, str) for item in items)
        and any(item.startswith("-") for item in items)
    )
