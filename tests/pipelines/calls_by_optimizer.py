"""Calls that `stitch optimize windowed` makes and foretells, by optimizer, with a model that can be taught.

`PYTHONPATH=tests python tests/pipelines/calls_by_optimizer.py` prints the rows of the table in `pipelines/README.md`.
"""

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from doubles.lessons import days, labeling_pupil, write_lines
from stitch.testing.model import LoopbackProvider

OPTIMIZERS = ("bootstrap", "mipro", "gepa", "simba")
TRAJECTORIES = (12, 30, 60)
"""Of one example each; a third is held back."""


def measured(
    optimizer: str, folder: Path, *, trajectories: int, base_url: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """What was foretold, and what was done."""
    data = write_lines(folder / "days.jsonl", (days(n) for n in range(trajectories)))
    command = [sys.executable, "-m", "stitch", "optimize", "windowed", "--train", str(data), "--optimizer", optimizer,
               "--model", "m", "--base-url", base_url, "--out", str(folder / "p.json"), "--json"]  # fmt: skip
    ran = [subprocess.run([*command, *more], capture_output=True, text=True) for more in (["--dry-run"], [])]
    return json.loads(ran[0].stdout), json.loads(ran[1].stdout)


if __name__ == "__main__":
    print("optimizer   N   H  calls foretold   tokens foretold  score")
    for trajectories in TRAJECTORIES:
        for optimizer in OPTIMIZERS:
            with LoopbackProvider(labeling_pupil()) as provider, TemporaryDirectory() as folder:
                told, done = measured(optimizer, Path(folder), trajectories=trajectories, base_url=provider.base_url)
            print(
                f"{optimizer:9} {done['train_examples']:3} {done['held_back_examples']:3} {done['model_calls']:6}"
                f" {told['model_calls']:8} {done['model_tokens']:8} {told['model_tokens']:8}"
                f"  {done['before']['score']:.2f} {done['after']['score']:.2f}"
            )
