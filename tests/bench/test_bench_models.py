"""The configured model as answerer and judge, in the place of a provider that is scripted."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from doubles.sets import write_came
from stitch.bench.commands import group
from stitch.bench.records import Answered, Record
from stitch.bench.scoring import answer_measures, summarize
from stitch.testing.model import LoopbackProvider, fields_of


def reply(system: str, user: str) -> Any:
    """Answers with the price in the context; judges by equality."""
    fields = fields_of(user)
    if "quoted_steps" in fields:
        price = next(iter(re.findall(r"\$[\d.]+\d", fields["quoted_steps"])), "none")
        return {"reasoning": "it stands there", "answer": f"{price}; x" if "debate" in system else price}
    if "reference_entries" in fields:
        wanted, given = json.loads(fields["reference_entries"]), json.loads(fields["given_entries"])
        return {"reasoning": "compared", "correct_entries": len(set(wanted) & set(given))}
    if "reference_plan" in fields:
        return {"reasoning": "compared", "correct_slots": 1, "given_slots": 2}
    same = fields["reference_answer"] in fields["given_answer"]
    return {"reasoning": "compared", "verdict": "CORRECT" if same else "WRONG"}


GOLDS = (("type_2", "$76.22"), ("type_2", "$1"))


def test_answers_can_be_judged_without_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = [
        "came",
        "--data",
        str(write_came(tmp_path / "toy", GOLDS)),
        "--methods",
        "stitch",
        "--json",
        "--answers",
    ]
    with LoopbackProvider(reply) as provider:
        given = {"MODEL": "openai/m", "BASE_URL": provider.base_url, "MODEL_KEY": "k", "OFFLINE": "true"}
        for name, value in {**given, "FILTER": "local"}.items():
            monkeypatch.setenv(f"STITCH_{name}", value)
        result = CliRunner().invoke(group, [*arguments, "--judge", "containment"], catch_exceptions=False)
    row = json.loads(result.stdout)["methods"]["stitch"]
    assert row["f1"] == 0.5
    assert row["model_calls"] == 2


def test_single_answers_are_measured_against_gold() -> None:
    fields = {"trajectory": "t", "type": "x", "text": "?", "evidence": (), "steps": (),
              "milliseconds": 1.0}  # fmt: skip
    answered = [
        Answered(answer="the hat", correct=1),
        Answered(answer="a dog", correct=0),
        Answered(answer=None, reason="cut"),
    ]
    records = [
        Record(question=str(n), gold_answer="the red hat", answered=own, **fields) for n, own in enumerate(answered)
    ]
    row = summarize([*records, Record(question="9", gold_answer=None, **fields)], answer_measures())
    assert row["accuracy"] == 0.5
    assert row["token_f1"] == pytest.approx(1 / 3, abs=1e-6)
    assert 0 < row["token_f1"] < 1
