"""The methods of a memory that another process can call, by name, and how arguments and results travel.

A signature is the schema: arguments are validated by its annotations where the memory is, and the result by its return
type where it arrives, as the library's own values. Nothing is modeled a second time.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, TypeAlias, get_args, get_origin, get_type_hints

import orjson
from pydantic import PlainSerializer, PlainValidator, TypeAdapter, ValidationError, with_config
from typing_extensions import NotRequired, Required, TypedDict

from stitch.core import KeptTrajectory, Receipt
from stitch.core.cancellation import cancelable
from stitch.errors import InputError, StepRejectedError
from stitch.label.model.compiled import PredictorState, load_program, state_of
from stitch.label.model.offline import OfflineLabeler
from stitch.lifecycle.handover import Handover, NumberedLine, TakenIn
from stitch.lm import Price
from stitch.retrieve.path import NodeSelection, selection_of
from stitch.trees.core.commits import Commit
from stitch.trees.core.nodes import Tree
from stitch.trees.core.operations import Add, Delete, Move, Replace, SetField, node_json, operation_json
from stitch.trees.core.reading import read_mapping
from stitch.trees.requests.conversation import TreeTask
from stitch.trees.requests.versioned import TreeVersion, VersionedTree

if TYPE_CHECKING:
    from stitch.memory import Memory

Action: TypeAlias = Literal["read", "write", "forget", "admin"]
"""What a key has to allow."""

LINES = "lines"
"""The parameter that takes lines of text, which follow the arguments."""
MESSAGE_STEP = "stitch_step"
"""A message that has this field alone is a step."""


@dataclass(frozen=True)
class Method:
    """A method that can be called."""

    name: str
    action: Action
    function: Callable[..., Any]
    """Says what it takes and returns."""

    @cached_property
    def arguments(self) -> TypeAdapter[Any]:
        """What validates its arguments."""
        hints, fields = _hints(self.function), dict[str, Any]()
        for name, parameter in list(inspect.signature(self.function).parameters.items())[1:]:
            if parameter.kind is parameter.VAR_KEYWORD:
                options = get_args(hints[name])[0]
                fields |= {each: NotRequired[_traveling(hint)] for each, hint in _hints(options).items()}
            elif name != LINES:
                wrap = Required if parameter.default is parameter.empty else NotRequired
                fields[name] = wrap[_traveling(hints[name])]
        made = TypedDict("Arguments", fields)  # type: ignore[misc]
        return TypeAdapter(with_config(extra="forbid")(made))

    @cached_property
    def is_stream(self) -> bool:
        """Whether its result comes item by item."""
        return getattr(get_origin(_hints(self.function)["return"]), "__name__", "") == "Iterator"

    @cached_property
    def result(self) -> TypeAdapter[Any]:
        """What writes and reads its result, or each item of it."""
        hint = _hints(self.function)["return"]
        return TypeAdapter(_traveling(get_args(hint)[0] if self.is_stream else hint))

    @property
    def takes_lines(self) -> bool:
        """Whether lines follow the arguments."""
        return LINES in self.function.__annotations__


class TreePlace(NamedTuple):
    """A tree, and where in its history somebody stands."""

    name: str
    branch: str
    version: str


class Answered(NamedTuple):
    """What became of the tasks of a request in words."""

    replies: Sequence[Mapping[str, Any]]
    left: Sequence[TreeTask]
    author: str
    """The model, as the author of what it proposes."""
    version: str


# Methods that travel in a form of their own.


def add_messages(
    memory: Memory, messages: Sequence[Mapping[str, Any]], trajectory: str, options: Mapping[str, Any]
) -> list[Receipt]:
    """As `Memory.add_messages`; a step among messages is told by a field of its own."""
    from stitch.sources.given import step_of

    given = [step_of(each[MESSAGE_STEP]) if set(each) == {MESSAGE_STEP} else each for each in messages]
    return memory.add_messages(given, trajectory=trajectory, **options)


def flush(memory: Memory) -> str:
    """As `Memory.flush`; returns `Memory.statements_failure`."""
    memory.flush()
    return memory.statements_failure


def take_in_replies(handover: Handover, lines: Iterable[bytes]) -> TakenIn:
    """As `Handover.take_in`, of lines that are lists of JSON: source, number, text."""
    numbered = (orjson.loads(line) for line in lines)
    return handover.take_in(NumberedLine(source, number, text.encode()) for source, number, text in numbered)


def request_of_tree(
    tree: VersionedTree, request: str, turns: Sequence[str], tasks: Sequence[TreeTask] | None, confirm: bool,
    stops: bool,
) -> Answered:  # fmt: skip
    """As `TreeConversation.go_on`; a reply is told without the difference that its operations make."""
    talk = tree.conversation(request, turns=turns)
    replies, left = talk.go_on(request, tasks=tasks, confirm=confirm, stops=stops)
    told = [
        {
            **vars(reply),
            "selection": reply.selection and reply.selection.as_json(),
            "operations": list(map(operation_json, reply.operations)),
            "diff": None,
        }
        for reply in replies
    ]
    return Answered(told, left, talk.author, tree.version)


_OWN: Mapping[str, tuple[Action, Callable[..., Any]]] = {
    "add_messages": ("write", add_messages),
    "flush": ("write", flush),
    "handover.take_in": ("admin", take_in_replies),
    "tree.request": ("write", request_of_tree),
}

_KINDS: Mapping[str, str] = {
    "": "stitch.memory:Memory",
    "ledger": "stitch.lm:Ledger",
    "lifecycle": "stitch.lifecycle.lifecycle:Lifecycle",
    "handover": "stitch.lifecycle.handover:Handover",
    "hierarchy": "stitch.themes:Themes",
    "trees": "stitch.trees.requests.trees:Trees",
    "tree": "stitch.trees.requests.versioned:VersionedTree",
}
"""Classes by what stands before the point in the name of a method."""

_ACTIONS: Mapping[str, Mapping[Action, str]] = {
    "": {
        "read": "search ask why why_not recalls inventory themes trajectories get steps status receipts select",
        "write": "add add_many add_each retry finish",
    },
    "ledger": {"read": "stages"},
    "lifecycle": {
        "read": "count history corrections export",
        "write": "correct import_lines",
        "forget": "retire erase expire",
        "admin": "backup verify reindex relabel",
    },
    "handover": {"admin": "windows waiting"},
    "hierarchy": {
        "read": "statement count statements episode episodes theme theme_of theme_ids themes largest reassigned"
        " statements_of_step said_in neighbors theme_neighbors"
    },
    "trees": {"read": "names list summary select open", "write": "create", "forget": "delete erase"},
    "tree": {
        "read": "tree schema branches at history all_commits select asks_versions check_model reload",
        "write": "edit edit_all set_schema revert begin_branch",
    },
}


_METHODS: dict[str, Method] = {}


def method_named(name: str) -> Method:
    """A method (or property) by its name, such as `search` or `lifecycle.erase`.

    Raises:
        InputError: There is none that could be called.
    """
    if name not in _METHODS:
        kind, _, own = name.rpartition(".")
        actions = [action for action, names in _ACTIONS.get(kind, {}).items() if own in names.split()]
        if name in _OWN:
            _METHODS[name] = Method(name, *_OWN[name])
        elif actions:
            module, _, owner = _KINDS[kind].partition(":")
            function: Any = getattr(getattr(import_module(module), owner), own)
            function = function.fget if isinstance(function, property) else function
            _METHODS[name] = Method(name, actions[0], function)
        else:
            raise InputError(
                f"a memory has no method {name!r} that can be called", hint="use one version on both sides"
            )
    return _METHODS[name]


def method_names(kind: str) -> Iterator[str]:
    """The names of the methods of a kind, without it."""
    yield from (own for name in _OWN for before, _, own in [name.rpartition(".")] if before == kind)
    yield from (own for names in _ACTIONS[kind].values() for own in names.split())


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
        place = _checked(TypeAdapter(TreePlace), of)
        receiver = memory.trees.open(place.name, branch=place.branch)
        receiver.version = place.version
    elif kind == "handover":
        receiver = memory.lifecycle.handover(_labeler_of(_checked(TypeAdapter(_Labeler), of)))
    taken = _checked(method.arguments, arguments)
    if method.takes_lines:
        taken[LINES] = lines
    only_reads = method.action == "read" or taken.get("dry_run") or taken.get("repair") is False
    with nullcontext() if only_reads else cancelable(None):
        if method.name in _OWN:
            return method.function(receiver, **taken)
        own = getattr(receiver, method.name.rpartition(".")[2])  # as the class of the receiver has it
        return own(**taken) if callable(own) else own


class _Labeler(TypedDict):
    model: str
    window_steps: int
    asks: bool
    price: Sequence[float] | None
    program: Mapping[str, Any] | None


def labeler_json(labeler: OfflineLabeler) -> dict[str, Any]:
    """A labeler that is somewhere else, so that one like it can be made where a memory is."""
    from stitch.signatures.programs import WindowProgram

    states = state_of(labeler.program, plain=WindowProgram()) if labeler.program.digest else {}
    return {
        "model": labeler.model.name, "window_steps": labeler.window_steps, "asks": labeler.asks,
        "price": labeler.price, "program": {name: each.model_dump(mode="json") for name, each in states.items()},
    }  # fmt: skip


def _labeler_of(told: _Labeler) -> OfflineLabeler:
    """The labeler of which `labeler_json` told.

    Raises:
        InputError: Its prompts are of another version.
    """
    from stitch.label.local import LocalLabeler
    from stitch.signatures.programs import WindowProgram

    program, states = WindowProgram(), told["program"] or {}
    if states:
        read = {name: PredictorState.model_validate(each) for name, each in states.items()}
        load_program(read, program, target="windowed")
    return OfflineLabeler(
        told["model"], fallback=LocalLabeler(), program=program, window_steps=told["window_steps"], asks=told["asks"],
        price=Price(*told["price"]) if told["price"] else None,
    )  # fmt: skip


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


_TRAVELING: Mapping[Any, Any] = {
    NodeSelection: _written_by(NodeSelection.as_json, selection_of),
    KeptTrajectory: _written_by(lambda own: [str(own), own.steps, own.began, own.ended], _kept_trajectory),
    StepRejectedError: _written_by(_rejection, _rejected),
    Tree: _written_by(lambda tree: node_json(tree.root), read_mapping),
    TreeVersion: _written_by(lambda version: version.commit, TypeAdapter(Commit).validate_python),
    VersionedTree: _written_by(
        lambda tree: TreePlace(tree.name, tree.branch, tree.version), TypeAdapter(TreePlace).validate_python
    ),
    **dict.fromkeys((SetField, Move, Delete, Add, Replace), Mapping[str, Any]),
}
"""How classes are written of which pydantic cannot tell by itself."""

_HOMES = {
    "stitch.chats": "Edited",
    "stitch.core": "ReferenceRewrite",
    "stitch.core.retention": "RetentionRule",
    "stitch.journal": "Entry Revision",
    "stitch.lifecycle.backup": "BackedUp",
    "stitch.lifecycle.correct": "Correction",
    "stitch.lifecycle.erase": "Erased ErasedFromTree ErasedTrees",
    "stitch.lifecycle.relabel": "Relabeled",
    "stitch.lifecycle.repair": "Repaired Verification",
    "stitch.lifecycle.retention": "Expiry",
    "stitch.lifecycle.selection": "Selector",
    "stitch.lifecycle.transfer": "Imported",
    "stitch.lm.batch": "BatchRequest",
    "stitch.memory": "Memory",
    "stitch.observe.recalls": "Recall",
    "stitch.retrieve.path": "NodeSelection",
    "stitch.retrieve.rank.explain": "Why WhyNot",
    "stitch.trees.requests.asking": "SelectOptions",
}
"""Modules of the names in annotations that are imported there for type checkers alone."""


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    """The types of parameters and result."""
    said = set(re.findall(r"\w+", " ".join(map(str, function.__annotations__.values()))))
    local = {
        name: getattr(import_module(module), name)
        for module, names in _HOMES.items()
        for name in said.intersection(names.split())
    }
    return get_type_hints(function, localns=local, include_extras=True)


def _traveling(hint: Any) -> Any:
    """A type as it travels: what pydantic cannot write is told how, and an iterable is a list."""
    origin, inner = get_origin(hint), get_args(hint)
    if hint in _TRAVELING or not inner or origin in (Annotated, Literal):
        return _TRAVELING.get(hint, hint)
    traveling = tuple(map(_traveling, inner))
    if getattr(origin, "__name__", "") in ("Iterable", "Sequence", "Collection"):
        return list[traveling[0]]  # type: ignore[valid-type]
    if traveling == inner:
        return hint
    if isinstance(origin, type) and origin.__module__ != "types":
        return origin[traveling if len(traveling) > 1 else traveling[0]]  # type: ignore[index]
    union = traveling[0]
    for each in traveling[1:]:
        union |= each
    return union


def _checked(adapter: TypeAdapter[Any], given: Any) -> Any:
    try:
        return adapter.validate_python(given)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "arguments"
        raise InputError(f"{where}: {str(first['msg']).removeprefix('Value error, ').lower()}") from None
