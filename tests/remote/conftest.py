"""What tests of remote memories share: no settings from outside, and a way to run code in a process of its own."""

import subprocess
import sys
import threading

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


@pytest.fixture
def served(tmp_path, monkeypatch):
    """Serves a folder's memory over loopback from a thread; gives its location, and ends with the test."""
    pytest.importorskip("uvicorn")
    from stitch import open_tenants
    from stitch.serve.access import Access
    from stitch.serve.app import Served, make_app
    from stitch.serve.bodies import Limits
    from stitch.serve.events import EventFeed
    from stitch.serve.metrics import Metrics
    from stitch.serve.running import Ends, listen, serve, url_of

    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    feed, metrics = EventFeed(), Metrics()
    tenants = open_tenants(tmp_path / "m", observers=(feed, metrics))
    access = Access(None, tenant="default", host="127.0.0.1")
    served = Served(tenants=tenants, access=access, feed=feed, metrics=metrics, limits=Limits())
    listening, ready, ends = listen("127.0.0.1", 0), threading.Event(), Ends()

    def run():
        try:
            serve(make_app(served), listening, served=served, ready=ready.set, ends=ends)
        finally:
            ready.set()

    thread = threading.Thread(target=run)
    thread.start()
    assert ready.wait(120)
    yield f"stitch+{url_of(listening)}"
    ends.now()
    thread.join()
    served.close()
