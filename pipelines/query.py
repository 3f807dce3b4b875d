"""Ask a memory: `stitch query`."""

from __future__ import annotations

from typing import Any

import click

from stitch.console.options import json_option, known_trajectory, memory_options, model_options, opened_memory
from stitch.console.printing import one_line, print_json
from stitch.core import MemorySnippet, Ranking, RetrievalResult, ScoredSnippet, matched_by_kind
from stitch.core.ranking import DECIMALS
from stitch.errors import ModelError


@click.command()
@click.argument("text")
@memory_options
@click.option("--trajectory", metavar="ID", help="Search this trajectory only.")
@click.option("-k", type=click.IntRange(min=1), help="How many steps to return.  [default: 40]")
@click.option("--context-tokens", "budget_tokens", type=click.IntRange(min=1), metavar="N",
              help="How many tokens the context may have.  [default: 4096]")  # fmt: skip
@click.option("--retriever", metavar="NAME", help="Which retriever answers.  [default: intent]")
@click.option(
    "--ranking",
    type=click.Choice(["auto", "strict", "weighed"]),
    help="By label density first (strict), by labels added to similarity (weighed), or as fits who chose the labels."
    "  [default: auto]",
)
@click.option("--filter", type=click.Choice(["local", "model"]), help="Who chooses the labels.  [default: local]")
@model_options
@click.option("--program", "filter_program", metavar="FILE", help="A prompt compiled by `stitch optimize filter`.")
@click.option("--asked-at", metavar="TIME", help="When the question is asked; relative times are read against it.")
@click.option(
    "--min-trust",
    type=click.Choice(["high", "medium", "low"]),
    help="Only what the user said (high), what an agent said too (medium), or all.  [default: low]",
)
@click.option(
    "--as-of",
    metavar="STEP|TIME",
    help="Answer as the memory would have then: a time (2026-03-01T12:00), or a step of --trajectory. "
    "What was retired or corrected since is there as it was; what was erased is not.",
)
@click.option(
    "--context", "as_context", is_flag=True, help="Print the context for a prompt instead of the list of steps."
)
@json_option
@click.pass_context
def command(
    context: click.Context, /, *, text: str, as_json: bool, as_context: bool, trajectory: str | None,
    asked_at: str | None, min_trust: str | None, as_of: str | None, **settings: Any,
) -> None:  # fmt: skip
    """Find the steps that answer TEXT: by shared labels first, by similarity second.

    If the model of --filter model does not answer, local rules choose the labels, and the exit status is 6.

    \b
    Example:
      stitch query "What did the hotel for day 1 cost?" --memory trip.memory -k 5
    """
    with opened_memory(**settings) as memory:
        known_trajectory(memory, trajectory)
        result = memory.search(text, trajectory=trajectory, asked_at=asked_at, min_trust=min_trust, as_of=as_of)
        if not settings.get("tenant") and not memory.trajectories():
            click.echo("stitch: this memory is empty; `stitch ingest FILE` fills it", err=True)
    if as_json:
        print_json(result_as_json(result))
    elif as_context:
        click.echo(result.context())
    else:
        click.echo(describe(result))
    if result.model_failure:
        click.echo(f"stitch: the labels were chosen without the model: {result.model_failure}", err=True)
        context.exit(ModelError.exit_code)


def result_as_json(result: RetrievalResult) -> dict[str, Any]:
    """The result as the command prints it with `--json`."""
    chosen = result.intent_filter
    return {
        "query": result.request.query,
        "filter": {
            "scopes": chosen.scopes,
            "event_types": chosen.event_types,
            "entity_types": chosen.entity_types,
        },
        "ranking": result.ranking.value,
        "decided_by": result.decided_by.value,
        "rule": {
            "tiers": result.rule.tiers,
            "summed": result.rule.summed,
            "ties": ["trajectory", "position", "step"],
            "decimals": DECIMALS,
        },
        "reasons": result.reasons,
        "hits": [_hit_as_json(rank, hit, result) for rank, hit in enumerate(result.hits, start=1)],
        "context_tokens": result.context_tokens,
        "milliseconds": round(result.milliseconds, 3),
    }


def _hit_as_json(rank: int, hit: ScoredSnippet, result: RetrievalResult) -> dict[str, Any]:
    snippet, below = hit.snippet, result.hits[rank : rank + 1]
    return {
        "rank": rank,
        "trajectory": snippet.trajectory,
        "step": snippet.step,
        "position": snippet.position,
        "role": snippet.role,
        "happened": snippet.happened,
        "recorded": snippet.recorded,
        "origin": snippet.origin.value,
        "trust": snippet.trust.value,
        "parts": hit.parts,
        "score": hit.score,
        "above_next_by": result.rule.lead(hit, below[0]) or "order" if below else None,
        "density": _plain(hit.density),
        "matched": matched_by_kind(hit.matched),
        "similarity": round(hit.similarity, 6),
        "scope": snippet.intent.scope,
        "event_types": snippet.intent.event_types,
        "entity_types": snippet.intent.entity_types,
        "text": snippet.text,
        "resolved": snippet.resolved,
        "summary": snippet.summary,
    }


def describe(result: RetrievalResult, *, limit: int | None = None) -> str:
    """The result for a person: the chosen labels, then each step with those it matched and the parts of its score."""
    from stitch.retrieve.rank.wording import in_words

    labels = sorted(result.intent_filter.labels())
    said = ", ".join(f"{kind.value} {value!r}" for kind, value in labels)
    weighed = result.ranking is Ranking.WEIGHED
    lines = [f"{'hinted at' if said and weighed else 'looking for'}  {said or 'similar text only'}"]
    for rank, hit in enumerate(result.hits[:limit], start=1):
        snippet = hit.snippet
        matched = ", ".join(one_line(value) for _, value in sorted(hit.matched)) or "no label"
        lines.append(
            f"{rank:>3}. {matched}: {in_words(hit.parts)}"
            f"  [{snippet.trajectory} step {snippet.step}, {snippet.role},"
            f" {one_line(snippet.intent.scope or 'no scope yet')}, {_clocks(snippet)}]"
        )
        lines.append("     " + one_line(snippet.resolved))
    return "\n".join(lines)


def _clocks(snippet: MemorySnippet) -> str:
    """When it happened, if the source says it, and when the memory took it in."""
    from stitch.retrieve.context.quoting import clock

    happened = "" if snippet.happened is None else f"{clock(snippet.happened)}, "
    return f"{happened}recorded {clock(snippet.recorded)}"


def _plain(density: float) -> int | float:
    return int(density) if density == int(density) else round(density, 4)
