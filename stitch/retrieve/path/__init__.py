"""The path language: structure, types and meaning in one query."""

from stitch.retrieve.path.evaluate import Cut
from stitch.retrieve.path.forest import VERSION, Forest, Version, version_forest
from stitch.retrieve.path.grammar import parse_query
from stitch.retrieve.path.reading import PathSyntaxError
from stitch.retrieve.path.select import NodeSelection, SelectedNode, select, selection_of
from stitch.retrieve.path.syntax import Query

__all__ = [
    "Cut",
    "Forest",
    "NodeSelection",
    "PathSyntaxError",
    "VERSION",
    "Query",
    "SelectedNode",
    "Version",
    "parse_query",
    "select",
    "selection_of",
    "version_forest",
]
