"""Lessons for requests about trees: the path queries that a model writes are asked, and gold nodes have to come."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

from stitch.bench.trees.sets import Outcome, Request, TreeSet
from stitch.errors import InputError, ReplyError
from stitch.label.model.quoting import quote, shorten
from stitch.lm import CHARS_PER_TOKEN, LanguageModel, Purpose
from stitch.pipelines.optimize.tasks import Cost, Lesson, Marks
from stitch.retrieve.path import Forest, select
from stitch.retrieve.path.forest import VERSION, version_forest
from stitch.retrieve.path.grammar import parse_query
from stitch.retrieve.path.scorers import static_scorer
from stitch.retrieve.path.semantics import ScorerSemantics
from stitch.retrieve.path.syntax import types_in
from stitch.signatures.programs import TreeProgram
from stitch.trees.core.schema import infer
from stitch.trees.requests.telling import tree_inputs

_NODES_WEIGHT = 0.8
"""Of the score, what the nodes that are found count; the rest is whether the kind of request is told."""
_MOST_NAMED = 5


class PathTask:
    """Understanding requests about trees as a task for optimizers: what they want, and which nodes they mean."""

    target = "path"
    trained: tuple[str, ...] = ("route",)
    demos = 3

    def __init__(self, domains: Sequence[TreeSet]) -> None:
        self._domains = {domain.name: domain for domain in domains}
        self._inputs = {name: tree_inputs(each.tree, infer(each.tree)) for name, each in self._domains.items()}
        self._semantics = ScorerSemantics(static_scorer())

    def program(self) -> Any:
        """The prompts about trees."""
        return TreeProgram()

    def run(self, program: Any, lesson: Lesson, *, model: LanguageModel) -> Any:
        """The reply to a request; None if it cannot be used."""
        words = quote({"request": lesson.given.words})
        try:
            return model.run(
                program.route, purpose=Purpose("route"), request=words, turns="", **self._inputs[lesson.group]
            )
        except ReplyError:
            return None

    def mark(self, lesson: Lesson, outcome: Any) -> Marks:
        """Ask the queries, and compare what they find with gold."""
        request: Request = lesson.gold
        nothing = {"nodes": 0.0, "kind": 0.0}
        if outcome is None:
            return Marks(0.0, nothing, "The reply could not be used: it has to give tasks.")
        if not outcome.tasks:
            return Marks(0.0, nothing, f"It gave no task, and asked {outcome.question[:200]!r}.")
        found: set[str] = set()
        remarks = []
        for task in outcome.tasks:
            try:
                found |= set(self._asked(task.query, lesson.group))
            except InputError as error:
                remarks.append(f"{task.query[:200]!r} cannot be asked: {error.message}")
        nodes, wanted, kinds = Outcome(request, frozenset(found), 0.0), _kind(request), [t.kind for t in outcome.tasks]
        kind = float(wanted in kinds)
        if nodes.f1 < 1.0:
            remarks.append(_compared(request, found))
        if not kind:
            remarks.append(f"It is of the kind {wanted!r}, not {kinds[0]!r}.")
        score = _NODES_WEIGHT * nodes.f1 + (1 - _NODES_WEIGHT) * kind
        return Marks(score, {"nodes": nodes.f1, "kind": kind}, " ".join(remarks))

    def cost(self, lesson: Lesson) -> Cost:
        """One call, which shows the schema and values."""
        shown = sum(map(len, self._inputs[lesson.group].values()))
        tokens = (shown + len(lesson.shown)) // CHARS_PER_TOKEN
        return Cost(1, 900 + tokens, tokens + 50)

    def _asked(self, query: str, domain: str) -> tuple[str, ...]:
        own = self._domains[domain]
        versions = VERSION in types_in(parse_query(query))
        forest = version_forest(own.versions, tree=own.trees.__getitem__) if versions else Forest(own.tree)
        return select(query, forest=forest, semantics=self._semantics).ids


def _kind(request: Request) -> str:
    return "versions" if request.kind == "version" else request.kind


def _compared(request: Request, found: set[str]) -> str:
    missing = sorted(request.must - found)[:_MOST_NAMED]
    wrong = sorted(found - request.must - request.may)[:_MOST_NAMED]
    told = [f"{len(request.must & found)} of {len(request.must)} nodes were found"]
    told += [f"missing are {', '.join(missing)}"] if missing else []
    told += [f"not meant are {', '.join(wrong)}"] if wrong else []
    return f"{'; '.join(told)}. Right would have been {request.paths[0]}."


def path_lessons(domain: TreeSet) -> Iterator[Lesson]:
    """Yield a lesson for each request of a domain."""
    content = hashlib.sha256("\0".join(node.id + str(sorted(node.fields.items())) for node in domain.tree).encode())
    for request in domain.requests:
        key = hashlib.sha256(f"{content.hexdigest()}\0{request.words}".encode()).hexdigest()
        wanted = f"{_kind(request)} {request.paths[0]}"
        yield Lesson(key, domain.name, request, request, shorten(request.words, limit=400), wanted)
