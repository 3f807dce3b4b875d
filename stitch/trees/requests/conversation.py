"""Requests in words about a tree: a model says what is wanted, queries and operations on ids do it.

A read takes two calls, a write three at most, unless a query or an operation has to be mended: each has three tries.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from stitch.errors import EditRefusedError, InputError, StitchError
from stitch.label.model.quoting import quote, shorten
from stitch.lm import LanguageModel, Purpose, charged_to
from stitch.signatures.programs import TreeProgram
from stitch.trees.core.differences import TreeDiff, diff
from stitch.trees.core.edits import apply
from stitch.trees.core.nodes import Node, Tree
from stitch.trees.core.operations import Operation, operation_json, operations_of
from stitch.trees.requests.telling import path_in, tree_inputs

if TYPE_CHECKING:
    from stitch.retrieve.path import NodeSelection, SelectedNode
    from stitch.trees.core.commits import Commit
    from stitch.trees.core.schema import Schema

MOST_TRIES = 3
"""Tries of a query, or of operations: once, and again for what was wrong with them."""
SHOWN_NODES = 40
"""The most nodes that a prompt shows, the best first."""
CHANGED_NODES = 200
"""The same, where each of them is to be changed."""
DOUBTFUL = (0.4, 0.6)
"""Nodes with scores from here to there are verified before they are changed."""
SHOWN_TURNS = 5
"""Lines of what was said before that a prompt shows."""
_TURN_CHARS = 600
_VALUE_CHARS, _BELOW_CHARS = 200, 600
_SIBLINGS_SHOWN = 10
"""On either side of a node that is changed: a parent may have thousands of children."""
_NOTHING_MEANT = "No node of the tree is meant, so nothing is changed."
_WRITES = ("add", "update", "delete", "move")


@dataclass
class TreeReply:
    """The outcome of one task of a request."""

    request: str
    """As it stands by itself."""
    kind: str
    """`read`, `add`, `update`, `delete`, `move`, `versions`, `chat`; `unclear` if something has to be asked first."""
    query: str = ""
    selection: NodeSelection | None = None
    """The nodes that the query found."""
    removed: tuple[str, ...] = ()
    """The doubtful nodes that the model took out."""
    answer: str = ""
    """In words; the question, if the request is unclear."""
    operations: tuple[Operation, ...] = ()
    """The proposed operations."""
    diff: TreeDiff | None = None
    """The changes that these make."""
    commit: Commit | None = None
    """The commit, if it was confirmed."""
    troubles: tuple[str, ...] = ()
    """Faults of queries and operations that were mended."""
    calls: int = 0
    tokens: int = 0
    milliseconds: float = 0.0

    @property
    def message(self) -> str:
        """Message of the commit: the model's reason, else the request."""
        return self.answer or self.request

    @property
    def is_open(self) -> bool:
        """Whether something is proposed that is not committed."""
        return bool(self.operations) and self.commit is None


class TreeTask(NamedTuple):
    """One thing that a request wants."""

    request: str
    """As it stands by itself."""
    kind: str
    query: str


Confirm: TypeAlias = bool | Callable[[TreeReply], bool]
"""Whether a proposal is committed; a function sees it first."""


class EditableTree(Protocol):
    """A tree of which a conversation is: a `VersionedTree`."""

    @property
    def tree(self) -> Tree:
        """The nodes of the tree."""

    @property
    def schema(self) -> Schema:
        """The schema of its nodes."""

    def select(self, query: str) -> NodeSelection:
        """Find nodes by a path query."""

    def edit(self, operations: Iterable[Operation], *, message: str, author: str) -> Commit:
        """Commit operations."""


class TreeConversation:
    """Requests about one tree, each with those before it in mind."""

    def __init__(
        self, tree: EditableTree, *, model: LanguageModel, tenant: str, program: TreeProgram | None = None
    ) -> None:
        self._tree, self._model, self._tenant = tree, model, tenant
        self._program = program or TreeProgram()
        self.turns: list[str] = []
        """The turns before, a line each."""

    @property
    def author(self) -> str:
        """The author of proposals: the model."""
        return self._model.name

    def ask(self, request: str) -> TreeReply:
        """Answer a request that changes nothing; of one that would, the proposal is what is answered.

        Raises:
            ModelError: The model cannot be used.
        """
        return first_answer(self.request(request, confirm=False))

    def request(self, request: str, *, confirm: Confirm) -> list[TreeReply]:
        """Do what a request wants, one task after the other.

        Raises:
            ModelError: The model cannot be used; what was committed before stays.
            ConflictError: Somebody else has changed the tree meanwhile.
        """
        replies, _ = self.go_on(request, confirm=confirm)
        return replies

    def go_on(
        self, request: str, *, tasks: Sequence[TreeTask] | None = None, confirm: Confirm, stops: bool = False
    ) -> tuple[list[TreeReply], list[TreeTask]]:
        """As `request`, or the `tasks` that were left of it; what became of them, and the tasks that are left.

        If it `stops`, nothing is done behind a change that is not committed: whoever asks decides of it first.
        """
        replies: list[TreeReply] = []
        begun = tasks is not None
        with charged_to(self._tenant):
            self._begin()
            if tasks is None:
                tasks, question = self._routed(request)
                if question:
                    replies = [self._counted(TreeReply(request, "unclear", answer=question))]
            left = list(tasks)
            try:
                while left and not (stops and replies and replies[-1].is_open):
                    task = left.pop(0)
                    reply = TreeReply(task.request, task.kind, query=task.query)
                    replies.append(self._counted(self._do(reply, confirm)))
            finally:  # what was committed before a failure is known to later turns
                self.turns += turns_of(None if begun else request, replies)
        return replies, left

    def _routed(self, request: str) -> tuple[list[TreeTask], str]:
        """The tasks of a request; or none, and what has to be asked first."""
        routed = self._call("route", self._program.route, request=request, turns=self._shown_turns())
        tasks = [TreeTask(task.request or request, task.kind, path_in(task.query)) for task in routed.tasks]
        question = str(routed.question).strip()
        echoed = question.casefold().rstrip("?.! ") == request.casefold().rstrip("?.! ")
        if tasks and (not question or echoed or not any(task.kind in _WRITES for task in tasks)):
            return tasks, ""  # a doubt about what is only read costs less than an answer to it
        return [], question or "The model made nothing of this request; please say it in other words."

    def _do(self, reply: TreeReply, confirm: Confirm) -> TreeReply:
        if reply.kind == "chat" and not reply.query:
            reply.answer = self._answer(reply, ())
            return reply
        reply.query, reply.selection = self._find(reply)
        nodes = tuple(reply.selection)[: _most_shown(reply)] if reply.selection is not None else ()
        if reply.kind not in _WRITES:
            reply.answer = self._answer(reply, nodes)
        elif not nodes:
            reply.answer = _NOTHING_MEANT
        else:
            self._propose(reply, nodes)
            if rest := _not_shown(reply):
                self._troubles.append(f"{rest} more nodes are meant than the {len(nodes)} that were looked at")
            if reply.operations and (confirm if isinstance(confirm, bool) else confirm(reply)):
                reply.commit = self._tree.edit(reply.operations, message=reply.message, author=self.author)
        return reply

    def _find(self, reply: TreeReply) -> tuple[str, NodeSelection | None]:
        """The query, mended if it has to be, and what it finds."""
        query, read, found = reply.query, reply.query, None
        for attempt in range(MOST_TRIES):
            try:
                read, found = query, self._tree.select(query)
                told = found.explain().splitlines()
                trouble = "" if len(found) else f"{told[-1]}\n" + "\n".join(told[:-1])
            except InputError as error:
                trouble = f"{error.message} ({error.hint})"
            if not trouble:
                break
            self._troubles.append(trouble.splitlines()[0])
            if attempt + 1 < MOST_TRIES:
                said = {"query": quote({"query": query}), "trouble": _quoted(trouble)}
                mended = self._call("mend query", self._program.mend, request=reply.request, **said)
                before, query = query, path_in(mended.mended)
                if query in ("", before):  # the model stands by it: there is nothing
                    break
        return (read, found) if found is not None else (query or reply.query, None)

    def _propose(self, reply: TreeReply, nodes: Sequence[SelectedNode]) -> None:
        """Operations that do what is wanted, checked against the tree and its schema."""
        nodes = self._verified(reply, nodes)
        if not nodes:
            reply.answer = _NOTHING_MEANT
            return
        told = self._all_shown(reply, nodes, surroundings=True)
        trouble = ""
        for _ in range(MOST_TRIES):
            inputs = {"request": reply.request, "trouble": _quoted(trouble) if trouble else "", "nodes": told}
            proposed = self._call("propose edits", self._program.propose, **inputs)
            try:
                operations = operations_of(proposed.operations)
                after = apply(self._tree.tree, operations, schema=self._tree.schema)
            except (ValueError, RecursionError, EditRefusedError, InputError) as error:
                trouble = f"{error} ({error.hint})" if isinstance(error, StitchError) and error.hint else str(error)
                self._troubles.append(str(error))
                continue
            changes = diff(self._tree.tree, after)
            if not changes:
                why = str(proposed.message or "").strip()
                reply.answer = f"Nothing is changed{': ' if why else '.'}{why}"
                return
            reply.operations, reply.answer, reply.diff = tuple(operations), str(proposed.message), changes
            return
        reply.answer = f"No operations could be made that the tree allows: {trouble}"

    def _verified(self, reply: TreeReply, nodes: Sequence[SelectedNode]) -> Sequence[SelectedNode]:
        """The nodes without the doubtful ones that do not fulfil the request."""
        low, high = DOUBTFUL
        doubtful = [node for node in nodes if low <= node.score < high]
        if not doubtful:
            return nodes
        told = "\n".join(self._shown(node) for node in doubtful)
        verified = self._call("verify nodes", self._program.verify, request=reply.request, nodes=told)
        reply.removed = tuple(node.id for node in doubtful if node.id in set(verified.remove))
        return [node for node in nodes if node.id not in reply.removed]

    def _answer(self, reply: TreeReply, nodes: Sequence[SelectedNode]) -> str:
        told = self._all_shown(reply, nodes)
        answered = self._call(
            "answer tree", self._program.answer, request=reply.request, nodes=told, turns=self._shown_turns()
        )
        return str(answered.answer)

    # What prompts show.

    def _call(self, stage: str, predictor: Any, *, request: str, **inputs: Any) -> Any:
        self._calls += 1
        inputs["request"] = quote({"request": request})
        known = predictor.signature.input_fields
        if "tree_schema" in known:
            told = tree_inputs(self._tree.tree, self._tree.schema)
            inputs |= {name: value for name, value in told.items() if name in known}
        return self._model.run(predictor, purpose=Purpose(stage), **inputs)

    def _all_shown(self, reply: TreeReply, nodes: Sequence[SelectedNode], *, surroundings: bool = False) -> str:
        """Nodes, a line each; and how many more there are, so that what is shown is not taken for all."""
        lines = [self._shown(node, surroundings=surroundings) for node in nodes]
        if rest := _not_shown(reply):
            lines.append(quote({"shown": len(nodes), "found_beside_these": rest}))
        return "\n".join(lines)

    def _shown(self, node: SelectedNode, *, surroundings: bool = False) -> str:
        told: dict[str, Any] = {
            "id": node.id, "path": node.path, "type": node.type,
            "fields": {name: str(value)[:_VALUE_CHARS] for name, value in node.fields.items()},
        }  # fmt: skip
        if node.versions:
            told["versions"] = list(node.versions)
        own = self._tree.tree.node(node.id) if node.id in self._tree.tree else None
        if own is not None and own.children:
            told["contains"] = _below(own)
        if own is not None and surroundings and (parent := self._tree.tree.parent(node.id)) is not None:
            place = next(number for number, child in enumerate(parent.children) if child.id == node.id)
            first = max(0, place - _SIBLINGS_SHOWN)
            told["siblings"] = [child.id for child in parent.children[first : place + _SIBLINGS_SHOWN + 1]]
            told |= {"parent": parent.id, "position": place + 1, "children_of_parent": len(parent.children)}
        return quote(told)

    def _shown_turns(self) -> str:
        return "\n".join(quote({"turn": turn}) for turn in self.turns[-SHOWN_TURNS:])

    def _tokens(self) -> int:
        return self._model.ledger.of(self._tenant).total().tokens

    def _begin(self) -> None:
        self._began, self._tokens_before, self._calls, self._troubles = (
            time.perf_counter(),
            self._tokens(),
            0,
            list[str](),
        )

    def _counted(self, reply: TreeReply) -> TreeReply:
        reply.calls, reply.troubles = self._calls, tuple(self._troubles)
        reply.tokens = self._tokens() - self._tokens_before
        reply.milliseconds = round((time.perf_counter() - self._began) * 1000, 1)
        self._begin()
        return reply


def first_answer(replies: Sequence[TreeReply]) -> TreeReply:
    """The first reply with an answer, of a request that changes nothing."""
    return next((reply for reply in replies if reply.answer), replies[0])


def turns_of(request: str | None, replies: Iterable[TreeReply]) -> list[str]:
    """Lines that remember a request and its outcome."""
    said = [] if request is None else [f"user: {request[:_TURN_CHARS]}"]
    return said + [f"{reply.kind}: {reply.query} {_outcome(reply)}"[:_TURN_CHARS] for reply in replies]


def _outcome(reply: TreeReply) -> str:
    if reply.commit is not None:
        return f"committed {reply.commit.id}: {json.dumps([operation_json(each) for each in reply.operations])}"
    if reply.selection is None:
        return reply.answer
    return f"found {', '.join(reply.selection.ids[:SHOWN_NODES])}. {reply.answer}"


def _most_shown(reply: TreeReply) -> int:
    return CHANGED_NODES if reply.kind in _WRITES else SHOWN_NODES


def _not_shown(reply: TreeReply) -> int:
    """The number of nodes found beside those that a prompt shows."""
    return 0 if reply.selection is None else max(0, len(reply.selection) - _most_shown(reply))


def _quoted(trouble: str) -> str:
    return quote({"trouble": shorten(trouble, limit=_BELOW_CHARS)})


def _below(node: Node) -> str:
    told: Iterable[str] = (
        f"{child.type} {child.id}: {next(iter(child.fields.values()), '')[:60]}" for child in node.children
    )
    return shorten("; ".join(told), limit=_BELOW_CHARS)
