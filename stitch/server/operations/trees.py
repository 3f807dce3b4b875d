"""Trees: made, asked, edited, compared, erased; and paths over steps.

More than 400 lines because each of fourteen operations stands with its answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from pydantic import Field
from typing_extensions import Unpack

from stitch.core.steps import Name
from stitch.errors import ConflictError, InputError
from stitch.lifecycle.traces import Proof
from stitch.memory import Memory
from stitch.server.operations.answers import PAGE_ITEMS, Answer, Limit, Page, gathered, page
from stitch.server.operations.operation import operation

if TYPE_CHECKING:
    from stitch.retrieve.path import NodeSelection
    from stitch.trees import Commit, Tree, TreeDiff, TreeReply, VersionedTree
    from stitch.trees.requests.asking import SelectOptions

Form: TypeAlias = Literal["xml", "json", "yaml", "outline"]
MAIN = "main"


class OfTree(Answer):
    """An answer about a tree, and a version of it: of one that is changed, the last by now."""

    tree: str
    version: str


class TreeCreated(OfTree):
    """A tree that was made."""

    nodes: int
    types: Mapping[str, int]
    """Number of nodes of each type it has."""


@operation("POST", "/v1/trees", "write")
def tree_create(
    memory: Memory,
    *,
    tree: Name,
    text: str | None = None,
    form: Form | None = None,
    value: Mapping[str, Any] | None = None,
    definition: Mapping[str, Any] | None = None,
    message: str = "",
    author: str = "person",
    time: str = "",
) -> TreeCreated:
    """Make a tree of a text in one of the formats, or of a JSON object; its schema is inferred, or given."""
    source = _source(text, form=form, value=value)
    made = memory.trees.create(tree, source, schema=definition, message=message, author=author, time=time)
    types = {name: len(places) for name, places in made.tree.of_type.items()}
    return TreeCreated(tree=made.name, version=made.version, nodes=len(made.tree), types=types)


def _source(text: str | None, *, form: str | None, value: Mapping[str, Any] | None) -> Tree:
    from stitch.trees.core.reading import read_mapping, read_text

    if (text is None) == (value is None):
        raise InputError("a new tree is either a text or a value", hint="give one of them")
    return read_text(text or "", form=form) if value is None else read_mapping(value)


class TreeRow(OfTree):
    """A tree in a list; see `TreeSummary`."""

    versions: int
    branches: int
    nodes: int
    types: Mapping[str, int]
    time: str
    author: str
    message: str


class TreeList(Page):
    """The trees, in the order in which they were made."""

    trees: tuple[TreeRow, ...]


@operation("GET", "/v1/trees", "read")
def trees(memory: Memory, *, limit: Limit = PAGE_ITEMS, after: str | None = None) -> TreeList:
    """List the trees, the oldest first."""

    def row(name: str) -> TreeRow:
        return gathered(TreeRow, memory.trees.summary(name), tree=name)

    return page(TreeList, memory.trees.names(), limit=limit, after=after, row=row)


class Nodes(Answer):
    """The nodes that a path query found, by rank, and how."""

    query: str
    canonical: str
    """The query in its one written form."""
    version: str | None
    """Which was asked; null if all were."""
    nodes: tuple[Mapping[str, Any], ...]
    """Each with rank, id, path, type, score, fields, text; of all versions, with those in which it was found."""
    considered: int
    milliseconds: float
    trace: tuple[Mapping[str, Any], ...]
    explanation: str
    """The trace as a person reads it."""


def _nodes(found: NodeSelection, *, version: str | None = None) -> Nodes:
    return Nodes(version=version, explanation=found.explain(), **found.as_json())


@operation("POST", "/v1/trees/select", "read", is_search=True)
def tree_select(
    memory: Memory,
    *,
    query: str,
    tree: Name | None = None,
    version: str | None = None,
    branch: Name = MAIN,
    as_of: str | float | None = None,
    versions: bool = False,
    **options: Unpack[SelectOptions],
) -> Nodes:
    """Find nodes by a path query, in one version of a tree or in all: of those, if the query begins with `/Version`."""
    if tree is None or versions:
        if version is not None:
            raise InputError(f"version {version!r} of which tree?", hint="name the tree")
        return _nodes(memory.trees.select(query, tree=tree, as_of=as_of, **options))
    own = memory.trees.open(tree, branch=branch)
    found = own.select(query, version=version, as_of=as_of, **options)
    if version is None and own.asks_versions(query):
        return _nodes(found)
    when = as_of if version is None else version
    return _nodes(found, version=own.version if when is None else own.at(when).id)


@operation("POST", "/v1/select", "read", is_search=True)
def select(memory: Memory, *, query: str, trajectory: Name | None = None, **options: Unpack[SelectOptions]) -> Nodes:
    """Find steps, scopes or trajectories by a path query."""
    return _nodes(memory.select(query, trajectory=trajectory, **options))


class CommitRow(Answer):
    """A commit; see `Commit`."""

    version: str
    parent: str | None
    branch: str
    time: str
    author: str
    message: str
    operations: tuple[Mapping[str, Any], ...]
    redacted: Mapping[str, int] = {}  # pydantic copies it
    recorded: float | None = None
    """Time when it was committed, in Unix seconds."""
    definition: Mapping[str, Any] | None = None
    """The schema from here on, if it is another."""


class TreeEdited(OfTree):
    """An edit that was committed."""

    commits: tuple[CommitRow, ...]
    changes: Mapping[str, Any]
    """What is otherwise than before: nodes added, removed, moved, fields changed."""
    lines: tuple[str, ...]
    """The same for a person."""


def _edited(own: VersionedTree, edit: Callable[[], list[Commit]]) -> TreeEdited:
    before = own.version
    commits, found = edit(), own.diff(before)
    rows = tuple(map(_commit, commits))
    return TreeEdited(tree=own.name, version=own.version, commits=rows, changes=found.dump(), lines=_lines(found))


def _commit(commit: Commit) -> CommitRow:
    told = commit.dump()
    definition = {"definition": told.pop("schema")} if "schema" in told else {}
    return CommitRow(**told, **definition, recorded=commit.recorded)


def _lines(found: TreeDiff) -> tuple[str, ...]:
    from stitch.trees.requests.telling import lines_of

    return tuple(lines_of(found))


def _opened(memory: Memory, tree: str, *, branch: str, onto: str | None) -> VersionedTree:
    """The tree that is to be changed.

    Raises:
        ConflictError: Its last version is another one than `onto`, which whoever changes it has seen.
    """
    own = memory.trees.open(tree, branch=branch)
    if onto is not None and own.at(onto).id != own.version:
        last = own.history()[-1]
        raise ConflictError(
            f"tree {own.name!r} was changed meanwhile: {last.id} by {last.author!r} ({last.message or 'no message'})"
            f" came after {onto}",
            hint="look at that version, then edit it: `stitch tree log` and `stitch tree diff` show it",
        )
    return own


@operation("POST", "/v1/trees/edit", "write")
def tree_edit(
    memory: Memory,
    *,
    tree: Name,
    branch: Name = MAIN,
    commits: Annotated[Sequence[Mapping[str, Any]], Field(min_length=1, max_length=10_000)],
    onto: str | None = None,
    trajectory: Name | None = None,
) -> TreeEdited:
    """Commit operations to a tree, all or none: each commit is `{operations, message?, author?, time?, parent?}`.

    With `onto`, the version that whoever edits has seen, it is refused if another one is the last by now. In
    `trajectory` a step is left that tells of each commit.
    """
    own = _opened(memory, tree, branch=branch, onto=onto)
    return _edited(own, lambda: own.edit_all(commits, trajectory=trajectory))


@operation("POST", "/v1/trees/schema", "write")
def tree_schema(
    memory: Memory,
    *,
    tree: Name,
    branch: Name = MAIN,
    definition: Mapping[str, Any] | None = None,
    message: str = "",
    author: str = "person",
    onto: str | None = None,
) -> TreeEdited:
    """Give a tree another schema, which guards its edits; inferred from the tree if there is none here."""
    own = _opened(memory, tree, branch=branch, onto=onto)
    return _edited(own, lambda: [own.set_schema(definition, message=message, author=author)])


@operation("POST", "/v1/trees/revert", "write")
def tree_revert(
    memory: Memory,
    *,
    tree: Name,
    branch: Name = MAIN,
    version: str,
    message: str = "",
    author: str = "person",
    trajectory: Name | None = None,
    onto: str | None = None,
) -> TreeEdited:
    """Restore a version of a tree, as a new commit."""
    own = _opened(memory, tree, branch=branch, onto=onto)
    return _edited(own, lambda: [own.revert(version, message=message, author=author, trajectory=trajectory)])


class TaskRow(Answer):
    """One thing that a request in words wants."""

    request: str
    """As it stands by itself."""
    kind: str
    query: str


class ReplyRow(Answer):
    """The outcome of one task of a request; see `TreeReply`."""

    request: str
    kind: str
    query: str
    selection: Nodes | None
    """What the query found."""
    removed: tuple[str, ...]
    """Doubtful nodes that the model took out."""
    answer: str
    operations: tuple[Mapping[str, Any], ...]
    """What is proposed, or was committed."""
    lines: tuple[str, ...]
    """What that changes."""
    commit: str | None
    """The version that it made."""
    troubles: tuple[str, ...]
    calls: int
    tokens: int
    milliseconds: float


class TreeAnswered(OfTree):
    """The outcome of a request in words."""

    author: str
    """Who commits what is proposed: the model."""
    replies: tuple[ReplyRow, ...]
    tasks: tuple[TaskRow, ...]
    """What is left to do."""
    turns: tuple[str, ...]
    """What to give with the next request."""


@operation("POST", "/v1/trees/request", "write")
def tree_request(
    memory: Memory,
    *,
    tree: Name,
    branch: Name = MAIN,
    request: str,
    confirm: Literal["no", "yes", "each"] = "no",
    tasks: Annotated[Sequence[TaskRow], Field(max_length=100)] | None = None,
    turns: Annotated[Sequence[str], Field(max_length=100)] = (),
    onto: str | None = None,
) -> TreeAnswered:
    """Answer a request in words about a tree by a language model, and commit what it changes if told so.

    With `confirm` "each", nothing is done behind a change that is proposed: commit it by an edit, or do not, and ask
    again with the `tasks` that are left. `turns` is what was said before, a line each.
    """
    own = _opened(memory, tree, branch=branch, onto=onto)
    return requested(own, request=request, confirm=confirm, tasks=tasks, turns=turns)


def requested(
    own: VersionedTree, *, request: str, confirm: Literal["no", "yes", "each"], tasks: Sequence[TaskRow] | None,
    turns: Sequence[str],
) -> TreeAnswered:  # fmt: skip
    """The outcome of a request in words about a tree that is open."""
    from stitch.trees.requests.conversation import SHOWN_TURNS, TreeTask

    talk = own.conversation(request, turns=turns)
    given = None if tasks is None else [TreeTask(each.request, each.kind, each.query) for each in tasks]
    replies, left = talk.go_on(request, tasks=given, confirm=confirm == "yes", stops=confirm == "each")
    return TreeAnswered(
        tree=own.name,
        version=own.version,
        author=talk.author,
        replies=tuple(map(_reply, replies)),
        tasks=tuple(left),
        turns=tuple(talk.turns[-SHOWN_TURNS:]),
    )


def _reply(reply: TreeReply) -> ReplyRow:
    from stitch.trees.core.operations import operation_json

    return gathered(
        ReplyRow,
        reply,
        selection=reply.selection and _nodes(reply.selection),
        operations=tuple(map(operation_json, reply.operations)),
        lines=() if reply.diff is None else _lines(reply.diff),
        commit=reply.commit and reply.commit.id,
    )


class TreeLog(Page):
    """The versions of a branch, the first first."""

    tree: str
    branches: Mapping[str, str]
    """The last version of each branch."""
    commits: tuple[CommitRow, ...]


@operation("POST", "/v1/trees/branch", "write")
def tree_branch(memory: Memory, *, tree: Name, branch: Name = MAIN, name: Name, at: str | None = None) -> TreeLog:
    """Begin another line of versions of a tree, at its last version or another one."""
    own = memory.trees.open(tree, branch=branch).begin_branch(name, at=at)
    return TreeLog(tree=own.name, branches=own.branches, commits=(_commit(own.history()[-1]),))


@operation("GET", "/v1/trees/log", "read")
def tree_log(
    memory: Memory,
    *,
    tree: Name,
    branch: Name = MAIN,
    every: bool = False,
    limit: Limit = PAGE_ITEMS,
    after: str | None = None,
) -> TreeLog:
    """List the versions of a tree, the first first; with `every` the commits of all branches."""
    own = memory.trees.open(tree, branch=branch)
    history = own.all_commits() if every else own.history()
    about = {"tree": own.name, "branches": own.branches}
    return page(TreeLog, history, limit=limit, after=after, name=lambda each: each.id, row=_commit, **about)


class TreeDifference(Answer):
    """Differences of a second version."""

    tree: str
    before: str
    after: str
    changes: Mapping[str, Any]
    lines: tuple[str, ...]


@operation("GET", "/v1/trees/diff", "read")
def tree_diff(
    memory: Memory, *, tree: Name, branch: Name = MAIN, before: str, after: str | None = None
) -> TreeDifference:
    """Compare two versions of a tree, or one with the last."""
    own = memory.trees.open(tree, branch=branch)
    last = own.version if after is None else own.at(after).id
    found = own.diff(before, last)
    return TreeDifference(
        tree=own.name, before=own.at(before).id, after=last, changes=found.dump(), lines=_lines(found)
    )


class TreeShown(OfTree):
    """A tree."""

    root: Mapping[str, Any]
    """`{"id", "type", "fields", "children"?}`."""
    definition: Mapping[str, Any]
    """The schema that guards it."""


@operation("GET", "/v1/trees/show", "read")
def tree_show(memory: Memory, *, tree: Name, branch: Name = MAIN, version: str | None = None) -> TreeShown:
    """Give a version of a tree, or the last one, with its schema."""
    from stitch.trees.core.operations import node_json

    own = memory.trees.open(tree, branch=branch)
    then = own.at(own.version if version is None else version)
    return TreeShown(tree=own.name, version=then.id, root=node_json(then.tree.root), definition=then.schema.dump())


class TreeText(OfTree):
    """A tree as a text."""

    text: str


@operation("GET", "/v1/trees/export", "read")
def tree_export(
    memory: Memory, *, tree: Name, branch: Name = MAIN, version: str | None = None, form: Form = "xml"
) -> TreeText:
    """Give a version of a tree, or the last one, as XML, JSON, YAML or an outline."""
    own = memory.trees.open(tree, branch=branch)
    then = own.at(own.version if version is None else version)
    return TreeText(tree=own.name, version=then.id, text=then.export(form))


class TreeErased(Answer):
    """The erasure of a tree, with the proof that it is gone."""

    tree: str
    versions: int
    """Number of versions erased."""
    nodes: tuple[str, ...] = ()
    """The nodes that are gone from all versions, if only nodes or versions were to be erased."""
    emptied: tuple[str, ...] = ()
    """The versions whose message said what is gone: it is empty now."""
    proof: Proof


@operation("POST", "/v1/trees/delete", "forget")
def tree_delete(
    memory: Memory,
    *,
    tree: Name,
    nodes: Annotated[Sequence[Name], Field(max_length=1_000)] = (),
    versions: Annotated[Sequence[Name], Field(max_length=1_000)] = (),
) -> TreeErased:
    """Erase a tree with all its versions, with proof; or nodes with what stood below them, or versions of it."""
    if nodes or versions:
        part = memory.trees.erase(tree, nodes=nodes, versions=versions)
        counted, emptied = len(part.versions), part.messages
        return TreeErased(tree=tree, versions=counted, nodes=part.nodes, emptied=emptied, proof=part.proof)
    return gathered(TreeErased, memory.trees.delete(tree), tree=tree)
