"""The newest statement and the day that is asked for: how it is counted."""

import json
from pathlib import Path

from click.testing import CliRunner

from stitch.bench.clocks import command


def test_days_and_newest_statements_are_counted(tmp_path: Path) -> None:
    said = ["My locker is number 12.", "We painted the fence.", "My locker is number 40 now.", "The fence is dry."]
    steps = [
        {"id": str(day), "role": "user", "content": text, "timestamp": f"2025-03-1{day}T10:00"}
        for day, text in enumerate(said)
    ]
    question = {"id": "q", "trajectory": "t", "type": "update", "question": "What is my locker's number now?",
                "answer": "40", "evidence": ["0", "2"]}  # fmt: skip
    (tmp_path / "trajectories.jsonl").write_text(json.dumps({"id": "t", "steps": steps}) + "\n")
    (tmp_path / "questions.jsonl").write_text(json.dumps(question) + "\n")
    result = CliRunner().invoke(command, ["--data", str(tmp_path), "--json"], catch_exceptions=False)
    rows = json.loads(result.stdout)
    assert rows["newest first: update"] == {"asked": 1, "right": 1, "share": 1.0}
    days = [row for name, row in rows.items() if name.startswith("day first")]
    assert [row["asked"] for row in days] == [4, 4, 4, 4]
    assert all(0 <= row["right"] <= row["asked"] for row in days)
