"""Questions of a set said in other words."""

import json

import pytest
from click.testing import CliRunner

from stitch.bench.data.sets import load_questions
from stitch.bench.paraphrase import main, turn

ASKED = "In the bus request where the city is Oslo and the date is 2019-03-01, what was the fare?"


@pytest.mark.parametrize(
    ("form", "question", "turned"),
    [
        ("behind", ASKED,
         "What was the fare in the bus request where the city is Oslo and the date is 2019-03-01?"),
        ("values", ASKED, "What was the fare for Oslo and 2019-03-01?"),
        ("behind", "What was the fare?", "What was the fare?"),
    ],
)  # fmt: skip
def test_the_clause_goes_behind_the_question_or_leaves_its_values_there(form: str, question: str, turned: str) -> None:
    assert turn(question, form=form) == turned


def test_a_set_is_written_anew_with_all_else_as_it_was(tmp_path) -> None:
    data = tmp_path / "set"
    data.mkdir()
    steps = [{"id": "1", "role": "user", "content": "To Oslo.", "timestamp": None}]
    (data / "trajectories.jsonl").write_text(json.dumps({"id": "t", "steps": steps}))
    question = {"id": "q", "trajectory": "t", "type": "S", "question": ASKED, "answer": "$3", "evidence": ["1"],
                "asked_at": None}  # fmt: skip
    (data / "questions.jsonl").write_text(json.dumps(question))
    done = CliRunner().invoke(main, [str(data), str(tmp_path / "out")])
    assert (done.exit_code, done.output) == (0, "1 questions turned round\n")
    before, after = load_questions(data), load_questions(tmp_path / "out")
    assert after.trajectories == before.trajectories
    assert after.questions[0].evidence == before.questions[0].evidence
    assert "fare in the bus request" in (tmp_path / "out" / "questions.jsonl").read_text()
