"""What tests of the command share: an empty folder, no settings from outside, and a way to run it."""

import subprocess
import sys
from pathlib import Path

import pytest

from stitch.cli import main
from stitch.config import Settings

HEEDING = (
    "import os, signal, sys\n"
    "for each in (signal.SIGINT, signal.SIGTERM): signal.signal(each, signal.SIG_DFL)\n"
    "os.execv(sys.argv[1], sys.argv[1:])"
)


@pytest.fixture(autouse=True)
def empty_folder(tmp_path, monkeypatch):
    """The current folder is empty, and no setting stands in the environment."""
    monkeypatch.chdir(tmp_path)
    for name in [*Settings.model_fields, "config"]:
        monkeypatch.delenv(f"STITCH_{name.upper()}", raising=False)


@pytest.fixture
def run(monkeypatch, capfd):
    """Runs the command in this process; gives exit status, standard output and standard error."""

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["stitch", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capfd.readouterr()
        return ended.value.code or 0, out, err

    return call


@pytest.fixture
def begin():
    """Begins the command as a process of its own; it ends with the test.

    It heeds signals, though the tests may run in a background job, which is told to ignore them.
    """
    begun = []

    def call(*arguments):
        stitch = Path(sys.executable).parent / "stitch"
        command = [sys.executable, "-c", HEEDING, str(stitch), *map(str, arguments)]
        pipe = subprocess.PIPE
        begun.append(subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe))
        return begun[-1]

    yield call
    for process in begun:
        with process:
            process.kill()
