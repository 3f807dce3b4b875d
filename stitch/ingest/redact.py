"""Secrets replaced in texts, steps, labels and JSON before anything is written.

`stitch.text.secrets` says where they stand. More is taken out by a callable (`redact=`), for one `detect-secrets`.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from stitch.core import Redaction, Step, StepLabels, ToolCall
from stitch.core.text_cache import text_cache
from stitch.errors import InputError
from stitch.text.secrets import (
    DIGITS,
    PUBLIC,
    REDACTED,
    WEAK,
    find_secrets,
    is_placeholder,
    is_word,
    kind_of,
    looks_random,
    names_a_secret,
    redact_text,
)

if TYPE_CHECKING:
    from stitch.journal import Journal

T = TypeVar("T", str, dict[str, Any])

Redact = Callable[[str], str]
"""A user's own rule: a text to the same text without its secrets."""


def redact_path(path: str) -> str:
    """Return a path without secrets in the names of its files and folders; each still tells itself from others."""

    def clean(name: str) -> str:
        cleaned = redact_text(name)[0]
        return cleaned if cleaned == name else f"{_digest(name)}-{cleaned}"

    return os.sep.join(map(clean, path.split(os.sep)))


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogateescape"), digest_size=6).hexdigest()


# ---------------------------------------------------------------- steps, labels, JSON

_VALUES = frozenset({"value", "val", "text", "keys", "content", "input"})
"""Keys under which the value of a field stands whose name stands beside it."""
_MOST_ARGUMENTS = 200


class _Cleaner:
    """Takes secrets out of one place of a step, and counts them by kind."""

    def __init__(self, place: str, found: dict[str, Counter[str]], also: Redact | None = None) -> None:
        self._place, self._found, self._also = place, found, also

    def text(self, text: str) -> str:
        cleaned, counts = redact_text(text)
        if self._also is not None and (said := self._also(cleaned)) != cleaned:
            cleaned = said
            counts["custom"] += 1
        self._count(counts)
        return cleaned

    def name(self, text: str) -> str:
        """An id without secrets; a digest keeps two apart."""
        cleaned = self.text(text)
        return cleaned if cleaned == text else f"{cleaned}-{_digest(text)}"

    def value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            if (name := _named_beside(value)) is not None:
                value = {key: self._secret(item, name) if key in _VALUES else item for key, item in value.items()}
            return {self.value(key): self._item(key, item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(item) for item in self._command(value)]
        return value

    def call(self, call: ToolCall) -> ToolCall:
        cleaned = {"name": self.text(call.name), "arguments": self.value(call.arguments), "id": self.value(call.id)}
        return call.model_copy(update=cleaned)

    def _item(self, key: Any, value: Any) -> Any:
        """A value under a key such as `password`, which is a secret whatever it looks like."""
        name = names_a_secret(key) if isinstance(key, str) else None
        if name is None or PUBLIC.search(key[: len(key) - len(name)]):
            return self.value(value)
        if isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
            return [self._secret(item, name) for item in value]
        return self._secret(value, name)

    def _secret(self, value: Any, name: str) -> Any:
        if not _is_secret(value, name):
            return self.value(value)
        kind = kind_of(name)
        self._count(Counter([kind]))
        return REDACTED.format(kind=kind)

    def _command(self, items: Sequence[Any]) -> Sequence[Any]:
        """A command as a list, in which one part may say what the next is: `["mysql", "-pX"]`."""
        if not (
            1 < len(items) <= _MOST_ARGUMENTS
            and all(isinstance(item, str) for item in items)
            and any(item.startswith("-") for item in items)
        ):
            return items
        found, cleaned, start = find_secrets(" ".join(items)), list[str](), 0
        for item in items:
            end = start + len(item)
            for first, last, kind in reversed([(max(f, start), min(t, end), k) for f, t, k in found]):
                if first < last:
                    item = item[: first - start] + REDACTED.format(kind=kind) + item[last - start :]
            cleaned.append(item)
            start = end + 1
        self._count(Counter(each.kind for each in found))
        return cleaned

    def _count(self, counts: Counter[str]) -> None:
        if counts:
            self._found.setdefault(self._place, Counter()).update(counts)


def _is_secret(value: Any, name: str) -> bool:
    """Whether a value under a telling key is a secret; of numbers those that are a PIN or a password."""
    if isinstance(value, int) and not isinstance(value, bool):
        return len(str(value)) >= 3 and (DIGITS.fullmatch(name) is not None or kind_of(name) == "password")
    if not isinstance(value, str) or is_placeholder(value):
        return False
    if DIGITS.fullmatch(name):
        return value.isdigit() and len(value) >= 3
    if WEAK.fullmatch(name):
        return looks_random(value)
    return len(value) >= 3 if value.isdigit() else len(value.split()) < 9


def _named_beside(value: Mapping[Any, Any]) -> str | None:
    """The telling name beside a value, as in `{"name": "DB_PASSWORD", "value": "x"}`."""
    given = next((value[key] for key in value if key in _VALUES), None)
    if not isinstance(given, str) or not is_word(given):
        return None
    for key, item in value.items():
        if key not in _VALUES and isinstance(item, str) and len(item) <= 80:
            name = next(filter(None, map(names_a_secret, re.split(r"[^\w-]+", item))), None)
            if name is not None and not WEAK.fullmatch(name):
                return name
    return None


def redact_step(step: Step, *, also: Redact | None = None) -> tuple[Step, tuple[Redaction, ...]]:
    """Return a step without the secrets in its content, tool calls, names and metadata, and what was taken out.

    In an id, a digest stands behind the replacement, so that two ids do not become one.
    """
    found: dict[str, Counter[str]] = {}

    def cleaner(place: str) -> _Cleaner:
        return _Cleaner(place, found, also)

    changed: dict[str, Any] = {"content": cleaner("content").text(step.content)}
    for name in ("role", "tool_name"):
        if (value := getattr(step, name)) is not None and (also is not None or not _is_clean(value)):
            changed[name] = cleaner(name).text(value)
    for name in ("id", "parent", "session"):
        if (value := getattr(step, name)) is not None:
            changed[name] = cleaner(name).name(value)
    if isinstance(step.timestamp, str):
        changed["timestamp"] = cleaner("timestamp").text(step.timestamp)
    if step.tool_calls:
        changed["tool_calls"] = tuple(map(cleaner("tool_calls").call, step.tool_calls))
    if step.metadata:
        changed["metadata"] = cleaner("metadata").value(dict(step.metadata))
    if not found:
        return step, ()
    redactions = (Redaction(kind=k, count=n, place=place) for place, some in found.items() for k, n in some.items())
    return step.model_copy(update=changed), tuple(redactions)


@text_cache(maxsize=1_024)
def _is_clean(name: str) -> bool:
    """Whether a name, of which there are few, holds no secret."""
    return not redact_text(name)[1]


def redact_value(value: Any, *, also: Redact | None = None) -> Any:
    """Return JSON without the secrets in its texts and keys, and in what stands under telling keys."""
    return _Cleaner("", {}, also).value(value)


def redact_labels(labels: StepLabels) -> StepLabels:
    """Return labels that came from outside without secrets; the very same if they hold none."""
    given = labels.model_dump(mode="json")
    cleaned = redact_value(given)
    return labels if cleaned == given else StepLabels.model_validate(cleaned)


def redact_fields(several: Iterable[Mapping[str, str]]) -> Iterator[tuple[Mapping[str, str], Counter[str]]]:
    """Fields of nodes without secrets, in order, each with the secrets taken out by kind; unchanged ones as given."""
    for fields in several:
        found: dict[str, Counter[str]] = {}
        cleaned = _Cleaner("", found).value(dict(fields))
        yield (dict(zip(fields, cleaned.values(), strict=True)), found[""]) if found else (fields, Counter())


class Redactor:
    """Takes secrets out of all that a memory writes, if its settings want it.

    A user's own rule (`also`) is applied behind the others.
    """

    def __init__(self, journal: Journal, *, redacts: bool, also: Redact | None = None) -> None:
        self._journal, self._also = journal, also
        self.redacts = redacts
        """Whether secrets are taken out of steps."""

    def clean(self, given: T) -> T:
        """A text, or labels and metadata by field, as they may be written."""
        cleaned: T = redact_value(given, also=self._also) if self.redacts else given
        return cleaned

    def steps(
        self, steps: Sequence[Step], *, tenant: str, trajectory: str
    ) -> tuple[Sequence[Step], Mapping[int, Sequence[Redaction]]]:
        """Steps as they may be written, and what was taken out of each, by its place.

        Raises:
            InputError: The name of the tenant or trajectory holds a secret: it cannot be changed, or nobody would find
                it.
        """
        if not self.redacts:
            return steps, {}
        for what, name in (("tenant", tenant), ("trajectory", trajectory)):
            if not _is_clean(name):
                raise InputError(
                    f"the name of the {what} holds a secret; nothing is written", hint="give it another name"
                )
        most = self._journal.max_step_chars  # what is longer is refused by its length, and need not be gone through
        cleaned = [(step, ()) if len(step.content) > most else redact_step(step, also=self._also) for step in steps]
        return [step for step, _ in cleaned], {place: taken for place, (_, taken) in enumerate(cleaned) if taken}

    def counts(self, tenant: str) -> dict[str, int]:
        """Counts of redacted secrets by kind, over the steps of a tenant."""
        counts: Counter[str] = Counter()
        for redactions in self._journal.redactions(tenant).values():
            for each in redactions:
                counts[each.kind] += each.count
        return dict(sorted(counts.items()))


def detect_secrets_rule() -> Redact:
    """The rule of the package detect-secrets (an extra), with its default plugins."""
    from detect_secrets.core.scan import scan_line
    from detect_secrets.settings import default_settings

    def redact(text: str) -> str:
        with default_settings():
            for line in text.splitlines():
                for secret in scan_line(line):
                    if secret.secret_value and "[redacted:" not in secret.secret_value:
                        text = text.replace(secret.secret_value, REDACTED.format(kind="secret"))
        return text

    return redact
