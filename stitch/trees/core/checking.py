"""Whether the history of a tree is whole: every version comes of the first one by what was done since."""

from __future__ import annotations

from collections.abc import Iterator

from stitch.errors import StitchError
from stitch.trees.core.edits import Index, edit
from stitch.trees.core.log import TreeLog
from stitch.trees.core.nodes import Node, Tree


def faults_of(log: TreeLog) -> Iterator[str]:
    """Faults of a tree: versions that do not come of those before by their operations, or break their schema.

    Every version is made again from the first one on; a tree that is kept whole has to be what that gives.
    """
    heads = set(log.branches.values())
    at: tuple[str | None, Index] | None = None
    for commit in log.commits:
        try:
            if commit.parent is None:
                index = Index(log.whole(commit.id))
            else:
                index = at[1] if at is not None and at[0] == commit.parent else Index(_replayed(log, commit.parent))
                at = None
                edit(index, commit.operations)
                if commit.snapshot and log.whole(commit.id) != index.root:
                    yield f"version {commit.id}: the tree that is kept whole is not what its operations give"
            at = (commit.id, index)
            if commit.id in heads:
                log.schema(commit.id).check(Tree(index.root))
        except StitchError as error:
            yield f"version {commit.id}: {error.message}"
            return


def _replayed(log: TreeLog, version: str) -> Node:
    """A version made from the first one on, whatever is kept whole between."""
    first, *others = log.line(version)
    operations = [each for commit in others for each in commit.operations]
    root = log.whole(first.id)
    return edit(Index(root), operations).root if operations else root
