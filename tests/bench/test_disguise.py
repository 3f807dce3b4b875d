"""Sets of agents' runs under other names, asked in other words."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from stitch.bench.data.sets import load_questions
from stitch.bench.disguise import FRAMES, Names, disguised, main, renamed_tool, reworded

STEPS = [
    {"id": "1", "role": "user", "content": "I am ada_berg_3668, cancel R7K2ZQ.", "timestamp": None},
    {"id": "2", "role": "assistant", "content": 'get_user_details({"user_id": "ada_berg_3668"})', "words": "",
     "tool_calls": [{"name": "get_user_details", "arguments": {"user_id": "ada_berg_3668"}}], "timestamp": None},
    {"id": "3", "role": "tool", "content": "Ada Berg, R7K2ZQ, see src/parser_cache.py", "tool_name": "get_user_details",
     "timestamp": None},
]  # fmt: skip
QUESTION = {"id": "q", "trajectory": "t", "type": "fact", "question": "Why was R7K2ZQ of Ada Berg cancelled?",
            "answer": "", "evidence": ["3"]}  # fmt: skip


def test_tools_are_called_by_synonyms_of_their_parts() -> None:
    assert renamed_tool("search_direct_flight") == "find_nonstop_connection"
    assert renamed_tool("frobnicate") == "frobnicate"


def test_the_same_name_is_the_same_wherever_it_stands_and_of_the_same_shape() -> None:
    record, names = disguised({"id": "t", "steps": STEPS}, seed=3)
    first, call, result = record["steps"]
    assert "ada" not in json.dumps(record).lower()
    assert "R7K2ZQ" not in json.dumps(record)
    key = names.put("R7K2ZQ")
    assert [one.isdigit() for one in key] == [one.isdigit() for one in "R7K2ZQ"]
    assert key in first["content"]
    assert key in result["content"]
    assert call["tool_calls"][0]["name"] == result["tool_name"] == "fetch_client_profile"
    assert call["tool_calls"][0]["arguments"]["user_id"] in first["content"]
    assert result["content"].endswith(".py")
    assert "parser_cache" not in result["content"]
    assert [step["id"] for step in record["steps"]] == ["1", "2", "3"]


def test_names_are_drawn_from_the_seed() -> None:
    assert Names(set(), seed=1).put("AB-1234") == Names(set(), seed=1).put("AB-1234")
    assert Names(set(), seed=1).put("AB-1234") != Names(set(), seed=2).put("AB-1234")
    assert Names(set(), seed=1).put("src/setup.py is kept") == "src/setup.py is kept"


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        ("indirect", "Please tell me: Why did the last call fail."),
        ("first person", "I'd like to know this: Why did the last call fail?"),
        ("remind", "Remind me, Why did the last call fail?"),
        ("synonyms", "For what reason did the most recent invocation go wrong?"),
        ("keywords", "Why last call fail"),
    ],
)
def test_a_question_is_put_in_the_words_of_a_family(frame: str, said: str) -> None:
    assert frame in FRAMES
    assert reworded("Why did the last call fail?", frame=frame) == said


@pytest.mark.parametrize("options", [["--names"], ["--frame", "remind"], ["--names", "--frame", "keywords"]])
def test_a_set_is_written_anew_with_its_evidence(tmp_path, options: list[str]) -> None:
    data = tmp_path / "set"
    data.mkdir()
    (data / "trajectories.jsonl").write_text(json.dumps({"id": "t", "steps": STEPS}))
    (data / "questions.jsonl").write_text(json.dumps(QUESTION))
    done = CliRunner().invoke(main, [str(data), str(tmp_path / "out"), *options])
    assert (done.exit_code, done.output) == (0, "1 questions put otherwise\n")
    read = load_questions(tmp_path / "out")
    assert read.questions[0].evidence == ("3",)
    assert read.questions[0].text != QUESTION["question"]
    assert (read.trajectories == load_questions(data).trajectories) == ("--names" not in options)
