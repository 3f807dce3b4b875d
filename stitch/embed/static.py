"""The default embedder: a table of token vectors that comes with the package; no model, no network."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
        self._model: tuple[Vectors, Any] | None = None
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

        table, tokenizer = self._loaded()
        # Sums of whole numbers are exact, in whatever order they are made.
        exact = np.int32 if table.dtype == np.int8 else np.float32
        vectors = np.zeros((len(texts), self._dimension), np.float32)
        for start in range(0, len(texts), _BATCH):
            rows = vectors[start : start + _BATCH]
            for row, tokens in zip(rows, read_tokens(tokenizer, texts[start : start + _BATCH]), strict=True):
                if tokens:
                    # As `table[tokens].sum(axis=0)`, without the calls of Python between.
                    row[:] = np.add.reduce(table.take(tokens, axis=0), axis=0, dtype=exact)
        return vectors

    def _loaded(self) -> tuple[Vectors, Any]:
        with self._lock:
            if self._model is None:
                load = _load_once if self._folder == TABLE else _load
                self._model = load(self._folder, dimension=self._dimension)
            return self._model


def load_tokenizer(folder: Path) -> Any:
    """The tokenizer of a table, of type `tokenizers.Tokenizer`."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_buffer((folder / "tokenizer.json").read_bytes())
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def read_tokens(tokenizer: Any, texts: Sequence[str]) -> list[list[int]]:
    """The distinct known tokens of each text, in the order in which they come."""
    unknown = tokenizer.token_to_id("[UNK]")
    read = tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
    return [[token for token in dict.fromkeys(each.ids) if token != unknown] for each in read]


_BATCH = 1024
"""Texts that are tokenized at once; bounds the memory it takes."""

_HINT = "reinstall stitch-memory, or make a table with `python -m stitch.bench.fit table`"


def _load(folder: Path, *, dimension: int) -> tuple[Vectors, Any]:
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        vectors = load_file(folder / "model.safetensors")["embeddings"]
        if vectors.shape[1] != dimension:
            raise ValueError(f"vectors of length {vectors.shape[1]}, expected {dimension}")
        return vectors, load_tokenizer(folder)
    except (OSError, KeyError, ValueError, SafetensorError) as error:
        raise EmbedderError(f"cannot read the token vectors in {str(folder)!r}: {error}", hint=_HINT) from error


_load_once = lru_cache(maxsize=1)(_load)
"""For the table that comes with the package: memories and labelers of a process share it."""
