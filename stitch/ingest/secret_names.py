"""Secrets behind a telling name: `password: x`, `DB_PASSWORD=x`, `--token x`, `<password>x</password>`, "Passwort: x".

A name is found by a plain search; one pattern then reads what stands behind it: how the value is given, and the value.
Names say how much their value must look like a secret: behind the name of a password stands a word, behind that of a
token only what looks random.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from stitch.ingest.secret_rules import (
    has_digit,
    is_mixed,
    is_password,
    is_placeholder,
    is_quoted_password,
    is_word_password,
    looks_random,
)
from stitch.text.words import FUNCTION_WORDS


class Found(NamedTuple):
    """A secret and its place in a text."""

    start: int
    end: int
    kind: str


_PASSWORDS = frozenset({
    "password", "passwd", "passphrase", "passcode", "passwort", "passord", "_pass", "-pass", "requirepass", "storepass",
    "mot de passe", "pwd", "pw", "pass", "psk", "kennwort", "contrasena", "contraseña", "senha", "haslo", "hasło",
    "wachtwoord", "sifre", "şifre", "parola", "adgangskode", "lösenord", "heslo", "jelszó",
    "пароль", "парола", "密码", "密碼", "口令", "パスワード",
    "비밀번호", "암호", "סיסמה", "كلمة المرور", "كلمة السر", "mật khẩu", "รหัสผ่าน", "κωδικός", "पासवर्ड", "kata sandi",
    "identified by", "seed phrase", "recovery phrase", "mnemonic",
})  # fmt: skip
_TOKENS = frozenset({"secret", "token", "credential", "key", "_salt", '"auth"', "x-auth"})
NAMES = _PASSWORDS | _TOKENS
"""In lower case; a secret may stand behind each."""
_KEY_BEFORE = re.compile(r"(?:api|access|private|account|auth|secret|signing|encryption|license|[_-])[-_ ]?\Z")
"""What stands before a key that is a secret."""
_STRICT = (
    r"pass(?:word|wd|phrase|code)|pwd|passwort|kennwort|contrase[nñ]a|senha|has[lł]o|wachtwoord|[sş]ifre|пароль|密码|密碼"
    r"|パスワード|secret(?:[-_ ]?(?:access[-_ ]?)?key)?|api[-_ ]?(?:key|secret|token)|access[-_ ]?key|private[-_ ]?key"
    r"|client[-_ ]?secret|account[-_ ]?key|shared[-_ ]?access[-_ ]?key"
    r"|(?:auth|access|refresh|bearer|session|id)[-_ ]?token"
)
SECRET_NAME = re.compile(
    rf"(?:(?P<strict>{_STRICT})|(?<![a-z])(?P<loose>token|auth|authorization|credentials?|signature|cookie))s?$",
    re.IGNORECASE,
)
"""The name of an argument or field that holds a secret; under a `loose` one may stand something else."""
_PHRASES = frozenset({"passphrase", "seed phrase", "recovery phrase", "mnemonic"})
_WORD_ALONE = frozenset({"pwd", "pw", "pass", "psk", "heslo", "haslo", "senha", "sifre", "parola", "mnemonic"})
"""Names that are parts of other words."""
_NO_TOKEN = re.compile(
    r"(?:page|sync|next|continuation|cancellation|public|primary|foreign|sort|partition|cache|idempotency|dedup\w{0,9})"
    r"[-_ ]?\Z"
)
"""What stands before the name of a token or key that is none."""

_AFTER = re.compile(
    r"""s?(?:
      (?:[-_ ]?(?:base|prod|production|dev|staging|test|live|key|value|[a-z]?\d{1,2}))?
      (?:\ (?:for|of|to|on|di|de|del|da|do|für|pour|para|von|voor)(?:\ [\w.-]{1,20}){1,4})?
      [*_]{0,2}["'`]{0,2}\]?(?:\ \([^()\n]{1,20}\))?[*_]{0,2}
      (?: \s{0,3}:\s?[|>][+-]?\s{0,2}\n\s{1,20}(?P<block>)
        | \s{0,3}(?:=>|:=|->|\+=|:(?!:)|=(?!=))[*_]{0,2}\s{0,3}(?P<assigned>)
        | ["'`]?,?\s{1,20}-?\s?["'`]?value["'`]?\s{0,2}[:=]\s{0,2}(?P<value>)
        | ["'`],?\s{0,20}["'`]?value["'`]?\s{0,2}[:=]\s{0,2}(?P<json_value>)
        | \s{0,3},\s{0,2}(?P<comma>)(?=["'`])
        | ["'](?:>|\ \{\ default\s?=\s?)(?P<attribute>)
        | (?:\ [a-z]{1,12}="[^"<>\n]{0,40}"){0,2}>(?P<element>)
        | \s{1,2}(?:is\ now|(?:is|was)?\ ?set\ to|is|was|ist\ jetzt|lautet|ist|c'est|est|es|è|é|är|er|jest|là|to)\b
          \s{0,3}:?\s{0,3}(?:now\s|set\ to\s)?(?P<said>)
        | \s{1,3}(?P<space>)
      )
    )
    (?:<[a-z]{1,8}>)?
    (?:(?P<quote>["'`])(?P<quoted>(?:(?!(?P=quote))[^\r\n]){3,300})(?P=quote)
      |(?P<phrase>[a-z]{2,12}(?:\ [a-z]{2,12}){2,24})(?=\s*(?:$|\n|["'.,]))
      |["'`]?(?P<bare>(?:[^\s"'`,;<>|&]|&(?!\w{1,40}=)){3,300}))
    """,
    re.IGNORECASE | re.VERBOSE,
)
_FLAG = re.compile(r"(?:^|[\s\"'])--?[\w-]{0,40}\Z")
_LOGIN_BEFORE = re.compile(
    r"\b(?:login|machine|account|user|username|benutzer|usuario|connect)\s+\S{1,80}\s+(?:and\s|und\s|y\s|et\s)?\Z",
    re.IGNORECASE,
)
_ENDS_SAYING = re.compile(
    r"[.!?)]{0,2}(?:\s*(?:$|\n)|[,;]?\s+(?:and|but|please|for|so|if|when|you|und|et|y|e)\b|[.,;!]\s)"
)
_TAG_BEFORE = re.compile(r"<[\w:.-]{0,38}\Z")
_ENDS_LINE = re.compile(r"[ \t]*(?:$|[\r\n;&\"'<#])")


def find_named(text: str, *, folded: str, names: Iterable[tuple[int, str]]) -> Iterator[Found]:
    """The secrets behind telling names.

    Args:
        text: The text.
        folded: The same in lower case, each character at its place.
        names: Where one of `NAMES` stands in it, and which.
    """
    for at, name in names:
        end = at + len(name)
        if name in _PASSWORDS:
            if not (name in _WORD_ALONE and at and folded[at - 1].isalpha()):
                yield from _password(text, name, at, end)
        elif _is_token_name(folded, name, at):
            yield from _token(text, at, end)


def _is_token_name(folded: str, name: str, at: int) -> bool:
    if name == "key" and _KEY_BEFORE.search(folded, max(0, at - 12), at) is None:
        return False
    return _NO_TOKEN.search(folded, max(0, at - 24), at) is None


def _password(text: str, name: str, at: int, end: int) -> Iterator[Found]:
    match = _AFTER.match(text, end)
    if match is None:
        return
    if match["quoted"] is not None:
        if _accepts_quoted(match, flagged=_is_flag(text, at), name=name) and not is_placeholder(match["quoted"]):
            yield Found(*match.span("quoted"), "password")
    elif match["phrase"] is not None:
        if name in _PHRASES and FUNCTION_WORDS.isdisjoint(match["phrase"].lower().split()):
            yield Found(*match.span("phrase"), "password")
        elif (said := _first_word(text, match, at)) is not None:
            yield said
    elif (bare := _bare(text, match, match.span("bare"), at)) is not None:
        yield bare


def _first_word(text: str, match: re.Match[str], at: int) -> Found | None:
    start, end = match.span("phrase")
    return _bare(text, match, (start, text.find(" ", start, end)), at)


def _bare(text: str, match: re.Match[str], span: tuple[int, int], at: int) -> Found | None:
    """The password in a value without quotation marks; how sure it must look depends on how it is given."""
    start, end = span
    secret = text[start:end].rstrip(")]}.")
    end = start + len(secret)
    if len(secret) < 3 or is_placeholder(secret) or secret.startswith("-"):
        return None
    if match["said"] is not None:
        accepted = _looks_like_password(secret) or (is_word_password(secret) and _ends_saying(text, end))
    elif match["space"] is not None:
        accepted = _accepts_behind_space(text, secret, at)
    elif match["comma"] is not None or (match["element"] is not None and not _is_element(text, at, end)):
        accepted = False
    else:
        accepted = _accepts_assigned(text, secret, at, start)
    return Found(start, end, "password") if accepted else None


def _looks_like_password(secret: str) -> bool:
    return len(secret) >= 4 and is_password(secret)


def _accepts_behind_space(text: str, secret: str, at: int) -> bool:
    """Whether a word behind the name is its value: behind `--password` nearly any, else one behind a login."""
    if _is_flag(text, at):
        return is_quoted_password(secret) and "=" not in secret[:12]
    return is_password(secret) and _LOGIN_BEFORE.search(text, max(0, at - 100), at) is not None


def _accepts_assigned(text: str, secret: str, at: int, start: int) -> bool:
    """Whether what the name is set to is a password; a plain word is one as a whole line or a variable's value."""
    if _is_pass(text, at):  # "pass: 12", "pass = yes"
        return len(secret) >= 6 and is_mixed(secret) and is_password(secret)
    if _looks_like_password(secret):
        return True
    return is_word_password(secret) and (_ends_line(text, start + len(secret)) or _is_variable(text, at, start))


def _ends_saying(text: str, end: int) -> bool:
    return _ENDS_SAYING.match(text, end) is not None


def _ends_line(text: str, end: int) -> bool:
    return _ENDS_LINE.match(text, end) is not None


def _is_pass(text: str, at: int) -> bool:
    """Whether the name is the word `pass` alone, which means many things."""
    return text[at : at + 4].lower() == "pass" and not text[at + 4 : at + 5].isalpha()


def _is_element(text: str, at: int, end: int) -> bool:
    """Whether it is what an element of this name holds, `<dbPassword>x</dbPassword>`, and not one for it."""
    return _TAG_BEFORE.search(text, max(0, at - 40), at) is not None and text.startswith("</", end)


def _is_variable(text: str, at: int, start: int) -> bool:
    """Whether the name is a variable of a shell, as in `DB_PASSWORD=x run`."""
    return text[start - 1] == "=" and text[at : start - 1].replace("_", "").isupper()


def _accepts_quoted(match: re.Match[str], *, flagged: bool, name: str) -> bool:
    secret = match["quoted"]
    if match["space"] is not None:  # WITH PASSWORD 'x', but not: the password 'field'
        return flagged or name == "identified by" or is_password(secret)
    if match["comma"] is not None:  # define('DB_PASSWORD', 'x'), but not: translate("password", "Passwort")
        return is_password(secret)
    return is_quoted_password(secret)


def _is_flag(text: str, at: int) -> bool:
    return _FLAG.search(text, max(0, at - 44), at + 1 if text[at] == "-" else at) is not None


def _token(text: str, at: int, end: int) -> Iterator[Found]:
    match = _AFTER.match(text, end)
    if match is None or not _gives_token(text, match, at):
        return
    group = "bare" if match["quoted"] is None else "quoted"
    secret = match[group].rstrip(")]}.")
    if is_placeholder(secret) or "://" in secret or (group == "bare" and "(" in secret):
        return
    literal = (group == "quoted" or match["space"] is not None) and match["comma"] is None
    if looks_random(secret) or (literal and _may_be_token(secret)):
        start = match.start(group)
        yield Found(start, start + len(secret), "secret")


def _gives_token(text: str, match: re.Match[str], at: int) -> bool:
    """Whether a value stands behind the name in a way in which tokens are given: none is said, few follow a space."""
    if match["said"] is not None or (match["quoted"] is None and match["bare"] is None):
        return False
    return match["space"] is None or _is_flag(text, at)


def _may_be_token(secret: str) -> bool:
    """Whether a value that is written out is a token although it does not look random."""
    return len(secret) >= 8 and is_mixed(secret) and has_digit(secret) and " " not in secret and is_password(secret)
