"""The methods of a memory that another process can call, by name, and how arguments and results travel.

A signature is the schema: arguments are validated by its annotations where the memory is, and the result by its return
type where it arrives, as the library's own values. Nothing is modeled a second time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from inspect import Parameter
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import orjson
from pydantic import ConfigDict, PlainSerializer, PlainValidator, TypeAdapter, with_config
from typing_extensions import NotRequired, Required, TypedDict

from stitch.core import KeptTrajectory
from stitch.core.arguments import checked
from stitch.errors import InputError, StepRejectedError
from stitch.lifecycle.relabel import NumberedLine
from stitch.server.operations.operation import LINES, OPERATIONS, Action, Procedure
from stitch.server.protocol import Failure, as_error, failure_of, step_or_message

if TYPE_CHECKING:
    from stitch.memory import Memory


class TreePlace(NamedTuple):
    """A tree, and where in its history somebody stands."""

    name: str
    branch: str
    version: str


def _written_by(write: Callable[[Any], Any], read: Callable[[Any], Any]) -> Any:
    return Annotated[Any, PlainValidator(read), PlainSerializer(write)]


def _rejection(error: object) -> dict[str, str]:
    if not isinstance(error, StepRejectedError):
        raise TypeError("it is no rejection")  # another member of the union writes it
    return failure_of(error).model_dump()


def _later(place: str) -> Callable[[Any], Any]:
    """A function that is imported when it is called."""
    return lambda told: _found(place)(told)


_FORMS: Mapping[str, Any] = {
    "Iterable": list,
    "object": _written_by(lambda own: own, step_or_message),
    "KeptTrajectory": _written_by(
        lambda own: own.__getnewargs_ex__(), lambda told: KeptTrajectory(*told[0], **told[1])
    ),
    "StepRejectedError": _written_by(_rejection, lambda told: as_error(Failure.model_validate(told))),
    "NodeSelection": _written_by(lambda own: own.as_json(), _later("stitch.retrieve.path:selection_of")),
    "Operation": Mapping[str, Any],
    "Tree": _written_by(
        lambda own: _found("stitch.trees.core.operations:node_json")(own.root),
        _later("stitch.trees.core.reading:read_mapping"),
    ),
    "TreeVersion": _written_by(
        lambda own: own.commit, lambda told: TypeAdapter(_found("stitch.trees:Commit")).validate_python(told)
    ),
    "VersionedTree": _written_by(
        lambda own: TreePlace(own.name, own.branch, own.version), TypeAdapter(TreePlace).validate_python
    ),
}
"""Types that go to and fro in another form: of which pydantic cannot tell by itself, and lists that may be endless."""


@dataclass(frozen=True, kw_only=True)
class Method(Procedure):
    """A method that can be called."""

    instead = _FORMS

    @cached_property
    def given(self) -> TypeAdapter[Any]:
        """The validator of its arguments."""
        fields: dict[str, Any] = {
            name: (Required if default is Parameter.empty else NotRequired)[hint]
            for name, (hint, default) in self.arguments.items()
        }
        made = TypedDict("Arguments", fields)  # type: ignore[misc]
        return TypeAdapter(with_config(ConfigDict(extra="forbid"))(made))

    @cached_property
    def result(self) -> TypeAdapter[Any]:
        """The codec of its result, or of each item of it."""
        return TypeAdapter(self.answered)

    def written(self, answer: Any) -> bytes:
        """A result as JSON; an item of several in brackets, which an error behind them has not."""
        written = self.result.dump_json(answer)
        return b"[%b]" % written if self.streams else written


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


def _numbered(line: str | bytes) -> NumberedLine:
    source, number, text = orjson.loads(line)
    return NumberedLine(source, number, text.encode())
