"""What is stored cannot steer the terminal of who looks at it, and reaches a file as it is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from stitch import Step, open_memory
from stitch.console.terminal import without_steering

pty = pytest.importorskip("pty")
STEERS = "\x1b]0;title\x07\x1b[8mhidden\x1b[2J\x9b31m\u202eback\rover"


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    with open_memory(tmp_path / "m") as opened:
        for number in range(3):
            step = Step(role="user", content=f"Lake {number}.", timestamp=f"2024{STEERS}", id=f"{number}{STEERS}")
            opened.add(step, trajectory="t")
    return tmp_path / "m"


def _at_terminal(command: list[str]) -> str:
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs) as running:
        os.close(theirs)
        said = b""
        while True:
            try:
                piece = os.read(ours, 65536)
            except OSError:  # as Linux says that the other side has gone
                break
            if not piece:
                break
            said += piece
    os.close(ours)
    assert running.returncode is not None
    return said.decode().replace("\r\n", "\n")


ASKED = (("query", "lake"), ("show", "--steps"), ("receipts",), ("select", f"//{STEERS}"))
ALL = """
import sys
from stitch.cli import main
for number, asked in enumerate(eval(sys.argv[1])):
    sys.argv = ["stitch", *asked, "--memory", sys.argv[-1]]
    try:
        main()
    except SystemExit:
        print(f"command {number} has ended", flush=True)
"""


def test_nothing_that_is_stored_or_asked_steers_a_terminal(memory: Path) -> None:
    whole = _at_terminal([sys.executable, "-c", ALL, ascii(ASKED), str(memory)])
    for number, asked in enumerate(ASKED):
        said, ended, whole = whole.partition(f"command {number} has ended\n")
        assert ended, whole
        assert len(said) > 20, asked
        assert without_steering(said) == said
        assert "\x1b[8m" not in said
