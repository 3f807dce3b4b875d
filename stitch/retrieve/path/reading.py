"""From the parser's tree to the values of `syntax`: of several spellings, the canonical one.

A method has the name of the rule whose values it makes. More than 400 lines because the grammar has some twenty rules.
"""

# ruff: noqa: D102

from __future__ import annotations

import math
import re
from typing import Any, Literal, NamedTuple, cast

from lark import Token, Transformer, v_args
from lark.tree import Meta

from stitch.retrieve.path import syntax
from stitch.retrieve.path.refusal import PathSyntaxError
from stitch.retrieve.path.syntax import (
    ANY,
    ANYTHING,
    Aggregation,
    Alike,
    At,
    Axis,
    Between,
    Bracket,
    Compare,
    Compared,
    Condition,
    Contains,
    Count,
    Diverse,
    End,
    Evidence,
    Field,
    FieldOf,
    Has,
    In,
    Joined,
    Limit,
    NodeSet,
    Not,
    Only,
    Operand,
    Path,
    Picked,
    Pipe,
    Query,
    Said,
    Shift,
    Step,
    Top,
    Total,
)  # fmt: skip
from stitch.trees.core.nodes import TEXT_FIELD
from stitch.trees.core.values import Order

_ORDERS = {"==": "=", "≤": "<=", "≥": ">=", "≠": "!="}
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


class _List(list[Any]):
    """What stands in parentheses after `in`."""


class _Found(NamedTuple):
    """A path and the field at its end, before it is known whether it is a condition, an operand or evidence."""

    path: Path
    field: str | None
    rooted: bool = False
    """It is said by `root()` to start there, also where it is evidence."""

    @property
    def below(self) -> Path:
        """The path of evidence: whatever slash it begins with, it starts at the node at hand."""
        return self.path if self.rooted or self.path.start == "here" else Path("here", self.path.steps)

    @property
    def is_self(self) -> bool:
        """Whether it is the node at hand, `.`, or a field of it."""
        return self.path == Path("here", (Step("self", ANY),))

    @property
    def operand(self) -> Field | FieldOf:
        """As a value: a name alone is the field of this name, a node is its text."""
        here = self.path.start == "here"
        if self.is_self or (here and not self.path.steps):
            return Field(TEXT_FIELD if self.field is None else self.field)
        if here and self.field is None and len(self.path.steps) == 1:
            step = self.path.steps[0]
            if step.axis == "child" and step.type != ANY and not step.brackets:
                return Field(step.type)
        return FieldOf(self.path, TEXT_FIELD if self.field is None else self.field)


def _condition(said: _Found | Condition) -> Condition:
    """A path or a field that stands alone is a condition: that it is there."""
    if not isinstance(said, _Found):
        return said
    if said.field is None:
        return Evidence("some", said.path)
    return Has(said.operand)


def _operand(said: _Found | Operand) -> Operand:
    return said.operand if isinstance(said, _Found) else said


@v_args(meta=True)
class SyntaxReader(Transformer[Token, Any]):
    """Builds the values of `syntax`; of several spellings, the canonical one."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    def _refuse(self, message: str, *, at: Meta | Token) -> PathSyntaxError:
        position = at.start_pos if isinstance(at, Token) or not at.empty else 0
        return PathSyntaxError(message, query=self._text, position=position or 0)

    # --- names and numbers

    def _number(self, token: Token) -> float:
        number = float(re.sub(r"\s", "", token).replace("−", "-"))
        if math.isinf(number):
            raise self._refuse("a number is too large", at=token)
        return number

    def _whole(self, token: Token, *, least: int | None = None) -> int:
        number = self._number(token)
        if number != int(number) or (least is not None and number < least):
            wanted = "a whole number" if least is None else f"a whole number from {least} on"
            raise self._refuse(f"{wanted} is needed here, not {token.strip()}", at=token)
        return int(number)

    @staticmethod
    def _name(token: Token) -> str:
        return token[1:-1] if token.startswith("`") else str(token)

    @staticmethod
    def _string(token: Token) -> str:
        return token[1:-1] if token.startswith("“") else _ESCAPE.sub(r"\1", token[1:-1])

    # --- sets and paths

    def query(self, meta: Meta, parts: list[Any]) -> Query:
        return Query(parts[0], tuple(parts[1:]))

    def nodes(self, meta: Meta, parts: list[Any]) -> NodeSet:
        nodes = [part for part in parts if not isinstance(part, Token)]
        return nodes[0] if len(nodes) == 1 else syntax.Union(tuple(nodes))

    def part(self, meta: Meta, parts: list[Any]) -> NodeSet:
        nodes: NodeSet = parts[0]
        for how, right in zip(parts[1::2], parts[2::2], strict=True):
            nodes = Compared(nodes, "except" if how.type == "EXCEPT" else "intersect", right)
        return nodes

    def path(self, meta: Meta, parts: list[Any]) -> NodeSet:
        if isinstance(parts[0], Query):
            return self._picked(parts)
        if len(parts) == 1 and isinstance(parts[0], Token):
            return Path("document", (Step("self", ANY),))
        separator, steps = parts if len(parts) == 2 else (None, parts[0])
        path, field = self._joined(separator, steps)
        if field is not None:
            raise self._refuse(f"a query finds nodes, not the field {field!r}: leave it out", at=meta)
        return Path("document", path)

    def _picked(self, parts: list[Any]) -> NodeSet:
        query, rest = parts[0], parts[1:]
        brackets = tuple(part for part in rest if isinstance(part, At | Between | Shift | Only))
        separator, steps = rest[-2:]
        if steps is None:
            plain = not brackets and not query.pipes
            return query.nodes if plain else Path(Picked(query, brackets), ())
        path, field = self._joined(separator, steps)
        if field is not None:
            raise PathSyntaxError(
                f"a query finds nodes, not the field {field!r}: leave it out", query=self._text, position=0
            )
        return Path(Picked(query, brackets), path)

    def steps(self, meta: Meta, parts: list[Any]) -> list[Any]:
        """Separators and steps in turn; what a step becomes depends on the separator before it."""
        for place, part in enumerate(parts):
            if isinstance(part, Field) and place + 1 < len(parts):
                raise self._refuse(f"nothing can follow the field @{part.name}", at=parts[place + 1])
            if isinstance(part, Field) and parts[place - 1].type == "DEEP":
                raise self._refuse(f"say whose field @{part.name} is: `//*/@{part.name}`", at=parts[place - 1])
        return parts

    def _joined(self, separator: Token | None, parts: list[Any]) -> tuple[tuple[Step, ...], str | None]:
        """Steps with the separators before them, and the field at the end if there is one."""
        field = parts[-1].name if isinstance(parts[-1], Field) else None
        steps: list[Step] = []
        for mark, step in zip([separator, *parts[1::2]], parts[::2], strict=True):
            if isinstance(step, Field):
                break
            deep = mark is not None and mark.type == "DEEP"
            if deep and step.axis == "child":
                step = Step("//", step.type, step.brackets)
            elif deep:
                steps.append(Step("descendant-or-self", ANYTHING))
            steps.append(step)
        while len(steps) > 1 and steps[0] == Step("self", ANY):
            del steps[0]
        return tuple(steps), field

    def step(self, meta: Meta, parts: list[Any]) -> Step:
        brackets = tuple(part for part in parts if isinstance(part, At | Between | Shift | Only))
        head = [part for part in parts if isinstance(part, Token)]
        if head[0].type in ("PARENT", "SELF"):
            return Step("parent" if head[0].type == "PARENT" else "self", ANY, brackets)
        axis = head[0][: head[0].index(":")].strip() if head[0].type == "AXIS" else "child"
        test = ANY if head[-1].type == "STAR" else self._name(head[-1])
        return Step("descendant" if axis == "desc" else cast("Axis", axis), test, brackets)

    def field(self, meta: Meta, parts: list[Any]) -> Field:
        return Field(self._name(parts[1]))

    # --- brackets

    def bracket(self, meta: Meta, parts: list[Any]) -> Bracket:
        return cast("Bracket", parts[0]) if isinstance(parts[0], At | Between | Shift) else Only(_condition(parts[0]))

    def index(self, meta: Meta, parts: list[Any]) -> Bracket:
        if isinstance(parts[0], Token) and parts[0].type == "SHIFT":
            by = int(re.sub(r"[@\s]", "", parts[0]).replace("−", "-"))
            if not by:
                raise self._refuse("a sibling is at least one place away: `[@+1]` or `[@-1]`", at=meta)
            return Shift(by)
        if isinstance(parts[0], Token) and parts[0].type == "POSITION":
            return self._by_position(parts[1], parts[2], meta)
        if len(parts) == 1:
            return At(parts[0])
        first, _, last = parts
        return Between(first, last)

    def _by_position(self, order: Token, place: int, meta: Meta) -> Bracket:
        written = _ORDERS.get(order, str(order))
        if written == "=":
            return At(place)
        if written == "!=" or (place < 0 and written in ("<", ">")):
            raise self._refuse("positions are compared with =, <= or >=: `[position() <= 3]`, or `[1:3]`", at=meta)
        if written in ("<", "<="):
            if place == 1 and written == "<":
                raise self._refuse("no position comes before 1", at=meta)
            return Between(None, place - (written == "<"))
        return Between(place + (written == ">"), None)

    def place(self, meta: Meta, parts: list[Any]) -> int:
        if parts[0].type == "LAST":
            offset = self._whole(parts[1]) if parts[1] is not None else 0
            if offset > 0:
                raise self._refuse("nothing comes after last()", at=parts[1])
            return offset - 1
        place = self._whole(parts[0])
        if not place:
            raise self._refuse("positions begin with 1; -1 is the last", at=parts[0])
        return place

    # --- conditions

    def condition(self, meta: Meta, parts: list[Any]) -> Condition:
        return self._together("or", parts)

    def both(self, meta: Meta, parts: list[Any]) -> Condition:
        return self._together("and", parts)

    def product(self, meta: Meta, parts: list[Any]) -> Condition:
        return self._together("*", parts)

    @staticmethod
    def _together(how: Literal["and", "or", "avg", "gmean", "*"], parts: list[Any]) -> Condition:
        said = [part for part in parts if not isinstance(part, Token)]
        if len(said) == 1:
            return cast("Condition", said[0])
        conditions = [_condition(part) for part in said]
        flat: list[Condition] = []
        for part in conditions:  # (a and b) and c says what a and b and c says; a mean of means does not
            flat.extend(
                part.parts if how in ("and", "or", "*") and isinstance(part, Joined) and part.how == how else [part]
            )
        return Joined(how, tuple(flat))

    def simple(self, meta: Meta, parts: list[Any]) -> Condition:
        first = parts[0]
        kind = first.type if isinstance(first, Token) else ""
        if kind in ("NOT", "ONE_MINUS"):
            return self._negated(_condition(parts[1]))
        if kind == "COMBINE":
            return self._combined(first, parts[1:], meta)
        if kind == "CONTAINS":
            return Contains(_operand(parts[1]), self._string(parts[2]))
        if len(parts) == 1:
            return cast("Condition", first)
        if isinstance(parts[-1], Token) and parts[-1].type == "NUMBER":
            return self._mean(parts, meta)
        return self._compared(*parts)

    @staticmethod
    def _negated(condition: Condition) -> Condition:
        return condition.condition if isinstance(condition, Not) else Not(condition)

    def _mean(self, parts: list[Any], meta: Meta) -> Condition:
        conditions = [_condition(part) for part in parts if not isinstance(part, Token)]
        if self._whole(parts[-1]) != len(conditions):
            raise self._refuse(
                f"a mean of {len(conditions)} is divided by {len(conditions)}, not by {parts[-1]}", at=parts[-1]
            )
        return Joined("avg", tuple(conditions))

    def _combined(self, how: Token, parts: list[Any], meta: Meta) -> Condition:
        evidence = self._as_evidence(how, parts)
        if isinstance(evidence, Evidence):
            return evidence
        if evidence is not None:
            raise self._refuse(f"{how}(..) of a field is a number: compare it, as in `{how}(..) > 3`", at=how)
        name = how.removeprefix("agg_")
        if name in ("some", "every"):
            raise self._refuse(f"{how}(..) takes one path to evidence, such as `{how}(/POI[..])`", at=how)
        joined: dict[str, Literal["and", "or", "avg", "gmean"]] = {
            "min": "and",
            "max": "or",
            "avg": "avg",
            "gmean": "gmean",
        }
        return _condition(self._together(joined[name], parts))

    def _as_evidence(self, how: Token, parts: list[Any]) -> Evidence | Total | None:
        """A path alone is evidence, whatever slash it begins with, below the node at hand."""
        if len(parts) != 1 or not isinstance(parts[0], _Found):
            return None
        name, path, field = how.removeprefix("agg_"), parts[0].below, parts[0].field
        if not path.steps:
            return None
        if field is None:
            names: dict[str, Aggregation] = {"max": "some", "min": "every"}
            return Evidence(names.get(name, cast("Aggregation", name)), path)
        if name in ("avg", "min", "max"):
            return Total(cast("syntax.Numeric", name), FieldOf(path, field))
        raise self._refuse(f"{how}(..) takes a path to nodes, not to the field {field!r}", at=how)

    def _compared(self, left: Any, how: Token, right: Any) -> Condition:
        if how.type == "ALIKE":
            return self._alike(left, how, right)
        said = _operand(left)
        others = tuple(map(_operand, right if isinstance(right, _List) else [right]))
        if isinstance(said, Said) and all(isinstance(other, Said) for other in others):
            raise self._refuse("both sides are said by the query itself: name a field, as in `@cost > 3`", at=how)
        if how.type == "IN":
            return In(said, others)
        order, [other] = _ORDERS.get(how, str(how)), others
        if isinstance(said, Said):
            said, other, order = other, said, _FLIPPED.get(order, order)
        return Compare(said, cast("Order", order), other)

    def _alike(self, left: Any, how: Token, words: Token) -> Alike:
        target = _operand(left)
        if isinstance(left, _Found) and left.is_self and left.field is None:
            target = Field("node")
        if not isinstance(target, Field):
            raise self._refuse(f"{how} compares `node`, `own` or a field with a text", at=how)
        if not self._string(words).strip():
            raise self._refuse(f"there are no words after {how}", at=words)
        if isinstance(left, _Found) and left.field is None and target.name in ("node", "own"):
            return Alike(cast('Literal["node", "own"]', target.name), self._string(words))
        return Alike(target, self._string(words))

    # --- operands

    def several(self, meta: Meta, parts: list[Any]) -> _List:
        return _List(parts)

    def operand(self, meta: Meta, parts: list[Any]) -> Any:
        first = parts[0]
        if not isinstance(first, Token):
            return first
        if first.type == "NUMBER":
            return Said(self._number(first))
        if first.type == "STRING":
            return Said(self._string(first))
        if first.type == "TRUTH":
            return Said(first.startswith("true"))
        if first.type == "END":
            return End("start" if first == "start" else "end", _operand(parts[1]))
        if first.type == "COUNT":
            return self._counted(first, parts[1])
        evidence = self._as_evidence(first, parts[1:])
        if evidence is None:
            raise self._refuse(f"{first}(..) of conditions is no number: give it a path", at=first)
        return evidence

    def _counted(self, how: Token, found: _Found) -> Operand:
        path, field = found.below, found.field
        if how == "sum":
            if field is None or not path.steps:
                raise self._refuse("sum(..) takes a path to a field of nodes, such as `sum(/Option/@cost)`", at=how)
            return Total("sum", FieldOf(path, field))
        if field is not None:
            raise self._refuse(f"count(..) counts nodes, not the field {field!r}: `count(/X[@{field}])`", at=how)
        return Count(path)

    def found(self, meta: Meta, parts: list[Any]) -> _Found:
        """A path and the field at its end. Of a path that is evidence it is said later that it starts here."""
        if isinstance(parts[0], Field):
            return _Found(Path("here", ()), parts[0].name)
        marks = [part for part in parts[:-1] if isinstance(part, Token)]
        steps, field = self._joined(marks[-1] if marks else None, parts[-1])
        return _Found(
            Path("document" if marks else "here", steps), field, rooted=_is(marks[0], "ROOT") if marks else False
        )

    # --- pipes

    def pipe(self, meta: Meta, parts: list[Any]) -> Pipe:
        count = self._whole(parts[1], least=1)
        if parts[0].type == "TOP":
            operand = next(part for part in parts[2:] if part is not None and not _is(part, "BY", "DIRECTION"))
            by = _operand(operand)
            if isinstance(by, Said):
                raise self._refuse("name what to order by: `top 3 by @cost`", at=parts[0])
            return Top(count, by, ascending=any(_is(part, "DIRECTION") and part == "asc" for part in parts[2:]))
        return (Diverse if parts[0].type == "DIVERSE" else Limit)(count)


def _is(part: Any, *types: str) -> bool:
    return isinstance(part, Token) and part.type in types
