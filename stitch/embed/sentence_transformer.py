"""Any Sentence Transformer as an embedder: better vectors for a gigabyte of PyTorch."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stitch.errors import EmbedderError, install_command
from stitch.text.words import words

if TYPE_CHECKING:
    from stitch.core.protocols import Vectors


class SentenceTransformerEmbedder:
    """Runs a model of the library `sentence-transformers`, of a local folder or by its name on the hub.

    Nothing is fetched: a name is looked up in the local cache. Nothing is loaded before the first use of `dimension` or
    `embed`. The device is `cpu`, `cuda` or `mps`; what the library prefers if None.
    """

    def __init__(self, model: str | Path, *, device: str | None = None, batch_size: int = 32) -> None:
        self._source, self._device, self._batch_size = str(model), device, batch_size
        self._lock = threading.Lock()
        self._model: Any = None

    @cached_property
    def name(self) -> str:
        """The name on the hub; of a folder, its last part and a fingerprint of its weights.

        Raises:
            EmbedderError: The weights in the folder cannot be read.
        """
        folder = Path(self._source)
        return f"st:{_fingerprint(folder.resolve())}" if folder.is_dir() else f"st:{self._source}"

    @cached_property
    def dimension(self) -> int:
        """Length of a vector; loads the model.

        Raises:
            EmbedderError: The library or the model is missing.
        """
        return int(self._encode(["one"]).shape[1])

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector per text, shape `(len(texts), dimension)`; of a text without words, zeros.

        Raises:
            EmbedderError: The library or the model is missing, or the model failed.
        """
        import numpy as np

        vectors = np.zeros((len(texts), self.dimension), np.float32)
        spoken = [at for at, text in enumerate(texts) if words(text)]
        if spoken:
            vectors[spoken] = self._encode([texts[at] for at in spoken])
        return vectors

    def _encode(self, texts: Sequence[str]) -> Vectors:
        model = self._loaded()
        try:
            vectors: Vectors = model.encode(
                list(texts), batch_size=self._batch_size, normalize_embeddings=True, show_progress_bar=False
            )
        except (RuntimeError, ValueError) as error:
            raise EmbedderError(f"model {self._source!r} failed: {_first_line(error)}") from error
        return vectors

    def _loaded(self) -> Any:
        with self._lock:
            if self._model is None:
                try:
                    from sentence_transformers import SentenceTransformer
                except ImportError as error:
                    raise EmbedderError(
                        "the library sentence-transformers is not installed",
                        hint=install_command("stitch-memory[sentence-transformers]"),
                    ) from error
                try:
                    self._model = SentenceTransformer(self._source, device=self._device, local_files_only=True)
                except (OSError, RuntimeError, ValueError) as error:
                    raise EmbedderError(
                        f"cannot load model {self._source!r}: {_first_line(error)}",
                        hint=f"fetch it once with `hf download {self._source}`, or give the folder of a model",
                    ) from error
            return self._model


def _fingerprint(folder: Path) -> str:
    digest = hashlib.sha256()
    try:
        for file in sorted(folder.rglob("*")):
            if file.suffix in {".safetensors", ".bin"}:
                digest.update(file.read_bytes())
    except OSError as error:
        raise EmbedderError(f"cannot read the model in {str(folder)!r}: {error}") from error
    return f"{folder.name}-{digest.hexdigest()[:8]}"


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
