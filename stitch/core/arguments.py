"""Signatures of methods as types of their arguments, and one of a wrong type told in a line."""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import wraps
from importlib import import_module
from textwrap import dedent
from types import MappingProxyType
from typing import Any, TypeVar, get_args, get_type_hints

from pydantic import ConfigDict, TypeAdapter, ValidationError, with_config
from typing_extensions import NotRequired, TypedDict

from stitch.errors import InputError

Kind = TypeVar("Kind", bound=type[Any])

_OTHER_NAMES = frozenset({"user_id", "agent_id", "run_id", "session_id", "app_id", "namespace"})
"""Names under which other memories say whose a step is."""
_GUARDED = re.compile(r"^if TYPE_CHECKING:\n((?:    .*\n|\n)+)", re.MULTILINE)


def hints_of(function: Callable[..., Any], instead: Mapping[str, Any] = MappingProxyType({})) -> dict[str, Any]:
    """The types of parameters and result, those among them that a module imports for type checkers alone.

    Args:
        function: Whose annotations are read.
        instead: Types that are taken for others, by the names that the annotations say.
    """
    said = set(re.findall(r"\w+", " ".join(map(str, function.__annotations__.values()))))
    imported = _for_checkers(function.__module__)
    wanted = said - instead.keys()
    local = {name: getattr(import_module(module), name) for name, module in imported.items() if name in wanted}
    return get_type_hints(function, localns={**local, **instead}, include_extras=True)


def _for_checkers(module: str) -> dict[str, str]:
    """The modules of the names that a module imports below `if TYPE_CHECKING:`."""
    block = _GUARDED.search(inspect.getsource(sys.modules[module]))
    body = ast.parse(dedent(block[1])).body if block else []
    imports = [each for each in body if isinstance(each, ast.ImportFrom)]
    return {name.name: str(each.module) for each in imports for name in each.names}


def arguments_of(
    function: Callable[..., Any], instead: Mapping[str, Any] = MappingProxyType({})
) -> dict[str, tuple[Any, Any]]:
    """The types and defaults of a model's fields, or of a function's arguments behind the first, options among them."""
    hints, found = hints_of(function, instead), dict[str, tuple[Any, Any]]()
    first = 0 if isinstance(function, type) else 1
    for name, each in list(inspect.signature(function).parameters.items())[first:]:
        if each.kind is not each.VAR_KEYWORD:
            found[name] = (hints[name], each.default)
        elif options := get_args(hints[name]):
            found |= {option: (hint, None) for option, hint in hints_of(options[0]).items()}
    return found


def checked(adapter: TypeAdapter[Any], given: Any, *, strict: bool = False) -> Any:
    """A value as a type has it.

    Raises:
        InputError: It is none of that type.
    """
    try:
        return adapter.validate_python(given, strict=strict)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "arguments"
        raise InputError(f"{where}: {str(first['msg']).removeprefix('Value error, ').lower()}") from None


def told_in_a_line(made: Kind) -> Kind:
    """Class decorator: where an argument of a wrong type makes a public method fail, an `InputError` says which.

    Arguments are looked at when a method has failed, so that a call that does not costs nothing.
    """
    for name, member in list(vars(made).items()):
        if inspect.isfunction(member) and not name.startswith("_") and not _is_async(member):
            setattr(made, name, telling(member))
    return made


def telling(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method that tells in a line which argument of a wrong type made it fail, if one did."""

    @wraps(method)
    def called(self: Any, /, *given: Any, **named: Any) -> Any:
        try:
            result = method(self, *given, **named)
        except (TypeError, AttributeError, ValueError) as error:
            _refuse_wrong(method, (self, *given), named, failed=error)
            raise
        return _told(result, method, (self, *given), named) if isinstance(result, Iterator) else result

    return called


def _told(items: Iterator[Any], method: Callable[..., Any], given: Sequence[Any], named: Mapping[str, Any]) -> Any:
    try:
        yield from items
    except (TypeError, AttributeError, ValueError) as error:
        _refuse_wrong(method, given, named, failed=error)
        raise


def _refuse_wrong(
    method: Callable[..., Any], given: Sequence[Any], named: Mapping[str, Any], *, failed: Exception
) -> None:
    """Refuse arguments of other names or types than the signature has; what is converted on its way is one, too.

    Raises:
        InputError: One is.
    """
    refuse_other_names(named)
    try:
        said = dict(inspect.signature(method).bind(*given, **named).arguments)
    except TypeError:  # Python's own words say it
        return
    said.pop(next(iter(said)))
    said |= said.pop("options", {})
    for strict in (False, True):
        try:
            checked(_given(method), said, strict=strict)
        except InputError as wrong:
            raise wrong from failed


def _given(method: Callable[..., Any]) -> TypeAdapter[Any]:
    fields = {name: NotRequired[hint] for name, (hint, _) in arguments_of(method).items()}
    made = TypedDict("Given", fields)  # type: ignore[misc]
    return TypeAdapter(with_config(ConfigDict(arbitrary_types_allowed=True))(made))


def _is_async(function: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)


def refuse_other_names(named: Iterable[str]) -> None:
    """Refuse arguments by which other memories say whose a step is.

    Raises:
        InputError: One is named; the hint says what to write.
    """
    if wrong := sorted(_OTHER_NAMES.intersection(named)):
        raise InputError(
            f"a memory is one tenant's, so that no call takes {wrong[0]}=",
            hint="open_memory(..., tenant=NAME), or open_tenants(...).memory(NAME); trajectory= groups steps within it",
        )
