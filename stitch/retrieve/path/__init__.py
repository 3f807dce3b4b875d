"""The path language: structure, types and meaning in one query."""

from stitch.retrieve.path.evaluate import Cut
from stitch.retrieve.path.forest import Forest
from stitch.retrieve.path.grammar import parse_query
from stitch.retrieve.path.reading import PathSyntaxError
from stitch.retrieve.path.select import NodeSelection, SelectedNode, select, selection_of
from stitch.retrieve.path.syntax import Query, written

__all__ = [
    "Cut",
    "Forest",
    "NodeSelection",
    "PathSyntaxError",
    "Query",
    "SelectedNode",
    "parse_query",
    "select",
    "selection_of",
    "written",
]
