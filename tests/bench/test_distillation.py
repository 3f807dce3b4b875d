"""Making the table: what is read, what the teacher says, and that a fit brings sums of tokens nearer to the teacher."""

import json
import math
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import TemplateProcessing

from stitch.bench.distillation.fit import FitSettings, Runs, fit, gradient, unit
from stitch.bench.distillation.teacher import Teacher, gelu
from stitch.bench.distillation.texts import MAX_CHARS, SHORT_CHARS, parts, read_texts, shortened
from stitch.errors import SettingsError


def test_a_long_passage_is_cut_into_whole_sentences_and_nothing_is_lost():
    passage = "The harbor was quiet that night. " * 40
    found = list(parts(passage))
    assert " ".join(found).split() == passage.split()
    assert all(len(part) <= MAX_CHARS and part.endswith(".") for part in found)


@pytest.mark.parametrize("passage", ["", "two words", "1 2 3 4"])
def test_what_says_nothing_is_left_out(passage):
    assert list(parts(passage)) == []


def test_a_text_is_shortened_to_whole_words():
    text = "harbor " * 60
    assert len(shortened(text)) <= SHORT_CHARS
    assert set(shortened(text).split()) == {"harbor"}


def test_a_package_that_is_missing_is_named(tmp_path):
    with pytest.raises(SettingsError, match="usr/share/wordnet"):
        list(read_texts(tmp_path, tmp_path / "unpacked"))


def test_the_fast_activation_is_the_exact_one():
    x = np.linspace(-8, 8, 1001, dtype=np.float32)
    exact = [value * 0.5 * (1 + math.erf(value / 2**0.5)) for value in x.tolist()]
    assert np.abs(gelu(x) - exact).max() < 2e-6


@pytest.fixture
def model(tmp_path):
    """A BERT with one layer and random weights."""
    vocabulary = {token: at for at, token in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "red", "green", "boat"])}
    tokenizer = Tokenizer(WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = BertPreTokenizer()
    tokenizer.post_processor = TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "config.json").write_text(
        json.dumps({"num_hidden_layers": 1, "num_attention_heads": 2, "layer_norm_eps": 1e-12})
    )
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (7, 8),
        "embeddings.position_embeddings.weight": (128, 8),
    }
    shapes |= {"embeddings.token_type_embeddings.weight": (2, 8)}
    layer = "encoder.layer.0"
    for name, (wide, deep) in {
        "attention.self.query": (8, 8), "attention.self.key": (8, 8), "attention.self.value": (8, 8),
        "attention.output.dense": (8, 8), "intermediate.dense": (16, 8), "output.dense": (8, 16),
    }.items():  # fmt: skip
        shapes |= {f"{layer}.{name}.weight": (wide, deep), f"{layer}.{name}.bias": (wide,)}
    for name in ("embeddings", f"{layer}.attention.output", f"{layer}.output"):
        shapes |= {f"{name}.LayerNorm.weight": (8,), f"{name}.LayerNorm.bias": (8,)}
    rng = np.random.default_rng(0)
    save_file(
        {name: rng.normal(size=size).astype(np.float32) for name, size in shapes.items()},
        tmp_path / "model.safetensors",
    )
    return tmp_path


def test_a_text_has_the_same_vector_whatever_stands_beside_it(model):
    teacher = Teacher(model)
    texts = ["red boat", "green", "red green boat boat"]
    together = teacher.embed(texts)
    assert np.allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)
    assert np.allclose(together, [teacher.embed([text])[0] for text in texts], atol=1e-5)
    assert np.allclose(unit(teacher.embed_tokens(["green"])), teacher.embed(["green"]), atol=1e-5)


def _normal(rng: Any, *size: int) -> Any:
    return rng.normal(size=size)


def test_the_gradient_is_that_of_differences():
    rng = np.random.default_rng(1)
    targets = unit(_normal(rng, 6, 4))
    sums = _normal(rng, 6, 4)
    settings = FitSettings(cosine=1, similarity=0, neighbor=0)
    found = gradient(sums, targets, settings)

    def loss(at):
        return -np.sum(unit(at) * targets) / len(targets)

    step = np.zeros_like(sums)
    step[2, 1] = 1e-5
    assert found[2, 1] == pytest.approx((loss(sums + step) - loss(sums - step)) / 2e-5, abs=1e-6)


def test_a_fit_meets_the_teacher_better_and_no_token_grows_beyond_its_bound():
    rng = np.random.default_rng(2)
    truth = rng.normal(size=(40, 8)).astype(np.float32)
    tokens = [rng.choice(40, size=5, replace=False).tolist() for _ in range(600)]
    targets = unit(np.array([truth[found].sum(axis=0) for found in tokens]))
    runs = Runs(tokens, targets, [range(at, at + 3) for at in range(0, 600, 3)], 40)
    start = (truth + rng.normal(size=truth.shape)).astype(np.float32)
    figures = []
    table = fit(
        start, runs, FitSettings(batch=32, rounds=4, rate=0.05, held_out=0.2), lambda _, found: figures.append(found)
    )
    assert max(figures, key=lambda found: found.score).cosine > figures[0].cosine + 0.02
    assert (np.linalg.norm(table, axis=1) <= 1.5 * np.linalg.norm(start, axis=1) + 1e-4).all()
