"""The page at `/`, static files that ask the REST API as any client does, its drawing alone, and the list of paths."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).with_name("web")
FILES_PATH = "/page"
POLICY = "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
"""The content security policy of all answers: a page loads and runs nothing but the files beside it."""


def drawing() -> dict[str, str]:
    """The style and the script of the lanes, which imports nothing, for scopes on a page that stands alone."""
    parts = {"style": "style.css", "lanes": "lanes.js"}
    return {part: (FOLDER / name).read_text(encoding="utf-8") for part, name in parts.items()}


def paths_page(description: Mapping[str, Any]) -> str:
    """The paths of an OpenAPI description as a list that runs no script."""
    items = "".join(
        f"<li><p><code>{method.upper()} {escape(path)}</code></p><p>{escape(about.get('description', ''))}</p></li>"
        for path, methods in description["paths"].items()
        for method, about in methods.items()
    )
    head = '<meta charset="utf-8"><title>Paths of stitch</title><link rel="stylesheet" href="page/style.css">'
    said = (
        f"<h1>Paths</h1><p>{escape(description['info']['description'])}</p>"
        '<p>What each takes and gives: <a href="openapi.json">openapi.json</a>, for any viewer of OpenAPI.</p>'
    )
    return f'<!doctype html><html lang="en"><head>{head}</head><body><main>{said}<ul>{items}</ul></main></body></html>'
