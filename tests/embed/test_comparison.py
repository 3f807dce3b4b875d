"""The comparison of embedders by the evidence they find."""

import gzip
import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stitch.bench.embedders import Haystack, Question, evenly, main, measure, read_haystacks
from stitch.embed import HashingEmbedder
from stitch.embed.static import TABLE
from stitch.errors import InputError
from stitch.testing.embedding import SentenceTransformersLibrary


def write_set(folder, *, trajectories=2, steps=30):
    folder.mkdir(parents=True)
    with gzip.open(folder / "trajectories.jsonl.gz", "wt") as file:
        for at in range(trajectories):
            said = [{"id": n, "role": "user", "content": f"{'xyz'[n % 3] * 4} word{n}"} for n in range(steps)]
            file.write(json.dumps({"id": f"t{at}", "steps": said}) + "\n")
    with gzip.open(folder / "questions.jsonl.gz", "wt") as file:
        for at in range(trajectories):
            for n in range(3):
                asked = {"id": n, "trajectory": f"t{at}", "question": f"word{n} word{n + 9}?", "evidence": [n, n + 9]}
                file.write(json.dumps(asked) + "\n")
            file.write(json.dumps({"id": 9, "trajectory": f"t{at}", "question": "lost?", "evidence": ["no"]}) + "\n")
    return folder


def test_evidence_is_given_by_the_place_of_the_step_and_questions_without_any_are_left_out(tmp_path):
    first, _ = read_haystacks(write_set(tmp_path / "set"))
    assert len(first.steps) == 30
    assert [question.evidence for question in first.questions] == [{0, 9}, {1, 10}, {2, 11}]


def test_the_sample_keeps_to_its_bounds(tmp_path):
    sample = read_haystacks(write_set(tmp_path / "set", trajectories=9), trajectories=4, questions=6)
    assert len(sample) <= 4
    assert sum(len(haystack.questions) for haystack in sample) <= 6
    assert sample == read_haystacks(tmp_path / "set", trajectories=4, questions=6)


@given(st.lists(st.integers(), unique=True, max_size=40), st.integers(1, 20))
def test_a_sample_is_distinct_in_order_and_as_large_as_it_can_be(items, at_most):
    taken = evenly(items, at_most)
    assert len(taken) == min(len(items), at_most)
    assert [item for item in items if item in taken] == taken
    assert taken[:1] == items[:1]


def test_recall_is_the_share_of_evidence_among_the_first():
    steps = ("apple pie", "banana split", "cherry tart", "date cake")
    asked = (Question("banana split", frozenset({1})), Question("apple pie", frozenset({0, 3})))
    score = measure(HashingEmbedder(512), [Haystack(steps, asked)], k=1)
    assert score.recall == pytest.approx((1 + 0.5) / 2)
    assert score.questions == 2
    assert score.texts_per_s > 0


def test_the_command_prints_a_table_with_a_row_an_embedder(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", SentenceTransformersLibrary())
    for name in ("one", "two"):
        write_set(tmp_path / name)
    more = ["--table", f"again={TABLE}", "--model", "some/model"]
    assert main(["--data", str(tmp_path), "--sets", "one,two", *more]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "| embedder | one | two | mean | texts/s |"
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]
    assert [row[0] for row in rows] == ["minilm-static-256-v2", "hashing-256-v1", "again", "model", "*questions*"]
    assert rows[0][1:4] == rows[2][1:4]
    assert all(0 <= float(row[3]) <= 1 for row in rows[:-1])
    assert rows[-1][1:3] == ["6", "6"]


@pytest.mark.parametrize("content", [None, "{}\n", "not json\n"])
def test_a_set_that_cannot_be_read_is_named(tmp_path, capsys, content):
    if content is not None:
        write_set(tmp_path / "set")
        with gzip.open(tmp_path / "set" / "trajectories.jsonl.gz", "wt") as file:
            file.write(content)
    assert main(["--data", str(tmp_path), "--sets", "set"]) == InputError.exit_code
    assert "cannot read the question set" in capsys.readouterr().err
