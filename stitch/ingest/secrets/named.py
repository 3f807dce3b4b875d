"""Where a telling name stands in a text, and what stands around it."""

from __future__ import annotations

import re
from typing import NamedTuple

from stitch.ingest.secrets.given import Value, read_argument, read_value
from stitch.ingest.secrets.words import BEGINNINGS, KEY_BEFORE, NO_CAMEL_KEY, NO_TOKEN, PASS_BEFORE, WORD_ALONE
from stitch.text.words import FUNCTION_WORDS

_FLAG = re.compile(r"(?:^|[\s\"'])(?:--?|/)[\w.-]{0,40}\Z")
_LOGIN_BEFORE = re.compile(
    r"\b(?:login|machine|account|user|username|email|benutzer|usuario|utilisateur|utente"
    r"|connect)\b(?: name)?[:\s]\s{0,9}\S{1,80}\s{1,9}"
    r"(?:(?:and|und|y|et|e|with|mit)\s)?\Z"
    r"|[\w.+-]{1,60}@[\w.-]{2,60},? (?:and|und|y|et|e|with|mit) (?:the |das |la |le |el )?\Z",
    re.IGNORECASE,
)
_NAMED_USER_BEFORE = re.compile(
    r"\b(?:user(?:name)?|login|benutzer(?:name)?|usuario|utilisateur|utente|account)"
    r"(?: for| of| as)? (?P<user>[\w.@-]{2,40})(?:, ?| (?:and|with|und|mit|et|y|e) )(?:the )?\Z",
    re.IGNORECASE,
)
_USER_BEFORE = re.compile(
    r"\b(?:user(?:name)?|login|uid)[\"']?\s?[=:]\s?[\"']?[^\s,;&\"']{1,40}[\"']?[,;& ]\s?[\"']?(?:[\w.]{0,20}[_.])?\Z",
    re.IGNORECASE,
)
_NETRC_BEFORE = re.compile(r"\b(?:login|machine)\s{1,9}\S{1,80}\s{1,9}\Z")
_VERB_BEFORE = re.compile(r"\b(?:set|reset|change|update|new)-(?:[a-z]{1,12}-)?\Z")
_FILL_BEFORE = re.compile(r"\b(?:fill|type|input|send_?keys|set_?(?:value|text))\([^()\n,]{0,60}\Z", re.IGNORECASE)
_TAG_BEFORE = re.compile(r"<[\w:.-]{0,38}\Z")
_ATTRIBUTE_BEFORE = re.compile(r"<\w{1,20} (?:key|name|property)=[\"'][\w.-]{0,40}\Z")
_LINE_BEFORE = re.compile(r"(?:^|\n)[ \t]*(?:-[ \t])?[\w.-]{0,40}\Z")
_PAIR_BEFORE = re.compile(r"=[^\s=;\"']{1,80};[ ]?(?:User[ ])?\Z", re.IGNORECASE)
_DIRECTIVE_BEFORE = re.compile(
    r"(?:^|\n|\s)(?:(?:ENV|ARG|#\s?define|setx|set|export|-D)[ \t]{1,4}\w{0,40}"
    r"|kv (?:put|set) [\w./-]{0,50})\Z"
)
"""What gives the word behind a variable to it, without a sign between them."""
_PROMPT_BEFORE = re.compile(r"(?:enter|type|repeat|verify)[^\n:]{0,30}\Z", re.IGNORECASE)

_NO_KEY_TOLD = re.compile(
    r"\b(?:object|s3|routing|row|item|hash|lookup|file|blob|map|group|host|gpg|pgp|signing|ssh|cache) \Z", re.IGNORECASE
)


class Name(NamedTuple):
    """A telling name at its place."""

    text: str
    folded: str
    """The text in lower case, each character at its place."""
    word: str
    at: int

    @property
    def end(self) -> int:
        """The place behind it."""
        return self.at + len(self.word)

    def is_part_of_word(self) -> bool:
        """Whether it is a part of another word: `pass` of "passenger", `pw` of "upward"."""
        if self.word in WORD_ALONE and self.at and self.folded[self.at - 1].isalpha():
            return self.word not in ("pass", "pw", "pwd") or not self._follows(PASS_BEFORE, 8)
        if self.folded.startswith("secretid", self.at):
            return False
        behind = self.folded[self.end : self.end + 1]
        return behind.isascii() and behind.isalpha() and (self.word in BEGINNINGS or behind not in "spbdtlkvenm")

    def is_of_token(self) -> bool:
        """Whether the token or key that it names is a secret: no page's, no table's."""
        known = self.is_of_known_key() or self._is_camel()
        return known and not self._follows(NO_TOKEN, 24) and not self._is_part_of_address()

    def is_of_known_key(self) -> bool:
        """Whether it is no key, or one that is a secret by its name: `api_key`, and not `AzureKey`."""
        return self.word != "key" or self._follows(KEY_BEFORE, 12)

    def is_told_of(self) -> bool:
        """Whether it is the word `key` behind another that says whose: "the mistral key x"; no object's, no table's."""
        alone = self.word == "key" and self.folded[self.at - 1 : self.at] in (" ", "\n", "")
        return alone and not self._follows(NO_TOKEN, 24) and not self._follows(_NO_KEY_TOLD, 12)

    def _is_camel(self) -> bool:
        """Whether it ends a name such as `AzureKey`."""
        begins = self.text[self.at].isupper() and self.text[self.at - 1 : self.at].islower()
        return begins and not self._follows(NO_CAMEL_KEY, 10)

    def _is_part_of_address(self) -> bool:
        """Whether it stands between the colons of a name of a cloud: `arn:aws:secretsmanager:eu:1:secret:x`."""
        return self.text.startswith(":", self.end) and self.text[self.at - 1 : self.at] == ":"

    def is_tag(self) -> bool:
        """Whether it stands in an element of its own: `<key>ClientToken</key><string>x</string>`."""
        return self.text.startswith("</", self.end)

    def is_pass(self) -> bool:
        """Whether it is the word `pass` alone, which means many things."""
        return self.word == "pass" and not self.text[self.at - 1 : self.at].isalnum()

    def is_option(self) -> bool:
        """Whether it is an option of a command: `--password`, `/password`."""
        return _FLAG.search(self.text, max(0, self.at - 44), self.at + 1) is not None  # of `-pass`, with its hyphen

    def value(self) -> Value | None:
        """The value that is given behind it; that of an option is the next argument."""
        value = read_value(self.text, self.end)
        if value is not None and value.way == "far" and self.is_option():
            return read_argument(self.text, self.end)
        return value

    def ends_verb(self) -> bool:
        """Whether it ends what a command is told to do: `set-initial-password x`."""
        return self._follows(_VERB_BEFORE, 40)

    def is_filled_in(self) -> bool:
        """Whether it names the field that a call fills in: `fill('#password', 'x')`."""
        return self._follows(_FILL_BEFORE, 80)

    def is_variable(self, start: int) -> bool:
        """Whether it is a variable with the value at `start`, as in `DB_PASSWORD=x run` and `DB_PASSWORD: x`."""
        name = self.text[self.at : start].rstrip(" ")
        return name[-1:] in ("=", ":") and name[:-1].isupper()

    def is_of_element(self, end: int) -> bool:
        """Whether what ends at `end` is all that an element of this name holds: `<dbPassword>x</dbPassword>`."""
        named = self._follows(_TAG_BEFORE, 60) or self._follows(_ATTRIBUTE_BEFORE, 60)
        return named and self.text.startswith(("</", "]]>"), end)

    def follows_login(self) -> bool:
        """Whether the name of a user stands before it: `user ann password x`."""
        return self._follows(_LOGIN_BEFORE, 100)

    def follows_named_user(self) -> bool:
        """Whether a user is named before it in a sentence: "user qa and password x"."""
        named = _NAMED_USER_BEFORE.search(self.text, max(0, self.at - 80), self.at)
        return named is not None and named["user"].lower() not in FUNCTION_WORDS

    def follows_user(self) -> bool:
        """Whether a user's name is given just before it: `user=ann, pass=x`."""
        return self._follows(_USER_BEFORE, 60)

    def follows_machine(self) -> bool:
        """Whether it stands in a line of a file `.netrc`."""
        return self._follows(_NETRC_BEFORE, 100)

    def begins_line(self) -> bool:
        """Whether a line begins with it, as in a file of settings."""
        return self._follows(_LINE_BEFORE, 60)

    def is_in_pairs(self) -> bool:
        """Whether it stands among the settings of a connection: `uid=ann;pwd=x`."""
        return self._follows(_PAIR_BEFORE, 90)

    def is_of_directive(self) -> bool:
        """Whether a line sets it with a blank alone: `ENV DB_PASSWORD x`, `#define PSK "x"`, `kv put db/password x`."""
        return self._follows(_DIRECTIVE_BEFORE, 60)

    def is_asked_for(self) -> bool:
        """Whether somebody is asked for it: "Enter passphrase for key x:"."""
        return self._follows(_PROMPT_BEFORE, 50)

    def _follows(self, pattern: re.Pattern[str], chars: int) -> bool:
        return pattern.search(self.text, max(0, self.at - chars), self.at) is not None
