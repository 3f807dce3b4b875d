"""Whether what stands behind the name of a password is one, by how it is given."""

from __future__ import annotations

import re
from collections.abc import Callable

from stitch.ingest.secrets.given import SURE, Value
from stitch.ingest.secrets.named import Name
from stitch.ingest.secrets.rules import Found
from stitch.ingest.secrets.values import (
    has_digit,
    has_three_kinds,
    has_two_kinds,
    is_argument,
    is_dotted_with_digit,
    is_dotted_words,
    is_joined_phrase,
    is_joined_words,
    is_mixed,
    is_named_word,
    is_odd_word,
    is_pass_phrase,
    is_password,
    is_placeholder,
    is_plain_secret,
    is_quoted_password,
    is_quoted_phrase,
    is_seed_phrase,
    is_word_password,
    looks_random,
)
from stitch.ingest.secrets.words import PASSWORD_WORDS, PHRASES, SEED_PHRASES
from stitch.text.words import word_set

_PHRASE = re.compile(r"[^\W\d_]{2,12}(?:[ -][^\W\d_]{2,12}){1,24}!{0,3}(?=\s{0,9}(?:$|[\n\"',;]|\.(?!\w)))")
_SEED = re.compile(
    r"(?:\d{1,2}[.)]\s{0,2})?[a-z]{3,8}(?:[\s,]{1,3}(?:\d{1,2}[.)]\s{0,2})?[a-z]{3,8}){10,24}", re.IGNORECASE
)
_ENDS_SAYING = re.compile(
    r"[.!?)]{0,2}(?:\s*(?:$|\n)|\s*[:;]-?[)DP(]|\s*[\u2600-\u27bf\U0001f300-\U0001faff]|[,;]?\s+(?:and|but|please|for|so|if|when|you|und|et|y|e)\b|[.,;!]\s)"
)
_SAID_IN_ENGLISH = re.compile(
    r"(?:pass(?:word|code|phrase|wd)?|pwd?|psk)\b.*\b(?:is|was|to|be|as)\b", re.IGNORECASE | re.DOTALL
)
"""A word alone may be an adjective; those of other languages are known by their endings."""
_IN_GERMAN = re.compile(r"\s(?:ist|war|heißt|heisst)\s", re.IGNORECASE)
"""Nouns have a capital there, which adjectives have not."""
_ENDS_LINE = re.compile(r"[ \t]*(?:$|[\r\n;&\"'<#])")
_BEFORE = re.compile(
    r"(?:^|[\s:(])(?P<quote>[\"'`]?)(?P<secret>[^\s\"'`]{4,60})(?P=quote),? "
    r"(?:(?:is|as|into|ist|est|es|als|como|comme|jest) (?:the |my |our |your |its |a |das |mein |le |mon |la |mi )?"
    r"(?:[\w-]{1,12} ){0,2}|\((?:the |my )?)\Z",
    re.IGNORECASE,
)
_TYPED_BEFORE = re.compile(
    r"\b(?:(?:send_?line|send_?keys|send|type|fill|enter_?text|input_?text|press_?sequentially|set_?value)\((?:[^()\"'\n]{0,40},\s?)?"
    r"[\"'](?P<called>[^\"'\n]{5,60})[\"']|(?:xdotool|ydotool|wtype|adb|tmux)\b[^\n\"'#]{0,60}\s[\"']?(?P<run>[^\s\"'#-][^\s\"'#]{4,59})[\"']?"
    r"|\btype \[\w{1,8}\] \[(?P<acted>[^\[\]\n]{5,60})\])"
    r"[^\n]{0,40}\Z",
    re.IGNORECASE,
)
_ASKED_BEFORE = re.compile(
    r"\b(?:is|was|ist|war|est|es|è|é) (?P<quote>[\"'`]?)(?P<secret>[^\s\"'`]{4,60})(?P=quote) "
    r"(?:(?:still|really|also|not|now|even|noch|wirklich|encore|toujours|bien|todavía|ancora|ainda) )?"
    r"(?:the|my|our|your|das|dein|unser|le|mon|la|mi|il|a) (?:[\w-]{1,12} ){0,2}\Z",
    re.IGNORECASE,
)
NAMES_OF_IT = frozenset(word for line in PASSWORD_WORDS.values() for word in line.split())
"""What a translation of the word says: `"password": "Mot de passe"`."""
_NEARBY = 70
_DIGIT = re.compile("[0-9]")
_WORDS_NEARBY = re.compile(r"[^\s\"'`,;:=()\[\]{}<>|]+")


def find_password(name: Name) -> Found | None:
    """The password that is given behind its name."""
    value = name.value()
    if value is None:
        return None
    if name.word in SEED_PHRASES and (seed := _SEED.match(name.text, value.start)) and is_seed_phrase(seed.group()):
        return Found(*seed.span(), "password")
    if is_placeholder(value.text) or len(value.text) < 3 or value.text.startswith("redacted:"):
        return None
    if value.text.startswith("-") and not (value.quoted and is_plain_secret(value.text)):  # an option
        return None
    accepted = _accepts_quoted(name, value) if value.quoted else _accepts_bare(name, value)
    return Found(value.start, value.end, "password") if accepted else _find_phrase(name, value)


def _accepts_quoted(name: Name, value: Value) -> bool:
    if value.way == "space":
        return _accepts_quoted_behind_space(name, value)
    if value.way == "below":
        return looks_random(value.text)
    if value.way in (
        "comma",
        "called",
        "cell",
        "far",
        "said_east",
        "equal",
    ):  # define('PASSWORD', 'x'), but not: translate("password", "Passwort")
        filled = name.is_filled_in() and is_joined_words(value.text)
        return is_password(value.text) or filled
    if " " in value.text and name.text[value.start - 2 : value.start] == "=`":
        return False  # a shell runs it
    if name.word in PHRASES and is_quoted_phrase(value.text):
        return True
    return is_quoted_password(value.text) and value.text.lower().replace(" ", "_") not in NAMES_OF_IT


def _accepts_quoted_behind_space(name: Name, value: Value) -> bool:
    """Whether a literal behind the name alone is its value: `WITH PASSWORD 'x'`, but not: the password 'field'."""
    if name.word in ("identified by", "assword:", "psk") or name.is_option() or name.follows_login():
        return True
    is_set = name.is_of_directive() or name.text[: name.at].rstrip().lower().endswith("with")
    return is_password(value.text) or (is_set and is_quoted_password(value.text))


def _accepts_bare(name: Name, value: Value) -> bool:
    """Whether a value without quotation marks is a password; how sure it must look depends on how it is given."""
    if name.is_pass():  # "pass: 12", "pass = yes"
        given = value.way in SURE or (value.way == "space" and name.follows_login())
        if given and name.follows_user() and is_word_password(value.text):
            return True
        said = value.way == "said" and is_plain_secret(value.text)
        return said or (given and is_mixed(value.text) and is_password(value.text))
    return _ACCEPTS.get(value.way, _accepts_given)(name, value)


def _accepts_behind_space(name: Name, value: Value) -> bool:
    """Whether a word behind the name is its value: behind `--password` nearly any, else one behind a login."""
    secret = value.text
    if name.is_option():
        return _is_argument_of_option(secret) and "=" not in secret[:12]
    if name.ends_verb() and (is_password(secret) or is_joined_words(secret)):
        return True
    if (name.is_of_directive() or name.word == "requirepass") and is_argument(secret):
        return is_password(secret) or has_two_kinds(secret) or is_word_password(secret)
    if is_plain_secret(secret):
        return True
    if is_password(secret):
        return len(secret) >= 4 and name.follows_login()
    return _is_word_of_user(name, value)


_GOES_ON = re.compile(r"[.!,;)]{0,2}(?:\s*(?:$|\n)| \(| (?:and|then|to|und|dann|et|y|e)\b)")
_OF_PASSWORDS = word_set(
    """authentication authorization based change combination dialog entry expiry field fields file form hashes hint
    history input length link login manager managers page pair policy prompt protection recovery reminder request
    rotation screen settings strength validation verification"""
)
"""What is said behind the word, and is none."""


def _is_word_of_user(name: Name, value: Value) -> bool:
    """Whether a word alone is the password of the user who is named before: "username qa and password sunflower"."""
    if name.follows_machine():
        return is_word_password(value.text)
    if not name.follows_named_user():
        return False
    word = value.text.rstrip(".!,;)")
    return (
        is_word_password(word)
        and word.lower() not in _OF_PASSWORDS
        and _GOES_ON.match(name.text, value.start + len(word)) is not None
    )


def _accepts_assigned(name: Name, value: Value) -> bool:
    if name.is_option():  # --password=word
        return _looks_like_one(value) or (_is_argument_of_option(value.text) and is_argument(value.text))
    return _accepts_given(name, value)


def _is_argument_of_option(text: str) -> bool:
    """Whether an argument is a password, which may look like the name of a member: `--password=lemon.Tree4`."""
    with_digit = has_digit(text) and text.count(".") == 1 and "(" not in text
    return with_digit or is_quoted_password(text) or is_dotted_words(text)


def _accepts_element(name: Name, value: Value) -> bool:
    word = is_word_password(value.text.rstrip("!$#*"))
    return name.is_of_element(value.end) and (word or _looks_like_one(value) or has_two_kinds(value.text))


def _accepts_said(name: Name, value: Value) -> bool:
    """Whether a sentence says it: a word is one if the sentence ends with it."""
    if _looks_like_one(value) or is_joined_phrase(value.text) or is_dotted_with_digit(value.text):
        return True
    if _ENDS_SAYING.match(name.text, value.end) is None:
        return False
    if _is_said_in_english(name, value):
        return is_word_password(value.text)
    return is_named_word(value.text) and (
        value.text[0].isupper() or _IN_GERMAN.search(name.text, name.end, value.start) is None
    )


def _accepts_unsure(name: Name, value: Value) -> bool:
    return len(value.text) >= 5 and is_password(value.text)


_ENDS_EAST = re.compile(r"\s*(?:$|[\n。．，,.!！]|です|でした|だ|입니다|이에요|예요|이야|ครับ|ค่ะ|哦|喔|啊)")


def _accepts_said_east(name: Name, value: Value) -> bool:
    """Whether it is a password, or digits that nothing counts behind them: "密码是638311", not "密码是8位"."""
    if is_dotted_with_digit(value.text):
        return True
    if value.text.isdigit():
        return 4 <= len(value.text) <= 12 and _ENDS_EAST.match(name.text, value.end) is not None
    return _accepts_unsure(name, value)


def _accepts_below(name: Name, value: Value) -> bool:
    """Whether the next line, or the one after it, is a password and nothing else: `Initial password:`."""
    return looks_random(value.text) and _ENDS_LINE.match(name.text, value.end) is not None


def _accepts_far(name: Name, value: Value) -> bool:
    return is_plain_secret(value.text)


def _accepts_given(name: Name, value: Value) -> bool:
    secret, text = value.text, name.text
    if _looks_like_one(value):
        return True
    if (
        name.is_variable(value.start)
        and is_argument(secret)
        and (has_two_kinds(secret) or _is_set_by_shell(name, value))
    ):
        return True
    if (_is_set(text, value) or value.way == "pair") and is_joined_words(secret):
        return True
    if _is_beside_user(name, value):
        return True
    whole = _ENDS_LINE.match(text, value.end) is not None or name.is_variable(value.start)
    return whole and (is_word_password(secret.rstrip("!$#*")) or is_joined_phrase(secret))


def _is_beside_user(name: Name, value: Value) -> bool:
    """Whether it is given beside a user's name, or among the settings of a connection: `user=ann password=x`."""
    secret = value.text
    if name.follows_user() and name.text[value.start - 1] == "=" and is_word_password(secret):
        return True
    return name.is_in_pairs() and has_digit(secret) and is_argument(secret) and "(" not in secret


_ACCEPTS: dict[str, Callable[[Name, Value], bool]] = {
    "space": _accepts_behind_space,
    "assigned": _accepts_assigned,
    "element": _accepts_element,
    "said": _accepts_said,
    "far": _accepts_far,
    "answered": _accepts_far,
    "below": _accepts_below,
    "said_east": _accepts_said_east,
    **dict.fromkeys(("cell", "asked", "to", "short", "equal", "dash"), _accepts_unsure),
}
"""By the way in which a value is given."""


def _looks_like_one(value: Value) -> bool:
    if value.text.isdigit():
        return len(value.text) >= 4 and not value.plural
    return len(value.text) >= 4 and is_password(value.text)


def _is_said_in_english(name: Name, value: Value) -> bool:
    return _SAID_IN_ENGLISH.search(name.text, name.at, value.start) is not None


def _is_set_by_shell(name: Name, value: Value) -> bool:
    """Whether a shell gives it to a variable, where no member of an object can stand: `DB_PASSWORD=lemon.tr33`."""
    return name.text[value.start - 1] == "=" and _is_argument_of_option(value.text)


def _is_set(text: str, value: Value) -> bool:
    """Whether a value is set as a shell sets it, `password=x`, with nothing behind it."""
    before, behind = text[value.start - 2 : value.start], text[value.end : value.end + 1]
    return before[-1:] == "=" and before[:1] != " " and behind in ("", " ", "\n")


def _find_phrase(name: Name, value: Value) -> Found | None:
    """A password of several words: all of a line, or the end of a sentence."""
    if value.quoted or value.way not in ("said", "assigned", "block") or name.is_pass():
        return None
    phrase = _PHRASE.match(name.text, value.start)
    if phrase is None:
        return None
    words = phrase.group().rstrip("!").split()
    if not is_pass_phrase(" ".join(words)) and not (name.word in PHRASES and len(words) > 3):
        return None
    return Found(*phrase.span(), "password") if _holds_phrase(name, value, words) else None


def _holds_phrase(name: Name, value: Value, words: list[str]) -> bool:
    """Whether words may stand there: as a phrase, a block, a setting, in a sentence, as an answer."""
    if name.word in PHRASES or value.way == "block" or name.is_asked_for():
        return True
    if value.way == "said":
        return _is_said_in_english(name, value)
    return len(words) > 2 and all(map(str.islower, words)) and name.begins_line()


def find_password_before(name: Name) -> Found | None:
    """What is called a password behind it: "use x1y2! as the password"."""
    start = max(0, name.at - 110)
    asked = _ASKED_BEFORE.search(name.text, start, name.at)
    if asked is not None and is_plain_secret(asked["secret"]) and not is_placeholder(asked["secret"]):
        return Found(*asked.span("secret"), "password")
    before = _BEFORE.search(name.text, start, name.at)
    if before is None or is_placeholder(before["secret"]):
        return None
    secret = before["secret"]
    accepted = (is_password(secret) or (bool(before["quote"]) and is_joined_words(secret))) and (
        bool(before["quote"]) or is_mixed(secret)
    )
    return Found(*before.span("secret"), "password") if accepted else None


def find_password_nearby(name: Name) -> Found | None:
    """A word in the same line that nobody writes but as a password."""
    text, end = name.text, name.end
    if _DIGIT.search(text, max(0, name.at - _NEARBY), end + _NEARBY) is None:
        return None
    if (typed := _find_typed(name)) is not None:
        return typed
    line = text.rfind("\n", max(0, name.at - _NEARBY), name.at) + 1 or max(0, name.at - _NEARBY)
    for word in _WORDS_NEARBY.finditer(text, line, min(len(text), end + _NEARBY)):
        if "\n" in text[end : word.start()]:
            break
        if word.end() <= name.at and word.start() == line > 0 and text[line - 1] != "\n":
            continue  # cut
        if (is_odd_word(word.group()) or _is_told_to(text, word)) and not is_placeholder(word.group()):
            return Found(word.start(), word.start() + len(word.group().rstrip(".?")), "password")
    return None


_SET_TO = re.compile(r"\b(?:set|reset|changed?|updated?) (?:it|them|mine|that) (?:back )?to \Z", re.IGNORECASE)
_TOLD_TO = re.compile(r"\b(?:use|using|try|tried|trying|type|typed|typing|enter|entered|with|w/) \Z", re.IGNORECASE)
_VERSION = re.compile(r"[^\W\d]+(?:[-.][^\W\d]+){0,5}\d{1,4}\W?")


def _is_told_to(text: str, word: re.Match[str]) -> bool:
    """Whether a verb says that it was set or is to be used, and it is no name with a version: "set it to x2Y!z"."""
    told = word.group().rstrip(".?!")
    if len(told) < 8 or not has_three_kinds(told) or not is_plain_secret(told):
        return False
    if _SET_TO.search(text, max(0, word.start() - 24), word.start()) is not None:
        return True
    used = _TOLD_TO.search(text, max(0, word.start() - 12), word.start()) is not None
    return used and _VERSION.fullmatch(told) is None


def _find_typed(name: Name) -> Found | None:
    """What is typed where the line says that it is a password: `sendline('x1y2z3')  # answers the password prompt`."""
    typed = _TYPED_BEFORE.search(name.text, max(0, name.at - 2 * _NEARBY), name.at)
    if typed is None:
        return None
    secret = typed[typed.lastgroup or 0]
    accepted = is_plain_secret(secret) and not is_placeholder(secret)
    return Found(*typed.span(typed.lastgroup or 0), "password") if accepted else None
