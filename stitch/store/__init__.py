"""Snippets in Qdrant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stitch.store.qdrant import QdrantStore

if TYPE_CHECKING:
    from stitch.store.client import ServerStore

__all__ = ["QdrantStore", "ServerStore"]


def __getattr__(name: str) -> Any:
    """A store on a server is loaded when it is asked for: the embedded one needs no client."""
    if name == "ServerStore":
        from stitch.store.client import ServerStore

        return ServerStore
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
