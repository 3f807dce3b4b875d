"""The command in the process of the test, from its options to its end by a signal."""

import json
import logging
import os
import signal
import socket
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


@pytest.mark.skipif(threading.current_thread() is not threading.main_thread(), reason="signals go to the main thread")
@pytest.mark.parametrize("as_json", [True, False])
def test_it_serves_until_a_signal_and_ends_with_status_0(as_json, client_of, monkeypatch, capfd):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    client = client_of(f"http://127.0.0.1:{port}")
    answers: list[object] = []

    def ask_and_end():
        while not answers:
            try:
                answers.append(client.get("/healthz").json)
            except OSError:
                continue
        os.kill(os.getpid(), signal.SIGTERM)

    asking = threading.Thread(target=ask_and_end)
    asking.start()
    backups = ["--backup-every-h", "1", "--backup-to", "backups"]
    options = ["--memory", "m", "--port", str(port), *backups, *(["--json"] if as_json else [])]
    monkeypatch.setattr(sys, "argv", ["stitch", "serve", *options])
    before = logged()
    with pytest.raises(SystemExit) as ended:
        main()
    asking.join()
    assert logged() == before
    out, err = capfd.readouterr()
    assert (ended.value.code or 0, answers) == (0, [{"status": "ok"}])
    url = f"http://127.0.0.1:{port}"
    if as_json:
        assert json.loads(out) == {"url": url, "mcp": f"{url}/mcp", "pid": os.getpid()}
    else:
        assert f"serving at {url}" in err
