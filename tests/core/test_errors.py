"""Errors say what happened, and in a traceback what to do next, as Python writes it."""

import sys
import traceback
from importlib import import_module

import pytest

from stitch import open_memory
from stitch.errors import InputError, SettingsError


@pytest.mark.skipif(sys.version_info < (3, 11), reason="tracebacks have notes from 3.11 on")
def test_a_traceback_tells_the_hint_with_arguments_of_python() -> None:
    error = SettingsError("no model is named", hint="name one with --model, or `stitch x --base-url U`")
    told = "".join(traceback.format_exception(error))
    assert told.endswith("no model is named\nhint: name one with model=, or `stitch x --base-url U`\n")
    assert error.hint == "name one with --model, or `stitch x --base-url U`"
    assert "hint" not in "".join(traceback.format_exception(InputError("it is empty")))


def test_a_user_in_python_sees_what_to_do_next() -> None:
    with pytest.raises(SettingsError) as caught:
        open_memory()
    assert "hint: name a folder" in "".join(caught.value.__notes__)


@pytest.mark.parametrize(
    ("adapter", "package", "extra"),
    [("pydantic_ai", "pydantic_ai", "stitch-memory[pydantic-ai]"), ("openai_agents", "agents", "[openai-agents]"),
     ("google_adk", "google", "google-adk"), ("langgraph", "langgraph", "[langgraph]"), ("mcp", "mcp", "[mcp]")],
)  # fmt: skip
def test_an_adapter_without_its_package_names_the_extra(
    adapter: str, package: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name == package or name.startswith(f"{package}.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, f"stitch.adapters.{adapter}", raising=False)
    with pytest.raises(ImportError) as caught:
        import_module(f"stitch.adapters.{adapter}")
    assert extra in str(caught.value)
