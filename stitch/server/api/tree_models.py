"""Requests and responses about trees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue

from stitch.core.steps import Name
from stitch.server.api.models import PageRequest, PageResponse, ProofModel, Request, Response

Form = Literal["xml", "json", "yaml", "outline"]
MAIN = "main"


class TreeRequest(Request):
    """Names a tree."""

    tree: Name
    branch: Name = MAIN


class TreeCreateRequest(Request):
    """A new tree: a text in one of the formats, or a JSON object."""

    tree: Name
    text: str | None = None
    form: Form | None = None
    """The format of the text; told from how it begins if it is not said."""
    value: Mapping[str, JsonValue] | None = None
    definition: Mapping[str, JsonValue] | None = None
    """The schema; inferred from the tree if there is none."""
    message: str = ""
    author: str = "person"
    time: str = ""
    """When, in ISO 8601; now if empty."""


class TreeCreated(Response):
    """A tree that was made."""

    tree: str
    version: str
    nodes: int
    types: Mapping[str, int]
    """How many nodes of each type it has."""


class TreeRow(Response):
    """A tree in a list."""

    tree: str
    version: str
    versions: int
    branches: int
    nodes: int
    types: Mapping[str, int]
    time: str
    author: str
    message: str


class TreesResponse(PageResponse):
    """The trees, in the order in which they were made."""

    trees: tuple[TreeRow, ...]


class TreeSelectRequest(Request):
    """A path query to a tree; one that begins with `/Version` is asked of all its versions."""

    query: str
    tree: Name | None = None
    """All versions of all trees are asked if none is named."""
    version: str | None = None
    branch: Name = MAIN
    as_of: str | float | None = None
    """The tree as it was at a time; where versions are asked, only those up to then."""
    versions: bool = False
    """Whether all versions are asked though the query does not begin with `/Version`."""
    threshold: Annotated[float, Field(ge=0, le=1)] | None = None
    margin: Annotated[float, Field(ge=0, le=1)] | None = None
    k: Annotated[int, Field(ge=1)] | None = None
    scorer: str | None = None


class StepSelectRequest(Request):
    """A path query to the memory of steps: Memory > Trajectory > Scope > Step."""

    query: str
    trajectory: Name | None = None
    """All trajectories are asked if none is named."""
    threshold: Annotated[float, Field(ge=0, le=1)] | None = None
    margin: Annotated[float, Field(ge=0, le=1)] | None = None
    k: Annotated[int, Field(ge=1)] | None = None
    scorer: str | None = None


class TreeSelectResponse(Response):
    """The nodes that a path query found, by rank, and how."""

    query: str
    canonical: str
    """The query in its one written form."""
    version: str | None
    """Which was asked; null if all were."""
    nodes: tuple[Mapping[str, JsonValue], ...]
    """Each with rank, id, path, type, score, fields, text; of all versions, with those in which it was found."""
    considered: int
    milliseconds: float
    trace: tuple[Mapping[str, JsonValue], ...]
    explanation: str
    """The trace as a person reads it."""


class TreeEditRequest(TreeRequest):
    """Commits to a tree, all or none: each with its operations."""

    commits: Annotated[Sequence[Mapping[str, JsonValue]], Field(min_length=1, max_length=10_000)]
    """`{"operations": [..], "message"?, "author"?, "time"?, "parent"?}`."""
    onto: str | None = None
    """The version that whoever edits has seen; if another is the last by now, the edit is refused."""
    trajectory: Name | None = None
    """Where a step is left that tells of each commit."""


class TreeTaskModel(Response):
    """One thing that a request in words wants."""

    request: str
    """As it stands by itself."""
    kind: str
    query: str


class TreeWordsRequest(TreeRequest):
    """A request in words, for a language model."""

    request: str
    confirm: Literal["no", "yes", "each"] = "no"
    """Whether changes are committed. With `each`, nothing is done behind one that is proposed: commit it by an edit, or
    do not, and ask again with the `tasks` that are left.
    """
    tasks: Annotated[Sequence[TreeTaskModel], Field(max_length=100)] | None = None
    turns: Annotated[Sequence[str], Field(max_length=100)] = ()
    """What was said before, a line each."""
    onto: str | None = None
    """As in an edit."""


class TreeReplyModel(Response):
    """What became of one task of a request."""

    request: str
    kind: str
    query: str
    selection: TreeSelectResponse | None
    """What the query found."""
    removed: tuple[str, ...]
    """Doubtful nodes that the model took out."""
    answer: str
    operations: tuple[Mapping[str, JsonValue], ...]
    """What is proposed, or was committed."""
    lines: tuple[str, ...]
    """What that changes."""
    commit: str | None
    """The version that it made."""
    troubles: tuple[str, ...]
    calls: int
    tokens: int
    milliseconds: float


class TreeWordsResponse(Response):
    """What became of a request in words."""

    tree: str
    version: str
    """The last version by now."""
    author: str
    """Who commits what is proposed: the model."""
    replies: tuple[TreeReplyModel, ...]
    tasks: tuple[TreeTaskModel, ...]
    """What is left to do."""
    turns: tuple[str, ...]
    """What to give with the next request."""


class TreeSchemaRequest(TreeRequest):
    """Another schema."""

    definition: Mapping[str, JsonValue] | None = None
    """Inferred from the tree if there is none."""
    message: str = ""
    author: str = "person"
    onto: str | None = None
    """As in an edit."""


class CommitModel(Response):
    """A commit."""

    version: str
    parent: str | None
    branch: str
    time: str
    author: str
    message: str
    operations: tuple[Mapping[str, JsonValue], ...]
    redacted: Mapping[str, int] = {}  # pydantic copies it
    """How many secrets of each kind were taken out of it."""
    recorded: float | None = None
    """When it was committed, in Unix seconds."""
    definition: Mapping[str, JsonValue] | None = None
    """The schema from here on, if it is another."""


class TreeEditResponse(Response):
    """What was committed."""

    tree: str
    version: str
    """The last version by now."""
    commits: tuple[CommitModel, ...]
    changes: Mapping[str, Any]
    """What is otherwise than before: nodes added, removed, moved, fields changed."""
    lines: tuple[str, ...]
    """The same for a person."""


class TreeLogRequest(PageRequest):
    """The versions of a tree."""

    tree: Name
    branch: Name = MAIN
    every: bool = False
    """Whether the commits of all branches are listed, in their order."""


class TreeLogResponse(PageResponse):
    """The versions of a branch, the first first."""

    tree: str
    branches: Mapping[str, str]
    """The last version of each branch."""
    commits: tuple[CommitModel, ...]


class TreeDiffRequest(TreeRequest):
    """Two versions; the last one is compared if the second is not named."""

    before: str
    after: str | None = None


class TreeDiffResponse(Response):
    """What is otherwise in the second version."""

    tree: str
    before: str
    after: str
    changes: Mapping[str, Any]
    lines: tuple[str, ...]


class TreeRevertRequest(TreeRequest):
    """The version to which a tree goes back, by a commit."""

    version: str
    message: str = ""
    author: str = "person"
    trajectory: Name | None = None
    onto: str | None = None
    """As in an edit."""


class TreeBranchRequest(TreeRequest):
    """A new branch, which begins at a version of another."""

    name: Name
    at: str | None = None


class TreeShowRequest(TreeRequest):
    """A version of a tree; the last one if none is named."""

    version: str | None = None


class TreeShowResponse(Response):
    """A tree."""

    tree: str
    version: str
    root: Mapping[str, Any]
    """`{"id", "type", "fields", "children"?}`."""
    definition: Mapping[str, Any]
    """The schema that guards it."""


class TreeExportRequest(TreeRequest):
    """A version in a format."""

    version: str | None = None
    form: Form = "xml"


class TreeExportResponse(Response):
    """A tree as a text."""

    tree: str
    version: str
    text: str


class TreeDeleteRequest(Request):
    """A tree to erase with all its versions; or what of it is to be erased from its whole history."""

    tree: Name
    nodes: Annotated[Sequence[Name], Field(max_length=1_000)] = ()
    """Only these nodes, with what stood below them, in all versions."""
    versions: Annotated[Sequence[Name], Field(max_length=1_000)] = ()
    """Only these versions."""


class TreeDeleteResponse(Response):
    """What was erased, and that it is gone."""

    tree: str
    versions: int
    """How many versions are gone."""
    nodes: tuple[str, ...] = ()
    """The nodes that are gone from all versions, if only nodes or versions were to be erased."""
    emptied: tuple[str, ...] = ()
    """The versions whose message said what is gone: it is empty now."""
    proof: ProofModel
