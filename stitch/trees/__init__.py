"""Artifacts as trees: `core` holds the trees themselves, `requests` what a user asks of them and does to them."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stitch.trees.core.commits import Commit as Commit
    from stitch.trees.core.differences import TreeDiff as TreeDiff
    from stitch.trees.core.nodes import Node as Node
    from stitch.trees.core.nodes import Tree as Tree
    from stitch.trees.core.operations import Add as Add
    from stitch.trees.core.operations import Delete as Delete
    from stitch.trees.core.operations import Move as Move
    from stitch.trees.core.operations import Operation as Operation
    from stitch.trees.core.operations import Replace as Replace
    from stitch.trees.core.operations import SetField as SetField
    from stitch.trees.core.schema import FieldSchema as FieldSchema
    from stitch.trees.core.schema import Schema as Schema
    from stitch.trees.core.schema import TypeSchema as TypeSchema
    from stitch.trees.requests.conversation import TreeReply as TreeReply
    from stitch.trees.requests.trees import Trees as Trees
    from stitch.trees.requests.trees import TreeSummary as TreeSummary
    from stitch.trees.requests.versioned import TreeVersion as TreeVersion
    from stitch.trees.requests.versioned import VersionedTree as VersionedTree

_NAMES = {
    "core.nodes": ("Node", "Tree"),
    "core.operations": ("Add", "Delete", "Move", "Operation", "Replace", "SetField"),
    "core.commits": ("Commit",),
    "core.differences": ("TreeDiff",),
    "core.schema": ("FieldSchema", "Schema", "TypeSchema"),
    "requests.conversation": ("TreeReply",),
    "requests.trees": ("TreeSummary", "Trees"),
    "requests.versioned": ("TreeVersion", "VersionedTree"),
}
__all__ = [
    *(name for names in _NAMES.values() for name in names),
]


def __getattr__(name: str) -> Any:
    """Names on first use: whoever reads `core` alone loads nothing of what stands above it."""
    for module, names in _NAMES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
