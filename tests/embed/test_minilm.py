"""MiniLM through ONNX Runtime: the packaged weights where they are installed, and what is said where they are not."""

import shutil
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest

from contracts.embedder import EmbedderContract
from stitch import open_memory
from stitch.core.text_cache import clear_text_caches
from stitch.embed import MiniLMEmbedder
from stitch.embed.minilm import PACKAGE
from stitch.errors import EmbedderError, SettingsError, StoreMismatchError

with_weights = pytest.mark.skipif(
    find_spec("onnxruntime") is None or find_spec(PACKAGE) is None, reason="the extra neural is not installed"
)
TEXTS = ["the red boat", "green", "the boat sails to the harbor at night", "café, 3.50 €", "at night"]


@with_weights
class TestWithMiniLM(EmbedderContract):
    @pytest.fixture
    def embedder(self):
        return MiniLMEmbedder()

    def test_meaning_counts_where_no_word_is_shared(self, embedder):
        asked, near, far = embedder.embed(
            ["Where shall we eat tonight?", "Dinner at an Italian restaurant", "Fix the failing unit test"]
        )
        assert asked @ near > asked @ far + 0.2

    def test_vectors_of_the_reference(self, embedder):
        vector = embedder.embed(["the boat sails to the harbor at night"])[0]
        assert vector.shape == (384,)
        assert np.allclose(vector[:4], REFERENCE, atol=0.02)

    def test_a_text_has_the_same_vector_whatever_stands_beside_it(self, embedder):
        together = embedder.embed(TEXTS)
        alone = [MiniLMEmbedder().embed([text])[0] for text in TEXTS]
        assert np.array_equal(together, alone)

    def test_of_a_long_text_the_beginning_is_read(self, embedder):
        assert np.array_equal(*embedder.embed(["red boat " * 200 + ending for ending in ("night", "harbor")]))

    def test_vectors_are_remembered_until_texts_are_forgotten(self, embedder):
        before = embedder.embed(TEXTS)
        assert embedder._vector.cache_info().currsize == len(TEXTS)
        clear_text_caches()
        assert embedder._vector.cache_info().currsize == 0
        assert np.array_equal(embedder.embed(TEXTS), before)

    def test_a_folder_of_ones_own_is_read_and_named_by_its_weights(self, embedder, tmp_path):
        (tmp_path / "own" / "onnx").mkdir(parents=True)
        shutil.copy(embedder._file, tmp_path / "own" / "onnx" / "model.onnx")
        embedder._model.tokenizer.save(str(tmp_path / "own" / "tokenizer.json"))
        own = MiniLMEmbedder(tmp_path / "own")
        assert own.name == embedder.name
        assert np.array_equal(own.embed(TEXTS), embedder.embed(TEXTS))

    def test_a_memory_keeps_to_its_model_and_brings_in_no_torch(self, tmp_path):
        code = (
            "import sys\nfrom stitch import open_memory\nfrom stitch.core import Step\n"
            f"with open_memory({str(tmp_path / 'm')!r}, embedder='minilm') as memory:\n"
            "    memory.add(Step(role='user', content='the red boat'), trajectory='t')\n"
            "    assert memory.search('a ship', k=1, trajectory='t').hits[0].snippet.text == 'the red boat'\n"
            "heavy = {'torch', 'transformers', 'sentence_transformers', 'onnx'} & set(sys.modules)\n"
            "assert not heavy, heavy\n"
        )
        subprocess.run([sys.executable, "-c", code], check=True)
        with pytest.raises(StoreMismatchError, match="minilm-onnx") as raised:
            open_memory(tmp_path / "m")
        assert "reindex" in raised.value.hint


REFERENCE = (-0.0010, 0.0658, 0.0070, 0.0944)


@pytest.mark.skipif(find_spec("onnxruntime") is None, reason="the extra neural is not installed")
@pytest.mark.parametrize("content", [None, b"", b"garbage" * 100])
def test_a_broken_model_is_an_error_that_names_the_file(tmp_path, content):
    if content is not None:
        (tmp_path / "model.onnx").write_bytes(content)
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(EmbedderError, match="the model") as raised:
        MiniLMEmbedder(tmp_path).embed(["red"])
    assert "stitch-memory[neural]" in raised.value.hint


def test_without_the_runtime_the_command_that_installs_it_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr("stitch.errors.find_spec", lambda _: None)
    with pytest.raises(SettingsError, match="onnxruntime") as raised:
        open_memory(tmp_path / "m", embedder="minilm")
    assert "stitch-memory[neural]" in raised.value.hint
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(EmbedderError, match="onnxruntime"):
        assert MiniLMEmbedder(tmp_path).dimension


def test_without_weights_the_extra_that_has_them_is_named(monkeypatch):
    monkeypatch.setattr("stitch.embed.minilm.find_spec", lambda _: None)
    with pytest.raises(EmbedderError, match="weights of MiniLM") as raised:
        assert MiniLMEmbedder().name
    assert "stitch-memory[neural]" in raised.value.hint


@pytest.mark.parametrize("name", ["nobody/no-such-model", "not a name"])
def test_a_name_is_looked_up_in_the_local_cache_alone(name, monkeypatch, tmp_path):
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(EmbedderError, match="local cache") as raised:
        assert MiniLMEmbedder(name).name
    assert "hf download" in raised.value.hint
