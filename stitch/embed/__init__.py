"""Embedders: texts in, vectors out. The names load on first use: none of them is needed to import the package."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stitch.embed.lexical import LexicalEncoder
    from stitch.embed.static import StaticEmbedder

_HOME = {
    "LexicalEncoder": "stitch.embed.lexical",
    "StaticEmbedder": "stitch.embed.static",
}

__all__ = ["LexicalEncoder", "StaticEmbedder"]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
