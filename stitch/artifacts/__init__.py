"""The trees of a memory as its user holds them: made, asked, edited, compared, erased."""

from stitch.artifacts.requests import TreeReply
from stitch.artifacts.trees import Trees, TreeSummary
from stitch.artifacts.versioned import TreeVersion, VersionedTree
from stitch.trees import Node, Tree
from stitch.trees.commits import Commit
from stitch.trees.differences import TreeDiff
from stitch.trees.operations import Add, Delete, Move, Operation, Replace, SetField
from stitch.trees.schema import FieldSchema, Schema, TypeSchema

__all__ = [
    "Add", "Commit", "Delete", "FieldSchema", "Move", "Node", "Operation", "Replace", "Schema", "SetField", "Tree",
    "TreeDiff", "TreeReply", "TreeSummary", "TreeVersion", "Trees", "TypeSchema", "VersionedTree",
]  # fmt: skip
