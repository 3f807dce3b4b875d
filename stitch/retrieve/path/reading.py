"""From the parser's tree to the values of `syntax`: of several spellings, the canonical one.

A method of the reader has the name of the rule of `grammar.lark` whose values it makes.
"""

from __future__ import annotations

import math
import re
from typing import Any, Literal, NamedTuple, cast

from lark import Token, Transformer, v_args

from stitch.errors import InputError
from stitch.retrieve.path.syntax import (
    ANY,
    ANYTHING,
    Alike,
    Axis,
    Between,
    Bracket,
    Compare,
    Condition,
    Constant,
    End,
    Field,
    Has,
    Joined,
    NodeSet,
    Not,
    Only,
    Operand,
    Over,
    Path,
    Picked,
    Pipe,
    Query,
    Sets,
    Shift,
    Step,
)  # fmt: skip
from stitch.trees.core.nodes import TEXT_FIELD

_ORDERS = {"==": "=", "≤": "<=", "≥": ">=", "≠": "!="}
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
HALF = re.compile("[\ud800-\udfff]")
_SELF = Step("self", ANY)


class PathSyntaxError(InputError):
    """A path query cannot be read.

    Args:
        message: What is wrong, in one line.
        query: The query.
        position: The character at which it goes wrong, from 0.
        expected: What could have stood there.
    """

    def __init__(self, message: str, *, query: str, position: int, expected: tuple[str, ...] = ()) -> None:
        self.query, self.position, self.expected = query, position, expected
        found = repr(query[position : position + 12]) if position < len(query) else "the end"
        *others, last = expected or ("",)
        told = f": expected {', '.join(others)}{' or ' if others else ''}{last}, found {found}" if expected else ""
        super().__init__(
            f"cannot read the path query at character {position + 1}: {message}{told}",
            hint=f"{_excerpt(query, position)}   (the README of stitch/retrieve/path teaches the language)",
        )


def _excerpt(query: str, position: int) -> str:
    """The query around a character, with a mark before it; halves of characters, which no wire can carry, replaced."""
    query = query.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if HALF.search(query) else query
    start, end = max(0, position - 30), position + 20
    return f"{'…' if start else ''}{query[start:position]}⟨here⟩{query[position:end]}{'…' if end < len(query) else ''}"


class _PathEnd(NamedTuple):
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
    def operand(self) -> Field:
        """As a value: a name alone is the field of this name, a node is its text."""
        name = TEXT_FIELD if self.field is None else self.field
        if self.path.start == "here" and self.path.steps in ((), (_SELF,)):
            return Field(name)
        if self.path.start == "here" and self.field is None and len(self.path.steps) == 1:
            step = self.path.steps[0]
            if step.axis == "child" and step.type != ANY and not step.brackets:
                return Field(step.type)
        return Field(name, self.path)


def _condition(said: Any) -> Condition:
    """A condition; a path or a field that stands alone is one: that it is there."""
    if not isinstance(said, _PathEnd):
        return cast("Condition", said)
    return Over("some", said.path) if said.field is None else Has(said.operand)


def _operand(said: Any) -> Operand:
    return said.operand if isinstance(said, _PathEnd) else cast("Operand", said)


def _name(token: Token) -> str:
    return token[1:-1] if token.startswith("`") else str(token)


def _string(token: Token) -> str:
    return token[1:-1] if token.startswith("“") else _ESCAPE.sub(r"\1", token[1:-1])


# mypy: disallow-untyped-decorators = False
@v_args(inline=True)
class SyntaxReader(Transformer[Token, Any]):
    """Builds the values of `syntax`; of several spellings, the canonical one."""

    # ruff: noqa: D102 - a method is what its rule is

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    def _refuse(self, message: str, *, at: Token | None) -> PathSyntaxError:
        return PathSyntaxError(message, query=self._text, position=(at.start_pos if at is not None else 0) or 0)

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

    # Sets and paths.

    def query(self, nodes: NodeSet, *pipes: Pipe) -> Query:
        return Query(nodes, pipes)

    def nodes(self, *parts: NodeSet) -> NodeSet:
        return parts[0] if len(parts) == 1 else Sets("|", parts)

    def part(self, nodes: NodeSet, *others: Any) -> NodeSet:
        for how, right in zip(others[::2], others[1::2], strict=True):
            nodes = Sets("except" if how.type == "EXCEPT" else "intersect", (nodes, right))
        return nodes

    def root(self, slash: Token) -> NodeSet:
        return Path("document", (_SELF,))

    def path(self, mark: Token | None, steps: list[Any]) -> NodeSet:
        return Path("document", self._nodes(mark, steps))

    def picked(self, query: Query, *rest: Any) -> NodeSet:
        *brackets, mark, steps = rest
        if steps is None and not brackets and not query.pipes:
            return query.nodes
        return Path(Picked(query, tuple(brackets)), () if steps is None else self._nodes(mark, steps))

    def _nodes(self, mark: Token | None, parts: list[Any]) -> tuple[Step, ...]:
        steps, field = self._following(mark, parts)
        if field is not None:
            raise self._refuse(f"a query finds nodes, not the field {field!r}: leave it out", at=None)
        return steps

    def steps(self, *parts: Any) -> list[Any]:
        """Separators and steps in turn; what a step becomes depends on the separator before it."""
        for place, part in enumerate(parts):
            if isinstance(part, Field) and place + 1 < len(parts):
                raise self._refuse(f"nothing can follow the field @{part.name}", at=parts[place + 1])
            if isinstance(part, Field) and parts[place - 1].type == "DEEP":
                raise self._refuse(f"say whose field @{part.name} is: `//*/@{part.name}`", at=parts[place - 1])
        return list(parts)

    def _following(self, mark: Token | None, parts: list[Any]) -> tuple[tuple[Step, ...], str | None]:
        """Steps with the separators before them, and the field at the end if there is one."""
        field = parts[-1].name if isinstance(parts[-1], Field) else None
        steps: list[Step] = []
        for slash, step in zip([mark, *parts[1::2]], parts[::2], strict=True):
            if isinstance(step, Field):
                break
            deep = slash is not None and slash.type == "DEEP"
            if deep and step.axis != "child":
                steps.append(Step("descendant-or-self", ANYTHING))
            steps.append(Step("//", step.type, step.brackets) if deep and step.axis == "child" else step)
        while len(steps) > 1 and steps[0] == _SELF:
            del steps[0]
        return tuple(steps), field

    def step(self, axis: Token | None, test: Token, *brackets: Bracket) -> Step:
        named = "child" if axis is None else axis[: axis.index(":")].strip()
        type_ = ANY if test.type == "STAR" else _name(test)
        return Step(cast("Axis", "descendant" if named == "desc" else named), type_, brackets)

    def spelled(self, dots: Token, *brackets: Bracket) -> Step:
        return Step("parent" if dots.type == "PARENT" else "self", ANY, brackets)

    def field(self, name: Token) -> Field:
        return Field(_name(name))

    # Brackets.

    def bracket(self, said: Any) -> Bracket:
        return said if isinstance(said, Between | Shift) else Only(_condition(said))

    def at(self, place: int) -> Bracket:
        return Between(place, place)

    def between(self, first: int | None, colon: Token, last: int | None) -> Bracket:
        return Between(first, last)

    def shift(self, said: Token) -> Bracket:
        by = int(re.sub(r"[@\s]", "", said).replace("−", "-"))
        if not by:
            raise self._refuse("a sibling is at least one place away: `[@+1]` or `[@-1]`", at=said)
        return Shift(by)

    def by_position(self, said: Token, order: Token, place: int) -> Bracket:
        written = _ORDERS.get(order, str(order))
        if written == "=":
            return Between(place, place)
        if written == "!=" or (place < 0 and written in ("<", ">")):
            raise self._refuse("positions are compared with =, <= or >=: `[position() <= 3]`, or `[1:3]`", at=said)
        if written in ("<", "<="):
            if place == 1 and written == "<":
                raise self._refuse("no position comes before 1", at=said)
            return Between(None, place - (written == "<"))
        return Between(place + (written == ">"), None)

    def place(self, number: Token) -> int:
        place = self._whole(number)
        if not place:
            raise self._refuse("positions begin with 1; -1 is the last", at=number)
        return place

    def last(self, last: Token, number: Token | None) -> int:
        offset = self._whole(number) if number is not None else 0
        if offset > 0:
            raise self._refuse("nothing comes after last()", at=number)
        return offset - 1

    # Conditions.

    def condition(self, *parts: Any) -> Condition:
        marks = [part for part in parts if isinstance(part, Token)]
        how: dict[str, Literal["and", "or", "*"]] = {"OR": "or", "AND": "and"}
        return self._together(how.get(marks[0].type, "*"), [part for part in parts if not isinstance(part, Token)])

    both = product = condition

    @staticmethod
    def _together(how: Literal["and", "or", "avg", "gmean", "*"], parts: list[Any]) -> Condition:
        flat: list[Condition] = []
        for part in map(_condition, parts):  # (a and b) and c says what a and b and c says; a mean of means does not
            same = how in ("and", "or", "*") and isinstance(part, Joined) and part.how == how
            flat.extend(part.parts if same and isinstance(part, Joined) else [part])
        return flat[0] if len(flat) == 1 else Joined(how, tuple(flat))

    def negated(self, sign: Token, said: Any) -> Condition:
        condition = _condition(said)
        return condition.condition if isinstance(condition, Not) else Not(condition)

    def mean(self, *parts: Any) -> Condition:
        *conditions, _, count = parts
        if self._whole(count) != len(conditions):
            said = f"a mean of {len(conditions)} is divided by {len(conditions)}, not by {count}"
            raise self._refuse(said, at=count)
        return Joined("avg", tuple(map(_condition, conditions)))

    def combined(self, how: Token, *parts: Any) -> Condition:
        over = self._over(how, parts)
        if over is not None and over.is_evidence:
            return over
        if over is not None:
            raise self._refuse(f"{how}(..) of a field is a number: compare it, as in `{how}(..) > 3`", at=how)
        joined: dict[str, Literal["and", "or", "avg", "gmean"]] = {
            "min": "and", "max": "or", "avg": "avg", "gmean": "gmean",
        }  # fmt: skip
        name = how.removeprefix("agg_")
        if name not in joined:
            raise self._refuse(f"{how}(..) takes one path to evidence, such as `{how}(/POI[..])`", at=how)
        return self._together(joined[name], list(parts))

    def contains(self, sign: Token, operand: Any, text: Token) -> Condition:
        return Compare(_operand(operand), "contains", (Constant(_string(text)),))

    def _over(self, how: Token, parts: tuple[Any, ...]) -> Over | None:
        """A path alone is evidence, whatever slash it begins with, below the node at hand."""
        if len(parts) != 1 or not isinstance(parts[0], _PathEnd) or not parts[0].below.steps:
            return None
        name, path, field = how.removeprefix("agg_"), parts[0].below, parts[0].field
        if field is None:
            return Over(cast("Any", {"max": "some", "min": "every"}.get(name, name)), path)
        if name in ("avg", "min", "max"):
            return Over(cast("Any", name), path, field)
        raise self._refuse(f"{how}(..) takes a path to nodes, not to the field {field!r}", at=how)

    def compared(self, left: Any, how: Token, right: Any) -> Condition:
        said, other, order = _operand(left), _operand(right), _ORDERS.get(how, str(how))
        self._check_sides(how, said, other)
        if isinstance(said, Constant):
            said, other, order = other, said, _FLIPPED.get(order, order)
        return Compare(said, cast("Any", order), (other,))

    def within(self, left: Any, how: Token, right: Any) -> Condition:
        said, others = _operand(left), tuple(map(_operand, right if isinstance(right, list) else [right]))
        self._check_sides(how, said, *others)
        return Compare(said, "in", others)

    def _check_sides(self, how: Token, *sides: Operand) -> None:
        if all(isinstance(side, Constant) for side in sides):
            raise self._refuse("both sides are said by the query itself: name a field, as in `@cost > 3`", at=how)

    def alike(self, left: Any, how: Token, words: Token) -> Condition:
        whole = isinstance(left, _PathEnd) and left.field is None
        target = Field("node") if whole and left.path == Path("here", (_SELF,)) else _operand(left)
        if not isinstance(target, Field) or target.path is not None:
            raise self._refuse(f"{how} compares `node`, `own` or a field with a text", at=how)
        if not _string(words).strip():
            raise self._refuse(f"there are no words after {how}", at=words)
        named = whole and target.name in ("node", "own")
        return Alike(cast("Any", target.name) if named else target, _string(words))

    # Operands.

    def several(self, *operands: Any) -> list[Any]:
        return list(operands)

    def number(self, said: Token) -> Operand:
        return Constant(self._number(said))

    def text(self, said: Token) -> Operand:
        return Constant(_string(said))

    def truth(self, said: Token) -> Operand:
        return Constant(said.startswith("true"))

    def end(self, which: Token, operand: Any) -> Operand:
        return End("start" if which == "start" else "end", _operand(operand))

    def aggregated(self, how: Token, said: Any) -> Operand:
        over = self._over(how, (said,))
        if over is None:
            raise self._refuse(f"{how}(..) of conditions is no number: give it a path", at=how)
        return over

    def counted(self, how: Token, found: _PathEnd) -> Operand:
        if how == "sum" and (found.field is None or not found.below.steps):
            raise self._refuse("sum(..) takes a path to a field of nodes, such as `sum(/Option/@cost)`", at=how)
        if how == "count" and found.field is not None:
            said = f"count(..) counts nodes, not the field {found.field!r}: `count(/X[@{found.field}])`"
            raise self._refuse(said, at=how)
        return Over(cast("Any", str(how)), found.below, found.field)

    def found(self, *parts: Any) -> _PathEnd:
        """A path and the field at its end. Of a path that is evidence it is said later that it starts here."""
        *marks, steps = parts
        if isinstance(steps, Field):
            return _PathEnd(Path("here", ()), steps.name)
        path, field = self._following(marks[-1] if marks else None, steps)
        rooted = bool(marks) and marks[0].type == "ROOT"
        return _PathEnd(Path("document" if marks else "here", path), field, rooted=rooted)

    # Pipes.

    def pipe(self, how: Token, count: Token) -> Pipe:
        return Pipe("diverse" if how.type == "DIVERSE" else "limit", self._whole(count, least=1))

    def top(self, how: Token, count: Token, operand: Any, direction: Token | None) -> Pipe:
        by, number = _operand(operand), self._whole(count, least=1)
        if isinstance(by, Constant):
            raise self._refuse("name what to order by: `top 3 by @cost`", at=how)
        return Pipe("top", number, by, ascending=direction == "asc")
