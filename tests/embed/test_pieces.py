"""Tokens by word are those of the tokenizer."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from model2vec import StaticModel
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from stitch.embed.pieces import WordPieces
from stitch.embed.static import TABLE

MODEL = StaticModel(
    load_file(TABLE / "model.safetensors")["embeddings"],
    Tokenizer.from_file(str(TABLE / "tokenizer.json")),
    normalize=True,
    max_length=None,
)
PIECES = WordPieces(MODEL)


def distinct(texts):
    return [list(dict.fromkeys(tokens)) for tokens in MODEL.tokenize(texts)]


@given(st.lists(st.text(max_size=60) | st.text(st.characters(max_codepoint=127), max_size=60), max_size=5))
@example(["[PAD] [UNK] [CLS]"])
@example(["a\x00b \x1f c\x7f\td\x0be"])
@example(["it's 3.50$ a_b-c e-mail@x.org #1"])
@example(["Ünïcode ﬁ ß İ 北京 e\u0301 \u200b"])
@example(["x" * 300 + " word"])
def test_tokens_are_those_of_the_tokenizer(texts):
    assert PIECES.read(texts) == distinct(texts)
    assert WordPieces(MODEL).read(texts) == distinct(texts)


def test_what_is_remembered_has_a_bound(monkeypatch):
    monkeypatch.setattr("stitch.embed.pieces.MAX_WORDS", 20)
    pieces = WordPieces(MODEL)
    texts = [" ".join(f"w{n}" for n in range(first, first + 30)) for first in range(0, 90, 15)]
    for text in texts * 2:
        assert pieces.read([text]) == distinct([text])
        assert len(pieces._words) <= 20


def test_another_kind_of_tokenizer_reads_whole_texts():
    from tokenizers import Tokenizer, models, pre_tokenizers

    tokenizer = Tokenizer(models.WordLevel({"a-b": 0, "c": 1, "?": 2}, unk_token="?"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()

    class Model:
        def __init__(self):
            self.tokenizer = tokenizer

        def tokenize(self, texts):
            return [encoding.ids for encoding in tokenizer.encode_batch(texts, add_special_tokens=False)]

    assert WordPieces(Model()).read(["a-b c", "c d"]) == [[0, 1], [1, 2]]


@pytest.mark.parametrize("texts", [[], [""], ["", "a"]])
def test_texts_without_words_have_no_tokens(texts):
    assert PIECES.read(texts) == distinct(texts)
