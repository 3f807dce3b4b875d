"""Words as answer metrics see them: lower case, no marks; content words are those that are no function words."""

from __future__ import annotations

import re

_WORD = re.compile(r"[^\W_]+(?:\.\d+)?(?:'[^\W_]+)?")

FUNCTION_WORDS = frozenset(
    [
        "a",
        "about",
        "an",
        "and",
        "are",
        "as",
        "at",
        "be",
        "been",
        "being",
        "but",
        "by",
        "can",
        "could",
        "did",
        "do",
        "does",
        "for",
        "from",
        "had",
        "has",
        "have",
        "he",
        "her",
        "here",
        "him",
        "his",
        "how",
        "i",
        "if",
        "in",
        "into",
        "is",
        "it",
        "its",
        "may",
        "me",
        "might",
        "must",
        "my",
        "no",
        "not",
        "of",
        "on",
        "or",
        "our",
        "she",
        "should",
        "so",
        "than",
        "that",
        "the",
        "their",
        "them",
        "then",
        "there",
        "these",
        "they",
        "this",
        "those",
        "to",
        "us",
        "was",
        "we",
        "were",
        "what",
        "when",
        "where",
        "which",
        "who",
        "whom",
        "why",
        "will",
        "with",
        "would",
        "you",
        "your",
    ]
)
"""English words that carry no content of their own."""


def words(text: str) -> list[str]:
    """The words and numbers of a text, folded, in order."""
    return _WORD.findall(text.casefold().replace("’", "'"))


def content_words(text: str) -> set[str]:
    """The distinct words of a text that are no function words."""
    return set(words(text)) - FUNCTION_WORDS
