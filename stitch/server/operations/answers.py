"""Answers, pages of lists, and names that somebody gives for a trajectory or a step."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, GetPydanticSchema, create_model

from stitch.errors import InputError, no_trajectory, some_of

if TYPE_CHECKING:
    from stitch.core import Receipt
    from stitch.journal.entries import Entry
    from stitch.memory import Memory

Item = TypeVar("Item")
Kind = TypeVar("Kind", bound=BaseModel)
Listing = TypeVar("Listing", bound="Page")

PAGE_ITEMS = 100
"""Number of items a page has, if nobody says."""
MOST_PAGE_ITEMS = 1000
Limit: TypeAlias = Annotated[int, Field(ge=1, le=MOST_PAGE_ITEMS)]
"""The most items of a list."""
_LEAST_PREFIX = 4
_MOST_DIGITS = 18
"""Shorter beginnings of ids are taken for a mistake."""


class Answer(BaseModel, frozen=True, from_attributes=True):
    """An answer. Fields that were not set are left out of its JSON."""


class ToldStep(Answer):
    """A step as it is told; its labels are read through merges."""

    step: str
    position: int
    role: str
    happened: float | str | None
    """Time when it happened, as its source says it."""
    recorded: float
    """When the memory accepted it, in Unix seconds."""
    scope: str | None
    event_types: tuple[str, ...]
    entity_types: tuple[str, ...]
    text: str


_MODELS: dict[Any, Any] = {}
"""Models of named tuples, each made once: two of a name would be told apart in the description."""


def as_model(kind: Any) -> Any:
    """A named tuple of the library, or a tuple of them, as the model under which it is sent: an object, and no list."""
    if get_origin(kind) is tuple:
        each: Any = as_model(get_args(kind)[0])
        return tuple[each, ...]
    if not hasattr(kind, "_fields"):
        return kind
    if kind not in _MODELS:
        hints, defaults = get_type_hints(kind), kind._field_defaults
        fields: dict[str, Any] = {name: (as_model(hints[name]), defaults.get(name, ...)) for name in kind._fields}
        config = ConfigDict(from_attributes=True)
        _MODELS[kind] = create_model(str(kind.__name__), __config__=config, __doc__=kind.__doc__, **fields)
    return _MODELS[kind]


Object = Annotated[Item, GetPydanticSchema(lambda kind, handler: handler.generate_schema(as_model(kind)))]
"""A named tuple of the library in a field of an answer, sent as an object."""


def gathered(kind: type[Kind], /, *sources: object, without: Collection[str] = (), **own: Any) -> Kind:
    """An answer whose fields are what is given, and else what the first source says that has something of the name.

    What a source says by default, and what stands in `without`, is left out.
    """
    for name, about in kind.model_fields.items():
        if name in own or name in without:
            continue
        source = next((each for each in sources if hasattr(each, name)), None)
        if source is not None and (value := getattr(source, name)) != about.default:
            own[name] = value
    return kind(**own)


class Page(Answer):
    """A part of a list."""

    next: str | None = None
    """What to give as `after` for the items that follow; null behind the last."""


def page_of(
    items: Iterable[Item], *, limit: int | None, after: str | None, name: Callable[[Item], str] = str
) -> tuple[Sequence[Item], dict[str, Any]]:
    """A part of a list, with the field of an answer that says how it goes on; all of it if no part is asked for.

    It begins behind the item of the name `after`; no two have the same.

    Raises:
        InputError: There is no item of this name any more.
    """
    coming = iter(items)
    if limit is None and after is None:
        return list(coming), {}
    if after is not None and not any(name(item) == after for item in coming):
        raise InputError(f"nothing in the list is called {after!r} any more", hint="begin again without `after`")
    part, more = list(islice(coming, limit or PAGE_ITEMS)), list(islice(coming, 1))
    return part, {"next": name(part[-1]) if more else None}


def page(
    kind: type[Listing],
    items: Iterable[Item],
    *,
    limit: int | None,
    after: str | None,
    name: Callable[[Item], str] = str,
    row: Callable[[Item], object] = lambda item: item,
    **more: object,
) -> Listing:
    """A part of a list as an answer, in its one field that is given nothing; see `page_of`."""
    [field] = kind.model_fields.keys() - more.keys() - {"next"}
    shown, following = page_of(items, limit=limit, after=after, name=name)
    return kind(**{field: tuple(map(row, shown))}, **more, **following)


def position_after(after: str | None) -> int:
    """The position behind one that a page ended with; 0 for the first page.

    Raises:
        InputError: It is no position.
    """
    if after is None:
        return 0
    if not (after.isdecimal() and len(after) <= _MOST_DIGITS):
        raise InputError(f"after {after!r} is no position", hint="give the `next` of the page before")
    return int(after) + 1


def known_trajectory(memory: Memory, trajectory: str | None) -> str | None:
    """The trajectory that is named.

    Raises:
        InputError: The memory has none of this name: what comes back would be nothing, and look like an answer.
    """
    if trajectory is None or next(iter(memory.steps(trajectory, stop=1)), None) is not None:
        return trajectory
    if trajectory not in memory.trajectories():  # or its first step was erased
        raise no_trajectory(trajectory, memory.trajectories())
    return trajectory


def find_step(memory: Memory, named: str, *, trajectory: str | None) -> Receipt:
    """The one step that a person means: by its id, its position in the trajectory, or the beginning of its id.

    Raises:
        InputError: None is meant, or several are.
    """
    known_trajectory(memory, trajectory)
    names = list(map(str, memory.trajectories())) if trajectory is None else [trajectory]
    found = [entry.receipt() for entry in _meant(memory, named, names)]
    if not found:
        where = "no trajectory has a" if trajectory is None else f"trajectory {trajectory!r} has no"
        raise InputError(
            f"{where} step {named!r}: it was never accepted, or it was erased",
            hint="`stitch show --steps` lists the steps; name one by its id, the beginning of it, or its position",
        )
    trajectories = list(dict.fromkeys(own.trajectory for own in found))
    if len(trajectories) > 1:
        raise InputError(
            f"{len(trajectories)} trajectories have a step {named!r}",
            hint=f"name one with --trajectory: {some_of(trajectories)}",
        )
    if len(found) > 1:
        ids = some_of([own.step for own in found])
        raise InputError(f"{len(found)} steps begin with {named!r}", hint=f"write more: {ids}")
    return found[0]


def _meant(memory: Memory, named: str, trajectories: Sequence[str]) -> list[Entry]:
    """Steps that a name means: by id, else by position, else by the beginning of the id."""
    by_id = [entry for name in trajectories if (entry := memory.get(name, named)) is not None]
    if by_id:
        return by_id
    by_position: list[Entry] = []
    if named.isdecimal() and len(named) <= _MOST_DIGITS and str(place := int(named)) == named:
        by_position = [entry for name in trajectories for entry in memory.steps(name, start=place, stop=place + 1)]
    if by_position or len(named) < _LEAST_PREFIX:
        return by_position
    return [entry for name in trajectories for entry in memory.steps(name) if entry.id.startswith(named)]
