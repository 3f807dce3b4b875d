"""Texts without their secrets: read as a parser reads them, each rule tried where one of its signs stands."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import ahocorasick

from stitch.ingest.secrets.commands import COMMANDS
from stitch.ingest.secrets.names import find_named
from stitch.ingest.secrets.places import ADDRESSES, CALLS, HEADERS
from stitch.ingest.secrets.rules import TOKENS, Found, Rule
from stitch.ingest.secrets.sentences import SENTENCES
from stitch.ingest.secrets.tables import find_encoded, find_in_insert, find_in_object, find_in_table
from stitch.ingest.secrets.values import is_placeholder
from stitch.ingest.secrets.words import NAMES
from stitch.text.words import fold_case

REDACTED = "[redacted:{kind}]"
"""What stands in the place of a secret."""

RULES = (*TOKENS, *HEADERS, *ADDRESSES, *CALLS, *SENTENCES, *COMMANDS)
"""In this order; what one has found is hidden from the next."""

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
        found = find_secrets(*_as_read(text))
        if not found:
            break
        kinds.update(each.kind for each in found)
        parts, at = [], 0
        for start, end, kind in found:
            parts += [text[at:start], REDACTED.format(kind=kind)]
            at = end
        text = "".join(parts) + text[at:]
    return text, kinds


def redact_parts(parts: Sequence[str]) -> tuple[list[str], Counter[str]]:
    """Return the parts of a command without the secrets that only show if they are read together."""
    found = find_secrets(*_as_read(" ".join(parts)))
    cleaned, start = list[str](), 0
    for part in parts:
        end = start + len(part)
        inside = [(max(each.start, start), min(each.end, end), each.kind) for each in found]
        for first, last, kind in reversed([each for each in inside if each[0] < each[1]]):
            part = part[: first - start] + REDACTED.format(kind=kind) + part[last - start :]
        cleaned.append(part)
        start = end + 1
    return cleaned, Counter(each.kind for each in found)


def find_secrets(text: str, places: _Places) -> list[Found]:
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
    if _OBJECT in wanted:
        text = _hide(text, find_in_object(text), found)
    if _INSERT in wanted:
        text = _hide(text, find_in_insert(text), found)
    for number in sorted(number for number in wanted if number >= 0):
        text = _hide(text, _matches(RULES[number], text), found)
    if names:
        text = _hide(text, _in_tables(text, names), found)
        text = _hide(text, find_named(text, folded=folded, names=names), found)
    if _ENCODED in wanted:
        _hide(text, find_encoded(text, holds_secret=_holds_secret), found)
    return [Found(places.original(start), places.original(end), kind) for start, end, kind in sorted(found)]


def _in_tables(text: str, names: Sequence[tuple[int, str]]) -> Iterator[Found]:
    for at, name in names:
        if text[at + len(name) : at + len(name) + 3].strip(" \"'`*s")[:1] in _ENDS_CELL:
            yield from find_in_table(text, at)


_ENDS_CELL = ("", "|", ",", ";", "\t", "\n")


def _holds_secret(text: str) -> bool:
    return bool(find_secrets(text, _Places()))


_PRIVATE_KEY, _OBJECT, _ENCODED, _INSERT = -1, -2, -3, -4
_OTHER_SIGNS = {
    _PRIVATE_KEY: ("private key",),
    _OBJECT: ("kind: secret", '"kind": "secret"', '"kind":"secret"'),
    _INSERT: ("insert into",),
    _ENCODED: (
        "base64",
        "basic ",
        'auth"',
        "_auth",
        "ls0tls1crudjt",
        "b64",
        "dockerconfigjson",
        "auth plain",
        "auth login",
    ),
}
"""Signs of what no single pattern finds."""
_REDACTED = re.compile(r"\[redacted:[a-z-]{1,40}\]")


def _all_signs() -> ahocorasick.Automaton:
    """What is looked for in every text: the signs of the rules, by their numbers, and telling names."""
    rules: dict[str, set[int]] = {}
    for number, signs in [*_OTHER_SIGNS.items(), *((number, rule.signs) for number, rule in enumerate(RULES))]:
        for sign in signs:
            rules.setdefault(sign, set()).add(number)
    automaton = ahocorasick.Automaton()
    for sign in {*rules, *NAMES}:
        automaton.add_word(sign, (frozenset(rules.get(sign, ())), sign if sign in NAMES else ""))
    automaton.make_automaton()
    return automaton


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


_NO_WIDTH = "[\u200b-\u200f\u2060-\u2064\ufeff\u00ad\u180e\ufe00-\ufe0f]"
_BACKSLASHED = r"(?<!\\)\\{1,8}(?:u00(?P<code>[2-7][0-9a-fA-F])|(?P<sign>[\"'`/nrt]))|" + _NO_WIDTH
_PERCENT = r"%(?P<percent>2[0-9A-Fa-f]|3[AaDd]|7[BbDd])|&(?P<entity>quot|amp|lt|gt|apos|#x?[0-9a-fA-F]{2,3});"
_FEW_ESCAPES, _ALL_ESCAPES = re.compile(_BACKSLASHED), re.compile(f"{_BACKSLASHED}|{_PERCENT}")
_HIDDEN = re.compile(_NO_WIDTH)
_WIDE_SIGNS = re.compile("[\uff01-\uff5e\u00a0\u3000\u202f]")
_WIDE = {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)} | dict.fromkeys((0xA0, 0x3000, 0x202F), " ")
_MEANT = {"n": "\n", "r": "\n", "t": " "}
_ENTITIES = {"quot": '"', "amp": "&", "lt": "<", "gt": ">", "apos": "'"}


_OFTEN = {"\\n": "\n", '\\"': '"', "\\'": "'", "\\t": " "}
"""What most escapes mean, for the sake of speed."""


def _meant(escaped: re.Match[str]) -> str:
    """What an escape stands for; nothing for a sign without width."""
    form = escaped.lastgroup
    if form is None:
        return ""
    given = escaped[form]
    if form == "sign":
        return _MEANT.get(given, given)
    if given in _ENTITIES:
        return _ENTITIES[given]
    return chr(int(given.lstrip("#x"), 10 if given.startswith("#") and "x" not in given else 16))


def _as_read(text: str) -> tuple[str, _Places]:
    """A text as a person or a parser reads it: escapes undone, signs without width left out, wide letters as others."""
    places = _Places()
    is_ascii = text.isascii()
    has_others = "%22" in text or "%3" in text or "&quot;" in text or "&#" in text or "&lt;" in text
    if has_others or "\\" in text or not (is_ascii or _HIDDEN.search(text) is None):
        parts, at, length, shift = [], 0, 0, 0
        for escaped in (_ALL_ESCAPES if has_others else _FEW_ESCAPES).finditer(text):
            means = _OFTEN.get(escaped[0]) or _meant(escaped)
            parts += [text[at : escaped.start()], means]
            length += escaped.start() - at + len(means)
            shift += escaped.end() - escaped.start() - len(means)
            at = escaped.end()
            places.note(length, shift)
        text = "".join(parts) + text[at:]
    if not is_ascii and _WIDE_SIGNS.search(text):
        text = text.translate(_WIDE)
    return text, places


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
    yield from dict.fromkeys(("private-key", "encoded-secret", *(rule.kind for rule in RULES)))
