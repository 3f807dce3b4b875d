"""Scopes drawn as lanes on a page that stands alone: the style and the script of the server's page."""

from __future__ import annotations

from importlib import resources


def drawing() -> dict[str, str]:
    """The style, and the script of the lanes, which imports nothing."""
    web = resources.files("stitch.server") / "web"
    parts = {"style": "style.css", "lanes": "lanes.js"}
    return {part: (web / name).read_text(encoding="utf-8") for part, name in parts.items()}
