"""Artifacts as trees: `core` holds the trees themselves, `requests` what a user asks of them and does to them."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stitch.trees.core.commits import Commit
    from stitch.trees.core.differences import TreeDiff
    from stitch.trees.core.nodes import Node, Tree
    from stitch.trees.core.operations import Add, Delete, Move, Operation, Replace, SetField
    from stitch.trees.core.schema import FieldSchema, Schema, TypeSchema
    from stitch.trees.requests.conversation import TreeReply
    from stitch.trees.requests.trees import Trees, TreeSummary
    from stitch.trees.requests.versioned import TreeVersion, VersionedTree

__all__ = [
    "Add", "Commit", "Delete", "FieldSchema", "Move", "Node", "Operation", "Replace", "Schema", "SetField", "Tree",
    "TreeDiff", "TreeReply", "TreeSummary", "TreeVersion", "Trees", "TypeSchema", "VersionedTree",
]  # fmt: skip
_MODULES = (
    "core.operations", "core.schema", "core.log", "requests.versioned", "requests.trees", "requests.conversation",
)  # fmt: skip
"""Where they are, the lowest first."""


def __getattr__(name: str) -> Any:
    """Names on first use: whoever reads `core` alone loads nothing of what stands above it."""
    for module in _MODULES if name in __all__ else ():
        if hasattr(found := import_module(f"{__name__}.{module}"), name):
            return getattr(found, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
