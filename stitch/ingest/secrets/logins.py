"""The password of a login: in a pair behind a word such as `credentials`, or what it is said to be."""

from __future__ import annotations

import re

from stitch.ingest.secrets.given import SURE, Value
from stitch.ingest.secrets.named import Name
from stitch.ingest.secrets.rules import Found
from stitch.ingest.secrets.values import is_mixed, is_password, is_placeholder, is_plain_secret, looks_random

_NEARBY = 70
_LOGIN_PAIR = re.compile(
    r"(?:[\w.-]{1,40}@[\w.-]{2,40} (?:and|und|et|y|e|with|mit) (?:password )?|[\w.-]{1,40}@[\w.-]{2,40},? "
    r"|(?P<role>as|als|com[oe]?|con|with|mit|avec) [\w.-]{2,40} (?:and|und|et|y|e|i|with|mit|con|com|avec) "
    r"|(?:[\w.-]{1,40}@)?[\w.-]{2,40}(?: ?[/|] ?|:))(?P<secret>[^\s,;\"'`/|<>]{4,60})(?![\w/])"
)


_RADIO = re.compile(r"\b(?:wlan|wi-?fi|ssid|wpa)", re.IGNORECASE)
_TOLD = re.compile(r"s?(?:(?: (?:are|is))?:?| ?=) ?[\"'`]?")
"""What stands between `credentials` and a pair that is written without blanks."""


def find_login(name: Name) -> Found | None:
    """The password in a pair behind a word such as `credentials`, or what it is said to be."""
    return _find_pair(name) or _find_told(name) or _find_login_token(name)


def _find_pair(name: Name) -> Found | None:
    text, end = name.text, name.end
    for pair in _LOGIN_PAIR.finditer(text, end, min(len(text), end + _NEARBY)):
        secret = pair["secret"].rstrip(".)!")
        told = _TOLD.fullmatch(text, end, pair.start()) is not None
        is_pair = told or ("\n" not in text[end : pair.start()] and (" " in pair.group() or "@" in pair.group()))
        if pair["role"] is not None and not is_plain_secret(secret):
            continue
        if is_pair and is_mixed(secret) and is_password(secret) and not is_placeholder(secret):
            return Found(pair.start("secret"), pair.start("secret") + len(secret), "password")
    return None


def _find_login_token(name: Name) -> Found | None:
    """The token of `tool login x`."""
    value = name.value() if name.word == "login" else None
    if value is None or value.way != "space" or len(value.text) < 32 or "-" in value.text:
        return None
    return Found(value.start, value.end, "secret") if looks_random(value.text) else None


def _find_told(name: Name) -> Found | None:
    value = name.value()
    if value is None or is_placeholder(value.text) or not _is_told(name, value):
        return None
    plain = " " not in value.text and "@" not in value.text
    accepted = plain and is_mixed(value.text) and is_password(value.text)
    return Found(value.start, value.end, "password") if accepted else None


_KEYS_OF_DOORS = frozenset({"clave", "chave", "chiave", "nyckel", "klucz", "schlüssel"})


def _is_told(name: Name, value: Value) -> bool:
    """Whether it is given in a way that tells; behind a key, of which most open doors, that of a network."""
    if name.word == "schlüssel" and _RADIO.search(name.text, max(0, name.at - _NEARBY), name.at) is None:
        return False
    return value.way in {*SURE, "said"} or (value.way == "space" and name.word in _KEYS_OF_DOORS)
