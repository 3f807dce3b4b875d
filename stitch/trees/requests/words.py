"""The nearest path query that words alone give: types that they name, and the rest by meaning."""

from __future__ import annotations

import re

from stitch.text.languages import content_words
from stitch.text.words import stem, words
from stitch.trees.core.nodes import Tree
from stitch.trees.core.schema import Schema

_MOST_CHARS, _MOST_WORDS, _MOST_WORD_CHARS = 1_000, 12, 40
"""Of a request: what is longer is a document, and the query has to be one that a person edits."""


def nearest_query(request: str, *, tree: Tree, schema: Schema) -> str:
    """A path query made from the words of a request, to be edited: it guesses, and says so by being plain."""
    request = request[:_MOST_CHARS]
    types = {stem(part): name for name in reversed(list(schema.types)) for part in words(name)}
    used = {word for word in words(request) if stem(word) in types}
    named = {name for word in used if (name := types[stem(word)]) in tree.of_type}
    steps = ""
    for name in sorted(named, key=lambda name: (len(tree.above(tree.of_type[name][0])), name)):
        place = re.search(rf"\b{re.escape(name)}\s{{1,8}}(\d+)\b", request, re.IGNORECASE)
        steps += f"//{name}[{place[1]}]" if place else f"//{name}"
        used |= {place[1]} if place else set()
    rest = [word[:_MOST_WORD_CHARS] for word in content_words(request) if word not in used]
    meaning = f'[node ~= "{" ".join(rest[:_MOST_WORDS])}"]' if rest else ""
    return (steps or "//*") + meaning
