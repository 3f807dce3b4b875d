"""Where snippets are kept and ranked: Qdrant in this process, or a Qdrant server."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stitch.store.embedded import EdgeStore
    from stitch.store.server import ServerStore

__all__ = ["EdgeStore", "ServerStore"]

_HOME = {"EdgeStore": "stitch.store.embedded", "ServerStore": "stitch.store.server"}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'stitch.store' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value
