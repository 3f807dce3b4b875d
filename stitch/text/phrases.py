"""Noun phrases: the runs of words of a text that name something."""

from __future__ import annotations

import re
from typing import NamedTuple

from stitch.text.words import FUNCTION_WORDS, MAX_READ_CHARS, is_verb, word_list

ADJECTIVES = word_list("adjectives")
_DETERMINERS = word_list("determiners")
_TOKEN = re.compile(r"[^\W_]+(?:[-.'’][^\W_]+)*|[^\w\s]")


class NounPhrase(NamedTuple):
    """A run of words that names something: "check-in date" with the head "date"."""

    text: str
    """Lower case, without determiners."""
    head: str
    start: int
    """Index of the first character in the text that was read."""


def noun_phrases(text: str) -> list[NounPhrase]:
    """Runs of words that name things, in order.

    A run ends at punctuation, function words and verbs, but for a verb after a determiner, "the search", and one in
    -ing, -er or -ion after a word of the run, "flight booking". The head is the last word. Runs of adjectives or
    numbers alone are left out.
    """
    phrases: list[NounPhrase] = []
    run: list[str] = []
    start = 0
    after_determiner = False
    for token in _TOKEN.finditer(text[:MAX_READ_CHARS].replace("’", "'")):
        word = token.group().lower()
        named = word not in FUNCTION_WORDS and word[0].isalnum() and (bool(run) or not word.endswith("ly"))
        if named and is_verb(word):
            named = after_determiner or (bool(run) and word.endswith(("ing", "er", "ion")))
        if not named:
            if run:
                _close(phrases, run, start)
                run = []
            after_determiner = word in _DETERMINERS or (after_determiner and word in ADJECTIVES)
            continue
        if not run:
            start = token.start()
        run.append(word)
        after_determiner = False
    _close(phrases, run, start)
    return phrases


def _close(phrases: list[NounPhrase], run: list[str], start: int) -> None:
    while run and (run[-1] in ADJECTIVES or not run[-1][0].isalpha() or (run[1:] and run[-1].endswith(("ly", "ed")))):
        run.pop()
    if run and len(run[-1]) > 1:
        phrases.append(NounPhrase(" ".join(run), run[-1].removesuffix("'s"), start))
