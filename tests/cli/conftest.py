"""What tests of the command share: an empty folder, no settings from outside, and a way to run it."""

import subprocess
import sys
from pathlib import Path

import pytest

HEEDING = (
    "import os, signal, sys\n"
    "for each in (signal.SIGINT, signal.SIGTERM): signal.signal(each, signal.SIG_DFL)\n"
    "os.execv(sys.argv[1], sys.argv[1:])"
)


@pytest.fixture(autouse=True)
def empty_folder(in_empty_folder):
    pass


@pytest.fixture
def run(stitch):
    return stitch


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
