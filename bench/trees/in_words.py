"""Requests in words from end to end: a language model writes queries and proposes edits, compared with gold."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from stitch.assemble import open_memory
from stitch.bench.trees.edits import meets
from stitch.bench.trees.sets import PARTS, Outcome, Request, TreeSet, mean_of
from stitch.errors import ReplyError, StitchError
from stitch.trees.core.edits import apply

if TYPE_CHECKING:
    from stitch.lm import LanguageModel
    from stitch.signatures.programs import TreeProgram
    from stitch.trees import TreeReply, VersionedTree


class Done(NamedTuple):
    """The outcome of a request."""

    outcome: Outcome
    kind: bool
    """Whether the kind of request was told."""
    edited: bool | None
    """Whether the proposal changes exactly what is expected; None of a request that changes nothing."""
    calls: int
    tokens: int
    unusable: str
    """The reason why the model's reply could not be used; empty if it could."""


def run_in_words(domain: TreeSet, model: LanguageModel, *, program: TreeProgram | None = None) -> list[Done]:
    """Do each request of a domain by itself, on its last version; proposals are compared, not committed."""
    with tempfile.TemporaryDirectory() as folder, open_memory(Path(folder) / "m", labels="local") as memory:
        first, *others = domain.history
        tree = memory.trees.create("tree", domain.trees[first["version"]], message=first["message"], time=first["time"])
        if others:
            tree.edit_all(others)
        return [_done(request, tree, model, program) for request in domain.requests]


def _done(request: Request, tree: VersionedTree, model: LanguageModel, program: TreeProgram | None) -> Done:
    from stitch.trees.requests.conversation import TreeConversation

    spent = model.ledger.total()
    replies: list[TreeReply] = []
    unusable = ""
    try:
        conversation = TreeConversation(tree, model=model, tenant="bench", program=program)
        replies = conversation.request(request.words, confirm=False)
    except ReplyError as error:
        unusable = error.message
    found = {id_ for reply in replies for id_ in _found(reply)}
    after = model.ledger.total()
    return Done(
        Outcome(request, frozenset(found), sum(reply.milliseconds for reply in replies)),
        any(reply.kind == ("versions" if request.kind == "version" else request.kind) for reply in replies),
        _edited(request, tree, replies) if request.edit else None,
        after.calls - spent.calls,
        after.tokens - spent.tokens,
        unusable,
    )


def _found(reply: TreeReply) -> Iterable[str]:
    return () if reply.selection is None else (id_ for id_ in reply.selection.ids if id_ not in reply.removed)


def _edited(request: Request, tree: VersionedTree, replies: Iterable[TreeReply]) -> bool:
    after = tree.tree
    try:
        for reply in replies:
            after = apply(after, reply.operations)
    except StitchError:  # two proposals of one request that cannot both be done
        return False
    return meets(request.edit, before=tree.tree, after=after)


def figures_in_words(done: list[Done]) -> dict[str, Any]:
    """F1 of each part, kinds, edits, and what it cost."""
    figures: dict[str, Any] = {}
    for part in PARTS:
        own = [each.outcome for each in done if each.outcome.request.part == part]
        f1, exact = mean_of(each.f1 for each in own), mean_of(float(each.exact) for each in own)
        figures[part] = {"requests": len(own), "f1": f1, "exact_share": exact}
    edits = [float(each.edited) for each in done if each.edited is not None]
    return figures | {
        "edits": {"requests": len(edits), "exact_share": mean_of(edits)},
        "kind": mean_of(float(each.kind) for each in done),
        "calls": sum(each.calls for each in done),
        "tokens": sum(each.tokens for each in done),
        "unusable": sum(bool(each.unusable) for each in done),
    }
