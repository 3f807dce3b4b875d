"""Secrets behind a telling name: `password: x`, `DB_PASSWORD=x`, `--token x`, `<password>x</password>`, "Passwort: x".

A name is found by a plain search. What stands behind it says in which way a value is given (`given`: assigned, said in
a sentence, as the next argument, ...), the value is read, and what it must look like depends on the name and the way:
behind the name of a password stands a word, behind that of a token only what looks random. Nothing given there, a
password that looks like nothing else is still found nearby, before the name or behind it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from stitch.ingest.secrets.codes import find_code, find_code_before
from stitch.ingest.secrets.given import Value
from stitch.ingest.secrets.logins import find_login
from stitch.ingest.secrets.named import Name
from stitch.ingest.secrets.passwords import find_password, find_password_before, find_password_nearby
from stitch.ingest.secrets.rules import Found
from stitch.ingest.secrets.values import (
    has_three_kinds,
    is_case_noise,
    is_dense,
    is_joined_phrase,
    is_mixed,
    is_noise,
    is_odd_word,
    is_pass_phrase,
    is_password,
    is_placeholder,
    is_plain_secret,
    is_word_password,
    looks_random,
)
from stitch.ingest.secrets.words import BEGINNINGS, CODES, KEYS, LOGINS, PASSWORDS

_NEARBY = 70
_DIGIT = re.compile("[0-9]")
_LETTERS = re.compile("[A-Za-z]{20}")
_WALLET_KEY = re.compile("0x[0-9a-fA-F]{64}")


def find_named(text: str, *, folded: str, names: Iterable[tuple[int, str]]) -> Iterator[Found]:
    """The secrets behind telling names.

    Args:
        text: The text.
        folded: The same in lower case, each character at its place.
        names: Where one of `NAMES` stands in it, and which.
    """
    for at, word in names:
        name = Name(text, folded, word, at)
        if not name.is_part_of_word() and (found := next(_find(name), None)) is not None:
            yield found


def _find(name: Name) -> Iterator[Found]:
    """What may be meant, the likeliest first."""
    end = name.end
    has_digits = _DIGIT.search(name.text, end, end + _NEARBY) is not None
    tried: list[Callable[[Name], Found | None]] = []
    if name.word in PASSWORDS:
        tried.append(find_password)
        if name.word not in BEGINNINGS:
            tried += (find_password_before, find_password_nearby)
    if name.word in KEYS and (has_digits or name.word == "secret" or _LETTERS.search(name.text, end, end + _NEARBY)):
        tried.append(_find_token)
    if name.word in LOGINS and has_digits:
        tried += (find_login, find_password_nearby)
    if name.word in CODES:
        tried += (find_code, find_code_before) if has_digits else (find_code_before,)
    for find in tried:
        if (found := find(name)) is not None:
            yield found


def _find_token(name: Name) -> Found | None:
    value = name.value() if name.is_of_token() or name.is_told_of() else None
    if value is None or is_placeholder(value.text) or "://" in value.text:
        return None
    if not value.quoted and "(" in value.text:
        return None
    if _is_wallet_key(name, value):
        accepted = True
    elif name.is_of_token():
        accepted = _accepts_token(name, value) if name.is_of_known_key() else is_dense(value.text)
    else:
        told = value.way in ("space", "said", "assigned") and len(value.text) >= 28
        accepted = told and is_dense(value.text) and {"/", "."}.isdisjoint(value.text)
    return Found(value.start, value.start + len(value.text), "secret") if accepted else None


def _is_wallet_key(name: Name, value: Value) -> bool:
    """Whether it is the key of a wallet: sixty-four digits, which stand for a transaction behind any other name."""
    return name.folded.startswith("private ", name.at - 8) and _WALLET_KEY.fullmatch(value.text) is not None


_UNSURE = frozenset({"said", "said_east", "asked", "to", "cell", "far", "short", "equal"})


def _accepts_token(name: Name, value: Value) -> bool:
    if value.way in _UNSURE and not name.is_tag():
        return is_dense(value.text) or (value.way == "said" and _is_long_token(value.text))
    if value.way == "space" and not name.is_option():
        return is_dense(value.text) or (looks_random(value.text) and _stands_out(name, value))
    if is_case_noise(value.text) and (value.quoted or value.way == "assigned"):
        return True
    return looks_random(value.text) or _is_written_out(name, value) or _is_secret(name, value)


def _stands_out(name: Name, value: Value) -> bool:
    """Whether a token is one although a blank alone stands before it."""
    return value.quoted or _is_long_token(value.text) or (name.word == "secret" and is_noise(value.text))


def _is_written_out(name: Name, value: Value) -> bool:
    """Whether it stands where a token is written out, and may be one."""
    literal = (value.quoted or value.way == "space") and value.way != "comma"
    return (literal or _is_assigned_key(name, value)) and _may_be_token(value.text)


def _is_assigned_key(name: Name, value: Value) -> bool:
    """Whether it stands bare behind a key that is a secret by its name, and has the signs of one: `X-Api-Key: x`."""
    return name.word == "key" and value.way == "assigned" and len(value.text) >= 12 and has_three_kinds(value.text)


def _is_long_token(text: str) -> bool:
    """Whether it is a token although nothing encloses it: no address of a contract."""
    return len(text) >= 32 and text[:2] != "0x" and looks_random(text)


def _is_secret(name: Name, value: Value) -> bool:
    """Whether somebody made up what stands behind `secret`, which needs not look random."""
    if name.word != "secret" or value.way != "assigned" or len(value.text) < 8:
        return False
    return (
        is_odd_word(value.text)
        or (name.is_variable(value.start) and _is_made_up(value.text))
        or (is_plain_secret(value.text) and (has_three_kinds(value.text) or name.is_variable(value.start)))
        or (value.quoted and " " in value.text and is_pass_phrase(value.text))
    )


def _is_made_up(text: str) -> bool:
    """Whether a variable such as `JWT_SECRET` is set to words: joined by hyphens, or one too long for a setting."""
    return is_joined_phrase(text) or (len(text) >= 12 and is_word_password(text))


def _may_be_token(secret: str) -> bool:
    """Whether a value that is written out is a token although it does not look random."""
    return len(secret) >= 8 and is_mixed(secret) and " " not in secret and is_password(secret)
