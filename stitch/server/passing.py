"""Classes whose methods are called in another process."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

from stitch.memory_parts import refuse_other_names
from stitch.server.methods import method_names

if TYPE_CHECKING:
    from stitch.server.client import Client

Kind = TypeVar("Kind", bound=type[Any])


def passed_on(kind: str) -> Callable[[Kind], Kind]:
    """Class decorator that forwards the methods of a base that can be called elsewhere, unless overridden.

    Args:
        kind: What stands before the point in the names of methods.
    """

    def passing(made: Kind) -> Kind:
        for own in method_names(kind):
            if own not in vars(made) and hasattr(made, own):
                setattr(made, own, _passing(f"{kind}.{own}".lstrip("."), getattr(made, own)))
        return made

    return passing


def _passing(name: str, method: Any) -> Any:
    """A method, or a property, that calls another one elsewhere."""
    if isinstance(method, property):
        return property(lambda self: self._call(name, {}), doc=method.__doc__)
    signature = inspect.signature(method)
    options = next((each.name for each in signature.parameters.values() if each.kind is each.VAR_KEYWORD), "")

    @wraps(method)
    def call(self: Any, /, *given: Any, **named: Any) -> Any:
        refuse_other_names(named)
        said = dict(signature.bind(self, *given, **named).arguments)
        del said[next(iter(signature.parameters))]
        more = said.pop(options, {})
        return self._call(name, said | more)

    return call


class Remote:
    """A part of a memory that is somewhere else."""

    _client: Client

    def _call(self, name: str, arguments: dict[str, Any], *, lines: Iterable[str | bytes] = ()) -> Any:
        return self._client.call(name, arguments, lines=lines)
