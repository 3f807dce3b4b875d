"""A BERT as an ONNX graph, written from its weights; neither torch nor the library `onnx` is needed.

Source: BERT (Devlin et al. 2019); the fused operators are those of ONNX Runtime (`com.microsoft`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from stitch.embed.onnx_file import CONTRIB, Graph

if TYPE_CHECKING:
    from stitch.core.protocols import Vectors

Precision = Literal["float", "int8"]


@dataclass(frozen=True)
class Shape:
    """What the configuration of a BERT says of its graph."""

    layers: int
    heads: int
    width: int
    epsilon: float

    @classmethod
    def read(cls, folder: Path) -> Shape:
        """Of `config.json`.

        Raises:
            ValueError: It is no BERT that this graph computes.
            OSError: There is no such file.
            KeyError: Something is not said.
        """
        config = json.loads((folder / "config.json").read_bytes())
        if config["hidden_act"] != "gelu" or config.get("position_embedding_type", "absolute") != "absolute":
            raise ValueError("only BERT with gelu and absolute positions is computed here")
        return cls(
            int(config["num_hidden_layers"]),
            int(config["num_attention_heads"]),
            int(config["hidden_size"]),
            float(config["layer_norm_eps"]),
        )


def read_weights(folder: Path) -> dict[str, Vectors]:
    """The weights of `model.safetensors` as 32-bit floats, by the names of Transformers without the prefix `bert.`."""
    import numpy as np
    from safetensors.numpy import load_file

    found = load_file(folder / "model.safetensors")
    return {
        name.removeprefix("bert."): np.ascontiguousarray(array, np.float32)
        for name, array in found.items()
        if np.issubdtype(array.dtype, np.floating)
    }


def bert_model(weights: Mapping[str, Vectors], shape: Shape, *, precision: Precision) -> bytes:
    """An ONNX model with the inputs `tokens` (texts by length, padded at the end) and `lengths`; out come `states`.

    Args:
        weights: As `read_weights` gives them.
        shape: Of the model.
        precision: With `int8`, weights of linear layers are whole numbers with a scale for each output, and what goes
            into a layer is rounded with one scale for all texts of a call. So texts are to be given one by one.

    Raises:
        KeyError: A weight is missing.
    """
    import numpy as np

    graph = Graph("bert")
    graph.input("tokens", "int32", ("texts", "length"))
    graph.input("lengths", "int32", ("texts",))
    linear = _Linear(graph, weights, precision)
    words = graph.constant("words", weights["embeddings.word_embeddings.weight"])
    places = weights["embeddings.position_embeddings.weight"] + weights["embeddings.token_type_embeddings.weight"][0]
    end = graph.add("Shape", ["tokens"], "end", start=1, end=2)
    first = graph.constant("first", np.zeros(1, np.int64))
    x = graph.add("Gather", [words, "tokens"], "of_words")
    x = graph.add(
        "Add", [x, graph.add("Slice", [graph.constant("places", places), first, end, first], "of_places")], "sum"
    )
    norm = [graph.constant(f"norm.{part}", weights[f"embeddings.LayerNorm.{part}"]) for part in ("weight", "bias")]
    x = graph.add("LayerNormalization", [x, *norm], "state", axis=-1, epsilon=shape.epsilon)
    for layer in range(shape.layers):
        name = f"encoder.layer.{layer}"
        queries = [f"{name}.attention.self.{part}" for part in ("query", "key", "value")]
        parts = [f"{name}.q", f"{name}.k", f"{name}.v"]
        graph.add("Split", [linear.apply(x, queries)], parts, axis=-1, num_outputs=3)
        mixed = graph.add(
            "MultiHeadAttention", [*parts, "", "lengths"], f"{name}.mixed", domain=CONTRIB, num_heads=shape.heads
        )
        x = linear.add_and_norm(mixed, x, f"{name}.attention.output", epsilon=shape.epsilon)
        inner = graph.add("Gelu", [linear.apply(x, [f"{name}.intermediate.dense"])], f"{name}.gelu", domain=CONTRIB)
        x = linear.add_and_norm(inner, x, f"{name}.output", epsilon=shape.epsilon)
    graph.add("Identity", [x], "states")
    return graph.to_bytes("states", "float32", ("texts", "length", shape.width))


class _Linear:
    # The linear layers of a graph.

    def __init__(self, graph: Graph, weights: Mapping[str, Vectors], precision: Precision) -> None:
        self._graph, self._weights, self._precision = graph, weights, precision

    def apply(self, x: str, names: list[str]) -> str:
        """One layer, or several side by side."""
        import numpy as np

        graph, name = self._graph, names[0]
        matrix = np.concatenate([self._weights[f"{each}.weight"].T for each in names], axis=1)
        bias = np.concatenate([self._weights[f"{each}.bias"] for each in names])
        if self._precision == "float":
            product = graph.add("MatMul", [x, graph.constant(f"{name}.weight", matrix)], f"{name}.product")
            return graph.add("Add", [product, graph.constant(f"{name}.bias", bias)], f"{name}.sum")
        # Without a sign: where a processor has no instructions for them (VNNI), products of numbers with and without a
        # sign are summed in 16 bits and cut off there, so that a text would have another vector on another machine.
        scale: Any = np.maximum(np.abs(matrix).max(axis=0) / 127, 1e-12).astype(np.float32)
        whole = (np.rint(matrix / scale) + 128).astype(np.uint8)
        given = {"weight": whole, "scale": scale, "zero": np.full(len(bias), 128, np.uint8), "bias": bias}
        constants = [graph.constant(f"{name}.{part}", array) for part, array in given.items()]
        return graph.add("DynamicQuantizeMatMul", [x, *constants], f"{name}.sum", domain=CONTRIB)

    def add_and_norm(self, x: str, before: str, name: str, *, epsilon: float) -> str:
        """A layer, the state before it added, and the norm of both."""
        changed = self.apply(x, [f"{name}.dense"])
        norm = [
            self._graph.constant(f"{name}.norm.{part}", self._weights[f"{name}.LayerNorm.{part}"])
            for part in ("weight", "bias")
        ]
        return self._graph.add(
            "SkipLayerNormalization", [changed, before, *norm], f"{name}.state", domain=CONTRIB, epsilon=epsilon
        )
