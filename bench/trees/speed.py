"""Times of path queries and commits on a tree of 10,000 nodes, for `stitch bench perf`."""

from __future__ import annotations

import random
import tempfile
import time
from pathlib import Path
from statistics import median

from stitch.journal import Journal
from stitch.retrieve.path import Forest, select
from stitch.retrieve.path.scorers import Passage, static_scorer
from stitch.retrieve.path.semantics import ScorerSemantics
from stitch.trees.core.commits import MAIN
from stitch.trees.core.edits import apply
from stitch.trees.core.log import NewCommit, TreeLog
from stitch.trees.core.nodes import Node, Tree
from stitch.trees.core.operations import SetField
from stitch.trees.core.schema import infer

_WORDS = [
    "rice", "chicken", "tomato", "basil", "lemon", "carrot", "bread", "cheese", "salmon", "soup", "noodles", "walnut",
    "honey", "spinach", "mushroom", "duck", "beans", "pasta", "garlic", "onion", "walk", "meeting", "museum", "park",
    "beach", "market", "concert", "train", "hotel", "workshop", "lunch", "dinner", "client", "island", "garden",
]  # fmt: skip
STRUCTURAL = (
    "//Day[3]/Meal[2]/Person/Option[1]",
    "//Option[@cost <= 3]",
    '//Meal[@slot = "dinner"]//Option[@minutes <= 15]',
    "//Meal[count(/Person) >= 7]",
    "//Person[2]/Option[-1]",
    '//Day[@date >= "2026-03-20"]/Meal[@slot = "lunch"]',
    "//Day[some(/Meal/Person/Option[@minutes <= 3])]",
)
IN_WORDS = '//Option[node ~= "poultry"][node ~= "with garlic"]'
_ROUNDS = 9
_COMMITS, _MEASURED, _COPIES = 3_000, 50, 10


def sample_tree(rng: random.Random) -> Tree:
    """A plan of 40 days with 8,400 dishes; 10,041 nodes."""

    def said(count: int) -> str:
        return " ".join(rng.choices(_WORDS, k=count))

    def dish(name: str) -> Node:
        cost, minutes = f"€{rng.randint(1, 12)}.{rng.randint(10, 99)}", str(rng.randint(3, 90))
        words, ingredients = said(4), ", ".join(said(1) for _ in range(5))
        return Node(
            name, "Option", fields={"name": words, "ingredients": ingredients, "cost": cost, "minutes": minutes}
        )

    def person(name: str) -> Node:
        fields = {"name": said(1)}
        return Node(name, "Person", fields=fields, children=[dish(f"{name}.{number}") for number in range(6)])

    def meal(name: str) -> Node:
        fields = {"slot": rng.choice(("breakfast", "lunch", "dinner"))}
        return Node(name, "Meal", fields=fields, children=[person(f"{name}.{number}") for number in range(7)])

    def day(number: int) -> Node:
        fields = {"date": f"2026-03-{number % 28 + 1:02}"}
        return Node(str(number), "Day", fields=fields, children=[meal(f"{number}.{own}") for own in range(5)])

    return Tree(Node("plan", "Plan", children=[day(number) for number in range(40)]))


def measure_trees(seed: int = 0) -> dict[str, float]:
    """Times of queries, commits and opening; of two conditions in words, also the first time and after a commit."""
    tree = sample_tree(random.Random(seed))
    forest, semantics = Forest(tree), ScorerSemantics(static_scorer())

    def milliseconds(query: str) -> float:
        began = time.perf_counter()
        select(query, forest=forest, semantics=semantics)
        return (time.perf_counter() - began) * 1000

    semantics.scorer.judge("anything", [Passage(("any text",))])  # an open memory has its table of vectors
    structural = [milliseconds(query) for _ in range(_ROUNDS) for query in STRUCTURAL][len(STRUCTURAL) :]
    first = milliseconds(IN_WORDS)
    warm = median(milliseconds(IN_WORDS) for _ in range(_ROUNDS))
    option = next(node.id for node in tree if node.type == "Option")
    forest = Forest(apply(tree, [SetField(option, "name", "roast duck with garlic")]))
    after_commit = milliseconds(IN_WORDS)
    return {
        "tree_nodes": float(len(tree)),
        "tree_structural_p50_ms": median(structural),
        "tree_words_p50_ms": warm,
        "tree_words_first_ms": first,
        "tree_words_after_commit_ms": after_commit,
    } | _versions(tree)


def _versions(tree: Tree) -> dict[str, float]:
    """Commits of one change each, in a file, among the first and the last fifty of them; and opening a large tree."""
    with tempfile.TemporaryDirectory() as folder:
        journal = Journal(Path(folder) / "journal.sqlite")
        log = _log(journal, "small", tree.root)
        options = [node.id for node in tree if node.type == "Option"]
        costs = []
        for number in range(_COMMITS):
            said = SetField(options[number % len(options)], "minutes", str(number))
            began = time.perf_counter()
            log.append(NewCommit([said], "ann", "", 1.0), branch=MAIN, parent=log.head(MAIN))
            costs.append((time.perf_counter() - began) * 1000)
        large = Node("all", "Plans", children=[_copied(tree.root, f"{copy}/") for copy in range(_COPIES)])
        _log(journal, "large", large)
        began = time.perf_counter()
        opened = TreeLog(journal, tenant="t", name="large").tree("v1")
        seconds = time.perf_counter() - began
        journal.close()
    return {
        "tree_commit_p50_ms": median(costs[:_MEASURED]),
        "tree_commit_late_p50_ms": median(costs[-_MEASURED:]),
        "large_tree_nodes": float(len(opened)),
        "large_tree_open_s": seconds,
    }


def _log(journal: Journal, name: str, root: Node) -> TreeLog:
    first = NewCommit((), "ann", "", 1.0)
    return TreeLog.create(journal, tenant="t", name=name, root=root, schema=infer(Tree(root)), first=first)


def _copied(node: Node, prefix: str) -> Node:
    children = [_copied(child, prefix) for child in node.children]
    return Node(f"{prefix}{node.id}", node.type, fields=node.fields, children=children)
