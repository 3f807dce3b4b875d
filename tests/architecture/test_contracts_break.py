"""The import contracts are alive: each is seen to break when it is violated."""

import json
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
VIOLATIONS = json.loads((Path(__file__).parent / "violations.json").read_text(encoding="utf-8"))
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
