"""The nearest path query that words alone give: types and fields that they name, and the rest by meaning."""

from __future__ import annotations

import re
from collections.abc import Iterable

from stitch.text.languages import content_words
from stitch.text.words import stem, words
from stitch.trees.core.nodes import Tree
from stitch.trees.core.schema import Schema

_MEASURES = {"number", "money", "time", "date", "duration"}
_BELOW = r"(?:under|below|less than|cheaper than|fewer than|before|at most|up to|no more than)"
_ABOVE = r"(?:over|above|more than|at least|after|from|no less than)"
_CURRENCY = r"(?:\s(?:dollars?|euros?|pounds?|francs?|yen|usd|eur|gbp|cad|chf)\b)?"
_VALUE = rf"(?P<value>(?:(?:usd|eur|gbp|cad|chf)\s|[€$£¥]\s?)?\d[\d.,:-]*(?:\s?(?:am|pm))?){_CURRENCY}"
_ORDERS = (
    (re.compile(rf"\b{_BELOW}\s+{_VALUE}", re.IGNORECASE), "<"),
    (re.compile(rf"\b{_ABOVE}\s+{_VALUE}", re.IGNORECASE), ">"),
)
_WITH_EQUAL = re.compile(r"(?:at|up|no)\b", re.IGNORECASE)
_ASKING = frozenset(
    ("show", "list", "find", "give", "tell", "get", "want", "need", "please", "any", "all", "every", "which", "what",
     "where", "when", "who", "how", "many", "much", "add", "remove", "delete", "cancel", "drop", "change", "update",
     "replace", "move", "swap", "put", "set")
)  # fmt: skip
"""What is wanted of the nodes: no node says it."""
_DENIAL = re.compile(
    r"\b(?:without|not|no|never|nothing|don't|doesn't|isn't|aren't|except)\b|\bfree (?:of|from)\b", re.IGNORECASE
)
"""What comes behind it is not to be found, up to where another thing is said."""
_THING_ENDS = re.compile(r"[,;.?!]|\b(?:but|and|with|on|in)\b", re.IGNORECASE)
_MOST_CHARS, _MOST_WORDS, _MOST_WORD_CHARS = 1_000, 12, 40
"""Of a request: what is longer is a document, and the query has to be one that a person edits."""


def nearest_query(request: str, *, tree: Tree, schema: Schema) -> str:
    """A path query made from the words of a request, to be edited: it guesses, and says so by being plain.

    Args:
        request: What somebody wants to know.
        tree: Its values tell which fields are measured.
        schema: Its types and fields are what words may name.
    """
    request = request[:_MOST_CHARS]
    by_stem = _by_stem(schema.types)
    used = {word for word in words(request) if stem(word) in by_stem}
    named = dict.fromkeys(by_stem[stem(word)] for word in words(request) if word in used)
    path, places = _path(request, list(named), tree)
    target = path[-1][0] if path else "*"
    conditions, rest = _comparisons(request, target, schema)
    known = {*by_stem, *_by_stem(schema.types[target].fields if target in schema.types else ())}

    def telling(said: str) -> str:
        left = [
            word[:_MOST_WORD_CHARS]
            for word in content_words(said)
            if word not in used | places and word not in _ASKING and stem(word) not in known
        ]
        return " ".join(left[:_MOST_WORDS])

    wanted, denied = _apart(rest)
    if asked := telling(wanted):
        conditions.append(f'[node ~= "{asked}"]')
    if unasked := telling(denied):
        conditions.append(f'[not(node ~= "{unasked}")]')
    steps = "".join(f"//{name}{bracket}" for name, bracket in path) or "//*"
    return steps + "".join(conditions)


def _apart(request: str) -> tuple[str, str]:
    """What a request says, without what it denies; and what it denies: "days without work" are "days", and "work"."""
    denial = _DENIAL.search(request)
    if denial is None:
        return request, ""
    end = _THING_ENDS.search(request, denial.end())
    until = end.start() if end else len(request)
    return f"{request[: denial.start()]} {request[until:]}", request[denial.end() : until]


def _by_stem(names: Iterable[str]) -> dict[str, str]:
    """Names by the stems of their words; the first that has one."""
    found: dict[str, str] = {}
    for name in names:
        for part in words(name):
            found.setdefault(stem(part), name)
    return found


def _path(request: str, named: list[str], tree: Tree) -> tuple[list[tuple[str, str]], set[str]]:
    """Types in the order in which one stands below the other, each with a place if one is said: "day 3"."""
    depths = {name: len(tree.above(tree.of_type[name][0])) for name in named if name in tree.of_type}
    path, used = [], set[str]()
    for name in sorted(depths, key=lambda name: depths[name]):
        place = re.search(rf"\b{re.escape(name)}\s{{1,8}}(\d+)\b", request, re.IGNORECASE)
        path.append((name, f"[{place[1]}]" if place else ""))
        if place:
            used.add(place[1])
    same = [pair for pair in path if depths[pair[0]] == depths[path[-1][0]]] if path else []
    return ([pair for pair in path if pair not in same[1:]], used)


def _comparisons(request: str, target: str, schema: Schema) -> tuple[list[str], str]:
    """What is said of measured fields, and the request without it."""
    fields = schema.types[target].fields if target in schema.types else {}
    measured = [name for name, field in fields.items() if field.kind in _MEASURES]
    found: list[str] = []
    for pattern, sign in _ORDERS:
        for said in pattern.finditer(request):
            value = said["value"].strip(" .,")
            field = _field_for(request, value, measured)
            if field:
                order = sign + ("=" if _WITH_EQUAL.match(said.group()) else "")
                quoted = value if re.fullmatch(r"\d+(?:\.\d+)?", value) else f'"{value}"'
                found.append(f"[@{field} {order} {quoted}]")
                request = request.replace(said.group(), " ")
    return found, request


def _field_for(request: str, value: str, measured: list[str]) -> str:
    """The measured field that words name; else the only one, or the one that costs are in."""
    said = {stem(word) for word in words(request)}
    named = [name for name in measured if {stem(part) for part in words(name)} & said]
    costs = [name for name in measured if re.search("cost|price|amount|fee", name, re.IGNORECASE)]
    times = [name for name in measured if re.search("time|hour", name, re.IGNORECASE)] if ":" in value else []
    return next(iter([*named, *times, *costs, *(measured if len(measured) == 1 else ())]), "")
