"""The teacher: MiniLM in numpy, so that a table can be made without torch.

Source: BERT (Devlin et al. 2019), mean of the last layer over tokens as Sentence Transformers take it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stitch.core.protocols import Vectors

MAX_TOKENS = 96
"""Tokens that are read of a text; its neighbors say what is further on."""

_BATCH = 512
"""Tokens that are read at once: what they need stays in the processor's cache."""


class Teacher:
    """Sentence vectors of a BERT model.

    Args:
        folder: Of a Sentence Transformer of BERT's kind: `model.safetensors`, `tokenizer.json`, `config.json`.
    """

    def __init__(self, folder: Path) -> None:
        import json

        from safetensors.numpy import load_file
        from tokenizers import Tokenizer

        weights = load_file(folder / "model.safetensors")
        self._weights = {name.removeprefix("bert."): value for name, value in weights.items()}
        config = json.loads((folder / "config.json").read_bytes())
        self._layers, self._heads = int(config["num_hidden_layers"]), int(config["num_attention_heads"])
        self._epsilon = float(config["layer_norm_eps"])
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(MAX_TOKENS)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector per text."""
        import numpy as np

        tokens = [encoding.ids for encoding in self._tokenizer.encode_batch(list(texts))]
        order = sorted(range(len(tokens)), key=lambda place: len(tokens[place]))
        width = self._weights["embeddings.word_embeddings.weight"].shape[1]
        vectors = np.zeros((len(texts), width), np.float32)
        start = 0
        while start < len(order):  # texts of one length, so that nothing is padded
            length = len(tokens[order[start]])
            end = start
            while end < len(order) and (end - start) * length < _BATCH and len(tokens[order[end]]) == length:
                end += 1
            places = order[start:end]
            vectors[places] = self._forward(np.array([tokens[place] for place in places]))
            start = end
        found: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return found

    def embed_tokens(self, tokens: Sequence[str]) -> Vectors:
        """Return what the model makes of each token alone, not of unit length."""
        import numpy as np

        first, last = (self._tokenizer.token_to_id(token) for token in ("[CLS]", "[SEP]"))
        found = np.array([[first, self._tokenizer.token_to_id(token), last] for token in tokens])
        at_once = _BATCH // found.shape[1]
        return np.concatenate([self._forward(found[at : at + at_once]) for at in range(0, len(found), at_once)])

    def _forward(self, tokens: Vectors) -> Vectors:
        import numpy as np

        weights, (texts, length) = self._weights, tokens.shape

        def linear(x: Vectors, name: str) -> Vectors:
            found: Vectors = x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]
            return found

        def norm(x: Vectors, name: str) -> Vectors:
            x = x - x.mean(axis=-1, keepdims=True)
            x /= np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + self._epsilon)
            found: Vectors = x * weights[f"{name}.weight"] + weights[f"{name}.bias"]
            return found

        x = (
            weights["embeddings.word_embeddings.weight"][tokens]
            + weights["embeddings.position_embeddings.weight"][:length]
            + weights["embeddings.token_type_embeddings.weight"][0]
        )
        x = norm(x, "embeddings.LayerNorm").reshape(texts * length, -1)
        for layer in range(self._layers):
            name = f"encoder.layer.{layer}"
            query, key, value = (
                linear(x, f"{name}.attention.self.{part}").reshape(texts, length, self._heads, -1).transpose(0, 2, 1, 3)
                for part in ("query", "key", "value")
            )
            scores = query @ key.transpose(0, 1, 3, 2) / np.float32(np.sqrt(query.shape[-1]))
            scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
            scores /= scores.sum(axis=-1, keepdims=True)
            mixed = (scores @ value).transpose(0, 2, 1, 3).reshape(texts * length, -1)
            x = norm(x + linear(mixed, f"{name}.attention.output.dense"), f"{name}.attention.output.LayerNorm")
            inner = linear(x, f"{name}.intermediate.dense")
            inner = gelu(inner)
            x = norm(x + linear(inner, f"{name}.output.dense"), f"{name}.output.LayerNorm")
        mean: Vectors = x.reshape(texts, length, -1).mean(axis=1)
        return mean


def gelu(x: Vectors) -> Vectors:
    """The activation of BERT, x times the normal distribution's share below x, to 5e-7."""
    # The error function by Abramowitz and Stegun 7.1.26, to 1.5e-7: ten times as fast as that of scipy.
    import numpy as np

    size = np.abs(x) * np.float32(0.5**0.5)
    inverse = 1 / (1 + np.float32(0.3275911) * size)
    tail = np.float32(1.061405429) * inverse
    for factor in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
        tail += np.float32(factor)
        tail *= inverse
    tail *= np.exp(-size * size)
    found: Vectors = np.float32(0.5) * (x + np.abs(x) * (1 - tail))
    return found
