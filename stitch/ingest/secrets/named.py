"""Where a telling name stands in a text, and what stands around it."""

from __future__ import annotations

import re
from typing import NamedTuple

from stitch.ingest.secrets.words import BEGINNINGS, KEY_BEFORE, NO_TOKEN, PASS_BEFORE, WORD_ALONE

_FLAG = re.compile(r"(?:^|[\s\"'])(?:--?|/)[\w.-]{0,40}\Z")
_LOGIN_BEFORE = re.compile(
    r"\b(?:login|machine|account|user|username|email|benutzer|usuario|utilisateur|utente"
    r"|connect)\b(?: name)?[:\s]\s{0,9}\S{1,80}\s{1,9}"
    r"(?:(?:and|und|y|et|e|with|mit)\s)?\Z",
    re.IGNORECASE,
)
_NETRC_BEFORE = re.compile(r"\b(?:login|machine)\s{1,9}\S{1,80}\s{1,9}\Z")
_TAG_BEFORE = re.compile(r"<[\w:.-]{0,38}\Z")
_ATTRIBUTE_BEFORE = re.compile(r"<\w{1,20} (?:key|name|property)=[\"'][\w.-]{0,40}\Z")
_LINE_BEFORE = re.compile(r"(?:^|\n)[ \t]*(?:-[ \t])?[\w.-]{0,40}\Z")
_PROMPT_BEFORE = re.compile(r"(?:enter|type|repeat|verify)[^\n:]{0,30}\Z", re.IGNORECASE)


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
            return self.word != "pass" or not self._follows(PASS_BEFORE, 8)
        behind = self.folded[self.end : self.end + 1]
        return behind.isascii() and behind.isalpha() and (self.word in BEGINNINGS or behind not in "spbdtlkvenm")

    def is_of_token(self) -> bool:
        """Whether the token or key that it names is a secret: no page's, no table's."""
        if self.word == "key" and not self._follows(KEY_BEFORE, 12):
            return False
        return not self._follows(NO_TOKEN, 24)

    def is_pass(self) -> bool:
        """Whether it is the word `pass` alone, which means many things."""
        before, behind = self.text[self.at - 1 : self.at], self.text[self.at + 4 : self.at + 5]
        return (
            self.folded.startswith("pass", self.at)
            and not behind.isalpha()
            and not (before.isalnum() or before in ("_", "-"))
        )

    def is_option(self) -> bool:
        """Whether it is an option of a command: `--password`, `/password`."""
        end = self.at + 1 if self.text[self.at] == "-" else self.at
        return _FLAG.search(self.text, max(0, self.at - 44), end) is not None

    def is_variable(self, start: int) -> bool:
        """Whether it is a variable with the value at `start`, as in `DB_PASSWORD=x run` and `DB_PASSWORD: x`."""
        name = self.text[self.at : start].rstrip(" ")
        return name[-1:] in ("=", ":") and name[:-1].replace("_", "").isupper()

    def is_of_element(self, end: int) -> bool:
        """Whether what ends at `end` is all that an element of this name holds: `<dbPassword>x</dbPassword>`."""
        named = self._follows(_TAG_BEFORE, 60) or self._follows(_ATTRIBUTE_BEFORE, 60)
        return named and self.text.startswith(("</", "]]>"), end)

    def follows_login(self) -> bool:
        """Whether the name of a user stands before it: `user ann password x`."""
        return self._follows(_LOGIN_BEFORE, 100)

    def follows_machine(self) -> bool:
        """Whether it stands in a line of a file `.netrc`."""
        return self._follows(_NETRC_BEFORE, 100)

    def begins_line(self) -> bool:
        """Whether a line begins with it, as in a file of settings."""
        return self._follows(_LINE_BEFORE, 60)

    def is_asked_for(self) -> bool:
        """Whether somebody is asked for it: "Enter passphrase for key x:"."""
        return self._follows(_PROMPT_BEFORE, 50)

    def _follows(self, pattern: re.Pattern[str], chars: int) -> bool:
        return pattern.search(self.text, max(0, self.at - chars), self.at) is not None
