"""The token vectors that local labels read, narrowed to what their weights read of them.

The matrices of `reply_weights.json` read some directions of a vector. These are kept, and of the rest the principal
ones of texts, as many as make up the dimension. Vectors and matrices are turned there, so that what they give is nearly
the same. What ships had the first 20,000 texts that `stitch.bench.fit.table` draws (`work/taught.json`).
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from stitch.bench.fit.replies import write_replies
from stitch.embed import StaticEmbedder
from stitch.label.local.replies import Replies, replies_from

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from stitch.core.protocols import Vectors

_TEXTS = 20_000
_FOLDER = click.Path(path_type=Path, exists=True, file_okay=False)


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


@click.command()
@click.option(
    "--table", required=True, type=_FOLDER, help="The table that the weights were fitted on (`fit averaged`)."
)
@click.option("--texts", required=True, type=click.Path(path_type=Path, exists=True), help="A JSON list of texts.")
@click.option("--out", required=True, type=_FOLDER, help="Folder of reply_weights.json; the table goes to table/.")
@click.option("--dimension", default=128, show_default=True)
def command(table: Path, texts: Path, out: Path, dimension: int) -> None:
    """Write the narrow table, and the weights turned to read it."""
    import numpy as np
    from safetensors.numpy import load_file, save_file

    data = json.loads((out / "reply_weights.json").read_bytes())
    replies = replies_from(data)
    read = json.loads(texts.read_bytes())[:_TEXTS]
    vectors = StaticEmbedder(table).embed(read).astype(np.float64)
    basis = directions(replies, vectors, dimension=dimension)
    turned = load_file(table / "model.safetensors")["embeddings"].astype(np.float64) @ basis
    rounded = np.rint(turned / (np.abs(turned).max() / 127)).astype(np.int8)
    config = json.loads((table / "config.json").read_bytes())
    config |= {"name": f"{config['name']}-replies", "hidden_dim": dimension, "apply_pca": dimension}
    folder = out / "table"
    folder.mkdir(exist_ok=True)
    save_file({"embeddings": rounded}, folder / "model.safetensors")
    (folder / "model.safetensors").chmod(0o644)
    (folder / "config.json").write_text(json.dumps(config, indent=4))
    kept = np.linalg.norm(vectors @ basis, axis=1)
    write_replies(narrowed(replies, basis, kept=kept), out, made_by=data["made_by"])
