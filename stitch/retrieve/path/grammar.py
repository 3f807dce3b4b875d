"""Path queries as people write them, read into `syntax`: two surface syntaxes, one meaning."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import cast

from lark import Lark
from lark.exceptions import UnexpectedInput, UnexpectedToken, VisitError

from stitch.core.text_cache import text_cache
from stitch.retrieve.path.reading import HALF, PathSyntaxError, SyntaxReader
from stitch.retrieve.path.syntax import Query

MAX_QUERY_CHARS = 10_000
_MAX_OPEN = 50
"""Brackets inside brackets: what people write has three."""
_OPENS = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|[()\[\]]', re.DOTALL)
_REPEATED = re.compile(r"(?:(?:1\s*[-−]|not\b)\s*){20,}")
_EXPECTED = {
    "NAME": "a type or a field", "STRING": "a text in quotes", "NUMBER": "a number", "SLASH": "'/'", "DEEP": "'//'",
    "RSQB": "']'", "LSQB": "'['", "RPAR": "')'", "LPAR": "'('", "_AT": "'@field'", "ALIKE": "'~='", "COMMA": "','",
    "ORDER": "a comparison such as '='", "IN": "'in'", "AND": "'and'", "OR": "'or'", "STAR": "'*'", "_BY": "'by'",
    "_BAR": "'|'", "TOP": "'| top'", "LIMIT": "'| limit'", "DIVERSE": "'| diverse'", "COLON": "':'",
    "$END": "the end of the query", "PLUS": "'+'", "EXCEPT": "'except'", "NOT": "'not'",
    "AXIS": "an axis such as 'parent::'", "DIRECTION": "'asc'", "TRUTH": "'true'",
}  # fmt: skip
"""Terminals in words; the others are not told."""
_SMALL = "'and', 'or' and 'not' are written in small letters"
_CALLED = re.compile(r"[^\W\d][\w-]{0,60}$")
"""A name right before a bracket that cannot stand there."""
_FUNCTIONS = (
    'contains(@f, "x"), count(/A), sum avg min max(/A/@f), some every avg gmean(/A[..]), not(..), start end(@f); '
    "@text is what a node says itself"
)


@text_cache(maxsize=1_024)
def parse_query(text: str) -> Query:
    """Read a path query.

    Raises:
        PathSyntaxError: It is none; the message names the character and what was expected there.
    """
    if len(text) > MAX_QUERY_CHARS:
        said = f"it has {len(text)} characters, more than {MAX_QUERY_CHARS}"
        raise PathSyntaxError(said, query=text, position=MAX_QUERY_CHARS)
    if half := HALF.search(text):
        raise PathSyntaxError("this is half of a character", query=text, position=half.start())
    _check_depth(text)
    try:
        return cast("Query", SyntaxReader(text).transform(_parser().parse(text)))
    except UnexpectedInput as error:
        raise _told(error, text) from None
    except VisitError as error:
        if isinstance(error.orig_exc, PathSyntaxError):
            raise error.orig_exc from None
        raise


def _check_depth(text: str) -> None:
    """Refuse a query that is nested so deep that reading it would exhaust the stack."""
    depth = 0
    for match in _OPENS.finditer(text):
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(match[0], 0)
        if depth > _MAX_OPEN:
            raise PathSyntaxError(f"more than {_MAX_OPEN} brackets are open", query=text, position=match.start())
    for match in _REPEATED.finditer(text):
        if match[0].count("1") + match[0].count("not") > _MAX_OPEN:
            raise PathSyntaxError(f"more than {_MAX_OPEN} negations in a row", query=text, position=match.start())


@cache
def _parser() -> Lark:
    grammar = files(__package__).joinpath("grammar.lark").read_text(encoding="utf-8")
    return Lark(grammar, start="query", parser="lalr", lexer="contextual", maybe_placeholders=True)


def _told(error: UnexpectedInput, text: str) -> PathSyntaxError:
    """The error of the parser in words: where, and what was expected there."""
    position = cast("int", error.pos_in_stream)
    if isinstance(error, UnexpectedToken):
        terminals = set(error.accepts or error.expected)
        position = len(text) if error.token.type == "$END" else position
    else:
        terminals = set(getattr(error, "allowed", None) or ())
    rest, message = text[position:], "it does not go on like this"
    if rest.startswith(("AND", "OR", "NOT")):
        return PathSyntaxError(_SMALL, query=text, position=position)
    if rest.startswith(('"', "'")) and not _OPENS.match(rest):
        return PathSyntaxError("a text is not closed", query=text, position=position)
    if rest.startswith("(") and (called := _CALLED.search(text, 0, position)):
        small = called[0] in ("AND", "OR", "NOT")
        message = _SMALL if small else f"there is no {called[0]}(..) here; conditions have {_FUNCTIONS}"
        return PathSyntaxError(message, query=text, position=called.start())
    expected = tuple(told for name, told in _EXPECTED.items() if name in terminals)
    return PathSyntaxError(message, query=text, position=position, expected=expected)
