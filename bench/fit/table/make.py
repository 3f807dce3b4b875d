"""Make a fitted table for the static embedder, from packages to the files of a table; `README.md` says how."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from itertools import chain, groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from stitch.bench.fit.table.fit import FitSettings, Passages, Runs, fit, unit
from stitch.bench.fit.table.texts import Text, read_texts, sample_runs
from stitch.embed.static import TABLE, TokenReader

if TYPE_CHECKING:
    from stitch.core.protocols import Vectors

SIF = 1e-3
"""Coefficient of the weights of tokens by frequency."""
CHARACTER_RANK = 50
"""The rank by frequency that a single character is taken to have: as frequent as a common word."""
MAX_TOKENS = 96
"""Tokens that the teacher reads of a text; its neighbors say what is further on."""
_BATCH = 512
"""Tokens that it reads at once: what they need stays in the processor's cache."""
_SEED = 14
"""Of the choice of texts."""
_RUNS = 14_000
"""Runs of texts that the teacher reads; with half as many more the table found no more."""
DIMENSION = 256
_PART, _NUMBER = 0.35, 0.4
"""What the rest of a word that is cut, and what has digits, weigh beside a word: they say little of what a text is
about, but are rare in the vocabulary, and would weigh as much as rare words."""


class Teacher:
    """Sentence vectors of a Sentence Transformer of BERT's kind (Devlin et al. 2019), in numpy: without torch."""

    def __init__(self, folder: Path) -> None:
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer

        weights = load_file(folder / "model.safetensors")
        self._weights = {name.removeprefix("bert."): value for name, value in weights.items()}
        self._config = json.loads((folder / "config.json").read_bytes())
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(MAX_TOKENS)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One unit vector per text."""
        tokens = [encoding.ids for encoding in self._tokenizer.encode_batch(list(texts))]
        order = sorted(range(len(tokens)), key=lambda place: len(tokens[place]))
        vectors: Any = [None] * len(texts)
        for length, group in groupby(order, key=lambda place: len(tokens[place])):  # so that nothing is padded
            places, at_once = list(group), max(1, -(-_BATCH // length))
            for at in range(0, len(places), at_once):
                own = places[at : at + at_once]
                for place, vector in zip(own, self._forward(np.array([tokens[each] for each in own])), strict=True):
                    vectors[place] = vector
        return unit(np.array(vectors, np.float32))

    def embed_tokens(self, tokens: Sequence[str]) -> Vectors:
        """A vector of each token alone, not of unit length."""
        first, last = (self._tokenizer.token_to_id(token) for token in ("[CLS]", "[SEP]"))
        found = np.array([[first, self._tokenizer.token_to_id(token), last] for token in tokens])
        at_once = _BATCH // found.shape[1]
        return np.concatenate([self._forward(found[at : at + at_once]) for at in range(0, len(found), at_once)])

    def _forward(self, tokens: Any) -> Vectors:
        """The mean of the last layer over tokens."""
        from scipy.special import erf, softmax

        weights, (texts, length) = self._weights, tokens.shape
        half = np.float32(0.5)

        def linear(x: Vectors, name: str) -> Vectors:
            found: Vectors = x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]
            return found

        def norm(x: Vectors, name: str) -> Vectors:
            x = x - x.mean(axis=-1, keepdims=True)
            x /= np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + float(self._config["layer_norm_eps"]))
            found: Vectors = x * weights[f"{name}.weight"] + weights[f"{name}.bias"]
            return found

        x = (
            weights["embeddings.word_embeddings.weight"][tokens]
            + weights["embeddings.position_embeddings.weight"][:length]
            + weights["embeddings.token_type_embeddings.weight"][0]
        )
        x = norm(x, "embeddings.LayerNorm").reshape(texts * length, -1)
        for name in (f"encoder.layer.{layer}" for layer in range(self._config["num_hidden_layers"])):
            query, key, value = (
                linear(x, f"{name}.attention.self.{part}")
                .reshape(texts, length, self._config["num_attention_heads"], -1)
                .transpose(0, 2, 1, 3)
                for part in ("query", "key", "value")
            )
            scores = softmax(query @ key.transpose(0, 1, 3, 2) / np.float32(np.sqrt(query.shape[-1])), axis=-1)
            mixed = (scores @ value).transpose(0, 2, 1, 3).reshape(texts * length, -1)
            x = norm(x + linear(mixed, f"{name}.attention.output.dense"), f"{name}.attention.output.LayerNorm")
            inner = linear(x, f"{name}.intermediate.dense")
            inner = half * inner * (1 + erf(inner * half**half))
            x = norm(x + linear(inner, f"{name}.output.dense"), f"{name}.output.LayerNorm")
        mean: Vectors = x.reshape(texts, length, -1).mean(axis=1)
        return mean


def make_table(*, packages: Path, model: Path, work: Path, start: Path, dimension: int) -> Vectors:
    """The fitted token vectors.

    `work` is for unpacked packages, and for the texts that the teacher read; `start` holds a table with the vocabulary.

    Raises:
        SettingsError: A package is missing.
    """
    work.mkdir(parents=True, exist_ok=True)
    every = list(read_texts(packages, work / "unpacked"))
    runs = sample_runs(iter(every), seed=_SEED)[:_RUNS]
    texts = [text.text for text in chain.from_iterable(runs)]
    (work / "taught.json").write_text(json.dumps(texts))
    teacher = Teacher(model)
    taught = teacher.embed(texts)
    sys.stderr.write(f"the teacher has read {len(texts)} texts\n")
    basis = np.linalg.eigh(taught.T @ taught)[1][:, ::-1][:, :dimension]
    vocabulary: dict[str, int] = json.loads((start / "tokenizer.json").read_bytes())["model"]["vocab"]
    table = _beginning(teacher, sorted(vocabulary, key=vocabulary.__getitem__), basis)
    reader = TokenReader(start)  # the tokens that the embedder will read
    found = Runs(reader.read(texts), unit(taught @ basis), _neighbors(runs), len(table))
    passages = Passages(every, reader.read([text.text for text in every]))
    return _turned(
        fit(table, found, FitSettings(), passages=passages), start, found.rows([(n,) for n in range(len(texts))])
    )


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


def _beginning(teacher: Teacher, vocabulary: Sequence[str], basis: Vectors) -> Vectors:
    # As Model2Vec does: what the teacher makes of each token alone, weighed by its estimated frequency.
    alone = teacher.embed_tokens(vocabulary)
    table = ((alone - alone.mean(axis=0)) @ basis) * token_weights(vocabulary, sif=SIF)[:, None]
    table /= np.linalg.norm(table, axis=1).mean()
    for place, token in enumerate(vocabulary):
        table[place] *= _NUMBER if any(map(str.isdigit, token)) else _PART if token.startswith("##") else 1
    table[vocabulary.index("[UNK]")] = 0
    beginning: Vectors = table.astype(np.float32)
    return beginning


def _neighbors(runs: Sequence[tuple[Text, ...]]) -> list[tuple[int, ...]]:
    # The texts of a run that are from one document, by their places; one alone has no neighbors.
    places = enumerate(chain.from_iterable(runs))
    groups = (
        tuple(place for place, _ in group)
        for run in runs
        for _, group in groupby([next(places) for _ in run], key=lambda entry: entry[1].document)
    )
    return [group for group in groups if len(group) > 1]


def _turned(table: Vectors, start: Path, rows: Any) -> Vectors:
    # A rotation changes no similarity. This one brings texts as near as can be to where the table before had them,
    # so that weights fitted on its vectors (which answer fits a question) keep their meaning (orthogonal Procrustes).
    from safetensors.numpy import load_file

    before = load_file(start / "model.safetensors")["embeddings"].astype(np.float32)
    if before.shape != table.shape:
        return table
    left, _sizes, right = np.linalg.svd(unit(rows @ table).T @ unit(rows @ before))
    turned: Vectors = table @ (left @ right)
    return turned


_FOLDER = click.Path(path_type=Path, exists=True, file_okay=False)


@click.command()
@click.option("--packages", required=True, type=_FOLDER, help="Folder of the packages that the README names.")
@click.option("--model", required=True, type=_FOLDER, help="Folder of MiniLM.")
@click.option("--work", required=True, type=click.Path(path_type=Path), help="Folder for what is in between.")
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Folder to write.")
def command(packages: Path, model: Path, work: Path, out: Path) -> None:
    """Make a fitted table for the static embedder."""
    from safetensors.numpy import save_file

    table = make_table(packages=packages, model=model, work=work, start=TABLE, dimension=DIMENSION)
    out.mkdir(parents=True, exist_ok=True)
    scale = np.abs(table).max() / 127
    save_file({"embeddings": np.rint(table / scale).astype(np.int8)}, out / "model.safetensors")
    (out / "tokenizer.json").write_bytes((TABLE / "tokenizer.json").read_bytes())
    config = json.loads((TABLE / "config.json").read_bytes())
    config |= {"name": f"minilm-static-{DIMENSION}-v2", "hidden_dim": DIMENSION, "apply_pca": DIMENSION}
    (out / "config.json").write_text(json.dumps(config, indent=4))
    click.echo(f"{out}: {len(table)} tokens")
