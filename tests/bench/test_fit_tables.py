"""Making the table: what is read, what the teacher says, and that a fit brings sums of tokens nearer to the teacher."""

import gzip
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from safetensors.numpy import save_file
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import TemplateProcessing

from stitch.bench.fit.__main__ import group
from stitch.bench.fit.kinds import make_table as make_kinds
from stitch.bench.fit.table.fit import LONGEST, NEAR, FitSettings, Passages, Runs, fit, unit
from stitch.bench.fit.table.make import Teacher
from stitch.bench.fit.table.texts import MAX_CHARS, Text, parts, read_texts
from stitch.errors import SettingsError
from stitch.text import kinds


def test_a_long_passage_is_cut_into_whole_sentences_and_nothing_is_lost():
    passage = "The harbor was quiet that night. " * 40
    found = list(parts(passage))
    assert " ".join(found).split() == passage.split()
    assert all(len(part) <= MAX_CHARS and part.endswith(".") for part in found)


def test_a_package_that_is_missing_is_named(tmp_path):
    with pytest.raises(SettingsError, match="usr/share/wordnet"):
        list(read_texts(tmp_path, tmp_path / "unpacked"))


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


def _documents(kind, lengths):
    return [Text(kind, f"{kind}{at}", f"text {n}") for at, length in enumerate(lengths) for n in range(length)]


def test_pairs_are_of_one_document_and_the_rest_follows_the_text():
    texts = [*_documents("chat", [3, 1, 40]), *_documents("unknown", [5])]
    tokens = [[at] for at in range(len(texts))]
    pairs = Passages(texts, tokens).draw(400, np.random.default_rng(4))
    assert len(pairs) == 400
    for text, rest in pairs:
        first, last = min(*text, *rest), max(*text, *rest)
        assert last < 44
        assert texts[first].document == texts[last].document
        assert sorted([*text, *rest]) == list(range(first, last + 1))
        assert max(len(text), len(rest)) <= LONGEST
    assert len({tuple(sorted(pair.text)) for pair in pairs}) > NEAR
    assert any(pair.text[0] > pair.rest[0] for pair in pairs)


@pytest.mark.parametrize("with_passages", [False, True])
def test_a_fit_meets_the_teacher_better_and_no_token_grows_beyond_its_bound(with_passages):
    rng = np.random.default_rng(2)
    truth = rng.normal(size=(40, 8)).astype(np.float32)
    tokens = [rng.choice(40, size=5, replace=False).tolist() for _ in range(600)]
    targets = unit(np.array([truth[found].sum(axis=0) for found in tokens]))
    runs = Runs(tokens, targets, [range(at, at + 3) for at in range(0, 600, 3)], 40)
    start = (truth + rng.normal(size=truth.shape)).astype(np.float32)
    texts = [Text("chat", f"talk {at // 3}", "") for at in range(600)]
    table = fit(
        start,
        runs,
        FitSettings(batch=32, steps=60, rate=0.05, passage=0.05, held_out=0.2, seeds=(1, 2)),
        passages=Passages(texts, tokens) if with_passages else None,
    )
    rows, wanted = runs.draw(range(200), np.random.default_rng(1))
    before, after = (float(np.mean(np.sum(unit(rows @ each) * wanted, axis=1))) for each in (start, table))
    assert after > before + 0.02
    assert (np.linalg.norm(table, axis=1) <= 1.5 * np.linalg.norm(start, axis=1) + 1e-4).all()


@pytest.fixture
def kinds_folder(tmp_path):
    return shutil.copytree(Path(__file__).parent / "wordnet", tmp_path / "wordnet")


def test_words_lead_to_concepts_and_these_to_what_they_are_kinds_of(kinds_folder):
    lines = dict(line.split("\t", 1) for line in make_kinds(kinds_folder))
    assert list(lines) == sorted(lines)
    assert {"entity", "legume", "pulse", "chick pea", "legumina"} == {key for key in lines if not key.startswith("#")}
    chickpea, legume = (lines[f"#{lines[word]}"] for word in ("chick pea", "legume"))
    assert chickpea == f"{lines['legume']}\tchick pea"
    assert legume.endswith("\tlegum puls")
    assert lines["legumina"] == "=legume"


def test_the_command_writes_the_table_and_says_what_is_missing(kinds_folder, tmp_path, monkeypatch):
    monkeypatch.setattr(kinds, "TABLE", tmp_path / "kinds.txt.gz")
    done = CliRunner().invoke(group, ["kinds", str(kinds_folder)], catch_exceptions=False)
    assert "kinds.txt.gz: 8 lines" in done.output
    assert gzip.decompress(kinds.TABLE.read_bytes()).decode().splitlines() == make_kinds(kinds_folder)
    (kinds_folder / "noun.exc").unlink()
    with pytest.raises(SettingsError, match="cannot read WordNet"):
        CliRunner().invoke(group, ["kinds", str(kinds_folder)], catch_exceptions=False)
