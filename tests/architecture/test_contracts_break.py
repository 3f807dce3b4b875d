"""The import contracts are alive: each is seen to break when it is violated."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("signatures", "pipelines", "bench", "configs")


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """The packages as they are installed, to be violated."""
    folder = tmp_path_factory.mktemp("contracts")
    shutil.copytree(ROOT / "stitch", folder / "stitch", ignore=shutil.ignore_patterns("__pycache__"))
    for name in FOLDERS:
        shutil.copytree(ROOT / name, folder / "stitch" / name, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def broken_contracts(folder: Path) -> list[str]:
    done = subprocess.run(
        [Path(sys.executable).parent / "lint-imports", "--config", ROOT / "pyproject.toml", "--no-cache"],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return [line.removesuffix(" BROKEN") for line in done.stdout.splitlines() if line.endswith(" BROKEN")]


def test_the_contracts_hold(checkout):
    assert broken_contracts(checkout) == []


@pytest.mark.parametrize(
    ("module", "line", "contract"),
    [
        ("core/steps.py", "import stitch.store", "Floors: each imports only what stands below it"),
        ("lifecycle/erase.py", "import sqlite3", "SQL stays in the journal"),
        ("journal/entries.py", "import stitch.retrieve", "Floors: each imports only what stands below it"),
        ("cli/main.py", "import stitch.pipelines", "Floors: each imports only what stands below it"),
        ("signatures/__init__.py", "import stitch.core", "Prompts know DSPy only"),
        ("store/__init__.py", "import stitch.config", "Settings are read in one place"),
        ("core/ranking.py", "import numpy", "Core knows pydantic and nothing else"),
        ("retrieve/__init__.py", "import qdrant_client", "Qdrant stays in the store"),
        ("memory.py", "import dspy", "DSPy stays behind its wall"),
        ("assemble.py", "import stitch.testing", "Test doubles are for tests"),
        (
            "retrieve/intent.py",
            "import stitch.label.local.reading",
            "Questions and labels of a model do not know the local labeler",
        ),
    ],
)
def test_a_violation_breaks_its_contract(checkout, module, line, contract):
    file = checkout / "stitch" / module
    text = file.read_text(encoding="utf-8")
    file.write_text(f"{text}\n{line}\n", encoding="utf-8")
    try:
        assert contract in broken_contracts(checkout)
    finally:
        file.write_text(text, encoding="utf-8")
