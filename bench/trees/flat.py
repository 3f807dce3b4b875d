"""Flat retrieval beside path queries: the words of the request against all nodes of the type that is asked for.

Each node stands there with all its fields and what it contains. `hindsight` takes the best cut-off of each request by
itself, which no system can know; `fixed` takes one threshold on standard deviations for all, the best for this set.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from stitch.bench.lexical import Bm25
from stitch.bench.trees.sets import Request
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
    if not requests:
        return dict.fromkeys(METHODS), dict.fromkeys(METHODS)
    embedder = StaticEmbedder()
    scored = [_scored(tree, request, embedder) for request in requests]
    hindsight: dict[str, float | None] = {}
    fixed: dict[str, float | None] = {}
    for method in METHODS:
        columns = [(scores[method], right, counts) for scores, right, counts in scored]
        hindsight[method] = round(sum(map(_best_in_hindsight, columns)) / len(columns), 4)
        fixed[method] = round(_best_threshold(columns), 4)
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


def _f1(kept: Marks, right: Marks, counts: Marks) -> float:
    found = float((kept & counts & right).sum())
    return 2 * found / max(1.0, float((kept & counts).sum() + right.sum()))


def _best_in_hindsight(column: tuple[Column, Marks, Marks]) -> float:
    scores, right, counts = column
    return max(_f1(scores >= cut, right, counts) for cut in set(scores.tolist()))


def _best_threshold(columns: Sequence[tuple[Column, Marks, Marks]]) -> float:
    def of(cut: float) -> float:
        return sum(_f1(scores >= cut, right, counts) for scores, right, counts in columns) / len(columns)

    return max(of(step / 20) for step in range(-40, 101))
