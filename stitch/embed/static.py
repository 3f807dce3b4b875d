"""The default embedder: a table of token vectors that comes with the package; no model, no network."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stitch.errors import EmbedderError

if TYPE_CHECKING:
    from stitch.core.protocols import Vectors

TABLE = Path(__file__).parent / "table"
"""The table that comes with the package; `stitch.pipelines.distill` makes it."""


class StaticEmbedder:
    """Means of token vectors, distilled from a Sentence Transformer with Model2Vec.

    Tens of thousands of sentences a second on one core, without PyTorch. Nothing is read before the first use.

    Args:
        table: Folder of a Model2Vec model whose `config.json` also says its `name`.
    """

    def __init__(self, table: Path = TABLE) -> None:
        self._folder = table
        self._lock = threading.Lock()
        self._model: Any = None
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

        model = self._loaded()
        if not texts:
            return np.zeros((0, self._dimension), np.float32)
        # More processes would change an environment variable of the whole program.
        means = model.encode(list(texts), max_length=None, normalize=False, use_multiprocessing=False)
        vectors: Vectors = np.asarray(means, np.float32)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        lengths[lengths == 0] = 1
        vectors /= lengths
        return vectors

    def _loaded(self) -> Any:
        with self._lock:
            if self._model is None:
                self._model = _load(self._folder)
            return self._model


_HINT = "reinstall stitch-memory, or make a table with `python -m stitch.pipelines.distill --out FOLDER`"


def _load(folder: Path) -> Any:
    # `StaticModel.from_pretrained` brings in a client of a model hub, and asks the hub when a file is not found.
    from model2vec import StaticModel
    from safetensors import SafetensorError
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    try:
        vectors = load_file(folder / "model.safetensors")["embeddings"]
        tokenizer = Tokenizer.from_buffer((folder / "tokenizer.json").read_bytes())
        return StaticModel(vectors, tokenizer, normalize=True, max_length=None)
    except (OSError, KeyError, ValueError, SafetensorError) as error:
        raise EmbedderError(f"cannot read the token vectors in {str(folder)!r}: {error}", hint=_HINT) from error
