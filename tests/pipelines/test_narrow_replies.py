"""The narrow token vectors of local labels: what the weights read of them stays nearly what it was."""

import json

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from stitch.embed import StaticEmbedder
from stitch.embed.static import TABLE
from stitch.label.local.replies import Replies, as_data, replies_from
from stitch.pipelines.narrow_replies import directions, main, narrowed

TEXTS = [
    f"{verb} the {thing} at {n}" for verb in ("book", "see", "fix") for thing in ("room", "test") for n in range(9)
]


def some_replies(*, dimension=256, numbers=8):
    rng = np.random.default_rng(0)
    last, gist, answers = (rng.normal(size=(dimension + more, numbers)).astype(np.float32) for more in (1, 0, 1))
    return Replies(last, gist, answers, rng.normal(size=numbers).tolist())


@pytest.mark.parametrize("dimension", [24, 32])
def test_with_all_that_is_read_kept_only_the_length_of_a_text_differs(dimension):
    replies = some_replies()
    vectors = StaticEmbedder().embed(TEXTS)
    basis = directions(replies, vectors.astype(np.float64), dimension=dimension)
    assert basis.shape == (256, dimension)
    assert np.allclose(basis.T @ basis, np.eye(dimension), atol=1e-6)
    kept = np.linalg.norm(vectors @ basis, axis=1)
    narrow = narrowed(replies, basis, kept=kept)
    for vector, length in zip(vectors, kept, strict=True):
        there = (vector @ basis).astype(np.float32) / np.float32(length)
        share = np.mean(kept**2) / np.mean(kept)
        before = np.array(replies.hear(vector * np.float32(share / length)).matter)
        assert np.allclose(narrow.hear(there).matter, before, atol=2e-3)


def test_the_command_writes_a_table_and_weights_that_go_together(tmp_path):
    table, out = tmp_path / "averaged", tmp_path / "out"
    table.mkdir()
    out.mkdir()
    for name in ("config.json", "tokenizer.json"):
        (table / name).write_bytes((TABLE / name).read_bytes())
    save_file({"embeddings": load_file(TABLE / "model.safetensors")["embeddings"]}, table / "model.safetensors")
    replies = some_replies()
    (out / "reply_weights.json").write_text(json.dumps({"made_by": "fit_local", **as_data(replies)}))
    (tmp_path / "texts.json").write_text(json.dumps(TEXTS))
    given = ["--table", table, "--texts", tmp_path / "texts.json", "--out", out, "--dimension", 200]
    assert main([str(each) for each in given]) == 0
    data = json.loads((out / "reply_weights.json").read_bytes())
    assert data["made_by"] == "fit_local"
    narrow = StaticEmbedder(out / "table", vocabulary_of=StaticEmbedder())
    assert narrow.dimension == 200
    assert narrow.name.endswith("-replies")
    before = [replies.hear(vector).answer for vector in StaticEmbedder().embed(TEXTS)]
    after = [replies_from(data).hear(vector).answer for vector in narrow.embed(TEXTS)]
    assert np.corrcoef(np.ravel(before), np.ravel(after))[0, 1] > 0.98
