"""Secrets found in texts: forms that are known, and values under telling names.

A form (a token, a header, a URL with credentials) is one line of `table/secrets.tsv`. A telling name is a word for a
secret at the end of an identifier or in a sentence: what is assigned to it is a secret, or the first word near it that
nobody writes for another reason. Code that only names a secret (`self.pwd = pwd`) is left alone.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import NamedTuple

from stitch.text.words import table_lines

REDACTED = "[redacted:{kind}]"
"""Stands in the place of a secret."""

_PARTS: dict[str, list[str]] = {}
for _list, _pattern in (line.split("\t") for line in table_lines("secret_words.tsv")):
    _PARTS.setdefault(_list, []).append(_pattern)


def _any_of(part: str) -> str:
    """A pattern of all that stands in a list of `table/secret_words.tsv`."""
    return "|".join(_PARTS[part])


_SAID = frozenset(_PARTS["said"][0].split())
"""Said of passwords, and none."""

_PLACEHOLDER = re.compile(_any_of("placeholder"), re.IGNORECASE | re.DOTALL)
_CODE = re.compile(_any_of("code"), re.DOTALL)
_LEET = re.compile("[A-Za-z][0-9]{1,2}[A-Za-z]")
_CLASSES = tuple(map(re.compile, ("[a-z]", "[A-Z]", "[0-9]", r"[^\w]")))


def looks_random(text: str) -> bool:
    """Whether it is a token rather than words: long, mixed, with digits, none of them too often."""
    mixed = sum(sign.search(text) is not None for sign in _CLASSES[:3])
    return len(text) >= 16 and mixed >= 2 and _CLASSES[2].search(text) is not None and _bits(text) >= 3.0


def _bits(text: str) -> float:
    """Entropy in bits a character."""
    return -sum(n / len(text) * math.log2(n / len(text)) for n in Counter(text).values())


def _is_mixed(text: str) -> bool:
    return _CLASSES[2].search(text) is not None and any(map(str.isalpha, text)) and _bits(text) >= 2.0


def is_placeholder(text: str) -> bool:
    """Whether it stands for a secret and is none: `<token>`, `${TOKEN}`, `xxxx`, `your-key`, a replacement."""
    return "[redacted:" in text or _PLACEHOLDER.fullmatch(text.strip("\"'` ")) is not None


def is_word(text: str) -> bool:
    """Whether it may be a password where one is expected: no placeholder, no code, nothing said of passwords."""
    is_code = _CODE.fullmatch(text) and not (
        _LEET.search(text) and text.count(".") == 1 and names_a_secret(text) is None
    )
    return not (
        is_placeholder(text)
        or is_code
        or text.lower() in _SAID
        or (text.rstrip(":").isalpha() and names_a_secret(text.rstrip(":")))
    )


def _is_odd(text: str) -> bool:
    """Whether it looks like a password wherever it stands: letters with digits or signs between."""
    kinds = sum(sign.search(text) is not None for sign in _CLASSES)
    return len(text) >= 5 and kinds >= 2 and (_is_mixed(text) or kinds >= 3) and is_word(text)


_CHECKS: Mapping[str, Callable[[str], bool]] = {
    "any": bool,
    "mixed": lambda text: _is_mixed(text) and not is_placeholder(text),
    "random": lambda text: looks_random(text) and not is_placeholder(text),
    "word": is_word,
    "odd": _is_odd,
}

_NAME = re.compile(
    rf"(?i:{_any_of('name')})(?:(?i:et|en|nya|si|in)\b)?(?![A-Za-z])|(?<=[A-Z0-9]_)KEY(?![A-Za-z])"
    rf"|(?:(?<![^\W_])|(?<=[a-z0-9])(?=[A-Z]))(?i:{_any_of('short name')})(?![A-Za-z])"
)
"""Words for a secret, at the end of an identifier or of a part of it."""
WEAK = re.compile(r"tokens?|key|creds|credentials?|secrets", re.IGNORECASE)
"""Names of which only what looks random is a secret."""
DIGITS = re.compile(r"pin|otp|cvv|cvc", re.IGNORECASE)
"""Names of what is a secret if it is a number."""
PUBLIC = re.compile(rf"(?:{_any_of('public')})[-_ ]?$", re.IGNORECASE)
"""Stands before names of what is no secret."""
_SUFFIX = r"(?:[-_ .]?(?:\d{1,2}|prod|staging|dev|live|test|base64|b64|base|string|text|plain|old|new))?"
_ENDS = re.compile(_SUFFIX, re.IGNORECASE)
_ASSIGNED = re.compile(
    rf"(?i:{_SUFFIX})(?:\\?[\"'`]|\)|\]){{0,3}}(?P<sep>{_any_of('separator')})(?:{_any_of('value')})"
)
"""Behind a telling name: a separator and a value."""


def names_a_secret(identifier: str) -> str | None:
    """The word for a secret that an identifier ends with: of `dbPassword`, but not of `password_hash`."""
    for found in _NAME.finditer(identifier[-80:]):
        if _ENDS.fullmatch(identifier[-80:], found.end()):
            return found.group()
    return None


_NO_PASSWORD = re.compile("token|cred|key|secret|psk|pin|otp|cv[vc]", re.IGNORECASE)


def kind_of(name: str) -> str:
    """The kind of the secrets that a name names: `password` or `secret`."""
    return "secret" if _NO_PASSWORD.search(name) else "password"


def _assigned(text: str) -> Iterator[SecretMatch]:
    """The values behind telling names: assigned, or the first odd word near one."""
    for name in _NAME.finditer(text):
        if PUBLIC.search(text, max(0, name.start() - 20), name.start()):
            continue
        value = _ASSIGNED.match(text, name.end())
        span = _value_of(text, name, value) if value is not None else None
        stands_in = value is not None and is_placeholder(value[value.lastgroup or 0])
        if span is None and not stands_in and not _GOES_ON.match(text, name.end()):
            span = _odd_near(text, name)
        if span is not None:
            yield SecretMatch(*span, kind_of(name.group()))


_BEFORE_OPTION = re.compile(r"(?:^|\s)--[\w-]*$|ENV \w*$")
_BEFORE_SETTING = re.compile(r"(?:^|[\n;{])[\s+-]{0,12}(?:export |set |-e )?[\w.-]*$")
_NEXT_FIELD = re.compile(r" [\w.-]{1,40}=")
_GOES_ON = re.compile(r"[-_]?\w|\(")
"""Behind a word for a secret: an identifier that goes on, or a call."""


def _value_of(text: str, name: re.Match[str], match: re.Match[str]) -> tuple[int, int] | None:
    """The span of the secret behind a telling name; the weaker the name and the place, the odder it must look."""
    group = match.lastgroup or ""
    start, end = match.span(group)
    if is_placeholder(text[start:end]):
        return None
    if group == "bare":
        if text[max(0, name.start() - 1)] in "?&":
            end = start + len(text[start:end].partition("&")[0])
        end = start + len(text[start:end].rstrip(".,:)]}\\*" if match["sep"].strip(" \t") else ".,:!?)]}\\*"))
    value = text[start:end]
    if len(value) < 3 or is_placeholder(value):
        return None
    return (start, end) if _is_secret(value, text, name, match) else None


def _is_secret(value: str, text: str, name: re.Match[str], match: re.Match[str]) -> bool:
    word, assigned = name.group(), bool(match["sep"].strip())
    if DIGITS.fullmatch(word):
        return value.isdigit() and len(value) <= 8 and assigned
    if WEAK.fullmatch(word):
        return looks_random(value) and not _CODE.fullmatch(value) and not value.startswith("0x")
    if match["element"] or (match["quote"] and (assigned or word.isupper())):
        return is_word(value)
    return _is_odd(value) or (is_word(value) and _is_setting(text, name, match))


def _is_setting(text: str, name: re.Match[str], match: re.Match[str]) -> bool:
    """Whether a plain word is assigned as in a settings file, a shell or an option, not in code or a sentence."""
    sep, word, before = match["sep"], name.group(), text[max(0, name.start() - 80) : name.start()]
    is_option = _BEFORE_OPTION.search(before) is not None
    if sep.isspace():
        return match["block"] is not None or is_option or word.lower() == "requirepass"
    if sep == "=" and kind_of(word) == "secret" and not word.isupper():
        return False
    if sep == "=" and (word.isupper() or is_option or _NEXT_FIELD.match(text, match.end())):
        return True
    ends = text[match.end() : match.end() + 1] in ("", "\n", ";") and _BEFORE_SETTING.search(before) is not None
    return match["block"] is not None or "value" in sep or (sep in ("=", ":", ": ") and ends)


_NEAR_CHARS, _BESIDE_CHARS = 80, 30
_WORD = re.compile(r"[^\s\"'`<>,;|(){}\[\]/「」“”，。：]+")
_TERM = re.compile(_any_of("term"))
_ODD_SIGN = re.compile(r"(?<=\w)(?:[!#$%^*+=~@&]|\?(?=\w))|[!#$%^*+=?~](?=\w)")


def _odd_near(text: str, name: re.Match[str]) -> tuple[int, int] | None:
    """The span of the first word near a telling name that nobody writes but as a secret."""
    if name.group().lower() == "pass" or DIGITS.fullmatch(name.group()):
        return None  # a verb, too; of digits only what is assigned
    end = min(len(text), name.end() + _NEAR_CHARS)
    is_token = kind_of(name.group()) == "secret"
    for match in _WORD.finditer(text, name.end() + 1, end):
        value = match.group().rstrip(".,:*" if text[match.end() : match.end() + 1] in ('"', "'") else ".,:!?*")
        if match.end() == end < len(text) or _TERM.fullmatch(value):
            continue
        if is_token:
            found = len(value) >= 20 and looks_random(value) and is_word(value)
        else:
            beside = match.start() - name.end() < _BESIDE_CHARS and "\n" not in text[name.end() : match.start()]
            found = 6 <= len(value) <= 40 and _is_odd(value) and _is_strange(value, beside=beside)
        if found:
            return match.start(), match.start() + len(value)
    return None


def _is_strange(value: str, *, beside: bool) -> bool:
    """Whether nobody writes such a word for another reason: digits or signs stand between its letters."""
    if _ODD_SIGN.search(value) is not None and any(map(str.isalpha, value)):
        return True
    digits = sum(map(str.isdigit, value))
    ends_odd = digits >= 1 + (not beside) and "-" not in value
    return _is_mixed(value) and "_" not in value and (ends_odd or _LEET.search(value) is not None)


class SecretMatch(NamedTuple):
    """A secret, by its place in a text."""

    start: int
    end: int
    kind: str


class _Form(NamedTuple):
    """A form of secrets: a line of the table."""

    kind: str
    signs: tuple[str, ...]
    accepts: Callable[[str], bool]
    pattern: str

    def find(self, text: str) -> Iterator[SecretMatch]:
        pattern = re.compile(self.pattern)  # when it is looked for: hardly a text holds one of all
        group = "s" if "s" in pattern.groupindex else 0
        for match in pattern.finditer(text):
            if self.accepts(match[group]):
                yield SecretMatch(*match.span(group), self.kind)


@cache
def forms() -> tuple[_Form, ...]:
    """The forms of the table, in its order."""
    found = []
    for kind, signs, check, pattern in (line.split("\t") for line in table_lines("secrets.tsv")):
        alone = rf"(?<![A-Za-z0-9])(?:{pattern[2:]})(?![A-Za-z0-9])" if pattern.startswith("T ") else pattern
        found.append(_Form(kind, tuple(signs.split("|")), _CHECKS[check], alone))
    return tuple(found)


@cache
def _signs() -> tuple[Mapping[str, list[str]], frozenset[str]]:
    """The words without one of which a text holds no secret, by a rare character of each; and those that name a value.

    Where that is not in a text, none of its words has to be looked for.
    """
    named, by_character = frozenset(_PARTS["sign"][0].split()), dict[str, list[str]]()
    for sign in {*named, *(sign for form in forms() for sign in form.signs)}:
        rare = next((each for each in sign if not "a" <= each <= "z" and each != " "), "")
        by_character.setdefault(rare, []).append(sign)
    return by_character, named


def kinds() -> Iterator[str]:
    """The kinds of secrets that are known."""
    yield from dict.fromkeys((*(form.kind for form in forms()), "password", "secret"))


_REPLACED = re.compile(r"\[redacted:[a-z-]{1,40}\]")


def find_secrets(text: str) -> list[SecretMatch]:
    """The secrets of a text in order; what one rule has found is hidden from the next."""
    text = _REPLACED.sub(lambda mark: "*" * len(mark.group()), text)
    lowered, found = text.lower(), list[SecretMatch]()
    signs, named = _signs()
    there = {sign for rare, own in signs.items() if rare in lowered for sign in own if sign in lowered}
    rules = [form.find for form in forms() if not there.isdisjoint(form.signs)] if there else []
    if not there.isdisjoint(named):
        rules.append(_assigned)
    for rule in rules:
        for each in list(rule(text)):
            if "***" not in text[each.start : each.end]:
                found.append(each)
                text = text[: each.start] + "*" * (each.end - each.start) + text[each.end :]
    return sorted(found)


def redact_text(text: str) -> tuple[str, Counter[str]]:
    """Return a text without its secrets, and how many of each kind there were; redacted again, it stays as it is."""
    counts: Counter[str] = Counter()
    for _ in range(4):  # what stands beside a replacement may only then look like a secret
        if not (found := find_secrets(text)):
            break
        for start, end, kind in reversed(found):
            counts[kind] += 1
            text = text[:start] + REDACTED.format(kind=kind) + text[end:]
    return text, counts
