"""The tokens of texts, found by remembering those of their words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from stitch.core.text_cache import tell_of_clearing

MAX_WORDS = 65_536
"""So many words are remembered; then it begins anew."""

_MAX_CHARS = 40
"""Longer words hardly come again."""

_WORD = re.compile(r"[a-z0-9]+|[^\sa-z0-9]")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


class WordPieces:
    """Reads texts as the tokenizer of a Model2Vec model does, several times as fast.

    A tokenizer of BERT's kind cuts a text at white space and punctuation and takes each word by itself: the longest
    piece that the vocabulary holds, then the longest of the rest (WordPiece). Plain ASCII is read that way here, and
    words are remembered. All else, and whatever is meant for any other tokenizer, goes to the tokenizer itself.

    Args:
        model: A `model2vec.StaticModel`.
    """

    def __init__(self, model: Any) -> None:
        from tokenizers.models import WordPiece
        from tokenizers.normalizers import BertNormalizer
        from tokenizers.pre_tokenizers import BertPreTokenizer

        tokenizer = model.tokenizer
        self._model = model
        pieces, normalizer = tokenizer.model, tokenizer.normalizer
        self._by_word = (
            isinstance(pieces, WordPiece)
            and isinstance(tokenizer.pre_tokenizer, BertPreTokenizer)
            and isinstance(normalizer, BertNormalizer)
            and bool(normalizer.lowercase and normalizer.clean_text)
        )
        self._special = [token.content for token in tokenizer.get_added_tokens_decoder().values()]
        self._vocabulary: dict[str, int] = tokenizer.get_vocab(with_added_tokens=False) if self._by_word else {}
        self._prefix: str = pieces.continuing_subword_prefix if self._by_word else ""
        self._longest: int = pieces.max_input_chars_per_word if self._by_word else 0
        self._unknown = model.unk_token_id if self._by_word else None
        self._words: dict[str, list[int]] = {}
        tell_of_clearing(self)

    def clear_texts(self) -> None:
        """Forget the words that were read."""
        self._words = {}

    def read(self, texts: Sequence[str]) -> list[list[int]]:
        """The distinct tokens of each text, in the order in which they come."""
        plain = [self._is_plain(text) for text in texts]
        others = [text for text, is_plain in zip(texts, plain, strict=True) if not is_plain]
        of_others = iter(self._model.tokenize(others) if others else ())
        return [
            list(dict.fromkeys(self._by_words(text) if is_plain else next(of_others)))
            for text, is_plain in zip(texts, plain, strict=True)
        ]

    def _by_words(self, text: str) -> list[int]:
        found: list[int] = []
        known = self._words.get
        for word in _WORD.findall(text.lower()):
            tokens = known(word)
            found += self._pieces(word) if tokens is None else tokens
        return found

    def _pieces(self, word: str) -> list[int]:
        found: list[int] = []
        start = 0
        while start < len(word) <= self._longest:
            for end in range(len(word), start, -1):
                piece = self._vocabulary.get(self._prefix + word[start:end] if start else word[:end])
                if piece is not None:
                    break
            else:
                found = []  # a word that cannot be put together is unknown as a whole
                break
            found.append(piece)
            start = end
        found = [piece for piece in found if piece != self._unknown]
        if len(word) <= _MAX_CHARS:
            if len(self._words) >= MAX_WORDS:
                self._words = {}
            self._words[word] = found
        return found

    def _is_plain(self, text: str) -> bool:
        return (
            self._by_word
            and text.isascii()
            and _CONTROL.search(text) is None
            and not any(map(text.__contains__, self._special))
        )
