"""The command in the process of the test, from its options to its end by a signal."""

import io
import json
import logging
import os
import queue
import re
import signal
import sys
import threading

import pytest

from stitch.cli import main

LOGGERS = ("stitch", "stitch.events", "uvicorn.error")


@pytest.fixture(autouse=True)
def turns_as_before():
    interval = sys.getswitchinterval()
    yield
    sys.setswitchinterval(interval)


def logged():
    """How the logs are set that the command sets while it serves."""
    return [(log.level, log.handlers, log.propagate) for log in map(logging.getLogger, LOGGERS)]


class Said(io.StringIO):
    """A stream whose lines can be waited for."""

    def __init__(self):
        super().__init__()
        self.lines: queue.SimpleQueue[str] = queue.SimpleQueue()

    def write(self, text):
        written = super().write(text)
        self.lines.put(text)
        return written


@pytest.mark.skipif(threading.current_thread() is not threading.main_thread(), reason="signals go to the main thread")
@pytest.mark.parametrize("as_json", [True, False])
def test_it_serves_until_a_signal_and_ends_with_status_0(as_json, client_of, monkeypatch):
    out, err = Said(), Said()
    answers: list[object] = []

    def ask_and_end():
        lines = (out if as_json else err).lines
        try:
            while not (found := re.search(r"http://127\.0\.0\.1:\d+", lines.get(timeout=120))):
                pass
            answers.extend((found[0], client_of(found[0]).get("/healthz").json))
        finally:
            os.kill(os.getpid(), signal.SIGTERM)

    asking = threading.Thread(target=ask_and_end)
    asking.start()
    backups = ["--backup-every-h", "1", "--backup-to", "backups"]
    options = ["--memory", "m", "--port", "0", *backups, *(["--json"] if as_json else [])]
    monkeypatch.setattr(sys, "argv", ["stitch", "serve", *options])
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    before = logged()
    with pytest.raises(SystemExit) as ended:
        main()
    asking.join()
    assert logged() == before
    url, answer = answers
    assert (ended.value.code or 0, answer) == (0, {"status": "ok"})
    if as_json:
        assert json.loads(out.getvalue()) == {"url": url, "mcp": f"{url}/mcp", "pid": os.getpid()}
    else:
        assert f"serving at {url}" in err.getvalue()
