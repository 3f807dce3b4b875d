"""The table of operations: functions of a memory, with the path and the action under which a server offers them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from inspect import Parameter
from types import MappingProxyType
from typing import Any, ClassVar, Literal, TypeAlias, TypeVar, get_args, get_origin

from pydantic import BaseModel, ConfigDict, TypeAdapter, create_model

from stitch.core.arguments import arguments_of, hints_of
from stitch.core.cancellation import cancelable
from stitch.server.operations.answers import as_model

Action: TypeAlias = Literal["read", "write", "forget", "admin"]
"""What a key has to allow."""
LINES = "lines"
"""The parameter that takes lines of text, which follow the arguments."""
Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True, kw_only=True)
class Procedure:
    """A function that can be called from outside, by its name."""

    name: str
    action: Action
    run: Callable[..., Any]
    """Answers, given the memory (or a part of it) and the arguments; raises a `StitchError` for what cannot be."""
    is_search: bool = False
    """Whether somebody waits for the answer, and a model may be called for it."""

    instead: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    """Forms in which types go to and fro, by the names of the types."""

    @cached_property
    def arguments(self) -> Mapping[str, tuple[Any, Any]]:
        """The types and defaults of the arguments, which are all given by name."""
        found = arguments_of(self.run, self.instead)
        found.pop(LINES, None)
        return found

    @cached_property
    def streams(self) -> bool:
        """Whether the answer comes item by item, as lines over HTTP."""
        return get_origin(hints_of(self.run)["return"]) is Iterator

    @property
    def answered(self) -> Any:
        """The type of what is answered, or of each item of it."""
        answered = hints_of(self.run, self.instead)["return"]
        return get_args(answered)[0] if self.streams else answered

    @property
    def takes_lines(self) -> bool:
        """Whether lines follow the arguments."""
        return LINES in self.run.__annotations__

    def finishing(self, given: Mapping[str, Any]) -> AbstractContextManager[None]:
        """The context of a call: what only reads may be given up once whoever asked has left, all else is finished."""
        only_reads = self.action == "read" or given.get("dry_run") or given.get("repair") is False
        return nullcontext() if only_reads else cancelable(None)


@dataclass(frozen=True, kw_only=True)
class Operation(Procedure):
    """One thing that can be asked of a memory; lines that it takes are the body, and its arguments the query then."""

    method: Literal["GET", "POST"]
    """Of a request over HTTP: with GET, the arguments are the query of the URL; with POST, its body."""
    path: str
    takes: Callable[..., Any] | None
    """A method, or a model, whose arguments it takes, too, and passes on."""

    @cached_property
    def arguments(self) -> Mapping[str, tuple[Any, Any]]:
        """As of any, and those that are passed on."""
        return {**(arguments_of(self.takes) if self.takes else {}), **super().arguments}

    @cached_property
    def request(self) -> type[BaseModel]:
        """The arguments as a model; a field that is none is refused, and in a body a value of another type."""
        fields: dict[str, Any] = {
            name: (hint, ... if default is Parameter.empty else default)
            for name, (hint, default) in self.arguments.items()
        }
        config = ConfigDict(extra="forbid", strict=self.method == "POST" and not self.takes_lines)
        return create_model("".join(map(str.title, f"{self.name}_request".split("_"))), __config__=config, **fields)

    @cached_property
    def answer(self) -> Any:
        """The type under which the answer is sent, or each item of it."""
        return as_model(self.answered)

    @cached_property
    def _adapter(self) -> TypeAdapter[Any]:
        return TypeAdapter(self.answer)

    def dumped(self, answer: Any, **how: Any) -> Any:
        """An answer as JSON has it, as `model_dump` takes it."""
        return self._adapter.dump_python(self._adapter.validate_python(answer), mode="json", **how)

    def written(self, answer: Any) -> bytes:
        """An answer, or an item of it, as one line of JSON: without what was not set; a text is a line already."""
        if isinstance(answer, str):
            return answer.encode()
        return self._adapter.dump_json(self._adapter.validate_python(answer), exclude_unset=True)

    @property
    def summary(self) -> str:
        """First line of the description."""
        return (self.run.__doc__ or "").partition("\n")[0]


OPERATIONS: dict[str, Operation] = {}
"""By name: those of the modules that are imported."""


def operation(
    method: Literal["GET", "POST"],
    path: str,
    action: Action,
    *,
    takes: Callable[..., Any] | None = None,
    is_search: bool = False,
) -> Callable[[Function], Function]:
    """Offer a function as an operation, under its own name; see `Operation`."""

    def offered(run: Function) -> Function:
        name = run.__name__.rstrip("_")
        OPERATIONS[name] = Operation(
            name=name, method=method, path=path, action=action, run=run, takes=takes, is_search=is_search
        )
        return run

    return offered
