"""Ctrl-C and SIGTERM end a command that waits for a model at once, and nothing that was accepted is lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest

from stitch import open_memory
from stitch.cli.main import cli, main
from stitch.console.ending import Terminated
from stitch.core import StepState
from stitch.testing.servers import LoopbackServer, Request, Silence

PATIENCE_S = 60
"""After which a test gives up; a call of the model would last twice as long."""


@pytest.fixture
def asked() -> threading.Event:
    return threading.Event()


@pytest.fixture
def silent(asked: threading.Event) -> Iterator[LoopbackServer]:
    """A provider that takes every request and answers none."""

    def answer(request: Request) -> Silence:
        asked.set()
        return Silence()

    with LoopbackServer(answer) as server:
        yield server


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize(
    ("sent", "status", "way"),
    [
        (signal.SIGTERM, 143, ["--window", "4"]),
        pytest.param(signal.SIGINT, 130, ["--window", "4"], marks=pytest.mark.slow),
        pytest.param(signal.SIGTERM, 143, ["--stepwise"], marks=pytest.mark.slow),
        (signal.SIGINT, 130, ["--stepwise"]),
    ],
)
def test_a_signal_ends_an_ingest_that_waits_for_a_model(
    sent: signal.Signals,
    status: int,
    way: list[str],
    begin: Callable[..., subprocess.Popen[bytes]],
    silent: LoopbackServer,
    asked: threading.Event,
    tmp_path: Path,
) -> None:
    for name in ("one", "two"):
        lines = (json.dumps({"role": "user", "content": f"Book hotel {n} for {name}."}) for n in range(6))
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines))
    options = ["--memory", str(tmp_path / "m"), "--labels", "model", "--model", "m", "--base-url", f"{silent.url}/v1"]
    files = [tmp_path / f"{name}.jsonl" for name in ("one", "two")]
    process = begin("ingest", *files, *options, *way)
    assert asked.wait(PATIENCE_S)
    process.send_signal(sent)
    assert process.wait(PATIENCE_S) == status
    with open_memory(tmp_path / "m") as memory:
        memory.flush()
        steps = [entry for name in memory.trajectories() for entry in memory.steps(name)]
        assert len(steps) >= 6
        assert {entry.state for entry in steps} == {StepState.STORED}


WAITS = """
import os, signal, sys, threading
from stitch.console.ending import Terminated, termination_heeded

number, lock = int(sys.argv[1]), threading.Lock()
lock.acquire()
try:
    with termination_heeded():
        threading.Thread(target=lambda: signal.pthread_kill(threading.get_ident(), number)).start()
        lock.acquire()
except (KeyboardInterrupt, Terminated) as ended:
    sys.exit(type(ended).__name__)
"""


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize(("sent", "ended"), [(signal.SIGTERM, "Terminated"), (signal.SIGINT, "KeyboardInterrupt")])
def test_a_signal_that_another_thread_receives_ends_a_wait_of_the_main_thread(sent: signal.Signals, ended: str) -> None:
    # so does one that comes just before the main thread begins to wait, which no test can time
    heeding = f"import signal; signal.signal({int(signal.SIGINT)}, signal.default_int_handler)\n{WAITS}"
    done = subprocess.run(
        [sys.executable, "-c", heeding, str(int(sent))], capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.stderr.strip() == ended


WAITS_OFTEN = """
import signal, threading, time
from stitch.console.ending import termination_heeded

signal.signal(signal.SIGINT, signal.default_int_handler)
lock, heeded = threading.Lock(), 0
lock.acquire()

def stop():
    time.sleep(.1)  # the main thread waits for the lock by then, and another one receives the signal
    signal.pthread_kill(threading.get_ident(), signal.SIGINT)

with termination_heeded():
    for _ in range(3):
        try:
            threading.Thread(target=stop).start()
            lock.acquire()
        except KeyboardInterrupt:
            heeded += 1
print(heeded)
"""


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_each_ctrl_c_ends_a_wait_and_not_the_first_alone() -> None:
    done = subprocess.run([sys.executable, "-c", WAITS_OFTEN], capture_output=True, text=True, timeout=PATIENCE_S)
    assert (done.stdout, done.stderr) == ("3\n", "")


FORKS = """
import os, signal, time
from stitch.console.ending import Terminated, termination_heeded

with termination_heeded():
    ready, told = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.write(told, b"!")
            time.sleep(600)
        except Terminated:
            os._exit(0)
    os.read(ready, 1)
    os.kill(child, signal.SIGTERM)
    ended = os.waitpid(child, 0)[1]
    time.sleep(.3)
print("ended", ended)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a fork")
def test_a_signal_to_a_fork_is_none_to_the_process_it_was_forked_from() -> None:
    command = [sys.executable, "-c", FORKS]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert (done.returncode, done.stdout) == (0, "ended 0\n")


BEGINS = """
import signal, sys
from importlib.abc import MetaPathFinder

signal.signal(signal.SIGINT, signal.default_int_handler)

class Interrupts(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "stitch.console":
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Interrupts())
from stitch.__main__ import main
main()
"""
ENDS = """
import atexit, signal, sys

signal.signal(signal.SIGINT, signal.default_int_handler)
atexit.register(signal.raise_signal, signal.SIGINT)
sys.argv = ["stitch", "--version"]
from stitch.__main__ import main
main()
"""


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize(
    ("moment", "status", "said"), [(BEGINS, 130, "stitch: interrupted\n"), (ENDS, -signal.SIGINT, "")]
)
def test_ctrl_c_before_a_command_has_begun_and_when_it_has_ended_shows_no_traceback(
    moment: str, status: int, said: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", moment], capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert (done.returncode, done.stderr) == (status, said)


@pytest.mark.parametrize(("second", "status"), [(KeyboardInterrupt, 130), (Terminated, 143)])
def test_a_second_signal_while_a_command_ends_by_the_first_shows_no_traceback(
    second: type[BaseException], status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def raising(error: type[BaseException]) -> Callable[..., None]:
        def fail(*_: object, **__: object) -> None:
            raise error

        return fail

    monkeypatch.setattr(cli, "main", raising(KeyboardInterrupt))
    monkeypatch.setattr(click, "echo", raising(second))
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == status
