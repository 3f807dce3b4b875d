"""The context of this lens: themes, and under each what was said of it, by whom, when, and on which step it stands.

```
<memory>
<step 52 Melanie on 27 Jun 2023 in conv-26>We went camping last week.
<theme adoption agencies>
<step 25 Caroline on 25 May>Researching adoption agencies …
<step 61 on 3 Jul>…
<step 409 on 22 Oct>I passed the adoption agency interviews last Friday!
</memory>
```
Lines begin as those of whole steps do (`context.lines`), with the day and no clock, which takes as much as three
words. Elements have no end, for the next one begins where they end, and no quoted text can begin one. What stands under
no theme comes first; a theme of which less than three steps are shown is not named. Of an answer that stands with its
question, both steps are said, the one that says it last: `<step 12 13 Ada>`. What somebody said in the same words in
several steps is one line: `<step 3 tool in run-1 and 5 and 8 in run-4>`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from stitch.core import MemorySnippet, Piece, Trust
from stitch.retrieve.context.budget import Context
from stitch.retrieve.context.lines import standing
from stitch.retrieve.context.quoting import quote, quote_attribute
from stitch.text.words import count_tokens

_OPEN, _CLOSE = "<memory>\n", "</memory>"
_GAP = " … "
_NAMED_FROM = 3
"""Of fewer steps the name takes the place of a sentence, and parts what was said on one day."""


class Placed(NamedTuple):
    """A piece with where it stands."""

    piece: Piece
    snippet: MemorySnippet
    """Of the step that says it."""
    others: tuple[int, ...]
    """The places, in its trajectory, of the further steps that it stands on."""
    at: tuple[int, int]
    """The place of its statement in the step, and its own in the statement."""
    trust: Trust
    """Of all whose words it has."""
    superseded: bool = False
    """Whether a later statement corrects it."""


@dataclass
class _Line:
    snippet: MemorySnippet
    others: tuple[int, ...]
    low: bool
    superseded: bool
    parts: list[tuple[tuple[int, int], str]]

    def body(self) -> str:
        """The text of the line, each sentence once."""
        first = {text: at for at, text in sorted(self.parts, reverse=True)}
        parts = sorted((at, text) for text, at in first.items())
        text = parts[0][1]
        for (before, _), (here, part) in pairwise(parts):
            text += (" " if here == (before[0], before[1] + 1) else _GAP) + part
        return text


def fit_page(placed: Sequence[Placed], *, budget_tokens: int, name_of: Callable[[str], str] = str) -> Context:
    """Render as many pieces as the budget holds.

    The name of a theme is asked for where three steps or more of it are shown.

    Returns:
        The context, with the ids of the snippets of the steps of which something stands in it.
    """
    named = cache(name_of)

    def rendered(count: int) -> Context:
        return _rendered(placed[:count], named)

    fitting = bisect_right(range(1, len(placed) + 1), budget_tokens, key=lambda count: rendered(count).tokens)
    return rendered(fitting)


def _rendered(placed: Sequence[Placed], name_of: Callable[[str], str]) -> Context:
    steps_of: dict[str, set[str]] = {}
    for each in placed:
        steps_of.setdefault(each.piece.theme or "", set()).add(each.piece.snippets[-1])
    names = {
        theme: name for theme, own in steps_of.items() if theme and len(own) >= _NAMED_FROM and (name := name_of(theme))
    }
    named: dict[str, list[_Line]] = {name: [] for name in names.values()}
    others: list[_Line] = []
    for (theme, *_), line in _lines(placed, names).items():
        named.get(theme, others).append(line)
    text: list[str] = []
    above: MemorySnippet | None = None
    for theme, own in [("", others), *named.items()]:
        if theme:
            text.append(f"<theme {quote_attribute(theme)}>\n")
        for body, same in _told_once(own):
            text.append(_written(body, same, above))
            above = same[-1].snippet
    whole = "".join([_OPEN, *text, _CLOSE]) if text else ""
    ids = dict.fromkeys(snippet for each in placed for snippet in each.piece.snippets)
    return Context(whole, count_tokens(whole), tuple(ids))


def _lines(placed: Sequence[Placed], names: Mapping[str, str]) -> dict[tuple[str, str, bool, bool], _Line]:
    """The pieces of one step and name of a theme together; themes that are not named are one."""
    lines: dict[tuple[str, str, bool, bool], _Line] = {}
    for each in placed:
        marks = each.trust is Trust.LOW, each.superseded
        key = (names.get(each.piece.theme or "", ""), each.piece.snippets[-1], *marks)
        line = lines.setdefault(key, _Line(each.snippet, each.others, *marks, []))
        line.others = tuple(dict.fromkeys((*line.others, *each.others)))
        line.parts.append((each.at, each.piece.text))
    return lines


def _told_once(lines: Sequence[_Line]) -> Iterator[tuple[str, list[_Line]]]:
    """Merge lines of the same words, in order: each text with the lines of all who say it."""
    same: dict[tuple[str, str, bool, bool], list[_Line]] = {}
    for line in sorted(lines, key=lambda line: (line.snippet.trajectory, line.snippet.position)):
        key = line.body(), line.snippet.role, line.low, line.superseded
        same.setdefault(key, []).append(line)
    return ((body, found) for (body, *_), found in same.items())


def _written(body: str, same: Sequence[_Line], above: MemorySnippet | None) -> str:
    stands = []
    for line in same:
        stands.append(standing(line.snippet, above, others=line.others, clocks=False))
        above = line.snippet
    shown = " and ".join(stands)
    if same[0].low:
        shown += " low trust"
    if same[0].superseded:
        shown += " superseded"
    return f"<step {shown}>{quote(body)}\n"
