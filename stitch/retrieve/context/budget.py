"""The token budget: hits in ranking order until it is full, rendered in the order in which they happened (§4)."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable
from typing import NamedTuple

from stitch.core import MemorySnippet, ScoredSnippet, Trust
from stitch.retrieve.context.lines import named, standing
from stitch.retrieve.context.quoting import quote
from stitch.retrieve.links.wording import because, no_longer
from stitch.text.words import count_tokens


class Context(NamedTuple):
    """Hits as text for a prompt."""

    text: str
    tokens: int
    """Of the whole text, delimiters included (`count_tokens`); never above the budget."""
    ids: tuple[str, ...]
    """The snippets of which at least a part is in the text, in the order in which they happened."""


_OPEN, _CLOSE, _END = "<memory>\n", "</memory>", "\n"
_WORD = re.compile(r"\S+")
_SENTENCE_END = re.compile(r"(?<![.!?…])[.!?…]+[\"'”’)\]]*(?=\s|$)|[。！？]+|\S(?=\s*\n)|\S(?=\s*$)")


def fit_context(hits: Iterable[ScoredSnippet], *, budget_tokens: int, scopes: bool = False) -> Context:
    """Render as many hits as the budget holds.

    Hits are taken in the order given, that is, by rank; the first that does not fit is cut at its last full sentence
    that does, and ends the context. Each stands behind `<step NUMBER ...>` and ends where the next begins, or the
    context ends: to close it would take tokens and tell nothing. What the line tells besides is in `context.lines`;
    then come `low trust` for what is trusted least, and `about` with its scope where scopes are told and that of the
    step above is another. What no longer holds says so (`superseded`), and what a result made the agent do names that
    step (`because`). A `<` of the quoted text that could begin or end a step or the context is written as `&lt;`, so
    no text can leave its place.
    With `scopes` lines tell what their steps were for: worth its tokens where that decided what is shown.

    Returns:
        The context. If not even one sentence of the first hit fits, the hit is cut at a word; if not even that fits,
        the context is empty.
    """
    page = _Page(budget_tokens, scopes=scopes)
    for hit in hits:
        if not page.add(hit):
            break
    return page.context()


class _Entry(NamedTuple):
    """A snippet on the page."""

    order: tuple[str, int, str, int]
    """Its place in what happened, then its rank."""
    hit: ScoredSnippet
    header: str
    body: str
    tokens: int
    """Of its line."""


class _Page:
    """The context as it grows. A further hit costs its own line and a change of the header below it."""

    def __init__(self, budget_tokens: int, *, scopes: bool) -> None:
        self._budget, self._scopes = budget_tokens, scopes
        self._entries: list[_Entry] = []
        self._spent = count_tokens(_OPEN) + count_tokens(_CLOSE)

    def add(self, hit: ScoredSnippet) -> bool:
        """Put a hit, or what fits of it, in its place; False if the page is full with it."""
        snippet = hit.snippet
        order = (snippet.trajectory, snippet.position, snippet.step, len(self._entries))
        place = bisect_left(self._entries, order, key=lambda entry: entry.order)
        header = _header(hit, self._entries[place - 1].hit.snippet if place else None, scopes=self._scopes)
        body, left = quote(snippet.resolved), self._budget - self._spent
        below = [self._under(snippet, pushed) for pushed in self._entries[place : place + 1]]
        for now, before in zip(below, self._entries[place:], strict=False):
            left -= now.tokens - before.tokens
        tokens = _tokens_of_line(header, body, snippet)
        whole = tokens <= left
        if not whole:

            def fits(part: str) -> bool:
                return count_tokens(f"{header}{part}{_END}") <= left

            body = _longest(body, _SENTENCE_END, fits) or ("" if self._entries else _longest(body, _WORD, fits))
            if not body:
                return False
            tokens = count_tokens(f"{header}{body}{_END}")
        self._entries[place : place + 1] = [_Entry(order, hit, header, body, tokens), *below]
        self._spent = self._budget - left + tokens
        return whole

    def _under(self, above: MemorySnippet, entry: _Entry) -> _Entry:
        """An entry as it reads under a step."""
        header = _header(entry.hit, above, scopes=self._scopes)
        if header == entry.header:
            return entry
        return entry._replace(header=header, tokens=_tokens_of_line(header, entry.body, entry.hit.snippet))

    def context(self) -> Context:
        """The text of the page."""
        if not self._entries:
            return Context("", 0, ())
        text = "".join([_OPEN, *[f"{entry.header}{entry.body}{_END}" for entry in self._entries], _CLOSE])
        return Context(text, self._spent, tuple(entry.hit.snippet.id for entry in self._entries))


def _tokens_of_line(header: str, body: str, snippet: MemorySnippet) -> int:
    """Tokens of a line: those of the text were counted when the step was put, and add up unless a token could begin
    before it or end behind it.
    """
    if snippet.tokens and body is snippet.resolved and body[:1].isalnum() and body[-1] != _END:
        return count_tokens(header) + snippet.tokens + 1
    return count_tokens(f"{header}{body}{_END}")


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
