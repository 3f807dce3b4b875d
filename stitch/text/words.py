"""The words of a text and their stems, as everything that compares texts cuts them."""

from __future__ import annotations

import re
import threading
from functools import lru_cache

_WORD = re.compile(r"[^\W_]+(?:[.'’][^\W_]+)*")
_local = threading.local()


def words(text: str) -> list[str]:
    """The words and numbers of a text, folded to lower case; "3.14" and "don't" stay whole."""
    found: list[str] = _WORD.findall(text.lower())
    return [word.replace("’", "'") for word in found] if "’" in text else found


def stems(text: str) -> list[str]:
    """The Snowball (English) stems of the words of a text, in order, repeated as they occur."""
    return [stem(word) for word in words(text)]


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """The Snowball (English) stem of one lower-case word."""
    stemmer = getattr(_local, "stemmer", None)
    if stemmer is None:  # a Stemmer keeps a buffer of its own: one for each thread
        import Stemmer

        stemmer = _local.stemmer = Stemmer.Stemmer("english")
    return str(stemmer.stemWord(word.removesuffix("'s")))
