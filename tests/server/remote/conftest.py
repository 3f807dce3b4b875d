"""What tests of remote memories share: no settings from outside, and a way to run code in a process of its own."""

import subprocess
import sys

import pytest


@pytest.fixture(autouse=True)
def empty_folder(in_empty_folder):
    pass


@pytest.fixture
def begin():
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


@pytest.fixture
def served(tmp_path, monkeypatch):
    pytest.importorskip("uvicorn")
    from doubles.serving import running

    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    with running(tmp_path / "m") as client:
        yield f"stitch+{client.url}"
