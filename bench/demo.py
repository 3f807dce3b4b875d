"""`stitch demo`: the main job on two sample trajectories, with nothing but this machine."""

from __future__ import annotations

import shlex
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from stitch.bench.samples import Sample, SampleQuestion, outline, sample, write_jsonl
from stitch.console.printing import draw_lanes, one_line
from stitch.console.progress import progress_drawn
from stitch.core.intent import labels_in_words
from stitch.core.progress import counted

if TYPE_CHECKING:
    from stitch.core import RetrievalResult, ScoredSnippet
    from stitch.memory import Memory
    from stitch.trees import VersionedTree

_SHOWN = 3
_TREE_QUESTIONS = ("//Meal[@cost > 40]", '//Stop[node ~= "outdoors in nature"]', "//Day[some(/Stop[@time < '11:00'])]")


@click.command()
@click.option("--keep", metavar="DIR", help="Keep the memory and the sample files in this folder.")
def command(keep: str | None) -> None:
    """See the memory do its main job on two sample trajectories: no key, no server, no network.

    \b
    Example:
      stitch demo --keep demo
    """
    if keep:
        Path(keep).mkdir(parents=True, exist_ok=True)
        _run(Path(keep))
    else:
        with tempfile.TemporaryDirectory(prefix="stitch-demo-") as folder:
            _run(Path(folder))
    click.echo("Try it on a file of your own, one step a line:")
    click.echo('  {"role": "user", "content": "...", "trajectory": "trip-1"}')
    click.echo("  stitch ingest FILE --memory my.memory")
    click.echo('  stitch query "What ...?" --memory my.memory')
    if keep:
        click.echo(f"The samples and their memory are in {keep}: stitch show --memory {shlex.quote(keep)}/demo.memory")


def _run(folder: Path) -> None:
    from stitch.assemble import open_memory

    samples = (sample("trip"), sample("bugs"))
    with open_memory(folder / "demo.memory") as memory:
        for own in samples:
            write_jsonl(own, folder / f"{own.name}.jsonl")
            _stream(memory, own)
            inventory = memory.inventory(own.trajectory.id)
            click.echo(click.style("what it was for, over time", bold=True) + "  (━ pursued, · waiting)")
            click.echo(draw_lanes(inventory.scopes, length=inventory.steps))
            click.echo()
        right = by_similarity = asked = 0
        for own in samples:
            for question in own.questions:
                found, found_by_similarity = _ask(memory, own, question)
                asked += 1
                right += found
                by_similarity += found_by_similarity
        click.echo(
            click.style(f"Right step among the first ten: {right} of {asked} by intent, ", bold=True)
            + click.style(f"{by_similarity} of {asked} by similarity alone (words and vectors fused).", bold=True)
        )
        click.echo()
        _show_tree(memory)


def _stream(memory: Memory, sample: Sample) -> None:
    steps = sample.trajectory.steps
    with progress_drawn():
        for step in counted(steps, f"streaming {sample.trajectory.id}", of=lambda: len(steps)):
            memory.add(step, trajectory=sample.trajectory.id)
    click.echo(click.style(f"{sample.trajectory.id}: {len(steps)} steps", bold=True))


def _ask(memory: Memory, sample: Sample, question: SampleQuestion) -> tuple[bool, bool]:
    """Ask by intent and by similarity; print both; return whether each had a right step among its first ten."""
    by_intent = memory.search(question.text, trajectory=sample.trajectory.id)
    by_similarity = memory.search(question.text, trajectory=sample.trajectory.id, retriever="hybrid")
    click.echo(click.style(question.text, bold=True) + f"  (right: {question.answer})")
    click.echo(f"  labels  {labels_in_words(by_intent.intent_filter.labels()) or 'none'}")
    for rank, hit in enumerate(by_intent.hits[:_SHOWN], start=1):
        click.echo(_line(rank, hit, question))
    click.echo(
        f"  the right step comes {_place(by_intent, question)}, by similarity alone {_place(by_similarity, question)}:"
    )
    click.echo(_line(1, by_similarity.hits[0], question))
    click.echo()
    first, first_by_similarity = (
        any(_is_right(hit, question) for hit in found.hits[:10]) for found in (by_intent, by_similarity)
    )
    return first, first_by_similarity


def _line(rank: int, hit: ScoredSnippet, question: SampleQuestion) -> str:
    mark = click.style("✓", fg="green") if _is_right(hit, question) else click.style("✗", fg="red")
    matched = ", ".join(value for _, value in sorted(hit.matched)) or "no label matched"
    text = one_line(hit.snippet.resolved, limit=92)
    return f"  {mark} {rank}. step {hit.snippet.step:>3} [{matched}; similarity {hit.similarity:.2f}]\n         {text}"


def _is_right(hit: ScoredSnippet, question: SampleQuestion) -> bool:
    return hit.snippet.step in question.evidence


def _place(result: RetrievalResult, question: SampleQuestion) -> str:
    places = [rank for rank, hit in enumerate(result.hits, start=1) if _is_right(hit, question)]
    return f"at place {places[0]}" if places else f"not among the first {len(result.hits)}"


def _show_tree(memory: Memory) -> None:
    """Make a tree, ask it, edit it, and ask it as it was."""
    from stitch.trees import Move, SetField
    from stitch.trees.core.reading import read_text
    from stitch.trees.requests.telling import lines_of

    trip = memory.trees.create("porto", read_text(outline(), form="outline"), message="first plan")
    click.echo(click.style("And artifacts as trees", bold=True) + f": {trip.name}, {len(trip.tree)} nodes")
    for question in _TREE_QUESTIONS:
        _ask_tree(trip, question)
    trip.edit([SetField("gaveto", "cost", "EUR 30"), Move("gardens", before="foz")], message="a cheaper Sunday")
    click.echo(f"  edited: {trip.history()[-1].message}")
    for line in lines_of(trip.diff("v1")):
        click.echo(f"    {one_line(line)}")
    _ask_tree(trip, "//Meal[@cost > 40]")
    _ask_tree(trip, '/Version[message ~= "first plan"]//Meal[@cost > 40]')
    click.echo()


def _ask_tree(trip: VersionedTree, query: str) -> None:
    found = trip.select(query)
    named = ", ".join(f"{node.fields['name']} ({node.score:.2f})" for node in found) or "nothing"
    click.echo(f"  {query}\n    {named}")
