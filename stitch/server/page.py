"""The page at `/`: what this is, what the memory holds, where the rest is described."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape

from stitch.server.operations.operation import Operation

POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
"""The content security policy of the page: it loads nothing and runs nothing."""

_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:3rem auto;padding:0 1rem}"
    "code,pre{font-family:ui-monospace,monospace;font-size:.9em}"
    "pre{padding:.8rem;overflow-x:auto;border:1px solid #8888}"
    "table{border-collapse:collapse}td,th{text-align:left;padding:.2rem 1rem .2rem 0;vertical-align:top}"
    ":root{color-scheme:light dark}"
)


def show_page(*, url: str, holds: Mapping[str, int] | None, operations: Iterable[Operation]) -> str:
    """The page as HTML.

    Counts of what the memory holds are None where a key would be needed to know.
    """
    rows = "".join(
        f"<tr><td><code>{each.method} {escape(each.path)}</code></td><td>{escape(each.summary)}</td></tr>"
        for each in operations
    )
    held = (
        "<p>What the memory holds is told to those who have a key.</p>"
        if holds is None
        else "<ul>" + "".join(f"<li>{count} {escape(name)}</li>" for name, count in holds.items()) + "</ul>"
    )
    call = (
        f"curl {escape(url)}/v1/search -H 'Content-Type: application/json'"
        ' -d \'{"query": "What did the hotel for day 1 cost?", "k": 5}\''
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>stitch</title>'
        f'<meta name="viewport" content="width=device-width,initial-scale=1"><style>{_STYLE}</style></head><body>'
        "<h1>stitch</h1><p>The memory of an agent: every step is labeled with what it was for, what was done, and which"
        " kinds of things matter in it; a question finds the steps that share these labels with it.</p>"
        f"<h2>What it holds</h2>{held}<h2>How to ask</h2><pre>{call}</pre>"
        f"<table><thead><tr><th>path</th><th>what it does</th></tr></thead><tbody>{rows}"
        "<tr><td><code>POST /v1/stream</code></td><td>Store steps that come as lines of JSON.</td></tr>"
        "<tr><td><code>GET /v1/events</code></td><td>Tell what happens, as server-sent events.</td></tr>"
        "<tr><td><code>/mcp</code></td><td>The same as tools, by the Model Context Protocol.</td></tr></tbody></table>"
        '<p>All of it is described in <a href="/openapi.json">/openapi.json</a>; <a href="/metrics">/metrics</a>'
        ' counts, <a href="/healthz">/healthz</a> and <a href="/readyz">/readyz</a> say whether the server is well.</p>'
        "</body></html>\n"
    )
