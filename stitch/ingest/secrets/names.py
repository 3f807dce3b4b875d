"""Secrets behind a telling name: `password: x`, `DB_PASSWORD=x`, `--token x`, `<password>x</password>`, "Passwort: x".

A name is found by a plain search. What stands behind it says in which way a value is given (`given`: assigned, said in
a sentence, as the next argument, ...), the value is read, and what it must look like depends on the name and the way:
behind the name of a password stands a word, behind that of a token only what looks random. Nothing given there, a
password that looks like nothing else is still found nearby, before the name or behind it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from stitch.ingest.secrets.codes import find_code, find_code_before
from stitch.ingest.secrets.given import SURE, Value, read_value
from stitch.ingest.secrets.rules import Found
from stitch.ingest.secrets.values import (
    has_digit,
    has_three_kinds,
    has_two_kinds,
    is_argument,
    is_dense,
    is_joined_words,
    is_mixed,
    is_odd_word,
    is_pass_phrase,
    is_password,
    is_placeholder,
    is_plain_secret,
    is_quoted_password,
    is_seed_phrase,
    is_word_password,
    looks_random,
)
from stitch.ingest.secrets.words import (
    BEGINNINGS,
    CODES,
    KEY_BEFORE,
    KEYS,
    LOGINS,
    NO_TOKEN,
    PASS_BEFORE,
    PASSWORDS,
    PHRASES,
    SEED_PHRASES,
    WORD_ALONE,
)

_PHRASE = re.compile(r"[^\W\d_]{2,12}(?:[ -][^\W\d_]{2,12}){1,24}(?=\s{0,9}(?:$|[\n\"',;]|\.(?!\w)))")
_SEED = re.compile(
    r"(?:\d{1,2}[.)]\s{0,2})?[a-z]{3,8}(?:[\s,]{1,3}(?:\d{1,2}[.)]\s{0,2})?[a-z]{3,8}){10,24}", re.IGNORECASE
)
_FLAG = re.compile(r"(?:^|[\s\"'])(?:--?|/)[\w.-]{0,40}\Z")
_LOGIN_BEFORE = re.compile(
    r"\b(?:login|machine|account|user|username|email|benutzer|usuario|utilisateur|utente"
    r"|connect)\b(?: name)?[:\s]\s{0,9}\S{1,80}\s{1,9}"
    r"(?:(?:and|und|y|et|e|with|mit)\s)?\Z",
    re.IGNORECASE,
)
_NETRC_BEFORE = re.compile(r"\b(?:login|machine)\s{1,9}\S{1,80}\s{1,9}\Z")
_ENDS_SAYING = re.compile(
    r"[.!?)]{0,2}(?:\s*(?:$|\n)|[,;]?\s+(?:and|but|please|for|so|if|when|you|und|et|y|e)\b|[.,;!]\s)"
)
_SAID_IN_ENGLISH = re.compile(
    r"(?:pass(?:word|code|phrase|wd)?|pwd?|psk)\b.*\b(?:is|was|to|be|as)\b", re.IGNORECASE | re.DOTALL
)
"""A word alone may be an adjective; those of other languages are not known."""
_TAG_BEFORE = re.compile(r"<[\w:.-]{0,38}\Z")
_ATTRIBUTE_BEFORE = re.compile(r"<\w{1,20} (?:key|name|property)=[\"'][\w.-]{0,40}\Z")
_ENDS_LINE = re.compile(r"[ \t]*(?:$|[\r\n;&\"'<#])")
_LINE_BEFORE = re.compile(r"(?:^|\n)[ \t]*(?:-[ \t])?[\w.-]{0,40}\Z")
_PROMPT_BEFORE = re.compile(r"(?:enter|type|repeat|verify)[^\n:]{0,30}\Z", re.IGNORECASE)
_BEFORE = re.compile(
    r"(?:^|[\s:(])(?P<quote>[\"'`]?)(?P<secret>[^\s\"'`]{4,60})(?P=quote),? (?:(?:is|as|ist|est|es|als|como|comme|jest)"
    r" (?:the |my |our |your |its |a |das |mein |le |mon |la |mi )?(?:[\w-]{1,12} ){0,2}|\((?:the |my )?)\Z",
    re.IGNORECASE,
)
_NEARBY = 70
_DIGIT = re.compile("[0-9]")
_WORDS_NEARBY = re.compile(r"[^\s\"'`,;:=()\[\]{}<>|]+")
_LOGIN_PAIR = re.compile(r"(?:[\w.-]{1,40}@)?[\w.-]{2,40}(?: ?[/|] ?|:)(?P<secret>[^\s,;\"'`/|<>]{4,60})(?![\w/])")


def find_named(text: str, *, folded: str, names: Iterable[tuple[int, str]]) -> Iterator[Found]:
    """The secrets behind telling names.

    Args:
        text: The text.
        folded: The same in lower case, each character at its place.
        names: Where one of `NAMES` stands in it, and which.
    """
    for at, name in names:
        end = at + len(name)
        if _is_part_of_word(folded, name, at, end):
            continue
        found: Found | None = None
        if name in PASSWORDS:
            found = _password(text, name, at, end)
            if found is None and name not in BEGINNINGS:
                found = _password_before(text, at) or _password_nearby(text, end)
        has_digits = _DIGIT.search(text, end, end + _NEARBY) is not None
        if found is None and (has_digits or name == "secret") and name in KEYS and _is_token_name(folded, name, at):
            found = _token(text, at, end)
        if found is None and has_digits and name in LOGINS:
            found = _login(text, at, end) or _password_nearby(text, end)
        if found is None and name in CODES:
            found = (find_code(text, folded, at, end) if has_digits else None) or find_code_before(text, at)
        if found is not None:
            yield found


def _is_part_of_word(folded: str, name: str, at: int, end: int) -> bool:
    if name in WORD_ALONE and at and folded[at - 1].isalpha():
        return name != "pass" or PASS_BEFORE.search(folded, max(0, at - 8), at) is None
    behind = folded[end : end + 1]
    return behind.isascii() and behind.isalpha() and (name in BEGINNINGS or behind not in "spbdtlkvenm")


def _is_token_name(folded: str, name: str, at: int) -> bool:
    if name == "key" and KEY_BEFORE.search(folded, max(0, at - 12), at) is None:
        return False
    return NO_TOKEN.search(folded, max(0, at - 24), at) is None


def _password(text: str, name: str, at: int, end: int) -> Found | None:
    value = read_value(text, end)
    if value is None:
        return None
    if name in SEED_PHRASES and (seed := _SEED.match(text, value.start)) and is_seed_phrase(seed.group()):
        return Found(*seed.span(), "password")
    if is_placeholder(value.text) or len(value.text) < 3:
        return None
    if value.quoted:
        accepted = _accepts_quoted(text, value, at, name=name)
    elif value.text.startswith("-") or value.text.startswith("redacted:"):
        accepted = False
    else:
        accepted = _accepts_bare(text, value, at)
        if not accepted and (phrase := _pass_phrase(text, value, name, at)) is not None:
            return phrase
    return Found(value.start, value.end, "password") if accepted else None


def _accepts_quoted(text: str, value: Value, at: int, *, name: str) -> bool:
    if value.way == "space":  # WITH PASSWORD 'x', but not: the password 'field'
        login = _LOGIN_BEFORE.search(text, max(0, at - 100), at) is not None
        return _is_flag(text, at) or name == "identified by" or is_password(value.text) or login
    if value.way in (
        "comma",
        "cell",
        "said_east",
    ):  # define('DB_PASSWORD', 'x'), but not: translate("password", "Passwort")
        return is_password(value.text)
    return is_quoted_password(value.text)


def _accepts_bare(text: str, value: Value, at: int) -> bool:
    """Whether a value without quotation marks is a password; how sure it must look depends on how it is given."""
    secret, way = value.text, value.way
    if way == "assigned" and _is_flag(text, at):  # --password=word
        return is_quoted_password(secret) and is_argument(secret)
    if _is_pass(text, at):  # "pass: 12", "pass = yes"
        login = way == "space" and _LOGIN_BEFORE.search(text, max(0, at - 100), at) is not None
        return (way in SURE or login) and len(secret) >= 6 and is_mixed(secret) and is_password(secret)
    if way == "space":
        return _accepts_behind_space(text, secret, at, value.end)
    if way == "element" and not _is_element(text, at, value.end):
        return False
    if way == "far":
        return is_plain_secret(secret)
    if way in ("cell", "asked", "said_east", "to"):
        return len(secret) >= 5 and is_password(secret)
    if len(secret) >= 4 and is_password(secret):
        return True
    if secret.isdigit():
        return len(secret) >= 6 and text[value.start - 2 : value.start - 1] != "s"
    if _is_variable(text, at, value.start) and has_two_kinds(secret) and is_argument(secret):
        return True
    if _is_set(text, value) and is_joined_words(secret):
        return True
    if not is_word_password(secret.rstrip("!$#*")):
        return False
    if way == "said":
        return (
            text[at : value.start].isascii()
            and _SAID_IN_ENGLISH.search(text, at, value.start) is not None
            and (_ENDS_SAYING.match(text, value.end) is not None)
        )
    return way == "element" or _ENDS_LINE.match(text, value.end) is not None or _is_variable(text, at, value.start)


def _accepts_behind_space(text: str, secret: str, at: int, end: int) -> bool:
    """Whether a word behind the name is its value: behind `--password` nearly any, else one behind a login."""
    if _is_flag(text, at):
        return is_quoted_password(secret) and "=" not in secret[:12]
    if is_plain_secret(secret):
        return True
    if is_password(secret):
        return len(secret) >= 4 and _LOGIN_BEFORE.search(text, max(0, at - 100), at) is not None
    return _NETRC_BEFORE.search(text, max(0, at - 100), at) is not None and is_word_password(secret)


def _pass_phrase(text: str, value: Value, name: str, at: int) -> Found | None:
    """A password of several words: all of a line, or the end of a sentence."""
    if value.way not in ("said", "assigned", "block") or _is_pass(text, at):
        return None
    phrase = _PHRASE.match(text, value.start)
    if phrase is None or not (is_pass_phrase(phrase.group()) or (name in PHRASES and len(phrase.group().split()) > 3)):
        return None
    whole_line = (
        name in PHRASES
        or value.way == "block"
        or (value.way == "said" and _SAID_IN_ENGLISH.search(text, at, value.start) is not None)
        or (
            len(phrase.group().split()) > 2
            and phrase.group().islower()
            and _LINE_BEFORE.search(text, max(0, at - 60), at) is not None
        )
        or _PROMPT_BEFORE.search(text, max(0, at - 50), at) is not None
    )
    return Found(*phrase.span(), "password") if whole_line else None


def _password_before(text: str, at: int) -> Found | None:
    """What is called a password behind it: "use x1y2! as the password"."""
    before = _BEFORE.search(text, max(0, at - 110), at)
    if before is None or is_placeholder(before["secret"]):
        return None
    secret = before["secret"]
    accepted = is_password(secret) and (bool(before["quote"]) or (has_digit(secret) and is_mixed(secret)))
    return Found(*before.span("secret"), "password") if accepted else None


def _password_nearby(text: str, end: int) -> Found | None:
    """A word in the same line that nobody writes but as a password."""
    if _DIGIT.search(text, end, end + _NEARBY) is None:
        return None
    for word in _WORDS_NEARBY.finditer(text, end, min(len(text), end + _NEARBY)):
        if "\n" in text[end : word.start()]:
            break
        if is_odd_word(word.group()) and not is_placeholder(word.group()):
            return Found(word.start(), word.start() + len(word.group().rstrip(".?")), "password")
    return None


def _login(text: str, at: int, end: int) -> Found | None:
    """The password in a pair behind a word such as `credentials`, or what it is said to be."""
    for pair in _LOGIN_PAIR.finditer(text, end, min(len(text), end + _NEARBY)):
        secret = pair["secret"].rstrip(".)!")
        is_pair = "\n" not in text[end : pair.start()] and (" " in pair.group() or "@" in pair.group())
        if is_pair and len(secret) >= 5 and is_mixed(secret) and is_password(secret) and not is_placeholder(secret):
            return Found(pair.start("secret"), pair.start("secret") + len(secret), "password")
    value = read_value(text, end)
    if value is None or is_placeholder(value.text):
        return None
    if value.way not in {*SURE, "said"} and not (value.way == "space" and text[at:end].lower() in ("clave", "chave")):
        return None
    accepted = len(value.text) >= 5 and is_mixed(value.text) and is_password(value.text) and " " not in value.text
    return Found(value.start, value.end, "password") if accepted and "@" not in value.text else None


def _is_pass(text: str, at: int) -> bool:
    """Whether the name is the word `pass` alone, which means many things."""
    return (
        text[at : at + 4].lower() == "pass"
        and not text[at + 4 : at + 5].isalpha()
        and not (at and (text[at - 1].isalnum() or text[at - 1] in "_-"))
    )


def _is_element(text: str, at: int, end: int) -> bool:
    """Whether it is what an element of this name holds, `<dbPassword>x</dbPassword>`, and not one for it."""
    before = max(0, at - 60)
    named = _TAG_BEFORE.search(text, before, at) or _ATTRIBUTE_BEFORE.search(text, before, at)
    return named is not None and text.startswith(("</", "]]>"), end)


def _is_variable(text: str, at: int, start: int) -> bool:
    """Whether the name is a variable of a shell, as in `DB_PASSWORD=x run` and `DB_PASSWORD: x`."""
    name = text[at:start].rstrip(" ")
    return name[-1:] in ("=", ":") and name[:-1].replace("_", "").isupper()


def _is_set(text: str, value: Value) -> bool:
    """Whether a value is set as a shell sets it, `password=x`, with nothing behind it."""
    return (
        text[value.start - 1] == "="
        and text[value.start - 2] != " "
        and text[value.end : value.end + 1] in ("", " ", "\n")
    )


def _is_flag(text: str, at: int) -> bool:
    return _FLAG.search(text, max(0, at - 44), at + 1 if text[at] == "-" else at) is not None


def _token(text: str, at: int, end: int) -> Found | None:
    value = read_value(text, end)
    if value is None or is_placeholder(value.text) or "://" in value.text:
        return None
    secret, way = value.text, value.way
    if not value.quoted and "(" in secret:
        return None
    if way in ("said", "said_east", "asked", "to", "cell", "far") or (way == "space" and not _is_flag(text, at)):
        accepted = is_dense(secret) or (way == "space" and value.quoted and looks_random(secret))
    else:
        literal = (value.quoted or way == "space") and way != "comma"
        accepted = looks_random(secret) or (literal and _may_be_token(secret)) or _is_secret(text[at:end], value)
    return Found(value.start, value.start + len(secret), "secret") if accepted else None


def _is_secret(name: str, value: Value) -> bool:
    """Whether somebody made up what stands behind `secret`, which needs not look random."""
    if name.lower() != "secret" or value.way != "assigned" or len(value.text) < 8:
        return False
    return (
        is_odd_word(value.text)
        or (is_plain_secret(value.text) and has_three_kinds(value.text))
        or (value.quoted and " " in value.text and is_pass_phrase(value.text))
    )


def _may_be_token(secret: str) -> bool:
    """Whether a value that is written out is a token although it does not look random."""
    return len(secret) >= 8 and is_mixed(secret) and has_digit(secret) and " " not in secret and is_password(secret)
