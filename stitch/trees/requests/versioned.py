"""A tree of a memory as its user holds it: its last version, and all before it.

More than 400 lines because each thing that is asked of a tree and done to it is a public method of one class.
"""

from __future__ import annotations

import time as clock
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from typing_extensions import Unpack

from stitch.core import Step, trajectory_name
from stitch.core.arguments import told_in_a_line
from stitch.core.times import Time
from stitch.errors import ConflictError, InputError, SettingsError
from stitch.ingest.trees import Incoming, commit_time
from stitch.trees.core.commits import MAIN, Commit
from stitch.trees.core.differences import TreeDiff, diff
from stitch.trees.core.log import NewCommit, TreeLog
from stitch.trees.core.nodes import Tree
from stitch.trees.core.operations import Operation, operations_of
from stitch.trees.core.reading import write_tree
from stitch.trees.core.schema import Schema, infer, schema_of
from stitch.trees.requests.asking import SelectOptions, TreeAsker, asks_versions
from stitch.trees.requests.telling import step_text

if TYPE_CHECKING:
    from stitch.core.process import ForkGuard
    from stitch.ingest import Ingestor
    from stitch.lm import LanguageModel
    from stitch.retrieve.path import NodeSelection
    from stitch.signatures.programs import TreeProgram
    from stitch.trees.requests.conversation import Confirm, TreeConversation, TreeReply

PERSON = "person"
"""The author of a commit, if nobody says."""


class TreeParts(NamedTuple):
    """The parts of a memory that its trees use; the model, if one is used, understands requests in words."""

    ingestor: Ingestor
    tenant: str
    folder: Path
    """The folder of the journal."""
    process: ForkGuard
    """The process that may use them; all others get a `ForkedProcessError`."""
    asker: TreeAsker
    model: LanguageModel | None = None
    program: TreeProgram | None = None
    """Its prompts, if they were compiled."""


@told_in_a_line
class TreeVersion:
    """A tree as it was in one version. It never changes."""

    def __init__(self, commit: Commit, standing: VersionedTree) -> None:
        self.commit, self._standing = commit, standing
        self._tree: Tree | None = None

    def __repr__(self) -> str:
        return f"<{self.id} of tree {self._standing.name!r}>"

    @property
    def id(self) -> str:
        """Id of the version."""
        return self.commit.id

    @property
    def tree(self) -> Tree:
        """The nodes of the version."""
        if self._tree is None:  # no cached_property: up to Python 3.11 all instances have one lock
            self._tree = self._standing.tree
        return self._tree

    @property
    def schema(self) -> Schema:
        """The schema to which it keeps."""
        return self._standing.schema

    def select(self, query: str, **options: Unpack[SelectOptions]) -> NodeSelection:
        """Find nodes by a path query, as `VersionedTree.select`."""
        return self._standing._select(query, **options)

    def export(self, form: str = "xml") -> str:
        """The tree as `xml`, `json`, `yaml` or `outline`; each is read back as the same tree."""
        return write_tree(self.tree, form=form)


@told_in_a_line
class VersionedTree:
    """A tree with its history. Get one from `Memory.trees`.

    It stands on the last version of a branch as it was when it was opened, reloaded or edited: edits are made to that
    one. If somebody else has committed since, an edit is refused, and `reload` shows what they did. Versions are named
    by their ids (`v1`, `v2`, ...), by a branch, or by a time: the last one then.
    """

    def __init__(self, log: TreeLog, parts: TreeParts, *, branch: str = MAIN) -> None:
        self.name, self.branch = log.name, branch
        self._log_opened, self._parts = log, parts
        self._conversation: TreeConversation | None = None
        self.version = log.head(branch)
        """The id of the version on which it stands."""

    def __repr__(self) -> str:
        return f"<tree {self.name!r}, {self.version} of {self.branch}>"

    @property
    def _log(self) -> TreeLog:
        self._parts.process.check()
        return self._log_opened

    # What it says.

    @property
    def tree(self) -> Tree:
        """The nodes of the version on which it stands."""
        return self._log.tree(self.version)

    @property
    def schema(self) -> Schema:
        """The schema that guards edits."""
        return self._log.schema(self.version)

    @property
    def branches(self) -> dict[str, str]:
        """The last version of each branch."""
        self._log.refresh()
        return self._log.branches

    def reload(self) -> VersionedTree:
        """Stand on the last version of the branch, with what others have committed; return itself."""
        self._log.refresh()
        self.version = self._log.head(self.branch)
        return self

    def at(self, version: Time) -> TreeVersion:
        """A version by its id, a branch, or a time (ISO 8601 or Unix seconds): the last one then."""
        commit = self._log.commit(self._log.version_at(version, branch=self.branch))
        standing = VersionedTree(self._log_opened, self._parts, branch=self.branch)
        standing.version = commit.id
        return TreeVersion(commit, standing)

    def history(self) -> list[Commit]:
        """The commits up to the version on which it stands, the first first."""
        return self._log.line(self.version)

    def all_commits(self) -> list[Commit]:
        """The commits of all branches, the first first."""
        return self._log.commits

    def diff(self, before: Time, after: Time | None = None) -> TreeDiff:
        """The difference of a version (the one on which it stands, if none is named) from an earlier one."""
        return diff(self.at(before).tree, self.tree if after is None else self.at(after).tree)

    def select(
        self, query: str, *, version: Time | None = None, as_of: Time | None = None, **options: Unpack[SelectOptions]
    ) -> NodeSelection:
        """Find nodes by a path query; the language is in the README of `stitch/retrieve/path`.

        A query that begins with `/Version` asks all versions of the branch, such as
        `/Version[message ~= "poster"]//POI`; its nodes say in which they were found.

        Asked is the version on which it stands, another `version`, or the last one `as_of` a time; where all versions
        are asked, those up to then. `threshold`: how sure each semantic condition has to be, from 0 to 1; `margin`: how
        far below the best a node may be; `k`: how many nodes at most; `scorer`: who judges semantic conditions.

        Raises:
            InputError: The query cannot be read, or names a type of which there is no node.
        """
        if version is not None:
            if as_of is not None:
                raise two_moments()
            return self.at(version).select(query, **options)
        tree = self.tree
        if asks_versions(query, tree):
            history = self.history() if as_of is None else self._log.line(self.at(as_of).id)
            return self._parts.asker.select_versions(query, {self.name: (self._log, history)}, **options)
        if as_of is not None:
            return self.at(as_of).select(query, **options)
        return self._select(query, **options)

    def _select(self, query: str, **options: Unpack[SelectOptions]) -> NodeSelection:
        """The nodes of the version on which it stands."""
        return self._parts.asker.select(query, self.tree, **options)

    def asks_versions(self, query: str) -> bool:
        """Whether a query is asked of all versions, and not of one."""
        return asks_versions(query, self.tree)

    def export(self, form: str = "xml") -> str:
        """The tree as `xml`, `json`, `yaml` or `outline`; each is read back as the same tree."""
        return write_tree(self.tree, form=form)

    # In words.

    def ask(self, request: str) -> TreeReply:
        """Answer a question as `request` does; the questions before are kept in mind. Nothing is changed."""
        from stitch.trees.requests.conversation import first_answer

        return first_answer(self.request(request, confirm=False))

    def request(self, request: str, *, confirm: Confirm) -> list[TreeReply]:
        """Do what is said in words, by a language model: what it changes is proposed, checked, and then committed.

        Several things at once are done in order, and what became of each is told. A function as `confirm` is shown each
        proposal with its diff, and says whether it is committed.

        Raises:
            SettingsError: No model is set; the hint is the nearest path query that the words give.
            ModelError: The model cannot be used.
            ConflictError: Somebody else has changed the tree meanwhile.
        """
        return self._talk(request).request(request, confirm=confirm)

    def check_model(self, request: str = "") -> None:
        """Raise a `SettingsError` if no model is set that understands requests."""
        self._model_for(request)

    def conversation(self, request: str = "", *, turns: Iterable[str] = ()) -> TreeConversation:
        """A conversation beside that of `ask` and `request`, in which some lines were said before."""
        from stitch.trees.requests.conversation import TreeConversation

        self._parts.process.check()
        begun = TreeConversation(
            self, model=self._model_for(request), tenant=self._parts.tenant, program=self._parts.program
        )
        begun.turns += turns
        return begun

    def _model_for(self, request: str) -> LanguageModel:
        if self._parts.model is not None:
            return self._parts.model
        from stitch.trees.requests.words import nearest_query

        nearest = nearest_query(request, tree=self.tree, schema=self.schema) if request else ""
        asked = f"without one, the nearest path query is: {nearest}   (ask it with `stitch tree select`, or edit it)"
        raise SettingsError(
            "a request in words needs a language model",
            hint=asked if nearest else "name one with --model, for example openai/gpt-5-mini",
        )

    def _talk(self, request: str) -> TreeConversation:
        if self._conversation is None:
            self._conversation = self.conversation(request)
        self._parts.process.check()
        return self._conversation

    # What is done to it.

    def edit(
        self,
        operations: Iterable[Operation | Mapping[str, Any]],
        *,
        message: str = "",
        author: str = PERSON,
        time: str = "",
        trajectory: str | None = None,
    ) -> Commit:
        """Do operations, all or none, and commit what comes of them; when this returns, the commit is durable.

        Operations are `SetField`, `Move`, `Delete`, `Add` and `Replace`, or their JSON; the time is ISO 8601, now if
        empty. A step in `trajectory` tells of the edit.

        Raises:
            EditRefusedError: One cannot be done, or breaks the schema; nothing was changed.
            ConflictError: Somebody has committed since the version on which this stands; nothing was changed.
        """
        new = self._new(operations_of(operations), message=message, author=author, time=time)
        if not new.operations:
            raise InputError("there is nothing to commit: no operations", hint="SetField, Move, Delete, Add, Replace")
        return self._commit([new], trajectory=trajectory)[0]

    def edit_all(self, commits: Sequence[Mapping[str, Any]], *, trajectory: str | None = None) -> list[Commit]:
        """Make commits in the format of a history, all or none: each `{"operations", "message"?, "author"?, "time"?}`.

        One that says its `parent` has to come after that version. Those at the beginning that stand in the history
        already (of the first version: that has no operations) are left out. A step in `trajectory` tells of each.

        Raises:
            EditRefusedError: One cannot be made; none was.
            ConflictError: The first comes after another version than the one on which this stands.
        """
        self._parts.process.check_writing()
        coming = [dict(each) for each in commits]
        known = {each.id: each for each in self.history()}
        while coming and _is_known(coming[0], known):
            del coming[0]
        if not coming:
            return []
        told = coming[0].get("parent")
        if told is not None and told != self.version:
            raise ConflictError(
                f"a commit comes after {told}, and the last version of tree {self.name!r} is {self.version}",
                hint="`stitch tree log` lists the versions; leave `parent` out to commit after the last one",
            )
        news = [self._said(each, number=number) for number, each in enumerate(coming, start=1)]
        return self._commit(news, trajectory=trajectory)

    def _said(self, said: Mapping[str, Any], *, number: int) -> NewCommit:
        """The commit that a file says."""
        operations = said.get("operations")
        if not isinstance(operations, list) or not operations:
            raise InputError(
                f"commit {number} does not say its operations",
                hint='{"message": "why", "operations": [{"op": "set", ..}]}',
            )
        words = {name: str(said.get(name) or default) for name, default in _WORDS.items()}
        return self._new(operations_of(operations), **words)

    def set_schema(
        self, schema: Schema | Mapping[str, Any] | None, *, message: str = "", author: str = PERSON
    ) -> Commit:
        """Set the schema that guards edits, as a commit; None stands for the one inferred from the tree."""
        chosen = infer(self.tree) if schema is None else schema if isinstance(schema, Schema) else schema_of(schema)
        new = self._new([], message=message or "Another schema", author=author, time="")
        return self._commit([new._replace(schema=chosen)], trajectory=None)[0]

    def revert(
        self, version: Time, *, message: str = "", author: str = PERSON, trajectory: str | None = None
    ) -> Commit:
        """Restore a version of the tree, as a commit of its own that undoes nothing of the history."""
        then = self.at(version).id
        operations = self._log.diff(self.version, then).operations
        if not operations:
            raise InputError(f"tree {self.name!r} is as it was in {then}: there is nothing to revert")
        new = self._new(operations, message=message or f"Revert to {then}", author=author, time="")
        schema = self._log.schema(then)
        new = new._replace(schema=None if schema == self.schema else schema)
        return self._commit([new], trajectory=trajectory)[0]

    def begin_branch(self, name: str, *, at: Time | None = None) -> VersionedTree:
        """Begin another line of versions, at a version or where this stands; return the tree standing there."""
        self._parts.process.check_writing()
        self._log.begin_branch(name, at=self.version if at is None else self.at(at).id)
        return VersionedTree(self._log_opened, self._parts, branch=name)

    def _new(self, operations: Sequence[Operation], *, message: str, author: str, time: str) -> NewCommit:
        incoming = Incoming(redacts=self._parts.ingestor.secrets.redacts)
        done = incoming.operations(operations)
        return new_commit(incoming, done, message=message, author=author, time=time)

    def _commit(self, several: Sequence[NewCommit], *, trajectory: str | None) -> list[Commit]:
        self._parts.process.check_writing()
        where = None if trajectory is None else trajectory_name(trajectory)
        made = self._log.append_all(several, branch=self.branch, parent=self.version)
        for commit in made:
            before, self.version = self.version, commit.id
            if where is not None:
                self._tell(commit, before=before, trajectory=where)
        return made

    def _tell(self, commit: Commit, *, before: str, trajectory: str) -> None:
        """Leave a step that tells of a commit."""
        diff = self._log.diff(before, commit.id)
        step = Step(
            id=f"{self.name}@{commit.id}",
            role="assistant" if commit.author != PERSON else "user",
            content=step_text(self.name, version=commit.id, message=commit.message, diff=diff),
            timestamp=commit.time,
            metadata={"tree": self.name, "version": commit.id, "author": commit.author},
        )
        self._parts.ingestor.add(step, tenant=self._parts.tenant, trajectory=trajectory)


def new_commit(
    incoming: Incoming, operations: Sequence[Operation], *, message: str, author: str, time: str
) -> NewCommit:
    """A commit of what came in."""
    author, message = incoming.text(author, what="the author"), incoming.text(message, what="the message")
    redacted = dict(incoming.redacted)
    return NewCommit(operations, author or PERSON, message, clock.time(), commit_time(time), redacted=redacted)


_WORDS = {"message": "", "author": PERSON, "time": ""}
"""The fields of a commit of a file beside its operations, with their defaults."""


def _is_known(said: Mapping[str, Any], known: Mapping[str, Commit]) -> bool:
    """Whether a commit of a file stands in the history already; a first one always does."""
    operations, own = said.get("operations"), known.get(str(said.get("version")))
    if said.get("parent", "") is None and not operations:
        return True
    if own is None or (own.parent, own.message) != (said.get("parent"), said.get("message") or ""):
        return False
    is_list = isinstance(operations, list) and len(operations) == len(own.operations)
    return is_list and all(map(_is_same, operations or (), own.operations))


def _is_same(said: object, done: Mapping[str, Any]) -> bool:
    """Whether an operation of a file is one that was done: a file may leave out what was found when it was done."""
    if not isinstance(said, Mapping):
        return False
    return all(said.get(name) == done.get(name) for name in ("op", "id", "parent", "field", "value") if name in said)


def two_moments() -> InputError:
    """The error where both a version and a time are named."""
    return InputError("either a version or a time says what is asked", hint="leave out one of them")
