"""Files as other programs write them, each with the steps that are read of it: `golden/*.jsonl`, a file a line.

A line says which behavior it shows, the name of the file, what is in it (`text`, or `base64` where that is no plain
UTF-8) and what is read. `STITCH_TEST_GOLDEN=write` writes anew what is read; look at the difference.
"""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from doubles.golden import compare
from stitch.core import Rejection, SourcedStep
from stitch.sources import FileSource

GOLDEN = sorted(Path(__file__).with_name("golden").glob("*.jsonl"))


def told(item: SourcedStep | Rejection) -> dict[str, Any]:
    """An item as a golden line has it."""
    if isinstance(item, Rejection):
        return {"line": item.line, "rejected": item.reason}
    step = item.step.model_dump(mode="json", exclude_defaults=True)
    return {"line": item.line, "trajectory": item.trajectory, "step": step}


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda path: path.stem)
def test_files_of_other_programs_are_read(tmp_path: Path, golden: Path) -> None:
    lines = []
    for case in map(json.loads, golden.read_text(encoding="utf-8").splitlines()):
        path = tmp_path / "run-1" / case["file"]
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(base64.b64decode(case["base64"]) if "base64" in case else case["text"].encode())
        lines.append(json.dumps({**case, "read": list(map(told, FileSource(path)))}, ensure_ascii=False) + "\n")
    compare(golden, "".join(lines))
