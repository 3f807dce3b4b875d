"""Make a fitted table for the static embedder, from packages to the files of a table; `README.md` says how."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from itertools import chain, groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from stitch.bench.fit.averaged import token_weights
from stitch.bench.fit.table.fit import FitSettings, HeldOut, Runs, fit, unit
from stitch.bench.fit.table.passages import Passages
from stitch.bench.fit.table.teacher import Teacher
from stitch.bench.fit.table.texts import Text, read_texts, sample_runs
from stitch.embed.static import TABLE, load_tokenizer, read_tokens

if TYPE_CHECKING:
    from stitch.core.protocols import Vectors

_FOLDER = click.Path(path_type=Path, exists=True, file_okay=False)
_AT_ONCE = 1000
"""Texts between two savings of what the teacher said."""

_SEED = 14
"""Of the choice of texts."""

_SIF = 1e-3
"""Coefficient of the weights with which tokens begin."""

_PART, _NUMBER = 0.35, 0.4
"""What the rest of a word that is cut, and what has digits, weigh beside a word: they say little of what a text is
about, but are rare in the vocabulary, and would weigh as much as rare words."""

_RUNS = 14_000
"""Runs of texts that the teacher reads; with half as many more the table found no more."""


def make_table(
    *, packages: Path, model: Path, work: Path, start: Path, out: Path, dimension: int, version: int
) -> HeldOut:
    """Make the table, write it to `out`, and return how well held-out texts are met.

    Args:
        packages: Folder of the packages that the README names.
        model: Folder of MiniLM.
        work: Folder for unpacked packages and for what the teacher said, so that a run can go on where it ended.
        start: Folder of a table with the same vocabulary; its tokenizer is kept.
        out: Folder to write.
        dimension: Principal components of the teacher that are kept.
        version: Goes into the name.

    Raises:
        SettingsError: A package is missing.
    """
    import numpy as np
    from safetensors.numpy import save_file

    work.mkdir(parents=True, exist_ok=True)
    every = list(read_texts(packages, work / "unpacked"))
    runs = sample_runs(iter(every), seed=_SEED)[:_RUNS]
    texts = [text.text for text in chain.from_iterable(runs)]
    teacher = Teacher(model)
    taught = _taught(teacher, texts, work)
    _values, vectors = np.linalg.eigh(taught.T @ taught)
    basis = vectors[:, ::-1][:, :dimension]
    tokenizer = json.loads((start / "tokenizer.json").read_bytes())
    vocabulary: dict[str, int] = tokenizer["model"]["vocab"]
    table = _beginning(teacher, sorted(vocabulary, key=vocabulary.__getitem__), basis)
    tokenizer = load_tokenizer(start)  # the tokens that the embedder will read
    found = Runs(read_tokens(tokenizer, texts), unit(taught @ basis), _neighbors(runs), len(table))
    passages = Passages(every, read_tokens(tokenizer, [text.text for text in every]))
    figures: list[HeldOut] = []

    def report(name: str, before: HeldOut, after: HeldOut) -> None:
        figures.append(after)
        sys.stderr.write(f"{name}: {before}, then {after}\n")

    fitted = fit(table, found, FitSettings(), passages=passages, report=report)
    fitted = _turned(fitted, start, found)
    out.mkdir(parents=True, exist_ok=True)
    scale = np.abs(fitted).max() / 127
    save_file({"embeddings": np.rint(fitted / scale).astype(np.int8)}, out / "model.safetensors")
    (out / "tokenizer.json").write_bytes((start / "tokenizer.json").read_bytes())
    config = json.loads((start / "config.json").read_bytes())
    config |= {"name": f"minilm-static-{dimension}-v{version}", "hidden_dim": dimension, "apply_pca": dimension}
    (out / "config.json").write_text(json.dumps(config, indent=4))
    return max(figures, key=lambda held_out: held_out.agreement)


def _turned(table: Vectors, start: Path, runs: Runs) -> Vectors:
    # A rotation changes no similarity. This one brings texts as near as can be to where the table before had them,
    # so that weights fitted on its vectors (which answer fits a question) keep their meaning (orthogonal Procrustes).
    import numpy as np
    from safetensors.numpy import load_file

    before = load_file(start / "model.safetensors")["embeddings"].astype(np.float32)
    if before.shape != table.shape:
        return table
    rows = runs.rows([(place,) for place in range(len(runs.tokens))])
    left, _sizes, right = np.linalg.svd(unit(rows @ table).T @ unit(rows @ before))
    turned: Vectors = table @ (left @ right)
    return turned


def _neighbors(runs: Sequence[tuple[Text, ...]]) -> list[tuple[int, ...]]:
    # The texts of a run that are from one document, by their places; one alone has no neighbors.
    found: list[tuple[int, ...]] = []
    places = enumerate(chain.from_iterable(runs))
    for run in runs:
        of_run = [next(places) for _ in run]
        for _, group in groupby(of_run, key=lambda entry: entry[1].document):
            found.append(tuple(place for place, _text in group))
    return [group for group in found if len(group) > 1]


def _taught(teacher: Teacher, texts: Sequence[str], work: Path) -> Vectors:
    import numpy as np

    said, vectors = work / "taught.json", work / "taught.npy"
    known: list[str] = json.loads(said.read_bytes())[: len(texts)] if said.is_file() else []
    if known != list(texts[: len(known)]):
        known = []
    parts: list[Vectors] = [np.load(vectors)[: len(known)]] if known else []
    for at in range(len(known), len(texts), _AT_ONCE):
        parts.append(teacher.embed(texts[at : at + _AT_ONCE]))
        np.save(vectors, np.concatenate(parts))
        said.write_text(json.dumps(texts[: at + _AT_ONCE]))
        sys.stderr.write(f"the teacher has read {min(at + _AT_ONCE, len(texts))} of {len(texts)} texts\n")
    return np.concatenate(parts)


def _beginning(teacher: Teacher, vocabulary: Sequence[str], basis: Vectors) -> Vectors:
    # As Model2Vec does: what the teacher makes of each token alone, weighed by its estimated frequency.
    import numpy as np

    alone = teacher.embed_tokens(vocabulary)
    table = ((alone - alone.mean(axis=0)) @ basis) * token_weights(vocabulary, sif=_SIF)[:, None]
    table /= np.linalg.norm(table, axis=1).mean()
    for place, token in enumerate(vocabulary):
        table[place] *= _NUMBER if any(map(str.isdigit, token)) else _PART if token.startswith("##") else 1
    table[vocabulary.index("[UNK]")] = 0
    beginning: Vectors = table.astype(np.float32)
    return beginning


@click.command()
@click.option("--packages", required=True, type=_FOLDER, help="Folder of the packages that the README names.")
@click.option("--model", required=True, type=_FOLDER, help="Folder of MiniLM.")
@click.option("--work", required=True, type=click.Path(path_type=Path), help="Folder for what is in between.")
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Folder to write.")
@click.option("--start", default=TABLE, type=_FOLDER, help="Whose vocabulary is kept (that of the shipped table).")
@click.option("--dimension", default=256, show_default=True, help="Components kept.")
@click.option("--version", default=2, show_default=True, help="Goes into the name.")
def command(out: Path, **options: Any) -> None:
    """Make a fitted table for the static embedder."""
    click.echo(f"{out}: {make_table(out=out, **options)}")
