"""The static embedder: the shipped table, and tables that cannot be used."""

import json
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stitch.embed import StaticEmbedder
from stitch.embed.static import TABLE
from stitch.errors import EmbedderError
from stitch.testing.contracts.embedder import EmbedderContract

SHIPPED = StaticEmbedder()


class TestStaticEmbedder(EmbedderContract):
    @pytest.fixture
    def embedder(self):
        return SHIPPED


def test_the_name_says_model_dimension_and_version():
    assert SHIPPED.name == "minilm-static-256-v2"
    assert SHIPPED.dimension == 256


def test_the_shipped_table_has_at_most_ten_megabytes():
    assert sum(file.stat().st_size for file in TABLE.iterdir()) <= 10_000_000


@pytest.mark.parametrize(
    ("asked", "near", "far"),
    [
        ("What does the room cost per night?", "How much is the hotel?", "The dog runs in the park."),
        ("Which doctor did she see?", "Her appointment with the physician", "Fix the failing unit test"),
        ("The program crashes", "There is a bug in the software", "We walked along the beach"),
        ("My daughter is ill", "Her child has a fever", "The train leaves at nine"),
    ],
)
def test_meaning_counts_where_no_word_is_shared(asked, near, far):
    vectors = SHIPPED.embed([asked, near, far])
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.1


def test_numbers_tell_two_texts_apart():
    first, second = SHIPPED.embed(["restaurant for day 1", "restaurant for day 2"])
    assert first @ second < 0.999


def test_a_word_counts_once_however_often_it_occurs():
    once, often = SHIPPED.embed(["hotel breakfast", "hotel hotel breakfast hotel"])
    assert np.array_equal(once, often)


def test_the_end_of_a_long_text_counts():
    head = "the report of the committee " * 2000
    plain, ending = SHIPPED.embed([head, head + "elephants"])
    assert not np.array_equal(plain, ending)


@given(st.lists(st.text(max_size=60), max_size=5))
def test_any_text_has_a_finite_vector_of_length_one_or_zero(texts):
    vectors = SHIPPED.embed(texts)
    lengths = np.linalg.norm(vectors, axis=1)
    assert vectors.dtype == np.float32
    assert np.all((lengths == 0) | (np.abs(lengths - 1) < 1e-5))


def test_a_batch_larger_than_a_portion_is_the_same_as_its_texts_alone():
    texts = [f"step number {at} of the plan" for at in range(2100)]
    vectors = SHIPPED.embed(texts)
    picked = [0, 1023, 1024, 2099]
    assert np.array_equal(vectors[picked], SHIPPED.embed([texts[at] for at in picked]))


def test_threads_may_share_one_embedder():
    embedder = StaticEmbedder()
    texts = [f"visit {city}" for city in ("Paris", "London", "Rome", "Madrid")] * 5
    with ThreadPoolExecutor(4) as pool:
        rows = list(pool.map(lambda text: embedder.embed([text])[0], texts))
    assert np.array_equal(np.stack(rows), SHIPPED.embed(texts))


def test_using_it_touches_no_hub_no_torch_and_no_environment():
    code = (
        "import os, sys; before = dict(os.environ)\n"
        "from stitch.embed import StaticEmbedder\n"
        "assert 'numpy' not in sys.modules\n"
        "StaticEmbedder().embed(['a room'] * 20000)\n"
        "heavy = {'torch', 'transformers', 'huggingface_hub', 'httpx', 'sentence_transformers'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
        "assert dict(os.environ) == before, os.environ\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_model2vec_itself_reads_the_table():
    from model2vec import StaticModel
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    model = StaticModel(
        load_file(TABLE / "model.safetensors")["embeddings"],
        Tokenizer.from_file(str(TABLE / "tokenizer.json")),
        config=json.loads((TABLE / "config.json").read_text()),
        normalize=True,
    )
    [theirs] = model.encode(["four different plain words"])
    [ours] = SHIPPED.embed(["four different plain words"])
    assert theirs @ ours == pytest.approx(1, abs=1e-4)


def test_a_table_may_use_the_tokenizer_of_another(tmp_path):
    for name in ("model.safetensors", "config.json"):
        shutil.copy(TABLE / name, tmp_path)
    texts = ["a room by the harbor", "Zug um 9:15"]
    alike = StaticEmbedder(tmp_path, vocabulary_of=SHIPPED)
    assert np.array_equal(alike.embed(texts), SHIPPED.embed(texts))


def test_a_missing_table_is_named_with_the_command_that_makes_one(tmp_path):
    with pytest.raises(EmbedderError, match="no table of token vectors") as raised:
        StaticEmbedder(tmp_path / "nowhere")
    assert "stitch.bench.fit averaged" in raised.value.hint


@pytest.mark.parametrize("config", ["{}", "[]", "not json", '{"name": "x", "hidden_dim": "many"}'])
def test_a_folder_that_is_no_table_is_refused(tmp_path, config):
    (tmp_path / "config.json").write_text(config)
    with pytest.raises(EmbedderError, match="no table of token vectors"):
        StaticEmbedder(tmp_path)


@pytest.mark.parametrize("broken", ["model.safetensors", "tokenizer.json"])
@pytest.mark.parametrize("content", [None, b"", b"garbage" * 100])
def test_a_broken_table_is_an_error_at_first_use_and_at_every_use(tmp_path, broken, content):
    folder = tmp_path / "table"
    shutil.copytree(TABLE, folder)
    (folder / broken).unlink()
    if content is not None:
        (folder / broken).write_bytes(content)
    embedder = StaticEmbedder(folder)
    for _ in range(2):
        with pytest.raises(EmbedderError, match="cannot read the token vectors"):
            embedder.embed(["a"])


def test_a_table_whose_vectors_do_not_fit_its_name_is_refused(tmp_path):
    folder = tmp_path / "table"
    shutil.copytree(TABLE, folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"hidden_dim": 128}))
    with pytest.raises(EmbedderError, match="cannot read the token vectors"):
        StaticEmbedder(folder).embed(["a"])
