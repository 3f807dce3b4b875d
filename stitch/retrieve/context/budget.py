"""The token budget: hits in ranking order until it is full, rendered in the order in which they happened (§4)."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Literal, NamedTuple, Protocol, runtime_checkable

from stitch.core import MemorySnippet, ScoredSnippet, Trust
from stitch.retrieve.context.lines import named, standing
from stitch.retrieve.context.quoting import quote
from stitch.retrieve.links.wording import because, no_longer
from stitch.text.words import count_tokens


@runtime_checkable
class TokenCounter(Protocol):
    """Counts the tokens of a text, without asking anybody."""

    @property
    def name(self) -> str:
        """Says whose tokens are counted."""

    def count(self, text: str) -> int:
        """The number of tokens of `text`; never less for a text with more added at its end."""


@runtime_checkable
class AddsUp(Protocol):
    """A counter that counts as many tokens in a text as in its lines together, each with its line break."""

    adds_up: Literal[True]


class PieceCounter:
    """Estimates the tokens of byte-pair encoders as they are in use (`count_tokens`): `pieces-1`."""

    name = "pieces-1"
    adds_up: Literal[True] = True

    def count(self, text: str) -> int:
        """The number of tokens of `text`."""
        return count_tokens(text)


class Context(NamedTuple):
    """Hits as text for a prompt."""

    text: str
    tokens: int
    """Of the whole text, delimiters included, by the counter it was made with; never above the budget."""
    ids: tuple[str, ...]
    """The snippets of which at least a part is in the text, in the order in which they happened."""


_EMPTY = Context("", 0, ())
_SURE_CHARS = 3
"""Texts of so many characters for every token of the budget nearly always fit: they are counted once, together."""
_HEADER_CHARS = 30
_NEARLY_ALL = 0.95
"""Where the first hits are too many, so much of the share that would fit is tried: the others are put in one by one."""
_OPEN, _CLOSE, _END = "<memory>\n", "</memory>", "\n"
_WORD = re.compile(r"\S+")
_SENTENCE_END = re.compile(r"(?<![.!?…])[.!?…]+[\"'”’)\]]*(?=\s|$)|[。！？]+|\S(?=\s*\n)|\S(?=\s*$)")


def fit_context(
    hits: Iterable[ScoredSnippet], *, budget_tokens: int, counter: TokenCounter, scopes: bool = False
) -> Context:
    """Render as many hits as the budget holds.

    Hits are taken in the order given, that is, by rank; the first that does not fit is cut at its last full sentence
    that does, and ends the context. Each stands behind `<step NUMBER ...>` and ends where the next begins, or the
    context ends: to close it would take tokens and tell nothing. What the line tells besides is in `context.lines`;
    then come `low trust` for what is trusted least, and `about` with its scope where scopes are told and that of the
    step above is another. What no longer holds says so (`superseded`), and what a result made the agent do names that
    step (`because`). A `<` of the quoted text that could begin or end a step or the context is written as `&lt;`, so
    no text can leave its place.
    Hits are best first. With `scopes` lines tell what their steps were for: worth its tokens where that decided what is
    shown.

    Returns:
        The context. If not even one sentence of the first hit fits, the hit is cut at a word; if not even that fits,
        the context is empty.
    """
    page = _Page(budget_tokens, counter, scopes=scopes)
    first, ranked = _split(hits, chars=budget_tokens * _SURE_CHARS)
    while tokens := page.add_all(first):
        fitting = int(len(first) * budget_tokens / tokens * _NEARLY_ALL)
        first, ranked = first[:fitting], chain(first[fitting:], ranked)
    for hit in ranked:
        if not page.add(hit):
            break
    return page.context()


def _split(hits: Iterable[ScoredSnippet], *, chars: int) -> tuple[list[ScoredSnippet], Iterator[ScoredSnippet]]:
    """The first hits, of so many characters together, and the rest."""
    first: list[ScoredSnippet] = []
    ranked = iter(hits)
    for hit in ranked:
        chars -= len(hit.snippet.resolved) + _HEADER_CHARS
        if chars < 0:
            return first, chain([hit], ranked)
        first.append(hit)
    return first, ranked


class _Entry(NamedTuple):
    """A snippet on the page; the first four sort in the order in which things happened."""

    trajectory: str
    position: int
    step: str
    rank: int
    hit: ScoredSnippet
    header: str
    body: str

    @property
    def snippet(self) -> MemorySnippet:
        """The step."""
        return self.hit.snippet

    @property
    def line(self) -> str:
        """The line as it stands in the context."""
        return f"{self.header}{self.body}{_END}"


class _Page:
    """The context as it grows. A further hit costs its own line and a change of the header below it."""

    def __init__(self, budget_tokens: int, counter: TokenCounter, *, scopes: bool) -> None:
        self._budget, self._count = budget_tokens, counter.count
        self._header = partial(_header, scopes=scopes)
        self._adds_up = isinstance(counter, AddsUp)
        self._counted_when_put = isinstance(counter, PieceCounter)
        self._tokens_of: dict[str, int] = {}
        """Of each text that was counted."""
        self._lines: dict[tuple[int, int], _Entry] = {}
        """By the ranks of a hit and of the one above: when all hits do not fit, most are put again as they were."""
        self._entries: list[_Entry] = []
        self._spent = self._count(_OPEN) + self._count(_CLOSE)

    def add_all(self, hits: Sequence[ScoredSnippet]) -> int:
        """Put the first hits, each whole and in its place.

        Returns:
            The tokens of all of them if they do not fit together: then none is put. 0 if they do.
        """
        order = sorted(
            (hit.snippet.trajectory, hit.snippet.position, hit.snippet.step, rank) for rank, hit in enumerate(hits)
        )
        entries: list[_Entry] = []
        above: MemorySnippet | None = None
        rank_above = -1
        for key in order:
            rank = key[3]
            hit = hits[rank]
            if (entry := self._lines.get((rank, rank_above))) is None:
                line = _Entry(*key, hit, self._header(hit, above), quote(hit.snippet.resolved))
                entry = self._lines[rank, rank_above] = line
            entries.append(entry)
            above, rank_above = hit.snippet, rank
        if not entries:
            return 0
        tokens = self._tokens_of_all(entries)
        if tokens > self._budget:
            return tokens
        self._entries, self._spent = entries, tokens
        return 0

    def add(self, hit: ScoredSnippet) -> bool:
        """Put a hit, or what fits of it, in its place; False if the page is full with it."""
        snippet = hit.snippet
        body = quote(snippet.resolved)
        order = (snippet.trajectory, snippet.position, snippet.step, len(self._entries))
        place = bisect_left(self._entries, order, key=lambda other: other[:4])
        header = self._header(hit, self._entries[place - 1].snippet if place else None)
        below, below_cost = self._entries[place : place + 1], 0
        if below:
            pushed = below[0]._replace(header=self._header(below[0].hit, snippet))
            if pushed.header != below[0].header:
                below_cost = self._count(pushed.header) - self._count(below[0].header)
            below = [pushed]

        def cost(body: str) -> int:
            return self._tokens(f"{header}{body}{_END}") + below_cost

        left, spent = self._budget - self._spent, cost(body)
        whole = spent <= left
        if not whole:
            cut = _longest(body, _SENTENCE_END, lambda part: cost(part) <= left)
            if not cut and not self._entries:
                cut = _longest(body, _WORD, lambda part: cost(part) <= left)
            if not cut:
                return False
            body, spent = cut, cost(cut)
        self._entries[place : place + 1] = [_Entry(*order, hit, header, body), *below]
        self._spent += spent
        return whole

    def context(self) -> Context:
        """The text of the page. If the counter does not add up over lines, the last ranked hits may have to go."""
        while self._entries:
            tokens = self._tokens_of_all(self._entries)
            if tokens <= self._budget:
                text = "".join([_OPEN, *[entry.line for entry in self._entries], _CLOSE])
                return Context(text, tokens, tuple(entry.snippet.id for entry in self._entries))
            self._remove_last_ranked()
        return _EMPTY

    def _tokens_of_all(self, entries: Sequence[_Entry]) -> int:
        if self._adds_up:
            return sum(map(self._tokens_of_line, entries), self._count(_OPEN) + self._count(_CLOSE))
        return self._tokens("".join([_OPEN, *[entry.line for entry in entries], _CLOSE]))

    def _tokens_of_line(self, entry: _Entry) -> int:
        """Tokens of a step as it is shown: those of its text were counted when it was put."""
        snippet, body = entry.snippet, entry.body
        if not (self._counted_when_put and snippet.tokens and body is snippet.resolved):
            return self._tokens(entry.line)
        if not body[:1].isalnum() or body[-1] == _END:  # a token could begin before it, or end behind it
            return self._tokens(entry.line)
        return self._tokens(entry.header) + snippet.tokens + 1

    def _tokens(self, text: str) -> int:
        tokens = self._tokens_of.get(text)
        if tokens is None:
            tokens = self._tokens_of[text] = self._count(text)
        return tokens

    def _remove_last_ranked(self) -> None:
        place = max(range(len(self._entries)), key=lambda place: self._entries[place].rank)
        del self._entries[place]
        if place < len(self._entries):
            below, above = self._entries[place], self._entries[place - 1].snippet if place else None
            self._entries[place] = below._replace(header=self._header(below.hit, above))


def _header(hit: ScoredSnippet, above: MemorySnippet | None, *, scopes: bool) -> str:
    snippet = hit.snippet
    shown = standing(snippet, above)
    if snippet.trust is Trust.LOW:
        shown += " low trust"
    if scopes:
        same = above is not None and above.trajectory == snippet.trajectory
        scope, before = snippet.intent.scope, above.intent.scope if above is not None and same else None
        if scope != before:
            shown += f" about {named(scope or '')}"
    if hit.superseded:
        shown += f" superseded {named(no_longer(hit.superseded))}"
    if hit.because_of is not None:
        shown += f" because {named(because(hit.because_of))}"
    return f"<step {shown}>"


def _longest(text: str, end: re.Pattern[str], fits: Callable[[str], bool]) -> str:
    """The longest beginning of `text` that stops where `end` does and fits; empty if none does."""
    stops = [match.end() for match in end.finditer(text)]
    fitting = bisect_left(stops, True, key=lambda stop: not fits(text[:stop]))
    return text[: stops[fitting - 1]] if fitting else ""
