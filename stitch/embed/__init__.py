"""Embedders: texts in, vectors out. The names load on first use: none of them is needed to import the package."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stitch.embed.lexical import LexicalEncoder
    from stitch.embed.minilm import MiniLMEmbedder
    from stitch.embed.remote import RemoteEmbedder
    from stitch.embed.sentence_transformer import SentenceTransformerEmbedder
    from stitch.embed.static import StaticEmbedder
    from stitch.testing.hashing import HashingEmbedder

_HOME = {
    "HashingEmbedder": "stitch.testing.hashing",
    "LexicalEncoder": "stitch.embed.lexical",
    "MiniLMEmbedder": "stitch.embed.minilm",
    "RemoteEmbedder": "stitch.embed.remote",
    "SentenceTransformerEmbedder": "stitch.embed.sentence_transformer",
    "StaticEmbedder": "stitch.embed.static",
}

__all__ = [
    "HashingEmbedder",
    "LexicalEncoder",
    "MiniLMEmbedder",
    "RemoteEmbedder",
    "SentenceTransformerEmbedder",
    "StaticEmbedder",
]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
