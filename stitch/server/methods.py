"""The methods of a memory that another process can call, by name, and how arguments and results travel.

A signature is the schema: arguments are validated by its annotations where the memory is, and the result by its return
type where it arrives, as the library's own values. Nothing is modeled a second time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from inspect import Parameter
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, get_args, get_origin

import orjson
from pydantic import ConfigDict, PlainSerializer, PlainValidator, TypeAdapter, with_config
from typing_extensions import NotRequired, Required, TypedDict

from stitch.core import KeptTrajectory
from stitch.core.arguments import checked
from stitch.errors import InputError, StepRejectedError
from stitch.lifecycle.relabel import NumberedLine
from stitch.server.operations.operation import LINES, OPERATIONS, Action, Procedure
from stitch.server.protocol import step_or_message

if TYPE_CHECKING:
    from stitch.memory import Memory


@dataclass(frozen=True, kw_only=True)
class Method(Procedure):
    """A method that can be called."""

    @cached_property
    def given(self) -> TypeAdapter[Any]:
        """The validator of its arguments."""
        fields: dict[str, Any] = {
            name: (Required if default is Parameter.empty else NotRequired)[_traveling(hint)]
            for name, (hint, default) in self.arguments.items()
        }
        made = TypedDict("Arguments", fields)  # type: ignore[misc]
        return TypeAdapter(with_config(ConfigDict(extra="forbid"))(made))

    @cached_property
    def result(self) -> TypeAdapter[Any]:
        """The codec of its result, or of each item of it."""
        return TypeAdapter(_traveling(self.answered))

    def written(self, answer: Any) -> bytes:
        """A result as JSON; an item of several in brackets, which an error behind them has not."""
        written = self.result.dump_json(answer)
        return b"[%b]" % written if self.streams else written


class TreePlace(NamedTuple):
    """A tree, and where in its history somebody stands."""

    name: str
    branch: str
    version: str


_OWN: Mapping[str, str] = {
    "flush": "stitch.server.operations.steps:flush",
    "tree.request": "stitch.server.operations.trees:requested",
}
"""Methods that answer in a form of their own, and functions that do."""

_KINDS: Mapping[str, str] = {
    "": "stitch.memory:Memory",
    "ledger": "stitch.lm:Ledger",
    "lifecycle": "stitch.lifecycle.lifecycle:Lifecycle",
    "handover": "stitch.lifecycle.relabel:Handover",
    "hierarchy": "stitch.themes:Themes",
    "trees": "stitch.trees.requests.trees:Trees",
    "tree": "stitch.trees.requests.versioned:VersionedTree",
}
"""Classes by what stands before the point in the name of a method."""

_ACTIONS: Mapping[str, Mapping[Action, str]] = {
    "": {
        "read": "search ask why why_not recalls inventory themes trajectories get steps status receipts select",
        "write": "add add_many add_each add_messages retry finish flush note_lag",
    },
    "ledger": {"read": "stages"},
    "lifecycle": {
        "read": "count counts history corrections export",
        "write": "correct import_lines",
        "forget": "retire unretire erase expire",
        "admin": "backup verify reindex relabel",
    },
    "handover": {"admin": "windows waiting take_in"},
    "hierarchy": {
        "read": "statement count statements episode episodes theme theme_of theme_ids themes largest reassigned"
        " statements_of_step said_in neighbors theme_neighbors"
    },
    "trees": {"read": "names list summary select open", "write": "create", "forget": "delete erase"},
    "tree": {
        "read": "tree schema branches at history all_commits select asks_versions check_model reload",
        "write": "edit edit_all set_schema revert begin_branch request",
    },
}

_ALLOWED = {
    f"{kind}.{own}".lstrip("."): action
    for kind, actions in _ACTIONS.items()
    for action, names in actions.items()
    for own in names.split()
}


_METHODS: dict[str, Method] = {}


def method_named(name: str) -> Method:
    """A method (or property) by its name, such as `search` or `lifecycle.erase`.

    Raises:
        InputError: There is none that could be called.
    """
    if name in _METHODS:
        return _METHODS[name]
    if name not in _ALLOWED:
        hint = "use the same version of this library on both sides"
        raise InputError(f"a memory has no method {name!r} that can be called", hint=hint)
    kind, _, own = name.rpartition(".")
    member = _found(_OWN[name]) if name in _OWN else getattr(_found(_KINDS[kind]), own)
    run: Any = member.fget if isinstance(member, property) else member
    return _METHODS.setdefault(name, Method(name=name, action=_ALLOWED[name], run=run))


def _found(place: str) -> Any:
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


def method_names(kind: str) -> list[str]:
    """The names of the methods of a kind, without it."""
    return [own for names in _ACTIONS[kind].values() for own in names.split()]


def call_method(
    memory: Memory, method: Method, *, of: Any, arguments: Mapping[str, Any], lines: Iterable[str | bytes] = ()
) -> Any:
    """Call a method of a memory with arguments as JSON has them; where it only reads, it may be given up.

    Args:
        memory: Whose method it is, or of whose parts.
        method: What is called.
        of: Which tree (`TreePlace`), or whose windows (the JSON of a labeler); else None.
        arguments: Those of the method, by name.
        lines: What its parameter `lines` takes.

    Raises:
        InputError: An argument is missing, wrong, or not known.
    """
    kind = method.name.rpartition(".")[0]
    receiver = getattr(memory, kind) if kind in ("ledger", "lifecycle", "hierarchy", "trees") else memory
    if kind == "tree":
        place = checked(TypeAdapter(TreePlace), of)
        receiver = memory.trees.open(place.name, branch=place.branch)
        receiver.version = place.version
    elif kind == "handover":
        from stitch.server.operations.labeling import handover

        told: Any = OPERATIONS["label_waiting"].request
        receiver = handover(memory, **dict(checked(TypeAdapter(told), of)))
    taken = checked(method.given, arguments)
    if method.takes_lines:
        taken[LINES] = map(_numbered, lines) if kind == "handover" else lines
    with method.finishing(taken):
        if method.name in _OWN:
            return method.run(receiver, **taken)
        own = getattr(receiver, method.name.rpartition(".")[2])  # as the class of the receiver has it
        return own(**taken) if callable(own) else own


# Values on their way.


def _written_by(write: Callable[[Any], Any], read: Callable[[Any], Any]) -> Any:
    return Annotated[Any, PlainValidator(read), PlainSerializer(write)]


def _kept_trajectory(told: Sequence[Any]) -> KeptTrajectory:
    name, steps, began, ended = told
    return KeptTrajectory(name, steps=steps, began=began, ended=ended)


def _rejected(told: Any) -> StepRejectedError:
    if isinstance(told, Mapping) and set(told) == {"rejected", "hint"}:
        return StepRejectedError(told["rejected"], hint=told["hint"])
    raise ValueError("it is no rejection")


def _rejection(error: object) -> dict[str, str]:
    if not isinstance(error, StepRejectedError):
        raise TypeError("it is no rejection")  # another member of the union writes it
    return {"rejected": error.message, "hint": error.hint}


def _numbered(line: str | bytes) -> NumberedLine:
    source, number, text = orjson.loads(line)
    return NumberedLine(source, number, text.encode())


def _selection() -> Any:
    from stitch.retrieve.path import NodeSelection, selection_of

    return _written_by(NodeSelection.as_json, selection_of)


def _tree() -> Any:
    from stitch.trees.core.operations import node_json
    from stitch.trees.core.reading import read_mapping

    return _written_by(lambda tree: node_json(tree.root), read_mapping)


def _version() -> Any:
    from stitch.trees.core.commits import Commit

    return _written_by(lambda version: version.commit, TypeAdapter(Commit).validate_python)


_TRAVELING: Mapping[str, Callable[[], Any]] = {
    "object": lambda: _written_by(lambda own: own, step_or_message),
    "KeptTrajectory": lambda: _written_by(lambda own: [str(own), own.steps, own.began, own.ended], _kept_trajectory),
    "StepRejectedError": lambda: _written_by(_rejection, _rejected),
    "NodeSelection": _selection,
    "Tree": _tree,
    "TreeVersion": _version,
    "VersionedTree": lambda: _written_by(
        lambda tree: TreePlace(tree.name, tree.branch, tree.version), TypeAdapter(TreePlace).validate_python
    ),
    **dict.fromkeys(("SetField", "Move", "Delete", "Add", "Replace"), lambda: Mapping[str, Any]),
}
"""How classes are written of which pydantic cannot tell by itself, by their names."""


def _traveling(hint: Any) -> Any:
    """A type as it travels: what pydantic cannot write is told how, and an iterable is a list."""
    origin, inner = get_origin(hint), get_args(hint)
    if (form := _TRAVELING.get(getattr(hint, "__name__", ""))) is not None:
        return form()
    if not inner or origin in (Annotated, Literal):
        return hint
    traveling = tuple(map(_traveling, inner))
    if origin is Iterable:
        return list[traveling[0]]  # type: ignore[valid-type]
    if traveling == inner:
        return hint
    if isinstance(origin, type) and origin.__module__ != "types":
        return origin[traveling if len(traveling) > 1 else traveling[0]]  # type: ignore[index]
    union = traveling[0]
    for each in traveling[1:]:
        union |= each
    return union
