"""`Memory.trees` over a transport: trees of a memory that is somewhere else, with their versions."""

from __future__ import annotations

import builtins
import threading
from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

from typing_extensions import Unpack, override

from stitch.core import trajectory_name
from stitch.errors import InputError
from stitch.ingest.trees import tree_name
from stitch.lifecycle.erase import ErasedFromTree, ErasedTrees
from stitch.server.api import tree_models as models
from stitch.server.api.models import MOST_PAGE_ITEMS, PageRequest
from stitch.server.api.operations import made
from stitch.server.remote import rebuilding
from stitch.trees.core.commits import MAIN, Commit
from stitch.trees.core.differences import diff
from stitch.trees.core.edits import apply
from stitch.trees.core.nodes import Node, Tree
from stitch.trees.core.operations import Operation, node_json, operation_json, operations_of
from stitch.trees.core.reading import read_mapping, read_tree
from stitch.trees.core.schema import Schema, schema_of
from stitch.trees.core.versions import TreeVersions
from stitch.trees.requests.asking import SelectOptions, asks_versions
from stitch.trees.requests.trees import Trees, TreeSummary, given_schema, nothing_to_erase
from stitch.trees.requests.versioned import PERSON, TreeVersion, VersionedTree, nothing_to_commit, two_moments

if TYPE_CHECKING:
    from stitch.retrieve.path import NodeSelection
    from stitch.server.remote.asking import Asking
    from stitch.trees.requests.conversation import Confirm, TreeReply

_LOGS_KEPT = 16


class RemoteTrees(Trees):
    """The trees of a memory that is somewhere else."""

    def __init__(self, memory: Asking) -> None:
        # Not that of `Trees`: everything that uses its parts is overridden.
        self._memory = memory
        self._told: OrderedDict[str, RemoteVersions] = OrderedDict()
        self._lock = threading.Lock()

    @override
    def create(
        self,
        name: str,
        source: str | PathLike[str] | Mapping[str, Any] | Tree,
        *,
        schema: Schema | Mapping[str, Any] | str | PathLike[str] | None = None,
        form: str | None = None,
        message: str = "",
        author: str = PERSON,
        time: str = "",
    ) -> VersionedTree:
        chosen, tree = given_schema(schema), read_tree(source, form=form)
        self._memory.ask(
            "tree_create",
            made(
                models.TreeCreateRequest, tree=tree_name(name), value=node_json(tree.root),
                definition=None if chosen is None else chosen.dump(), message=message, author=author, time=time,
            ),
        )  # fmt: skip
        return self.open(name)

    @override
    def open(self, name: str, *, branch: str = MAIN) -> VersionedTree:
        return RemoteTree(self._memory, self._versions(tree_name(name)), branch=branch)

    @override
    def names(self) -> list[str]:
        return [summary.name for summary in self.list()]

    @override
    def list(self) -> builtins.list[TreeSummary]:
        pages = self._memory.pages("trees", PageRequest(limit=MOST_PAGE_ITEMS))
        return [_summary(row) for page in pages for row in page.trees]

    @override
    def summary(self, name: str) -> TreeSummary:
        known = tree_name(name)
        self._versions(known)  # refuses one that is not there
        return next(summary for summary in self.list() if summary.name == known)

    @override
    def select(
        self, query: str, *, tree: str | None = None, as_of: str | float | None = None, **options: Unpack[SelectOptions]
    ) -> NodeSelection:
        name = None if tree is None else tree_name(tree)
        return self._memory.selected(
            "tree_select", models.TreeSelectRequest, query=query, tree=name, as_of=as_of, versions=True, **options
        )

    @override
    def delete(self, name: str) -> ErasedTrees:
        known = tree_name(name)
        with self._lock:
            self._told.pop(known, None)
        answer = self._memory.ask("tree_delete", models.TreeDeleteRequest(tree=known))
        return ErasedTrees(1, answer.versions, rebuilding.proof_of(answer.proof))

    @override
    def erase(self, name: str, *, nodes: Collection[str] = (), versions: Collection[str] = ()) -> ErasedFromTree:
        known = tree_name(name)
        if not nodes and not versions:
            raise nothing_to_erase()
        with self._lock:
            self._told.pop(known, None)
        request = made(models.TreeDeleteRequest, tree=known, nodes=tuple(nodes), versions=tuple(versions))
        answer = self._memory.ask("tree_delete", request)
        gone = tuple(sorted(set(versions)))
        return ErasedFromTree(answer.nodes, gone, answer.emptied, rebuilding.proof_of(answer.proof))

    def _versions(self, name: str) -> RemoteVersions:
        """What is known of a tree, with what came since."""
        with self._lock:
            known = self._told.pop(name, None)
        if known is not None:
            try:
                known.refresh()
            except InputError:  # it was deleted; there may be another of its name
                known = None
        known = known or RemoteVersions(self._memory, name)
        with self._lock:
            self._told[name] = known
            if len(self._told) > _LOGS_KEPT:
                self._told.popitem(last=False)
        return known


class RemoteVersions(TreeVersions):
    """The versions of a tree, as far as they were told.

    Raises:
        InputError: There is no such tree.
    """

    def __init__(self, memory: Asking, name: str) -> None:
        super().__init__(name)
        self._memory = memory
        self.refresh()

    @override
    def refresh(self) -> None:
        with self._lock:
            last = next(reversed(self._commits.values()), None)
            # The last one that is known is told again: if it is another one, the tree was deleted.
            *_, before = (None, *list(self._commits)[:-1])
            asked = models.TreeLogRequest(tree=self.name, every=True, limit=MOST_PAGE_ITEMS, after=before)
            told: list[Commit] = []
            heads: dict[str, str] = {}
            for page in self._memory.pages("tree_log", asked):
                told += map(_commit, page.commits)
                heads = dict(page.branches)
            if last is not None and (not told or (told[0].id, told[0].recorded) != (last.id, last.recorded)):
                raise InputError(f"the tree {self.name!r} was deleted meanwhile", hint="open it again, or make it anew")
            for commit in told[0 if last is None else 1 :]:
                self._take(commit)
            self._heads = heads

    @override
    def _whole(self, commit: Commit) -> Node | None:
        if commit.parent in self._trees:
            return None
        told = self._memory.ask("tree_show", models.TreeShowRequest(tree=self.name, version=commit.id))
        return read_mapping(told.root).root


class RemoteTree(VersionedTree):
    """A tree of a memory that is somewhere else, standing on a version; it is read here and changed there."""

    def __init__(self, memory: Asking, versions: RemoteVersions, *, branch: str = MAIN) -> None:
        # Not that of `VersionedTree`: everything that uses its parts is overridden.
        self._memory, self._known = memory, versions
        self.name, self.branch, self.version = versions.name, branch, versions.head(branch)
        self._turns: list[str] = []

    @property
    @override
    def _log(self) -> TreeVersions:
        return self._known

    @override
    def at(self, version: str | float) -> TreeVersion:
        commit = self._known.commit(self._known.version_at(version, branch=self.branch))
        return RemoteTreeVersion(self._memory, self._known, commit)

    @override
    def select(
        self,
        query: str,
        *,
        version: str | float | None = None,
        as_of: str | float | None = None,
        threshold: float | None = None,
        margin: float | None = None,
        k: int | None = None,
        scorer: str | None = None,
    ) -> NodeSelection:
        all_versions = version is None and self.asks_versions(query)
        asked = None if all_versions or as_of is not None else self._at_id(version)
        if version is not None and as_of is not None:
            raise two_moments()
        return self._memory.selected(
            "tree_select", models.TreeSelectRequest, query=query, tree=self.name, branch=self.branch, version=asked,
            as_of=as_of, threshold=threshold, margin=margin, k=k, scorer=scorer,
        )  # fmt: skip

    @override
    def asks_versions(self, query: str) -> bool:
        return asks_versions(query, self.tree)

    @override
    def edit(
        self,
        operations: Iterable[Operation | Mapping[str, Any]],
        *,
        message: str = "",
        author: str = PERSON,
        time: str = "",
        trajectory: str | None = None,
    ) -> Commit:
        done = [operation_json(each) for each in operations_of(operations)]
        if not done:
            raise nothing_to_commit()
        said = {"operations": done, "message": message, "author": author, "time": time}
        return self.edit_all([said], trajectory=trajectory)[-1]

    @override
    def edit_all(self, commits: Sequence[Mapping[str, Any]], *, trajectory: str | None = None) -> list[Commit]:
        if not commits:
            return []
        return self._changed(
            "tree_edit", models.TreeEditRequest, commits=[dict(each) for each in commits], trajectory=trajectory
        )

    @override
    def set_schema(
        self, schema: Schema | Mapping[str, Any] | None, *, message: str = "", author: str = PERSON
    ) -> Commit:
        chosen = schema if isinstance(schema, Schema) or schema is None else schema_of(schema)
        definition = None if chosen is None else chosen.dump()
        return self._changed(
            "tree_schema", models.TreeSchemaRequest, definition=definition, message=message, author=author
        )[-1]

    @override
    def revert(
        self, version: str | float, *, message: str = "", author: str = PERSON, trajectory: str | None = None
    ) -> Commit:
        return self._changed(
            "tree_revert", models.TreeRevertRequest, version=self._at_id(version), message=message, author=author,
            trajectory=trajectory,
        )[-1]  # fmt: skip

    @override
    def begin_branch(self, name: str, *, at: str | float | None = None) -> VersionedTree:
        request = made(models.TreeBranchRequest, tree=self.name, branch=self.branch, name=name, at=self._at_id(at))
        self._memory.ask("tree_branch", request)
        self._known.refresh()
        return RemoteTree(self._memory, self._known, branch=name)

    # In words: by the model that is set where the memory is.

    @override
    def ask(self, request: str) -> TreeReply:
        from stitch.trees.requests.conversation import first_answer

        return first_answer(self.request(request, confirm=False))

    @override
    def request(self, request: str, *, confirm: Confirm) -> list[TreeReply]:
        from stitch.trees.requests.conversation import turns_of

        how = "each" if callable(confirm) else "yes" if confirm else "no"
        replies: list[TreeReply] = []
        tasks: Sequence[models.TreeTaskModel] | None = None
        while tasks is None or tasks:
            asked = made(
                models.TreeWordsRequest, tree=self.name, branch=self.branch, request=request, confirm=how, tasks=tasks,
                turns=self._turns, onto=self.version if confirm else None,
            )  # fmt: skip
            told: models.TreeWordsResponse = self._memory.ask("tree_request", asked)
            self._known.refresh()
            before = self.version if confirm else told.version
            self.version = told.version if confirm else self.version
            for said in told.replies:
                reply = self._reply(said, before=before)
                before = reply.commit.id if reply.commit is not None else before
                if callable(confirm) and reply.is_open and confirm(reply):
                    reply.commit = self.edit(reply.operations, message=reply.message, author=told.author)
                self._turns += turns_of(request if tasks is None and not replies else None, [reply])
                replies.append(reply)
            tasks = told.tasks
        return replies

    @override
    def check_model(self, request: str = "") -> None:
        """See nothing: whether a model is set where the memory is, is said when something is requested."""

    def _reply(self, said: models.TreeReplyModel, *, before: str) -> TreeReply:
        from stitch.retrieve.path import selection_of
        from stitch.trees.requests.conversation import TreeReply

        plain = ("request", "kind", "query", "removed", "answer", "troubles", "calls", "tokens", "milliseconds")
        operations = operations_of(said.operations)
        tree = self._known.tree(before)
        return TreeReply(
            **{name: getattr(said, name) for name in plain},
            selection=None if said.selection is None else selection_of(said.selection.model_dump()),
            operations=tuple(operations),
            diff=diff(tree, apply(tree, operations, schema=self._known.schema(before))) if operations else None,
            commit=None if said.commit is None else self._known.commit(said.commit),
        )

    def _at_id(self, version: str | float | None) -> str:
        return self.version if version is None else self.at(version).id

    def _changed(
        self, operation: str, kind: type[models.TreeRequest], *, trajectory: str | None = None, **fields: Any
    ) -> list[Commit]:
        """The commits with which the tree was changed; it stands on the last of them."""
        if trajectory is not None:
            fields["trajectory"] = trajectory_name(trajectory)
        request = made(kind, tree=self.name, branch=self.branch, onto=self.version, **fields)
        answer: models.TreeEditResponse = self._memory.ask(operation, request)
        self._known.refresh()
        self.version = answer.version
        return [self._known.commit(each.version) for each in answer.commits]


class RemoteTreeVersion(TreeVersion):
    """A version of a tree of a memory that is somewhere else."""

    def __init__(self, memory: Asking, versions: RemoteVersions, commit: Commit) -> None:
        # Not that of `TreeVersion`: nothing is asked here.
        self.commit, self._log, self._memory = commit, versions, memory
        self._tree = None

    @override
    def select(self, query: str, **options: Unpack[SelectOptions]) -> NodeSelection:
        return self._memory.selected(
            "tree_select", models.TreeSelectRequest, query=query, tree=self._log.name, version=self.id, **options
        )


def _commit(told: models.CommitModel) -> Commit:
    return Commit(
        told.version, told.parent, told.branch, told.time, told.recorded or 0.0, told.author, told.message,
        told.operations, told.definition, dict(told.redacted),
    )  # fmt: skip


def _summary(row: models.TreeRow) -> TreeSummary:
    told = {name: getattr(row, name) for name in TreeSummary._fields if name != "name"}
    return TreeSummary(name=row.tree, **told)
