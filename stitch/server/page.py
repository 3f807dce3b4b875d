"""The page at `/`: what this is, what the memory holds, where the rest is described."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
"""The content security policy of the page: it loads nothing and runs nothing."""

_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:3rem auto;padding:0 1rem}"
    "code,pre{font-family:ui-monospace,monospace;font-size:.9em}"
    "pre{padding:.8rem;overflow-x:auto;border:1px solid #8888}"
    ":root{color-scheme:light dark}"
)


def show_page(*, url: str, holds: Mapping[str, int] | None) -> str:
    """The page as HTML.

    Counts of what the memory holds are None where a key would be needed to know.
    """
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
        '<p>All of it is described at <a href="/docs">/docs</a> (<a href="/openapi.json">/openapi.json</a>); tools are'
        ' at <code>/mcp</code>, events at <code>/v1/events</code>; <a href="/metrics">/metrics</a> counts,'
        ' <a href="/healthz">/healthz</a> and <a href="/readyz">/readyz</a> say whether the server is well.</p>'
        "</body></html>\n"
    )
