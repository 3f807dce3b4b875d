"""The default embedder: a table of token vectors that comes with the package; no model, no network."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stitch.core.text_cache import text_cache
from stitch.errors import EmbedderError

if TYPE_CHECKING:
    from stitch.core.protocols import Vectors

TABLE = Path(__file__).parent / "table"
"""The table that comes with the package; `stitch.bench.fit.table` makes it."""


class StaticEmbedder:
    """Sums of token vectors that were learned from a Sentence Transformer.

    Tens of thousands of sentences a second without PyTorch. A token counts once, however often it occurs: that finds
    more evidence than the mean over occurrences does (`README.md` beside this file). The table is read on first use.

    Args:
        table: Folder of a Model2Vec model whose `config.json` also says its `name`.
    """

    def __init__(self, table: Path = TABLE) -> None:
        self._folder = table
        self._lock = threading.Lock()
        self._model: tuple[Vectors, TokenReader] | None = None
        try:
            config = json.loads((table / "config.json").read_bytes())
            self._name, self._dimension = str(config["name"]), int(config["hidden_dim"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise EmbedderError(f"no table of token vectors in {str(table)!r}: {error!r}", hint=_HINT) from error

    @property
    def name(self) -> str:
        """The name of the table, version included."""
        return self._name

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return self._dimension

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector per text, shape `(len(texts), dimension)`; of a text without words, zeros.

        Raises:
            EmbedderError: The table cannot be read.
        """
        import numpy as np

        vectors = self.sums(texts)
        # As `np.linalg.norm` does it, which looks at its arguments for longer than that takes for one vector.
        lengths = np.sqrt(np.add.reduce(vectors * vectors, axis=1, keepdims=True))
        lengths[lengths == 0] = 1
        vectors /= lengths
        return vectors

    def sums(self, texts: Sequence[str]) -> Vectors:
        """Return the sums that `embed` makes unit vectors of: the sum of a text is that of its different tokens.

        Raises:
            EmbedderError: The table cannot be read.
        """
        import numpy as np

        table, reader = self._loaded()
        # Sums of whole numbers are exact, in whatever order they are made.
        exact = np.int32 if table.dtype == np.int8 else np.float32
        vectors = np.zeros((len(texts), self._dimension), np.float32)
        for start in range(0, len(texts), _BATCH):
            rows = vectors[start : start + _BATCH]
            for row, tokens in zip(rows, reader.read(texts[start : start + _BATCH]), strict=True):
                if tokens:
                    # As `table[tokens].sum(axis=0)`, without the calls of Python between.
                    row[:] = np.add.reduce(table.take(tokens, axis=0), axis=0, dtype=exact)
        return vectors

    def _loaded(self) -> tuple[Vectors, TokenReader]:
        with self._lock:
            if self._model is None:
                load = _load_once if self._folder == TABLE else _load
                self._model = load(self._folder, dimension=self._dimension)
            return self._model


class TokenReader:
    """Reads texts with the tokenizer of a table. Tokens of words are kept: most words have been said before."""

    def __init__(self, folder: Path) -> None:
        from tokenizers import Tokenizer

        self._tokenizer: Any = Tokenizer.from_buffer((folder / "tokenizer.json").read_bytes())
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._unknown = self._tokenizer.token_to_id("[UNK]")
        self._by_word = type(self._tokenizer.pre_tokenizer).__name__ == "BertPreTokenizer"
        self._tokens_of = text_cache(maxsize=16_384)(self._tokens)

    def read(self, texts: Sequence[str]) -> list[list[int]]:
        """The distinct known tokens of each text, in the order in which they come."""
        return list(map(self._read, texts))

    def _read(self, text: str) -> list[int]:
        if not (self._by_word and text.isascii()) or _REMOVED.search(text):
            return self._tokens(text)
        said = _BERT_WORD.findall(text.lower())
        return list(dict.fromkeys(chain.from_iterable(map(self._tokens_of, said))))

    def _tokens(self, text: str) -> list[int]:
        read = self._tokenizer.encode(text, add_special_tokens=False).ids
        return [token for token in dict.fromkeys(read) if token != self._unknown]


_BERT_WORD = re.compile(r"[a-z0-9]+|[!-/:-@\[-`{-~]")
"""What BERT cuts a text of ASCII into before it looks for tokens."""
_REMOVED = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
"""Signs that it passes over, so that what stands on both sides is one word."""
_BATCH = 1024
"""Texts that are read at once; bounds the memory it takes."""

_HINT = "reinstall stitch-memory, or make a table with `python -m stitch.bench.fit table`"


def _load(folder: Path, *, dimension: int) -> tuple[Vectors, TokenReader]:
    try:
        vectors = _mapped(folder / "model.safetensors")
        if vectors.shape[1] != dimension:
            raise ValueError(f"vectors of length {vectors.shape[1]}, expected {dimension}")
        return vectors, TokenReader(folder)
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise EmbedderError(f"cannot read the token vectors in {str(folder)!r}: {error}", hint=_HINT) from error


def _mapped(file: Path) -> Vectors:
    """The one tensor of a file of safetensors, of which no more is read than is used: most words are rare."""
    import numpy as np

    with file.open("rb") as opened:
        size = int.from_bytes(opened.read(8), "little")
        if size > file.stat().st_size:
            raise ValueError("it is no file of safetensors")
        about = json.loads(opened.read(size))["embeddings"]
        offset = opened.tell() + about["data_offsets"][0]
    kind = {"I8": np.int8, "F32": np.float32}[about["dtype"]]
    vectors: Vectors = np.asarray(np.memmap(file, kind, "r", offset, tuple(about["shape"])))
    return vectors


_load_once = lru_cache(maxsize=1)(_load)
"""For the table that comes with the package: memories and labelers of a process share it."""
