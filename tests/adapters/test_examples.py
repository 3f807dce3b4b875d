"""The examples of the page of adapters and of `examples` run as they stand, each in at most 15 lines.

A provider on this machine stands in for a model where one is asked.
"""

import asyncio
import io
import os
import re
import runpy
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from stitch.testing.model import LoopbackProvider

PAGE = Path(__file__).resolve().parents[2] / "stitch/adapters/README.md"
EXAMPLES = PAGE.parents[2] / "examples"
BLOCKS = re.findall(r"^## ([^\n]+)\n(?:(?!^## ).)*?^```python\n(.*?)^```$", PAGE.read_text("utf-8"), re.M | re.S)
PACKAGES = {"LangGraph": "langgraph", "Pydantic AI": "pydantic_ai", "OpenAI Agents": "agents",
            "Google ADK": "google.adk", "OpenTelemetry": "opentelemetry"}  # fmt: skip
SAID = {"DSPy": ["Porto"], "LangGraph": ["{'content': 'Ann lives in Faro.'}", "[{'content': 'Ann lives in Porto.'}]"]}


@pytest.fixture(autouse=True)
def loop_closed() -> Iterator[None]:
    """Closes the loop that `run_sync` of a framework makes for its thread and leaves open."""
    yield
    try:
        left = asyncio.get_event_loop_policy().get_event_loop()
    except RuntimeError:  # there is none
        return
    left.close()
    asyncio.set_event_loop(None)


def test_there_are_examples() -> None:
    assert set(SAID) <= {name for name, _ in BLOCKS}


@pytest.mark.parametrize(("name", "code"), BLOCKS, ids=[name for name, _ in BLOCKS])
def test_an_example_runs_as_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str, code: str
) -> None:
    package = PACKAGES.get(name)
    if package is not None and find_spec(package.partition(".")[0]) is None:
        pytest.skip(f"{package} is not installed")
    assert len([line for line in code.splitlines() if line.strip()]) <= 15
    monkeypatch.chdir(tmp_path)
    exec(compile(code, name, "exec"), {"__name__": "__main__"})
    said = capsys.readouterr().out
    for each in SAID.get(name, []):
        assert each in said


FILES = {"chat": "openai", "openai_agents": "agents", "google_adk": "google.adk", "mcp_client": "mcp"}
"""The examples that are files, and what each needs."""


def test_every_file_of_examples_is_tried() -> None:
    elsewhere = {"__init__", "optimize_with_dspy", "cluster"}  # tests/pipelines/test_dspy_script.py, tests/cluster
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {*FILES, *elsewhere}


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_examples_runs_as_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], name: str
) -> None:
    try:
        installed = find_spec(FILES[name])
    except ModuleNotFoundError:
        installed = None
    if installed is None:
        pytest.skip(f"{FILES[name]} is not installed")
    code = (EXAMPLES / f"{name}.py").read_text("utf-8")
    assert len([line for line in code.splitlines() if line.strip()]) <= 15
    monkeypatch.chdir(tmp_path)
    with LoopbackProvider(lambda system, user: "You live in Porto.") as provider:
        own = {"OPENAI_BASE_URL": provider.base_url, "OPENAI_API_KEY": "none", "OPENAI_AGENTS_DISABLE_TRACING": "1"}
        for variable, value in own.items():
            monkeypatch.setenv(variable, value)
        monkeypatch.setattr(sys, "stdin", io.StringIO("Where do I live?\n\n"))
        monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
        runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    assert "Porto" in capfd.readouterr().out


def test_a_chat_knows_what_was_said_in_the_one_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    told: list[str] = []

    def reply(system: str, user: str) -> str:
        told.append(system)
        return "I see."

    with LoopbackProvider(reply) as provider:
        monkeypatch.setenv("OPENAI_BASE_URL", provider.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        for said in ("My cat is called Mina.\nShe is seven.\n\n", "What is my cat called?\n\n"):
            monkeypatch.setattr(sys, "stdin", io.StringIO(said))
            runpy.run_path(str(EXAMPLES / "chat.py"), run_name="__main__")
    assert "Mina" not in told[0]
    assert "My cat is called Mina." in told[2]


def test_the_page_of_agents_shows_the_file_of_the_chat() -> None:
    page = (EXAMPLES.parent / "docs/agents.md").read_text("utf-8")
    assert f'```python title="examples/chat.py"\n{(EXAMPLES / "chat.py").read_text("utf-8")}```' in page
