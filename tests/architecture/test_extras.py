"""What is not installed by default is asked for by a command that works, before any work is done."""

import shlex
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

from doubles.lessons import days, write_asked_days, write_lines
from stitch.errors import install_command

tomllib = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture
def run(monkeypatch, in_empty_folder, stitch):
    """Runs the command as if a package were not installed; gives exit status and standard error."""

    def call(*arguments, without):
        monkeypatch.setitem(sys.modules, without, None)
        status, _, err = stitch(*arguments)
        return status, err

    return call


@pytest.mark.skipif(find_spec("pip") is None, reason="the environment was made by uv and has no pip")
@pytest.mark.slow
@pytest.mark.parametrize("extra", ["bench", "optimize"])
def test_the_command_that_a_hint_names_installs_the_extra_without_an_index(extra, tmp_path):
    command = [*shlex.split(install_command(f"stitch-memory[{extra}]")), "--dry-run", "--no-index"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, "does not provide the extra" in done.stderr) == (0, False), done.stderr


@pytest.mark.parametrize(
    ("arguments", "without", "extra"),
    [
        (("bench", "retrieval", "--data", "asked", "--methods", "stitch,bm25"), "bm25s", "bench"),
        (("bench", "retrieval", "--data", "asked"), "bm25s", "bench"),
        (("bench", "report", "none"), "jinja2", "bench"),
    ],
)
def test_a_command_without_its_extra_names_the_command_that_installs_it(run, tmp_path, arguments, without, extra):
    write_asked_days(tmp_path / "asked", trajectories=2, steps=8)
    status, said = run(*arguments, without=without)
    assert status == 2
    assert f"needs the package {without!r} of the extra {extra!r}" in said
    assert f"  next: {install_command(f'stitch-memory[{extra}]')}\n" in said


def test_without_its_extra_an_optimizer_calls_no_model(run, tmp_path):
    write_lines(tmp_path / "train.jsonl", [days(n) for n in range(6)])
    arguments = ("optimize", "windowed", "--train", "train.jsonl", "--optimizer", "mipro", "--model", "openai/m")
    status, said = run(*arguments, "--base-url", "http://127.0.0.1:9", without="optuna")
    assert (status, install_command("stitch-memory[optimize]") in said) == (2, True), said


def test_nothing_that_only_an_extra_needs_is_installed_by_default():
    always = {requirement.split(">")[0].strip() for requirement in PROJECT["dependencies"]}
    extras = PROJECT["optional-dependencies"]
    assert "dspy-ai" in always
    for extra in ("bench", "optimize", "sentence-transformers"):
        assert always.isdisjoint(requirement.split(">")[0].strip() for requirement in extras[extra])
