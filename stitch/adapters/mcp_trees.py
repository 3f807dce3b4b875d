"""Two more tools of the Model Context Protocol where a memory holds trees: asked by path queries, and edited."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, Field

from stitch.adapters.recalled import recalled_steps
from stitch.api.models import PageRequest
from stitch.api.operations import Action, ask, made
from stitch.api.tree_models import TreeEditRequest, TreeSelectRequest
from stitch.core import MemorySnippet
from stitch.errors import ScopeError, StitchError

if TYPE_CHECKING:
    from stitch.memory import Memory

TREE_TOOLS = ("select", "edit")


class Nodes(BaseModel):
    """What a path query found."""

    context: str
    nodes: list[dict[str, Any]]
    """By rank: id, path and score."""
    explanation: str
    version: str | None


class Edited(BaseModel):
    """That an edit is durable."""

    tree: str
    versions: list[str]


class TreeAnswers:
    """What the tools for trees do.

    Args:
        memory_for: Gives the memory that a call may use, by what it does.
    """

    def __init__(self, memory_for: Callable[[Action], Memory]) -> None:
        self._memory_for = memory_for

    def select(self, query: str, tree: str | None = None, k: Annotated[int, Field(ge=1, le=100)] = 20) -> Nodes:
        """Find nodes of a tree by a path, such as `//Day[2]/POI[node ~= "museum"]` or `//Task[@due < "2026-06-01"]`.

        Without a tree all are asked, in all versions.
        """
        memory = self._memory_for("read")
        answer = ask(memory, "tree_select", made(TreeSelectRequest, query=query, tree=tree, k=k))
        snippets = [
            MemorySnippet(
                tenant=memory.tenant, trajectory=tree or "trees", step=str(node["id"]), position=int(str(node["rank"])),
                role=str(node["type"]), text=str(node["text"]), resolved=str(node["text"]), recorded=0.0,
            )
            for node in answer.nodes
        ]  # fmt: skip
        return Nodes(
            context=recalled_steps(snippets),
            nodes=[{name: node[name] for name in ("id", "path", "score")} for node in answer.nodes],
            explanation=answer.explanation,
            version=answer.version,
        )

    def edit(self, tree: str, operations: list[dict[str, Any]], message: str = "", onto: str | None = None) -> Edited:
        """Commit operations to a tree, all or none.

        {op: set, id, field, old, value}, {op: add, parent, position, node: {id, type, fields}}, {op: delete, id} or
        {op: move, id, parent, position}. onto: the version you saw.
        """
        commit = {"operations": operations, "message": message, "author": "agent"}
        request = made(TreeEditRequest, tree=tree, commits=[commit], onto=onto)
        answer = ask(self._memory_for("write"), "tree_edit", request)
        return Edited(tree=tree, versions=[made.version for made in answer.commits])

    def hold_any(self) -> bool:
        """Whether the memory of a caller holds trees; false for one that may not read."""
        try:
            return bool(ask(self._memory_for("read"), "trees", PageRequest(limit=1)).trees)
        except ScopeError:
            return False
        except StitchError:  # whether there are any is not known: a tool that is called says what went wrong
            return True
