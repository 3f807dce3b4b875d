"""Trees: made, asked, edited, compared, erased."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stitch.errors import ConflictError, InputError
from stitch.server.api import tree_models as models
from stitch.server.api.forgetting import proof_of
from stitch.server.api.models import PageRequest
from stitch.server.api.naming import known_trajectory

if TYPE_CHECKING:
    from stitch.memory import Memory
    from stitch.trees import Commit, Tree, TreeDiff, TreeReply, VersionedTree


def create(memory: Memory, request: models.TreeCreateRequest) -> models.TreeCreated:
    """Make a tree."""
    made = memory.trees.create(
        request.tree,
        _source(request),
        schema=request.definition,
        message=request.message,
        author=request.author,
        time=request.time,
    )
    types = {name: len(places) for name, places in made.tree.of_type.items()}
    return models.TreeCreated(tree=made.name, version=made.version, nodes=len(made.tree), types=types)


def _source(request: models.TreeCreateRequest) -> Tree:
    from stitch.trees.core.reading import read_mapping, read_text

    if (request.text is None) == (request.value is None):
        raise InputError("a new tree is either a text or a value", hint="give one of them")
    return read_text(request.text or "", form=request.form) if request.value is None else read_mapping(request.value)


def listing(memory: Memory, request: PageRequest) -> models.TreesResponse:
    """List the trees."""
    names = memory.trees.names()
    begin = _after(names, request.after, what="tree")
    page = names[begin : begin + request.limit]
    rows = tuple(models.TreeRow.made_of(each, tree=each.name) for each in map(memory.trees.summary, page))
    return models.TreesResponse(trees=rows, next=page[-1] if begin + len(page) < len(names) else None)


def _after(names: list[str], after: str | None, *, what: str) -> int:
    if after is None:
        return 0
    if after not in names:
        raise InputError(f"there is no {what} {after!r} any more", hint="list them from the beginning")
    return names.index(after) + 1


def select(memory: Memory, request: models.TreeSelectRequest) -> models.TreeSelectResponse:
    """Find nodes by a path query."""
    threshold, margin, k, scorer = request.threshold, request.margin, request.k, request.scorer
    if request.tree is None or request.versions:
        if request.version is not None:
            raise InputError(f"version {request.version!r} of which tree?", hint="name the tree")
        found = memory.trees.select(
            request.query, tree=request.tree, as_of=request.as_of,
            threshold=threshold, margin=margin, k=k, scorer=scorer,
        )  # fmt: skip
        version = None
    else:
        own = memory.trees.open(request.tree, branch=request.branch)
        found = own.select(
            request.query, version=request.version, as_of=request.as_of,
            threshold=threshold, margin=margin, k=k, scorer=scorer,
        )  # fmt: skip
        when = request.version if request.version is not None else request.as_of
        asked_all = request.version is None and own.asks_versions(request.query)
        version = None if asked_all else own.version if when is None else own.at(when).id
    return models.TreeSelectResponse(version=version, explanation=found.explain(), **found.as_json())


def select_steps(memory: Memory, request: models.StepSelectRequest) -> models.TreeSelectResponse:
    """Find steps, scopes or trajectories by a path query."""
    if request.trajectory is not None:
        known_trajectory(memory, request.trajectory)
    found = memory.select(
        request.query, trajectory=request.trajectory,
        threshold=request.threshold, margin=request.margin, k=request.k, scorer=request.scorer,
    )  # fmt: skip
    return models.TreeSelectResponse(version=None, explanation=found.explain(), **found.as_json())


def _opened(
    memory: Memory,
    request: models.TreeEditRequest | models.TreeSchemaRequest | models.TreeRevertRequest | models.TreeWordsRequest,
) -> VersionedTree:
    """The tree that is to be changed.

    Raises:
        ConflictError: Its last version is another one than whoever changes it has seen.
    """
    own = memory.trees.open(request.tree, branch=request.branch)
    if request.onto is not None and own.at(request.onto).id != own.version:
        last = own.history()[-1]
        raise ConflictError(
            f"tree {own.name!r} was changed meanwhile: {last.id} by {last.author!r} ({last.message or 'no message'})"
            f" came after {request.onto}",
            hint="look at that version, then edit it: `stitch tree log` and `stitch tree diff` show it",
        )
    return own


def edit(memory: Memory, request: models.TreeEditRequest) -> models.TreeEditResponse:
    """Commit operations, all or none."""
    own = _opened(memory, request)
    before = own.version
    commits = own.edit_all(request.commits, trajectory=request.trajectory)
    return _edited(own, before, commits)


def request_in_words(memory: Memory, request: models.TreeWordsRequest) -> models.TreeWordsResponse:
    """Answer a request in words, and commit what it changes if that is wanted."""
    from stitch.trees.requests.conversation import SHOWN_TURNS, TreeTask

    own = _opened(memory, request)
    talk = own.conversation(request.request, turns=request.turns)
    tasks = None if request.tasks is None else [TreeTask(each.request, each.kind, each.query) for each in request.tasks]
    replies, left = talk.go_on(
        request.request, tasks=tasks, confirm=request.confirm == "yes", stops=request.confirm == "each"
    )
    return models.TreeWordsResponse(
        tree=own.name,
        version=own.version,
        author=talk.author,
        replies=tuple(map(_reply, replies)),
        tasks=tuple(models.TreeTaskModel.made_of(task) for task in left),
        turns=tuple(talk.turns[-SHOWN_TURNS:]),
    )


def _reply(reply: TreeReply) -> models.TreeReplyModel:
    from stitch.trees.core.operations import operation_json

    plain = ("request", "kind", "query", "removed", "answer", "troubles", "calls", "tokens", "milliseconds")
    found = reply.selection
    return models.TreeReplyModel(
        **{name: getattr(reply, name) for name in plain},
        selection=found and models.TreeSelectResponse(version=None, explanation=found.explain(), **found.as_json()),
        operations=tuple(map(operation_json, reply.operations)),
        lines=() if reply.diff is None else _lines(reply.diff),
        commit=reply.commit and reply.commit.id,
    )


def schema(memory: Memory, request: models.TreeSchemaRequest) -> models.TreeEditResponse:
    """Give a tree another schema."""
    own = _opened(memory, request)
    before = own.version
    commit = own.set_schema(request.definition, message=request.message, author=request.author)
    return _edited(own, before, [commit])


def revert(memory: Memory, request: models.TreeRevertRequest) -> models.TreeEditResponse:
    """Let a tree be again as it was in a version."""
    own = _opened(memory, request)
    before = own.version
    commit = own.revert(request.version, message=request.message, author=request.author, trajectory=request.trajectory)
    return _edited(own, before, [commit])


def branch(memory: Memory, request: models.TreeBranchRequest) -> models.TreeLogResponse:
    """Begin another line of versions."""
    own = memory.trees.open(request.tree, branch=request.branch).begin_branch(request.name, at=request.at)
    return models.TreeLogResponse(tree=own.name, branches=own.branches, commits=(_commit(own.history()[-1]),))


def log(memory: Memory, request: models.TreeLogRequest) -> models.TreeLogResponse:
    """List the versions of a tree."""
    own = memory.trees.open(request.tree, branch=request.branch)
    history = own.all_commits() if request.every else own.history()
    begin = _after([each.id for each in history], request.after, what="version")
    page = history[begin : begin + request.limit]
    return models.TreeLogResponse(
        tree=own.name,
        branches=own.branches,
        commits=tuple(map(_commit, page)),
        next=page[-1].id if begin + len(page) < len(history) else None,
    )


def diff(memory: Memory, request: models.TreeDiffRequest) -> models.TreeDiffResponse:
    """Tell what is otherwise in a version than in another."""
    own = memory.trees.open(request.tree, branch=request.branch)
    after = own.version if request.after is None else own.at(request.after).id
    found = own.diff(request.before, after)
    return models.TreeDiffResponse(
        tree=own.name, before=own.at(request.before).id, after=after, changes=found.dump(), lines=_lines(found)
    )


def show(memory: Memory, request: models.TreeShowRequest) -> models.TreeShowResponse:
    """Give a tree with its schema."""
    from stitch.trees.core.operations import node_json

    own = memory.trees.open(request.tree, branch=request.branch)
    then = own.at(own.version if request.version is None else request.version)
    return models.TreeShowResponse(
        tree=own.name, version=then.id, root=node_json(then.tree.root), definition=then.schema.dump()
    )


def export(memory: Memory, request: models.TreeExportRequest) -> models.TreeExportResponse:
    """Give a tree as a text."""
    own = memory.trees.open(request.tree, branch=request.branch)
    then = own.at(own.version if request.version is None else request.version)
    return models.TreeExportResponse(tree=own.name, version=then.id, text=then.export(request.form))


def delete(memory: Memory, request: models.TreeDeleteRequest) -> models.TreeDeleteResponse:
    """Erase a tree with all its versions, or nodes and versions of it, with proof."""
    if request.nodes or request.versions:
        part = memory.trees.erase(request.tree, nodes=request.nodes, versions=request.versions)
        return models.TreeDeleteResponse(
            tree=request.tree, versions=len(part.versions), nodes=part.nodes, emptied=part.messages,
            proof=proof_of(part.proof),
        )  # fmt: skip
    erased = memory.trees.delete(request.tree)
    return models.TreeDeleteResponse(tree=request.tree, versions=erased.versions, proof=proof_of(erased.proof))


def _edited(own: VersionedTree, before: str, commits: list[Commit]) -> models.TreeEditResponse:
    found = own.diff(before)
    return models.TreeEditResponse(
        tree=own.name,
        version=own.version,
        commits=tuple(map(_commit, commits)),
        changes=found.dump(),
        lines=_lines(found),
    )


def _commit(commit: Commit) -> models.CommitModel:
    told = commit.dump()
    if (schema := told.pop("schema", None)) is not None:
        told["definition"] = schema
    return models.CommitModel(**told, recorded=commit.recorded)


def _lines(found: TreeDiff) -> tuple[str, ...]:
    from stitch.trees.requests.telling import lines_of

    return tuple(lines_of(found))
