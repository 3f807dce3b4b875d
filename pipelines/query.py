"""Ask a memory: `stitch query`."""

from __future__ import annotations

from typing import Any

import click

from stitch.console.options import json_option, memory_options, model_options, opened_memory
from stitch.console.printing import one_line, print_told
from stitch.core import MemorySnippet, Ranking, RetrievalResult
from stitch.core.intent import labels_in_words
from stitch.core.results import WITHHELD
from stitch.errors import ModelError
from stitch.server.operations.answers import known_trajectory
from stitch.server.operations.questions import answer_of

_OF_A_SEARCH = (
    "trajectory", "asked_at", "min_trust", "min_relevance", "min_share", "as_of", "include_setup", "diverse",
)  # fmt: skip
"""Options that no setting says."""


@click.command()
@click.argument("text")
@memory_options
@click.option("--trajectory", metavar="ID", help="Search this trajectory only.")
@click.option(
    "-k",
    type=click.IntRange(min=1),
    help="The number of hits, and the most steps of the context.  [default: 10 hits, and whatever fits the context]",
)
@click.option("--context-tokens", "budget_tokens", type=click.IntRange(min=1), metavar="N",
              help="The budget of the context in tokens.  [default: 2000]")  # fmt: skip
@click.option("--retriever", metavar="NAME", help="The retriever.  [default: intent]")
@click.option(
    "--ranking",
    type=click.Choice(["auto", "strict", "weighed"]),
    help="By label density first (strict), by labels added to similarity (weighed), or by the source of the labels."
    "  [default: auto]",
)
@click.option(
    "--filter",
    type=click.Choice(["auto", "local", "model"]),
    help="The chooser of the labels: rules, a model, or the model if one is named (auto).  [default: auto]",
)
@model_options
@click.option("--program", "filter_program", metavar="FILE", help="A prompt compiled by `stitch optimize filter`.")
@click.option("--asked-at", metavar="TIME", help="The time of the question: relative times are read against it.")
@click.option(
    "--min-trust",
    type=click.Choice(["high", "medium", "low"]),
    help="Only what the user said (high), what an agent said too (medium), or all.  [default: low]",
)
@click.option("--min-relevance", type=click.FloatRange(0, 1), metavar="CHANCE",
              help="Only steps that bear on TEXT with this chance, from 0 to 1; nothing if none does.")  # fmt: skip
@click.option("--min-share", type=click.FloatRange(0, 1), metavar="SHARE",
              help="Only steps with this share of the best one's score, from 0 to 1; 0 fills the context.")  # fmt: skip
@click.option(
    "--as-of",
    metavar="STEP|TIME",
    help="Answer as the memory would have then: a time (2026-03-01T12:00), the end of a day (2026-03-01), or a step of "
    "--trajectory. "
    "What was retired or corrected since is there as it was; what was erased is not.",
)
@click.option("--include-setup", is_flag=True, help="Find system prompts of agents' runs, too.")
@click.option("--diverse", is_flag=True, help="Prefer steps that say different things.")
@click.option(
    "--context", "as_context", is_flag=True, help="Print the context for a prompt instead of the list of steps."
)
@click.option("--verbose", is_flag=True, help="Print the parts of each score.")
@json_option
@click.pass_context
def command(
    context: click.Context, /, *, text: str, as_json: bool, as_context: bool, verbose: bool, **settings: Any
) -> None:
    """Find the steps that answer TEXT: by shared labels first, by similarity second.

    If the model that chooses does not answer, local rules choose the labels, and the exit status is 6.

    \b
    Example:
      stitch query "What did the hotel for day 1 cost?" --memory trip.memory -k 5
    """
    asked = {name: settings.pop(name) for name in _OF_A_SEARCH}
    with opened_memory(**settings) as memory:
        known_trajectory(memory, asked["trajectory"])
        result = memory.search(text, **asked)
        _tell_day(asked.get("as_of"))
        if not settings.get("tenant") and not memory.trajectories():
            click.echo("stitch: this memory is empty; `stitch ingest FILE` fills it", err=True)
    told = result.context() if as_context else describe(result, verbose=verbose)
    print_told(answer_of(result).model_dump(exclude={"context"}, exclude_unset=True), told, as_json=as_json)
    if as_context and not as_json and not told:
        tokens = f"no step fits into {result.request.budget_tokens} tokens"
        click.echo(f"stitch: {_nothing_relevant(result) if result.nothing_relevant else tokens}", err=True)
    if result.model_failure:
        click.echo(f"stitch: the labels were chosen without the model: {result.model_failure}", err=True)
        context.exit(ModelError.exit_code)


def describe(result: RetrievalResult, *, verbose: bool = False) -> str:
    """The result for a person: the chosen labels, then each step with the reasons for it.

    With `verbose` each has the labels that it matched and the parts of its score instead.
    """
    from stitch.retrieve.explain import in_words
    from stitch.retrieve.links.wording import because, no_longer
    from stitch.retrieve.reasons import reasons

    said = labels_in_words(result.intent_filter.labels())
    weighed = said and result.ranking is Ranking.WEIGHED
    lines = [f"{'weighing' if weighed else 'looking for'}  {said or 'similar text only'}"]
    if result.nothing_relevant:
        lines.append(_nothing_relevant(result))
    for rank, hit in enumerate(result.hits, start=1):
        snippet = hit.snippet
        why = "; ".join(map(one_line, reasons(hit, result)))
        if verbose:
            matched = ", ".join(one_line(value) for _, value in sorted(hit.matched)) or "no label"
            why = f"{matched}: {in_words(hit.parts)}"
        lines.append(
            f"{rank:>3}. {why}"
            f"  [{snippet.trajectory} step {snippet.step}, {snippet.role},"
            f" {one_line(snippet.intent.scope or 'no scope yet')}, {_clocks(snippet)}]"
        )
        lines.append("     " + one_line(snippet.resolved))
        if hit.superseded:
            lines.append("     no longer so: " + one_line(no_longer(hit.superseded, by_id=True)))
        if hit.because_of is not None:
            lines.append("     because of " + one_line(because(hit.because_of, by_id=True)))
    return "\n".join(lines)


def _tell_day(as_of: str | None) -> None:
    """Say which moment a date alone is taken for."""
    from stitch.lifecycle.as_of import end_of_day

    if as_of is not None and (end := end_of_day(as_of)) is not None:
        click.echo(f"stitch: as of the end of that day here, {end.isoformat(timespec='seconds')}", err=True)


def _nothing_relevant(result: RetrievalResult) -> str:
    from stitch.retrieve.relevance import unlikely

    reason = next((each.reason for each in result.trace if each.what == WITHHELD), None)
    if reason is None and result.request.min_trust is not None and not result.relevance:
        reason = f"no step of trust {result.request.min_trust.value!r} or more"
    return f"{WITHHELD}: {reason or unlikely(result.relevance or 0.0)}"


def _clocks(snippet: MemorySnippet) -> str:
    """The times at which it happened, if the source says it, and at which the memory took it in."""
    from stitch.retrieve.context.quoting import clock

    happened = "" if snippet.happened is None else f"{clock(snippet.happened)}, "
    return f"{happened}recorded {clock(snippet.recorded)}"
