"""Secrets in what an agent did, replaced before anything is written."""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import ahocorasick

from stitch.core import Redaction, Step, StepLabels, ToolCall
from stitch.core.text_cache import text_cache
from stitch.errors import InputError
from stitch.ingest.secret_names import NAMES, SECRET_NAME, Found, find_named
from stitch.ingest.secret_rules import RULES, Rule, is_placeholder, looks_random
from stitch.text.words import fold_case

REDACTED = "[redacted:{kind}]"
"""What stands in the place of a secret."""

_MOST_PASSES = 8


class _Places:
    """Where each character of a text that was read otherwise than it is written stands in what is written."""

    def __init__(self) -> None:
        self._ends: list[int] = []
        self._shifts: list[int] = []

    def note(self, end: int, shift: int) -> None:
        """From `end` of the text as it is read, what is written stands `shift` characters later."""
        self._ends.append(end)
        self._shifts.append(shift)

    def original(self, place: int) -> int:
        """The place in what is written."""
        at = bisect_right(self._ends, place)
        return place + self._shifts[at - 1] if at else place


def redact_text(text: str) -> tuple[str, Counter[str]]:
    """Return a text without its secrets, and how many of each kind there were; redacted again, it stays as it is."""
    kinds: Counter[str] = Counter()
    for _ in range(_MOST_PASSES):  # what stands beside a replacement may only then look like a secret
        found = _find(*_as_read(text))
        if not found:
            break
        kinds.update(each.kind for each in found)
        parts, at = [], 0
        for start, end, kind in found:
            parts += [text[at:start], REDACTED.format(kind=kind)]
            at = end
        text = "".join(parts) + text[at:]
    return text, kinds


def _find(text: str, places: _Places) -> list[Found]:
    """The secrets of a text in order, by their places in what is written; what was found is hidden from other rules."""
    if "[redacted:" in text:
        text = _REDACTED.sub(lambda mark: "*" * len(mark.group()), text)
    folded = fold_case(text)
    wanted, names = set[int](), list[tuple[int, str]]()
    for last, (rules, name) in _SIGNS.iter(folded):
        wanted.update(rules)
        if name:
            names.append((last + 1 - len(name), name))
    found: list[Found] = []
    if _PRIVATE_KEY in wanted:
        text = _hide(text, _private_keys(text), found)
    for number in sorted(wanted - {_PRIVATE_KEY}):
        text = _hide(text, _matches(RULES[number], text), found)
    if names:
        _hide(text, find_named(text, folded=folded, names=names), found)
    return [Found(places.original(start), places.original(end), kind) for start, end, kind in sorted(found)]


_PRIVATE_KEY = -1
_REDACTED = re.compile(r"\[redacted:[a-z-]{1,40}\]")


def _all_signs() -> ahocorasick.Automaton:
    """What is looked for in every text: the signs of the rules, by their numbers, and telling names."""
    rules: dict[str, set[int]] = {"private key": {_PRIVATE_KEY}}
    for number, rule in enumerate(RULES):
        for sign in rule.signs:
            rules.setdefault(sign, set()).add(number)
    signs = ahocorasick.Automaton()
    for sign in {*rules, *NAMES}:
        signs.add_word(sign, (frozenset(rules.get(sign, ())), sign if sign in NAMES else ""))
    signs.make_automaton()
    return signs


_SIGNS = _all_signs()


def _hide(text: str, seen: Iterable[Found], found: list[Found]) -> str:
    """The text with secrets overwritten, so that no other rule finds them again."""
    new: list[Found] = []
    for each in sorted(seen):
        if not new or each.start >= new[-1].end:
            new.append(each)
    for start, end, _ in new:
        text = text[:start] + "*" * (end - start) + text[end:]
    found += new
    return text


def _matches(rule: Rule, text: str) -> Iterator[Found]:
    for match in rule.pattern.finditer(text):
        group = match.lastgroup or 0
        secret = match[group]
        if "***" not in secret and not is_placeholder(secret) and rule.accepts(secret):
            yield Found(*match.span(group), rule.kind)


_ESCAPED = re.compile(r"(?<!\\)\\{1,8}([\"'`/nrt])|[\u200b-\u200f\u2060-\u2064\ufeff\u00ad\u180e\ufe00-\ufe0f]")
_NO_WIDTH = re.compile("[\u200b-\u200f\u2060-\u2064\ufeff\u00ad\u180e\ufe00-\ufe0f]")
_OTHER_SIGNS = re.compile("[\uff01-\uff5e\u00a0\u3000\u202f]")
_WIDE = {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)} | dict.fromkeys((0xA0, 0x3000, 0x202F), " ")
_MEANT = {"n": "\n", "r": "\n", "t": " "}


def _as_read(text: str) -> tuple[str, _Places]:
    """A text as a person or a parser reads it: escapes undone, signs without width left out, wide letters as others."""
    places = _Places()
    is_ascii = text.isascii()
    if "\\" in text or not (is_ascii or _NO_WIDTH.search(text) is None):
        parts, at, length, shift = [], 0, 0, 0
        for escaped in _ESCAPED.finditer(text):
            sign = escaped[1]
            means = _MEANT.get(sign, sign) if sign else ""
            parts += [text[at : escaped.start()], means]
            length += escaped.start() - at + len(means)
            shift += escaped.end() - escaped.start() - len(means)
            at = escaped.end()
            places.note(length, shift)
        text = "".join(parts) + text[at:]
    if not is_ascii and _OTHER_SIGNS.search(text):
        text = text.translate(_WIDE)
    return text, places


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


def redact_value(value: Any) -> Any:
    """Return JSON without the secrets in its texts and keys, and in what stands under telling keys."""
    return _clean_value(value, "", {})


def redact_labels(labels: StepLabels) -> StepLabels:
    """Return labels that came from outside without secrets; the very same if they hold none."""
    given = labels.model_dump(mode="json")
    cleaned = redact_value(given)
    return labels if cleaned == given else StepLabels.model_validate(cleaned)


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


def _private_keys(text: str) -> Iterator[Found]:
    """Private keys: each from its first line to its last, or as far as it goes if it was cut."""
    at = 0
    while begin := _KEY_BEGIN.search(text, at):
        end = _KEY_END.search(text, begin.end())
        body = _KEY_BODY.match(text, begin.end())
        assert body is not None
        at = end.end() if end is not None and end.start() - begin.end() < _KEY_CHARS else body.end()
        yield Found(begin.start(), at, "private-key")


_KEY_CHARS = 20_000
_KEY_BEGIN = re.compile(r"-----BEGIN (?:[A-Z0-9]{2,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_KEY_END = re.compile(r"-----END (?:[A-Z0-9]{2,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_KEY_BODY = re.compile(r"(?:[A-Za-z0-9+/=:,.\s-]|\\[nr])*")


def kinds() -> Iterator[str]:
    """The kinds of secrets that are known."""
    yield from dict.fromkeys(("private-key", *(rule.kind for rule in RULES)))
