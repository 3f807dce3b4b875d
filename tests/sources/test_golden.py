"""Files as other programs write them, each with the steps that are read of it: `golden/*.jsonl`, a file a line.

A line says which behavior it shows, the name of the file, what is in it (`text`, or `base64` where that is no plain
UTF-8) and what is read. `STITCH_TEST_GOLDEN=write` writes anew what is read; look at the difference.
"""

import base64
import json
import os
from pathlib import Path
from typing import Any

import pytest

from stitch.core import Rejection, SourcedStep
from stitch.sources import FileSource

GOLDEN = sorted(Path(__file__).with_name("golden").glob("*.jsonl"))
CASES = {path.stem: [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] for path in GOLDEN}
BEHAVIORS = [
    (name, behavior) for name, cases in CASES.items() for behavior in dict.fromkeys(c["behavior"] for c in cases)
]


def told(item: SourcedStep | Rejection) -> dict[str, Any]:
    """An item as a golden line has it."""
    if isinstance(item, Rejection):
        return {"line": item.line, "rejected": item.reason}
    step = item.step.model_dump(mode="json", exclude_defaults=True)
    return {"line": item.line, "trajectory": item.trajectory, "step": step}


@pytest.fixture
def read(tmp_path: Path):
    def call(case: dict[str, Any]) -> list[dict[str, Any]]:
        path = tmp_path / "run-1" / case["file"]
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(base64.b64decode(case["base64"]) if "base64" in case else case["text"].encode())
        return [told(item) for item in FileSource(path)]

    return call


@pytest.mark.parametrize(("name", "behavior"), BEHAVIORS)
def test_files_of_other_programs_are_read(read, name: str, behavior: str) -> None:
    for case in CASES[name]:
        if case["behavior"] == behavior:
            now = read(case)
            if os.environ.get("STITCH_TEST_GOLDEN") == "write":
                case["read"] = now
            else:
                assert now == case["read"], case.get("text", case["file"])
    if os.environ.get("STITCH_TEST_GOLDEN") == "write":
        lines = [json.dumps(case, ensure_ascii=False) + "\n" for case in CASES[name]]
        Path(__file__).with_name("golden").joinpath(f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")
