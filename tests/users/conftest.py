"""What tests at user level share: a short trip, the command in this process, a served memory, a model by rule.

Only what the pages tell users is named here, so that the tests hold whatever is behind it.
"""

import json
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from doubles import http
from stitch import Step, open_memory

TRIP = (
    {"id": "ask", "role": "user", "content": "Let's plan day 1 in Porto. Which hotel do you propose?"},
    {"id": "hotel", "role": "assistant", "content": "The Casa Azul, for 80 euros a night."},
    {"id": "take", "role": "user", "content": "Good, I take the Casa Azul."},
    {"id": "boat-ask", "role": "user", "content": "Now day 2: how do we get to Faro?"},
    {"id": "boat", "role": "assistant", "content": "The boat to Faro leaves at nine and costs 35 euros."},
    {"id": "nuts", "role": "user", "content": "By the way, my daughter is allergic to nuts."},
    {"id": "run", "role": "assistant", "content": "I look up the ferry.",
     "tool_calls": [{"id": "c1", "name": "timetable", "arguments": {"line": "Faro"}}]},
    {"id": "seen", "role": "tool", "content": "departure 09:00, pier 4", "tool_name": "timetable"},
)  # fmt: skip


@pytest.fixture(autouse=True)
def nothing_set(in_empty_folder):
    pass


@pytest.fixture
def memory(tmp_path):
    with open_memory(tmp_path / "trip.memory") as opened:
        opened.add_many([Step.model_validate(step) for step in TRIP], trajectory="trip")
        yield opened


@pytest.fixture
def told(stitch):
    def call(*arguments):
        status, out, err = stitch(*arguments, "--json")
        assert status == 0, err
        return json.loads(out)

    return call


@pytest.fixture
def trip_file(tmp_path):
    path = tmp_path / "trip.jsonl"
    path.write_text("".join(json.dumps(step) + "\n" for step in TRIP), encoding="utf-8")
    return path


@pytest.fixture
def kept(stitch, trip_file):
    assert stitch("ingest", trip_file, "--memory", "trip.memory")[0] == 0
    return "trip.memory"


class Client(http.Client):
    """Sends its fields as JSON."""

    def ask(self, method, path, body=None, **headers):
        if isinstance(body, dict):
            body, headers["Content_Type"] = json.dumps(body), "application/json"
        return super().ask(method, path, body, **headers)

    def post(self, path, /, **body):  # type: ignore[override]
        return self.ask("POST", path, body)


@contextmanager
def _served(*arguments):
    program = str(Path(sys.executable).parent / "stitch")
    command = [program, "serve", "--port", "0", "--json", *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            yield json.loads(process.stdout.readline())["url"]
        finally:
            process.terminate()


@pytest.fixture(scope="session")
def served(tmp_path_factory):
    pytest.importorskip("fastapi")
    with _served("--memory", tmp_path_factory.mktemp("served") / "m") as url:
        yield Client(url)


@pytest.fixture(scope="session")
def keyed(tmp_path_factory):
    pytest.importorskip("fastapi")
    folder = tmp_path_factory.mktemp("keyed")
    from click.testing import CliRunner

    from stitch.cli.main import cli

    keys = {}
    for tenant, actions in (("bea", "read write"), ("eve", "read")):
        allowed = [word for action in actions.split() for word in ("--action", action)]
        made = ["keys", "add", "--keys", str(folder / "keys.json"), "--tenant", tenant, *allowed, "--json"]
        done = CliRunner().invoke(cli, made)
        assert done.exit_code == 0, done.output
        keys[tenant] = json.loads(done.stdout)["key"]
    with _served("--memory", folder / "m", "--keys", folder / "keys.json") as url:
        yield {tenant: Client(url, key=key) for tenant, key in keys.items()}


@pytest.fixture
def model():
    from stitch.testing.model import LoopbackProvider
    from stitch.testing.rules import reply_by_rules

    with LoopbackProvider(reply_by_rules) as provider:
        yield {"model": "rules", "base_url": provider.base_url}
