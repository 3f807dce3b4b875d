"""Flat retrieval beside path queries: the words of the request against all nodes of the type that is asked for.

Each node stands there with all its fields and what it contains. `hindsight` takes the best cut-off of each request by
itself, which no system can know; `fixed` takes one threshold on standard deviations for all, the best for this set.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from stitch.bench.lexical import Bm25
from stitch.bench.trees.sets import Request, mean_of
from stitch.core import Step
from stitch.embed.static import StaticEmbedder
from stitch.trees.core.nodes import Tree, whole_text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Column = NDArray[np.float64]
    Marks = NDArray[np.bool_]

METHODS = ("bm25", "dense", "hybrid")


def flat_figures(tree: Tree, requests: Sequence[Request]) -> tuple[dict[str, float | None], dict[str, float | None]]:
    """Mean F1 of each method: with the best cut of each request in hindsight, and with one threshold for all."""
    embedder = StaticEmbedder()
    scored = [_scored(tree, request, embedder) for request in requests]
    hindsight: dict[str, float | None] = {}
    fixed: dict[str, float | None] = {}
    for method in METHODS:
        columns = [(scores[method], right, counts) for scores, right, counts in scored]
        best = (max(_f1(own, cut) for cut in set(own[0].tolist())) for own in columns)
        hindsight[method] = mean_of(best)
        cuts = (mean_of(_f1(own, step / 20) for own in columns) or 0.0 for step in range(-40, 101))
        fixed[method] = max(cuts) if columns else None
    return hindsight, fixed


def _scored(tree: Tree, request: Request, embedder: StaticEmbedder) -> tuple[dict[str, Column], Marks, Marks]:
    import numpy as np

    types = {tree.node(id_).type for id_ in request.must | request.may if id_ in tree}
    nodes = [node for node in tree if node.type in types]
    texts = [whole_text(node).replace("\n", " ") for node in nodes]
    bm25 = Bm25([Step(role="user", content=text or "-", id=str(place)) for place, text in enumerate(texts)])
    dense = np.asarray(embedder.embed(texts) @ embedder.embed([request.words])[0], np.float64)
    lexical = np.asarray(bm25.scores(request.words), np.float64)
    right = np.array([node.id in request.must for node in nodes])
    counts = np.array([node.id not in request.may for node in nodes])
    spread = {"bm25": _spread(lexical), "dense": _spread(dense)}
    return spread | {"hybrid": _spread(spread["bm25"] + spread["dense"])}, right, counts


def _spread(values: Column) -> Column:
    deviation = float(values.std())
    return (values - values.mean()) / deviation if deviation > 1e-9 else values * 0.0


def _f1(column: tuple[Column, Marks, Marks], cut: float) -> float:
    scores, right, counts = column
    kept = scores >= cut
    found = float((kept & counts & right).sum())
    return 2 * found / max(1.0, float((kept & counts).sum() + right.sum()))
