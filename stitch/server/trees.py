"""`Memory.trees` of a memory that another process has open: all is done there, and a tree here says where it stands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from typing_extensions import Unpack, override

from stitch.server.client import Client, Remote, passed_on
from stitch.server.methods import TreePlace, method_named
from stitch.trees.core.differences import diff
from stitch.trees.core.edits import apply
from stitch.trees.core.nodes import Tree
from stitch.trees.core.operations import node_json, operation_json, operations_of
from stitch.trees.core.reading import read_tree
from stitch.trees.requests.asking import SelectOptions
from stitch.trees.requests.trees import Trees, given_schema
from stitch.trees.requests.versioned import TreeVersion, VersionedTree

if TYPE_CHECKING:
    from stitch.core.times import Time
    from stitch.retrieve.path import NodeSelection
    from stitch.server.operations.trees import ReplyRow, TreeAnswered
    from stitch.trees.requests.conversation import Confirm, TreeReply


@passed_on("trees")
class RemoteTrees(Remote, Trees):
    """The trees of a memory that is somewhere else."""

    @override
    def _call(self, name: str, arguments: dict[str, Any], *, lines: Iterable[str | bytes] = ()) -> Any:
        if name == "trees.create":
            schema, form = given_schema(arguments.get("schema")), arguments.pop("form", None)
            arguments["source"] = node_json(read_tree(arguments["source"], form=form).root)
            arguments["schema"] = None if schema is None else schema.dump()
        result = super()._call(name, arguments, lines=lines)
        return RemoteTree(self._client, result) if isinstance(result, TreePlace) else result


@passed_on("tree")
class RemoteTree(Remote, VersionedTree):
    """A tree of a memory that is somewhere else, standing on a version."""

    def __init__(self, client: Client, place: TreePlace) -> None:
        super().__init__(client)
        self._turns = list[str]()
        self.name, self.branch, self.version = place
        self._seen: tuple[str, Tree] | None = None

    @override
    def _call(self, name: str, arguments: dict[str, Any], *, lines: Iterable[str | bytes] = ()) -> Any:
        if name == "tree.edit":
            arguments["operations"] = [operation_json(each) for each in operations_of(arguments["operations"])]
        result = self._client.call(name, arguments, of=self._place)
        if name == "tree.begin_branch":
            return RemoteTree(self._client, result)
        if method_named(name).action == "write":
            for commit in result if isinstance(result, list) else [result]:
                self.version = commit.id
        return result

    @property
    def _place(self) -> TreePlace:
        return TreePlace(self.name, self.branch, self.version)

    @property
    @override
    def tree(self) -> Tree:
        if self._seen is None or self._seen[0] != self.version:
            self._seen = (self.version, self._call("tree.tree", {}))
        return self._seen[1]

    @override
    def reload(self) -> VersionedTree:
        self.version = self._call("tree.reload", {}).version
        return self

    @override
    def at(self, version: Time) -> TreeVersion:
        commit = self._call("tree.at", {"version": version})
        return TreeVersion(commit, RemoteTree(self._client, TreePlace(self.name, self.branch, commit.id)))

    @override
    def _select(self, query: str, **options: Unpack[SelectOptions]) -> NodeSelection:
        return self.select(query, version=self.version, **options)

    # In words: by the model that is set where the memory is.

    @override
    def request(self, request: str, *, confirm: Confirm) -> list[TreeReply]:
        from stitch.trees.requests.conversation import turns_of

        replies: list[TreeReply] = []
        tasks: Sequence[Any] | None = None
        how = "each" if callable(confirm) else "yes" if confirm else "no"
        while tasks is None or tasks:
            asked = {"request": request, "confirm": how, "tasks": tasks, "turns": self._turns}
            told: TreeAnswered = self._client.call("tree.request", asked, of=self._place)
            for said in told.replies:
                reply = self._reply(said)
                if reply.commit is not None:
                    self.version = reply.commit.id
                elif callable(confirm) and reply.is_open and confirm(reply):
                    reply.commit = self.edit(reply.operations, message=reply.message, author=told.author)
                self._turns += turns_of(request if tasks is None and not replies else None, [reply])
                replies.append(reply)
            tasks = told.tasks
        return replies

    def _reply(self, said: ReplyRow) -> TreeReply:
        from stitch.retrieve.path import selection_of
        from stitch.trees.requests.conversation import TreeReply

        operations = operations_of(said.operations)
        after = apply(self.tree, operations, schema=self.schema) if operations else self.tree
        read = {
            "selection": said.selection and selection_of(said.selection.model_dump()),
            "operations": tuple(operations),
            "diff": diff(self.tree, after) if operations else None,
            "commit": said.commit and self.at(said.commit).commit,
        }
        return TreeReply(**{**said.model_dump(exclude={"lines"}), **read})
