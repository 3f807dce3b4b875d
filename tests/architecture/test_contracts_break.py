"""The import contracts are alive: each is seen to break when it is violated."""

import re
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

tomllib = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("signatures", "pipelines", "bench", "configs")
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
VIOLATIONS = (
    ("core/steps.py", "import stitch.store", "Floors: each imports only what stands below it"),
    ("lifecycle/erase.py", "import sqlite3", "SQL stays in the journal"),
    ("journal/entries.py", "import stitch.retrieve", "Floors: each imports only what stands below it"),
    ("console/lazy.py", "import stitch.cli", "Floors: each imports only what stands below it"),
    ("chats.py", "import stitch.memory", "Floors: each imports only what stands below it"),
    ("config.py", "import stitch.parts", "Floors: each imports only what stands below it"),
    ("newcomer.py", "", "Floors: each imports only what stands below it"),
    ("retrieve/similar.py", "import stitch.retrieve.intent", "Lenses do not know each other"),
    ("retrieve/intent.py", "import stitch.retrieve.similar", "Lenses do not know each other"),
    ("retrieve/question.py", "import stitch.retrieve.context", "Questions, then order and context apart"),
    ("signatures/__init__.py", "import stitch.core", "Floors: each imports only what stands below it"),
    ("signatures/steps.py", "import stitch.errors", "Prompts know DSPy only"),
    ("store/__init__.py", "import stitch.config", "Settings are read in one place"),
    ("core/ranking.py", "import numpy", "Core knows pydantic and nothing else"),
    ("retrieve/__init__.py", "import qdrant_client", "Qdrant stays in the store"),
    ("memory.py", "import dspy", "DSPy stays behind its wall"),
    ("factory.py", "import stitch.testing", "Test doubles are for tests"),
    (
        "retrieve/intent.py",
        "import stitch.label.local.reading",
        "Questions and labels of a model do not know the local labeler",
    ),
)
"""A module, the line added to it, and the contract that this breaks; so does a module that stands on no floor."""


@pytest.fixture
def checkout(tmp_path):
    folder = tmp_path / "contracts"
    shutil.copytree(ROOT / "stitch", folder / "stitch", ignore=shutil.ignore_patterns("__pycache__"))
    for name in FOLDERS:
        shutil.copytree(ROOT / name, folder / "stitch" / name, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def broken_contracts(folder: Path) -> dict[str, str]:
    """Each contract that does not hold, and what is said of it."""
    done = subprocess.run(
        [Path(sys.executable).parent / "lint-imports", "--config", ROOT / "pyproject.toml", "--no-cache"],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "Contracts:" in done.stdout, done.stderr
    said = dict(re.findall(r"^(.+)\n-+\n\n((?:.*\n)*?)(?=^.+\n-+\n|\Z)", done.stdout, re.MULTILINE))
    return {name: said.get(name, "") for name in re.findall(r"^(.+) BROKEN(?: \(.*\))?$", done.stdout, re.MULTILINE)}


def test_each_violation_breaks_its_contract(checkout):
    for module, line, _ in VIOLATIONS:
        with (checkout / "stitch" / module).open("a", encoding="utf-8") as file:
            file.write(f"\n{line}\n")
    broken = broken_contracts(checkout)
    for module, line, contract in VIOLATIONS:
        name = "stitch." + module.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        link = rf" -> {re.escape(line.split()[1])} \(l\.\d+\)" if line else ""
        assert re.search(rf"^- +{re.escape(name)}{link}$", broken.get(contract, ""), re.MULTILINE), (module, line)


def test_each_contract_is_seen_to_break():
    assert {contract for _, _, contract in VIOLATIONS} == {contract["name"] for contract in CONTRACTS}


def test_every_lens_is_independent_of_the_others():
    [contract] = [each for each in CONTRACTS if each["type"] == "independence"]
    [rooms] = [each for each in CONTRACTS if each.get("containers") == ["stitch.retrieve"]]
    lenses = next(layer.split(" | ") for layer in rooms["layers"] if "similar" in layer.split(" | "))
    assert set(contract["modules"]) == {f"stitch.retrieve.{name}" for name in lenses}
