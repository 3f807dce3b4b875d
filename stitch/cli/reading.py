"""Commands that read a memory: `stitch why`, `labels`, `history`, `select`, `receipts`, `ledger`, `themes`, ..."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

import click

from stitch.console.nodes import print_nodes, query_options
from stitch.console.options import Say, answering, json_option, memory_options, opened_memory
from stitch.console.printing import cost_lines, one_line, print_json, print_told
from stitch.core import Statement, StepLabels, StepState
from stitch.core.intent import labels_in_words
from stitch.server.operations import labels as of_labels
from stitch.server.operations import questions, steps, trees, upkeep
from stitch.server.operations import themes as of_themes
from stitch.server.operations.answers import known_trajectory
from stitch.server.operations.costs import costs_by_position, read_costs
from stitch.text.dates import iso_of_seconds

_SHOWN_HITS = 5
_LISTED_THEMES = 50
_NEAR_THEMES = 6


@answering(questions.why)
@click.argument("query")
@click.argument("step")
@click.option("--trajectory", metavar="ID", help="The trajectory of the step; needed if several have this id.")
@click.option("--everywhere", is_flag=True, help="Rank among all trajectories, as `stitch query` without --trajectory.")
@click.option(
    "-k", type=click.IntRange(min=1), help="The number of steps that count as hits.  [default: as in a search]"
)
@click.option("--min-trust", type=click.Choice(["high", "medium", "low"]), help="As in `stitch query`.")
@click.option("--as-of", metavar="STEP|TIME", help="As in `stitch query`.")
@click.option("--asked-at", metavar="TIME", help="As in `stitch query`.")
@click.option("--ranking", type=click.Choice(["auto", "strict", "weighed"]), help="As in `stitch query`.")
def why(told: questions.Explanation, say: Say, **_: Any) -> None:
    """Explain why QUERY finds STEP, or does not: labels, rank, trust, state and budget.

    STEP is an id, the beginning of one, or a position in the trajectory.

    \b
    Example:
      stitch why "What did the hotel for day 1 cost?" 12 --trajectory trip-1 --memory trip.memory
    """
    say("\n".join(told.explanation))


@answering(steps.recalls)
@click.option("--last", type=click.IntRange(min=1), metavar="N", help="Only the last N questions.")
def recalls(told: steps.Recalls, say: Say, **_: Any) -> None:
    """List recent questions with the labels chosen, the steps found, and the reasons.

    Questions are kept only if the setting recall_log gives a number (STITCH_RECALL_LOG=1000). Erasing a step erases
    every question that found it.

    \b
    Example:
      stitch recalls --memory trip.memory --last 5
    """
    if not told.recalls:
        say("stitch: no question is kept; STITCH_RECALL_LOG=1000 keeps the last 1000 that are asked", err=True)
    for recall in told.recalls:
        labels = labels_in_words(recall.intent_filter.labels())
        past = "" if recall.as_of is None else f"  (as of {_clock(recall.as_of)})"
        say(f"{_clock(recall.at)}  {recall.query}{past}")
        say(f"  labels: {labels or 'none'}")
        for hit in recall.hits[:_SHOWN_HITS]:
            matched = ", ".join(value for values in hit.matched.values() for value in values) or "no label"
            say(f"  {hit.trajectory} step {hit.step}: {matched}, similarity {hit.similarity:.2f}")
        if len(recall.hits) > _SHOWN_HITS:
            say(f"  and {len(recall.hits) - _SHOWN_HITS} more")


@answering(of_labels.labels, exclude={"next"})
@click.option("--trajectory", metavar="ID", help="Only the labels of this trajectory.")
def labels(told: of_labels.Labels, say: Say, **_: Any) -> None:
    """List the labels of a memory: scopes, event types and key entity types, with the steps that carry them.

    \b
    Example:
      stitch labels --memory trip.memory --trajectory trip-1
    """
    say("thematic scopes")
    for scope in told.scopes:
        say(f"  {scope.steps:>5}  {one_line(scope.name)}  ({one_line(scope.trajectory)})")
    say("event types")
    for name, count in told.event_types.items():
        say(f"  {count:>5}  {one_line(name)}")
    say("key entity types")
    for name, entry in told.entity_types.items():
        examples = ", ".join(one_line(value, limit=40) for value in entry.values[:4])
        say(f"  {entry.steps:>5}  {one_line(name)}" + (f"  ({examples})" if examples else ""))
    for merge in told.merges:
        where = f"  ({one_line(merge.trajectory)})" if merge.trajectory else ""
        say(f"  {merge.kind.value} {merge.alias!r} reads as {merge.into!r}{where}")


@answering(upkeep.history, exclude={"next"})
@click.argument("step")
@click.option("--trajectory", metavar="ID", help="The trajectory of the step; needed if several have this id.")
def history(told: upkeep.History, say: Say, step: str, **_: Any) -> None:
    """List the earlier versions of STEP, oldest first: text, labels, end of validity, and who corrected it.

    \b
    Example:
      stitch history 12 --trajectory trip-1 --memory trip.memory
    """
    for revision in told.revisions:
        done = "corrected" if revision.retired_at is None else f"retired since {_clock(revision.retired_at)}, put back"
        say(f"until {_clock(revision.until)}, {done} by {revision.corrected_by}")
        if revision.labels:
            intent = StepLabels.model_validate(revision.labels).intent
            kinds = ", ".join([*intent.event_types, *(f"[{name}]" for name in intent.entity_types)])
            say(f"  {intent.scope or '-'}: {kinds}")
        say(f"  {' '.join(str(revision.step['content']).split())}")
    if not told.revisions:
        say(f"stitch: step {step} of {told.trajectory} was never corrected", err=True)


@answering(trees.select, exclude={"explanation", "version"})
@click.argument("query")
@click.option("--trajectory", metavar="ID", help="The trajectory to search.  [default: all]")
@query_options
def select(told: trees.Nodes, say: Say, explain: bool, **_: Any) -> None:
    """Find steps by the path QUERY: Memory > Trajectory > Scope > Step.

    A scope has a `name`; a step has `text`, `role`, `position`, `time`, `tool`, `event_type` and `entity_type`. A query
    that names them also finds Theme > Statement, and an Episode between a scope and its steps. A theme has `name` and
    `term`; a statement has `text`, `speaker`, `time`, `happened`, `trajectory` and `step`.

    \b
    Example:
      stitch select '//Scope[name ~= "login"]/Step[@event_type = "report error"][-1]' --memory trip.memory
    """
    print_nodes(told, explain=explain, say=say)


@answering(steps.receipts, listed="receipts", exclude={"next": True, "receipts": {"__all__": {"repeated"}}})
@click.option("--failed", "state", flag_value="failed", help="Only the steps that failed, with the reason.")
@click.option("--retired", "state", flag_value="retired", help="Only the steps that were taken out of retrieval.")
def receipts(told: steps.Receipts, say: Say, **_: Any) -> None:
    """List the state of each step: accepted, labeled, stored, failed with the reason, or retired.

    Also the number of secrets redacted, by kind, but never the secrets.

    \b
    Example:
      stitch receipts --failed --memory trip.memory
    """
    for receipt in told.receipts:
        reason = f"  {receipt.reason}" if receipt.reason else ""
        kinds = ", ".join(f"{taken.kind} {taken.count}" for taken in receipt.redacted)
        taken_out = f"  taken out: {kinds}" if kinds else ""
        say(f"{receipt.state.value:<8}  {receipt.trajectory}  {receipt.step}{reason}{taken_out}")
    if any(receipt.state is StepState.FAILED for receipt in told.receipts):
        say("stitch: failed steps are kept; `stitch retry` tries them again", err=True)


@click.command()
@memory_options
@click.option("--trajectory", metavar="ID", help="Only the costs of this trajectory, and of each of its steps.")
@json_option
def ledger(as_json: bool, trajectory: str | None, **arguments: Any) -> None:
    """List the costs of language models for this tenant: by model, stage, trajectory and step.

    The cost of a call that covered several steps is shared among them equally.

    \b
    Example:
      stitch ledger --memory trip.memory
    """
    shares: dict[int, dict[str, float | None]] = {}
    with opened_memory(**arguments) as memory:
        spent = read_costs(memory.folder, tenant=memory.tenant, trajectory=trajectory)
        if not spent.total.calls:  # what is asked for by name may be gone, and its costs kept
            known_trajectory(memory, trajectory)
        if trajectory is not None:
            shares = costs_by_position(memory.folder, tenant=memory.tenant, trajectory=trajectory)
    value, lines = spent.model_dump(), ["no language model was called for this memory"]
    if trajectory is not None:
        value["positions"] = {str(position): share for position, share in shares.items()}
    if spent.total.calls:
        lines = [*cost_lines(spent), *(_share_line(position, share) for position, share in shares.items())]
    print_told(value, *lines, as_json=as_json)


def _share_line(position: int, share: Mapping[str, float | None]) -> str:
    cost = share["cost_usd"]
    shown = "" if cost is None else f"  ${cost:.6f}"
    return f"  step {position:<27} {share['calls']:>7.2f} calls {share['tokens']:>10.0f} tokens{shown}"


@click.group(invoke_without_command=True)
@memory_options
@click.option(
    "--limit", type=click.IntRange(1), default=_LISTED_THEMES, show_default=True, help="The number of themes to list."
)
@click.option("--after", metavar="ID", help="Continue the list after this theme.")
@click.option("--as-of", metavar="TIME", help="List the themes as of a time: Unix seconds, or 2026-03-01T12:00.")
@json_option
@click.pass_context
def themes(
    context: click.Context, /, as_json: bool, limit: int, after: str | None, as_of: str | None, **arguments: Any
) -> None:
    """List the themes of a memory, those of most statements first.

    \b
    Example:
      stitch themes --memory trip.memory
      stitch themes show --memory trip.memory t1
    """
    if context.invoked_subcommand is not None:
        return
    with opened_memory(**arguments) as memory:
        page = of_themes.themes(memory, limit=limit, after=after, as_of=as_of)
    if as_json:
        print_json(page.model_dump(mode="json"))
        return
    if not page.themes:
        click.echo("there are no themes" + (f" as of {as_of}" if as_of else ""), err=True)
    for theme in page.themes:
        terms = ", ".join(one_line(term) for term in theme.terms)
        told = f"  ({terms})" if terms else ""
        click.echo(f"{theme.id:>7}  {len(theme.statements):>3}  {one_line(theme.name)}{told}")
    if page.next is not None:
        click.echo(f"there are more: --after {page.next}", err=True)


@answering(of_themes.theme)
@click.argument("theme")
def show_theme(told: of_themes.WholeTheme, say: Say, **_: Any) -> None:
    """Show a THEME by its id: what was said, by whom and when, and the themes around it.

    \b
    Example:
      stitch themes show --memory trip.memory t1
    """
    say(f"{told.id}  {one_line(told.name)}  ({', '.join(one_line(term) for term in told.terms)})")
    for each in told.statements:
        mark = "*" if each.id == told.medoid else " "
        say(f" {mark} {_when(each)}{one_line(each.speaker)}: {one_line(each.text, limit=200)}")
        say(f"     {one_line(each.trajectory)}  {', '.join(map(one_line, each.steps))}")
    if told.neighbors:
        say("near: " + ", ".join(f"{near.id} {one_line(near.name)}" for near in told.neighbors[:_NEAR_THEMES]))


themes.add_command(show_theme, "show")


def _clock(at: float) -> str:
    return datetime.fromtimestamp(at, timezone.utc).strftime("%Y-%m-%d %H:%M:%S")


def _when(statement: Statement) -> str:
    said = statement.said_at
    if isinstance(said, float | int):
        said = iso_of_seconds(said, timespec="minutes")
    happened = f", of {statement.happened_at}" if statement.happened_at else ""
    return f"[{one_line(said)}{happened}] " if said else ""
