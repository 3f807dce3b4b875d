"""Schemas of trees: types, their children, their fields with kinds. One guards every edit.

A schema is inferred from a tree, or written by a person as YAML::

    root: Plan
    types:
      Plan: {children: [Day]}
      Day: {children: [POI, Restaurant], fields: {index: number}}
      POI:
        fields:
          name: {kind: words, required: true}
          cost: money
          status: {values: [open, done]}

A type without `children` has none; `children: any` allows all types. Fields that are not named are refused, unless
the type (or the schema, for all its types) says `open: true`. One that was inferred is open: a tree says which fields
there are, not which there may be.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any, get_args

import yaml
from pydantic import (
    BaseModel,
    ConfigDict,
    SerializerFunctionWrapHandler,
    ValidationError,
    field_validator,
    model_serializer,
    model_validator,
)

from stitch.errors import EditRefusedError, InputError, some_of
from stitch.trees.core.nodes import Node, Tree
from stitch.trees.core.values import Kind, read_value

KINDS: tuple[str, ...] = get_args(Kind)
_LEAST_VALUES = 3
"""A field has a kind other than words if so many values are of it, and none is of another."""
_MOST_PROBLEMS = 5
_ALSO = {"money": ("number",), "number": ("money",)}
"""An amount may be said without its currency."""
_NO_VALUE = frozenset({"", "-", "–", "?", "n/a", "none", "free", "tbd", "tba", "unknown", "variable", "open"})
"""Words for no value, or none yet: they may stand for one of any kind."""


class FieldSchema(BaseModel):
    """The rule for a field."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Kind = "words"
    """Of all its values; `words` allows anything."""
    required: bool = False
    values: tuple[str, ...] = ()
    """All that it may say; anything of its kind if empty."""

    @model_validator(mode="before")
    @classmethod
    def _short(cls, said: Any) -> Any:
        return {"kind": said} if isinstance(said, str) else {} if said is None else said

    @field_validator("values", mode="before")
    @classmethod
    def _texts(cls, said: Any) -> Any:
        return tuple(str(each) for each in said) if isinstance(said, list) else said

    @model_serializer(mode="wrap")
    def _shortly(self, write: SerializerFunctionWrapHandler) -> Any:
        made = write(self)
        return {"kind": self.kind, **made} if set(made) - {"kind"} else self.kind

    def problem(self, value: str) -> str:
        """The fault of a value; empty if it may be said."""
        if self.values and value not in self.values:
            return f"is none of {some_of(self.values)}: {_short(value)}"
        if self.kind == "words" or value.strip().lower() in _NO_VALUE:
            return ""
        if (said := read_value(value).kind) != self.kind and said not in _ALSO.get(self.kind, ()):
            return f"is no {self.kind}: {_short(value)}"
        return ""


class TypeSchema(BaseModel):
    """The rule for nodes of a type."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    children: tuple[str, ...] | None = ()
    """The types of its children; None allows all."""
    fields: Mapping[str, FieldSchema] = {}  # pydantic copies it
    open: bool = False
    """Whether it may have fields that are not named here."""

    @field_validator("children", mode="before")
    @classmethod
    def _any(cls, said: Any) -> Any:
        return None if said == "any" else said

    @model_serializer(mode="wrap")
    def _shortly(self, write: SerializerFunctionWrapHandler) -> Any:
        said = "any" if self.children is None else list(self.children)
        return ({"children": said} if said else {}) | {k: v for k, v in write(self).items() if k != "children"}

    @model_validator(mode="before")
    @classmethod
    def _empty(cls, said: Any) -> Any:
        return {} if said is None else said


class Schema(BaseModel):
    """The schema of a tree."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    root: str
    """The type of the root."""
    types: Mapping[str, TypeSchema]
    open: bool = False
    """Whether nodes of all types may have fields that are not named."""
    new_types: bool = False
    """Whether nodes of types that are not named are allowed, with anything in them."""

    def check(self, tree: Tree) -> None:
        """Refuse a tree that breaks it.

        Raises:
            InputError: It does; names the first nodes that do.
        """
        found: list[str] = []
        if tree.root.type != self.root:
            found.append(f"the root is a {tree.root.type} and no {self.root}")
        for node in tree.root.walk():
            found.extend(self._problems(node))
            if len(found) > _MOST_PROBLEMS:
                break
        if found:
            raise InputError(
                f"the tree does not keep to its schema: {_told(found)}", hint="mend the tree, or the schema"
            )

    def check_nodes(self, nodes: Iterable[Node]) -> None:
        """Refuse nodes of a tree that break it.

        Raises:
            EditRefusedError: One does; says what is wrong with it.
        """
        if found := [problem for node in nodes for problem in self._problems(node)]:
            raise EditRefusedError(
                f"the schema of the tree forbids this: {_told(found)}; nothing was changed",
                hint="`stitch tree show --schema` prints it, and `stitch tree edit --schema FILE` gives it another",
            )

    def _problems(self, node: Node) -> Iterator[str]:
        """Faults of a node."""
        own = self.types.get(node.type)
        if own is None:
            if not self.new_types:
                yield f"{node.id} is of the unknown type {node.type!r}{self._near(node.type, self.types)}"
            return
        below = dict.fromkeys(child.type for child in node.children)
        for child in below if own.children is not None else ():
            if child not in (own.children or ()):
                allowed = some_of(own.children) if own.children else "none"
                yield f"no {child!r} may stand below {node.id}, which is of the type {node.type!r}: {allowed} allowed"
        yield from self._problems_of_fields(node, own)

    def _problems_of_fields(self, node: Node, own: TypeSchema) -> Iterator[str]:
        for field, value in node.fields.items():
            if (known := own.fields.get(field)) is not None:
                if problem := known.problem(value):
                    yield f"field {field!r} of {node.id} {problem}"
            elif not (own.open or self.open):
                near = self._near(field, own.fields)
                yield f"{node.id} has the field {field!r}, and its type {node.type!r} has none of this name{near}"
        for field, rule in own.fields.items():
            if rule.required and not node.fields.get(field):
                yield f"{node.id} lacks its field {field!r}"

    @staticmethod
    def _near(name: str, known: Iterable[str]) -> str:
        near = get_close_matches(name, list(known), n=1, cutoff=0.6)
        return f"; {near[0]!r} is near" if near else f"; there are {some_of(list(known))}" if known else ""

    def dump(self) -> dict[str, Any]:
        """The schema as JSON, without what is the default."""
        return self.model_dump(mode="json", exclude_defaults=True)


def infer(tree: Tree) -> Schema:
    """The schema to which a tree keeps: its types, which stand below which, and the kinds of their fields.

    A field is of a kind if at least three of its values are, and none is of another; else it may say anything. A tree
    that is a root and nothing more says nothing of what it will hold: all is allowed.
    """
    if not tree.root.children:
        return Schema(root=tree.root.type, types={tree.root.type: TypeSchema(children=None)}, open=True, new_types=True)
    children: dict[str, dict[str, None]] = {}
    kinds: dict[str, dict[str, dict[str, int]]] = {}
    for node in tree.root.walk():
        children.setdefault(node.type, {}).update(dict.fromkeys(child.type for child in node.children))
        own = kinds.setdefault(node.type, {})
        for field, value in node.fields.items():
            counts = own.setdefault(field, {})
            if len(counts) < 2 and value.strip().lower() not in _NO_VALUE:  # of two kinds it has none
                kind = "words" if "words" in counts else read_value(value).kind
                counts[kind] = counts.get(kind, 0) + 1
    types = {
        name: TypeSchema(
            children=tuple(children[name]),
            fields={field: FieldSchema.model_validate(_kind_of(counts)) for field, counts in kinds[name].items()},
        )
        for name in children
    }
    return Schema(root=tree.root.type, types=types, open=True)


def _kind_of(counts: Mapping[str, int]) -> str:
    kind, count = next(iter(counts.items()), ("words", 0))
    return kind if len(counts) == 1 and count >= _LEAST_VALUES else "words"


def schema_of(said: Mapping[str, Any]) -> Schema:
    """The schema that a dictionary says."""
    try:
        schema = Schema.model_validate(said)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        kinds = f"; kinds are {', '.join(KINDS)}" if first["type"] == "literal_error" else ""
        raise InputError(
            f"the schema is wrong at {where or 'its top'}: {first['msg'].lower()}{kinds}",
            hint="see `stitch tree create --help`",
        ) from None
    unknown = {child for own in schema.types.values() for child in own.children or ()} | {schema.root}
    if missing := sorted(unknown - set(schema.types)):
        raise InputError(
            f"the schema names types that it does not have: {some_of(missing)}", hint="list them under types"
        )
    return schema


def read_schema(text: str) -> Schema:
    """The schema that YAML says."""
    try:
        said = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise InputError(f"the schema is no YAML: {str(error).splitlines()[0]}") from None
    if not isinstance(said, Mapping):
        raise InputError("the schema is no mapping", hint="it begins with `root:` and `types:`")
    return schema_of(said)


def _short(value: str) -> str:
    return repr(value if len(value) <= 40 else f"{value[:39]}…")


def _told(found: list[str]) -> str:
    more = len(found) - _MOST_PROBLEMS
    return "; ".join(found[:_MOST_PROBLEMS]) + (f"; and {more} more" if more > 0 else "")
