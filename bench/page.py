"""Pieces of an HTML page that stands alone: no script, no font, no address outside; light, dark, phone and print."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

STYLE = """
:root { color-scheme: light dark; --ground: #fdfdfc; --ink: #1c1d1f; --soft: #63666b; --line: #dcdcd8; --band: #f3f2ee;
  --good: #2d6a4f; --bad: #b23a48; }
@media (prefers-color-scheme: dark) {
  :root { --ground: #16181b; --ink: #e6e6e3; --soft: #9ea3a9; --line: #34383d; --band: #1f2226; --good: #74c69d;
    --bad: #ff8fa0; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem clamp(1rem, 4vw, 3rem) 4rem; max-width: 76rem; background: var(--ground);
  color: var(--ink); font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
h1 { font-size: 1.7rem; margin: 0 0 .3rem; letter-spacing: -.01em; }
h2 { font-size: 1.3rem; margin: 3rem 0 .4rem; padding-top: 1rem; border-top: 2px solid var(--ink); }
h3 { font-size: 1rem; margin: 1.8rem 0 .4rem; }
p, dl { max-width: 46rem; margin: .4rem 0; }
.soft, figcaption, caption { color: var(--soft); }
p.soft, figcaption, caption { font-size: .87rem; }
.wide { overflow-x: auto; margin: .5rem 0; }
table { border-collapse: collapse; font-size: .87rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; caption-side: top; padding-bottom: .3rem; }
th, td { padding: .28rem .7rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
th { font-weight: 600; }
thead th { border-bottom: 1.5px solid var(--ink); vertical-align: bottom; white-space: normal; }
th:first-child, td:first-child { text-align: left; position: sticky; left: 0; background: var(--ground); }
td small { color: var(--soft); }
.wrap td { white-space: normal; text-align: left; vertical-align: top; min-width: 3rem; overflow-wrap: anywhere; }
.wrap thead th { text-align: left; } .wrap td:nth-child(2) { white-space: nowrap; overflow-wrap: normal; }
tr.first td, tr.first th { background: var(--band); font-weight: 600; }
td.best { font-weight: 700; }
.good { color: var(--good); } .bad { color: var(--bad); }
figure { margin: .8rem 0; }
figure svg { width: 100%; max-width: 46rem; height: auto; display: block; color: var(--ink); }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 27rem), 1fr)); gap: 1rem 2rem; }
details { border-bottom: 1px solid var(--line); padding: .3rem 0; }
summary { cursor: pointer; overflow-wrap: anywhere; }
summary .type { color: var(--soft); font-size: .85em; }
code { font: .86em/1.4 ui-monospace, SFMono-Regular, Menlo, monospace; overflow-wrap: anywhere; }
.gold { font-weight: 700; color: var(--good); }
.label { border: 1px solid var(--line); border-radius: .6em; padding: 0 .45em; font-size: .8em; white-space: nowrap; }
nav a { margin-right: 1rem; }
a { color: inherit; }
@page { size: A4 landscape; margin: 12mm; }
@media print { body { max-width: none; padding: 0; font-size: 11px; } h2 { break-before: page; }
  table { font-size: 8.5px; } th, td { padding: .12rem .35rem; position: static !important; }
  h2:first-of-type { break-before: auto; } figure, tr { break-inside: avoid; } .wide { overflow: visible; }
  nav { display: none; } }
"""


WRAP = ' class="wrap"'


def page(title: str, body: Iterable[str]) -> str:
    """A whole page."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style></head>\n<body>\n"
        + "\n".join(body)
        + "\n</body></html>\n"
    )


def table(
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    caption: str = "",
    first: str = "",
    best: bool = False,
    wrap: bool = False,
) -> str:
    """A table that scrolls inside its place on a small screen.

    Args:
        head: The names of the columns.
        rows: Cells as HTML; the first names the row.
        caption: Stands above.
        first: The row of this name is set off.
        best: Whether the highest figure of each column is set off; cells that begin with no number do not count.
        wrap: Whether cells hold text that breaks over lines.
    """
    rows = [list(row) for row in rows]
    highest = [_highest(rows, column) if best else None for column in range(len(head))]
    above = f"<caption>{escape(caption)}</caption>" if caption else ""
    lines = [f'<div class="wide"><table{WRAP if wrap else ""}>{above}<thead><tr>']
    lines += [f'<th scope="col">{escape(name).replace("_", "_<wbr>")}</th>' for name in head]
    lines.append("</tr></thead><tbody>")
    for row in rows:
        lines.append('<tr class="first">' if first and row[0] == first else "<tr>")
        lines.append(f'<th scope="row">{row[0]}</th>')
        for place, cell in enumerate(row[1:], start=1):
            mark = ' class="best"' if highest[place] is not None and _number(cell) == highest[place] else ""
            lines.append(f"<td{mark}>{cell}</td>")
        lines.append("</tr>")
    return "".join([*lines, "</tbody></table></div>"])


def _number(cell: str) -> float | None:
    try:
        return float(cell.partition(" ")[0])
    except ValueError:
        return None


def _highest(rows: Sequence[Sequence[str]], column: int) -> float | None:
    numbers = [number for row in rows if (number := _number(row[column])) is not None]
    return max(numbers) if len(numbers) > 1 else None


def figure(svg: str, caption: str) -> str:
    """A plot with what it shows."""
    return f'<figure role="img" aria-label="{escape(caption)}">{svg}<figcaption>{escape(caption)}</figcaption></figure>'


def details(summary: str, body: str) -> str:
    """Something to be opened; `summary` and `body` are HTML."""
    return f"<details><summary>{summary}</summary>{body}</details>"
