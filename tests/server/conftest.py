"""What tests of the server share: clients of a memory that a thread of this process serves, and other processes."""

import subprocess
import sys
from contextlib import ExitStack

import pytest

from doubles.http import Client
from doubles.serving import running
from stitch.server.keys import KeyFile, make_key

NOW = 1_000.0


@pytest.fixture(autouse=True)
def empty_folder(in_empty_folder):
    pass


@pytest.fixture
def client_of():
    return Client


@pytest.fixture
def serving(tmp_path):
    with ExitStack() as begun:
        yield lambda **options: begun.enter_context(running(tmp_path / "m", **options))


@pytest.fixture(scope="module")
def refusing(tmp_path_factory):
    with running(tmp_path_factory.mktemp("refusing") / "m") as client:
        yield client
        assert client.get("/v1/status").json["accepted"] == 0


@pytest.fixture
def keyed(serving, tmp_path):
    def call(*, limits=None, **tenants):
        file = KeyFile(tmp_path / "keys.json", clock=lambda: NOW)
        made = {name: make_key(name, actions=actions, now=NOW) for name, actions in tenants.items()}
        for each in made.values():
            file.add(each.key)
        client = serving(keys=file, limits=limits)
        clients = []
        for each in made.values():
            one = Client(client.url, key=each.text)
            one.id, one.served, one.end, one.file = each.key.id, client.served, client.end, file
            clients.append(one)
        return clients

    return call


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
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    with running(tmp_path / "m") as client:
        yield f"stitch+{client.url}"
