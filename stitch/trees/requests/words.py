"""The nearest path query that words alone give: types and bounds that they name, and the rest by meaning."""

from __future__ import annotations

import re

from stitch.text.languages import content_words
from stitch.text.words import stem, words
from stitch.trees.core.nodes import Tree
from stitch.trees.core.schema import Schema, TypeSchema

_ASKING = frozenset(
    ("show", "list", "find", "give", "tell", "get", "want", "need", "please", "any", "all", "every", "which", "what",
     "where", "when", "who", "how", "many", "much", "add", "remove", "delete", "cancel", "drop", "change", "update",
     "replace", "move", "swap", "put", "set")
)  # fmt: skip
"""Words that say what is wanted of the nodes: no node says them."""
_BOUND = re.compile(
    r"\b(?:(?P<below>under|below|less than|cheaper than|before)|(?P<above>over|above|more than|after)"
    r"|(?P<most>at most|up to|no more than)|(?P<least>at least|from))\s+"
    r"(?P<value>(?:[a-z]{3}\s|[€$£¥]\s?)?\d[\d.,:-]*(?:\s?[ap]m)?)(?:\s(?:dollars?|euros?|pounds?|francs?|yen))?",
    re.IGNORECASE,
)
_UNMEASURED = ("words", "boolean")
_SIGNS = {"below": "<", "above": ">", "most": "<=", "least": ">="}
_MOST_CHARS, _MOST_WORDS, _MOST_WORD_CHARS = 1_000, 12, 40
"""Of a request: what is longer is a document, and the query has to be one that a person edits."""


def nearest_query(request: str, *, tree: Tree, schema: Schema) -> str:
    """A path query made from the words of a request, to be edited: it guesses, and says so by being plain.

    Args:
        request: What somebody wants to know.
        tree: Tells which types stand below which.
        schema: Its types are what words may name.
    """
    request = request[:_MOST_CHARS]
    steps, used = _steps(request, tree, schema)
    bounds, request, fields = _bounds(request, schema.types.get(steps.rpartition("/")[2].partition("[")[0]))
    used |= _ASKING | fields
    rest = [word[:_MOST_WORD_CHARS] for word in content_words(request) if not {word, stem(word)} & used]
    meaning = f'[node ~= "{" ".join(rest[:_MOST_WORDS])}"]' if rest else ""
    return (steps or "//*") + bounds + meaning


def _steps(request: str, tree: Tree, schema: Schema) -> tuple[str, set[str]]:
    """Types in the order in which one stands below the other, each with a place if one is said: "day 3"."""
    types = {stem(part): name for name in reversed(list(schema.types)) for part in words(name)}
    said = [word for word in words(request) if stem(word) in types]
    named = dict.fromkeys(name for word in said if (name := types[stem(word)]) in tree.of_type)
    depths = {len(tree.above(tree.of_type[name][0])): name for name in reversed(named)}
    steps, used = "", {*said}
    for _, name in sorted(depths.items()):
        place = re.search(rf"\b{re.escape(name)}\s{{1,8}}(\d+)\b", request, re.IGNORECASE)
        steps += f"//{name}[{place[1]}]" if place else f"//{name}"
        used |= {place[1]} if place else set()
    return steps, used


def _bounds(request: str, type_: TypeSchema | None) -> tuple[str, str, set[str]]:
    """Comparisons of measured fields ("under 30 dollars"), the request without them, and the stems of these fields."""
    fields = [name for name, field in type_.fields.items() if field.kind not in _UNMEASURED] if type_ else []
    found, used, said = "", set[str](), set(map(stem, words(request)))
    for bound in _BOUND.finditer(request) if fields else ():
        value = bound["value"].strip(" .,")
        field = _field_for(value, fields, said)
        sign = next(sign for kind, sign in _SIGNS.items() if bound[kind])
        found += f"[@{field} {sign} " + (value if re.fullmatch(r"\d+(?:\.\d+)?", value) else f'"{value}"') + "]"
        request, used = request.replace(bound[0], " "), used | {stem(field)}
    return found, request, used


def _field_for(value: str, fields: list[str], said: set[str]) -> str:
    """The field that words name; else the first for times or for amounts, as the value is one."""
    near = [name for name in fields if said & {stem(part) for part in words(name)}]
    likely = [name for name in fields if ("time" in name.lower()) == (":" in value or value.endswith("m"))]
    return (near or likely or fields)[0]
