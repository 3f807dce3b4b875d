"""The examples of the page of adapters run as they stand, each in at most 15 lines, without a model or a network."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "stitch/adapters/README.md"
BLOCKS = re.findall(r"^## ([^\n]+)\n(?:(?!^## ).)*?^```python\n(.*?)^```$", PAGE.read_text("utf-8"), re.M | re.S)
PACKAGES = {"LangGraph": "langgraph", "Pydantic AI": "pydantic_ai", "OpenAI Agents": "agents",
            "Google ADK": "google.adk", "OpenTelemetry": "opentelemetry"}  # fmt: skip
SAID = {"DSPy": ["Porto"], "LangGraph": ["{'content': 'Ann lives in Faro.'}", "[{'content': 'Ann lives in Porto.'}]"]}


def test_there_are_examples() -> None:
    assert set(SAID) <= {name for name, _ in BLOCKS}


@pytest.mark.parametrize(("name", "code"), BLOCKS, ids=[name for name, _ in BLOCKS])
def test_an_example_runs_as_it_stands(tmp_path: Path, name: str, code: str) -> None:
    package = PACKAGES.get(name)
    if package is not None and find_spec(package.partition(".")[0]) is None:
        pytest.skip(f"{package} is not installed")
    assert len([line for line in code.splitlines() if line.strip()]) <= 15
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for said in SAID.get(name, []):
        assert said in done.stdout
