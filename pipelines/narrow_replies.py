"""Narrow the token vectors that local labels read to what their weights read of them.

    python -m stitch.pipelines.distill --out averaged
    python -m stitch.pipelines.narrow_replies --table averaged --texts work/taught.json --out stitch/label/local

The matrices of `reply_weights.json` read some directions of a vector. These are kept, and of the rest the principal
ones of texts, as many as make up the dimension. Vectors and matrices are turned there, so that what they give is nearly
the same: the length of a text is that of what is kept. What ships had the first 20,000 texts that
`stitch.bench.distillation` draws.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from stitch.embed import StaticEmbedder
from stitch.label.local.replies import Replies, as_data, replies_from

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from stitch.core.protocols import Vectors

_TEXTS = 20_000


def directions(replies: Replies, vectors: NDArray[np.float64], *, dimension: int) -> NDArray[np.float64]:
    """An orthonormal basis of what the matrices read, and of the principal directions of the vectors beside it."""
    import numpy as np

    read = np.hstack([replies.last[:-1], replies.answers[:-1], replies.gist]).astype(np.float64)
    basis, _ = np.linalg.qr(read)
    rest = vectors - (vectors @ basis) @ basis.T
    _, principal = np.linalg.eigh(rest.T @ rest)
    found: NDArray[np.float64] = np.hstack([basis, principal[:, ::-1][:, : max(dimension - basis.shape[1], 0)]])[
        :, :dimension
    ]
    return found


def narrowed(replies: Replies, basis: NDArray[np.float64], *, kept: NDArray[np.float64]) -> Replies:
    """The matrices for vectors in a basis; `kept` is how long unit vectors of texts are there."""
    import numpy as np

    share = float(np.mean(kept**2) / np.mean(kept))  # the best that one number can do for all lengths

    def turned(matrix: Vectors) -> Vectors:
        wide = basis.shape[0]
        found: Vectors = np.vstack([share * (basis.T @ matrix[:wide]), matrix[wide:]]).astype(np.float32)
        return found

    return replace(replies, last=turned(replies.last), gist=turned(replies.gist), answers=turned(replies.answers))


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the narrow table and the weights that read it."""
    import numpy as np
    from safetensors.numpy import load_file, save_file

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", type=Path, required=True, help="folder of the table the weights were fitted on")
    parser.add_argument("--texts", type=Path, required=True, help="a JSON list of texts")
    parser.add_argument(
        "--out", type=Path, required=True, help="folder of reply_weights.json; the table goes to table/"
    )
    parser.add_argument("--dimension", type=int, default=128, help="(default: %(default)s)")
    options = parser.parse_args(arguments)
    weights = options.out / "reply_weights.json"
    data = json.loads(weights.read_bytes())
    replies = replies_from(data)
    texts = json.loads(options.texts.read_bytes())[:_TEXTS]
    vectors = StaticEmbedder(options.table).embed(texts).astype(np.float64)
    basis = directions(replies, vectors, dimension=options.dimension)
    table = load_file(options.table / "model.safetensors")["embeddings"].astype(np.float64) @ basis
    rounded = np.rint(table / (np.abs(table).max() / 127)).astype(np.int8)
    config = json.loads((options.table / "config.json").read_bytes())
    config |= {"name": f"{config['name']}-replies", "hidden_dim": options.dimension, "apply_pca": options.dimension}
    folder = options.out / "table"
    folder.mkdir(exist_ok=True)
    save_file({"embeddings": rounded}, folder / "model.safetensors")
    (folder / "model.safetensors").chmod(0o644)
    (folder / "config.json").write_text(json.dumps(config, indent=4))
    found = as_data(narrowed(replies, basis, kept=np.linalg.norm(vectors @ basis, axis=1)))
    rows = {name: json.dumps(value) for name, value in found.items()}
    lines = [f'"{name}": {text.replace("], [", f"],{chr(10)}[")}' for name, text in rows.items()]
    weights.write_text("{" + ",\n".join([f'"made_by": "{data["made_by"]}"', *lines]) + "}\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
