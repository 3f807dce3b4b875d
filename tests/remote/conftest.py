"""What tests of remote memories share: no settings from outside, and a way to run code in a process of its own."""

import subprocess
import sys

import pytest

from stitch.config import Settings


@pytest.fixture(autouse=True)
def empty_folder(tmp_path, monkeypatch):
    """The current folder is empty, and no setting stands in the environment."""
    monkeypatch.chdir(tmp_path)
    for name in [*Settings.model_fields, "config"]:
        monkeypatch.delenv(f"STITCH_{name.upper()}", raising=False)


@pytest.fixture
def begin():
    """Begins Python code as a process of its own, with pipes; it is killed with the test."""
    begun = []

    def call(code, *arguments):
        pipe = subprocess.PIPE
        command = [sys.executable, "-c", code, *map(str, arguments)]
        begun.append(subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True))
        return begun[-1]

    yield call
    for process in begun:
        with process:
            process.kill()
