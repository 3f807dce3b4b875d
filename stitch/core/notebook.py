"""How an answer looks in a notebook: a table of its hits, in which every text is text."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stitch.core.ranking import ScoredSnippet
    from stitch.core.results import RetrievalResult

_TEXT_CHARS = 300
_HEADS = ("", "step", "who", "what was said or done", "scope", "labels that match", "similarity")


def table_of(result: RetrievalResult) -> str:
    """The hits of an answer as an HTML table, under the labels that were looked for."""
    labels = ", ".join(f"{kind.value} <b>{escape(value)}</b>" for kind, value in sorted(result.intent_filter.labels()))
    heads = "".join(f"<th>{head}</th>" for head in _HEADS)
    rows = "".join(_row(rank, hit) for rank, hit in enumerate(result.hits, start=1))
    about = f"{len(result.hits)} hits by {result.decided_by.value}, {result.milliseconds:.1f} ms"
    return (
        f"<p><b>{escape(result.request.query)}</b><br>looking for {labels or 'similar text only'}: {about}</p>"
        f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
    )


def _row(rank: int, hit: ScoredSnippet) -> str:
    snippet = hit.snippet
    text = snippet.resolved if len(snippet.resolved) <= _TEXT_CHARS else snippet.resolved[: _TEXT_CHARS - 1] + "…"
    matched = ", ".join(value for _, value in sorted(hit.matched))
    cells = (
        str(rank), f"{snippet.trajectory} {snippet.step}", snippet.role, text, snippet.intent.scope or "", matched,
        f"{hit.similarity:.3f}",
    )  # fmt: skip
    return "<tr>" + "".join(f'<td style="text-align:left">{escape(cell)}</td>' for cell in cells) + "</tr>"
