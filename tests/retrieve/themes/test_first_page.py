"""The question of the first page that similarity and labels miss and themes answer."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

import pytest

README = Path(__file__).resolve().parents[3] / "README.md"
BOUGHT = ("kite", "lanterns", "cake tin")


def test_the_code_of_the_page_shows_all_that_was_bought_by_themes_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    [code] = [block for block in README.read_text(encoding="utf-8").split("```") if "PARTY_NOTES" in block]
    out = io.StringIO()
    names: dict[str, object] = {}
    with contextlib.redirect_stdout(out):
        exec(code.removeprefix("python\n"), names)
    names["memory"].close()  # type: ignore[attr-defined]
    by_intent, by_themes = out.getvalue().strip().removesuffix("</memory>").split("</memory>\n")
    assert not all(thing in by_intent for thing in BOUGHT)
    assert all(thing in by_themes for thing in BOUGHT)
