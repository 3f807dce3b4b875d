"""`stitch demo`: the main job on two sample trajectories, with nothing but this machine."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import tempfile
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from stitch.bench.samples import Sample, SampleQuestion, outline, sample
from stitch.console.printing import draw_lanes, one_line
from stitch.console.progress import progress_drawn
from stitch.core.progress import counted

if TYPE_CHECKING:
    from stitch.core import RetrievalResult, ScoredSnippet
    from stitch.memory import Memory
    from stitch.trees import VersionedTree

_RETRIEVERS = {"stitch": "intent", "hybrid": "hybrid", "BM25": "lexical"}
_CONSIDERED = (1, 3, 10)
_SHOWN = 3
_TREE_QUESTIONS = ("//Meal[@cost > 40]", '//Stop[node ~= "outdoors in nature"]', "//Day[some(/Stop[@time < '11:00'])]")


class _Place(NamedTuple):
    """The places that the right step of one question takes, by each retriever; None beyond the first ten."""

    text: str
    by: dict[str, int | None]


@click.command()
@click.option("--keep", metavar="DIR", help="Keep the memory and the sample files in this folder.")
def command(keep: str | None) -> None:
    """Show the memory at work on two sample trajectories: no key, no server, no network.

    With STITCH_MODEL set, or `model` in the settings, the same is shown with the labels of this model.

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
    click.echo("Try it on a file of your own: a log of an agent, an export of chats, or one step a line:")
    click.echo('  {"role": "user", "content": "...", "trajectory": "trip-1"}')
    click.echo(f"  {_program()} ingest FILE --memory my.memory")
    click.echo(f'  {_program()} query "What ...?" --memory my.memory')
    if keep:
        kept = f"{shlex.quote(keep)}/demo.memory"
        click.echo(f"The samples and their memory are in {keep}: {_program()} show --memory {kept}")


def _program() -> str:
    """The command as it must be typed here: by its path where it is not found by its name."""
    here = Path(sys.argv[0])
    if here.name != "stitch" or shutil.which("stitch"):
        return "stitch"
    return shlex.quote(os.path.relpath(here))


def _run(folder: Path) -> None:
    from stitch.factory import open_memory

    samples = (sample("trip"), sample("bugs"))
    with open_memory(folder / "demo.memory", labels="local", filter="local") as memory:  # whatever model is set
        places = _show(memory, samples, folder=folder)
        _show_counts(places)
        _show_question(memory, samples, places)
        _show_tree(memory)
    if os.environ.get("STITCH_MODEL"):
        click.echo(click.style(f"The same with labels of {os.environ['STITCH_MODEL']}", bold=True))
        with open_memory(folder / "model.memory", labels="model") as memory:
            _show_counts(_show(memory, samples, folder=folder))


def _show(memory: Memory, samples: tuple[Sample, ...], *, folder: Path) -> list[_Place]:
    """Stream the samples, draw their lanes, and ask all questions in both wordings."""
    for own in samples:
        (folder / f"{own.name}.jsonl").write_bytes(files("stitch.examples").joinpath(f"{own.name}.jsonl").read_bytes())
        _stream(memory, own)
        inventory = memory.inventory(own.name)
        click.echo(click.style("what it was for, over time", bold=True) + "  (━ pursued, · waiting)")
        click.echo(draw_lanes(inventory.scopes, length=inventory.steps))
        click.echo()
    click.echo(
        click.style(f"{'the place of the right step among the first ten':<66}", bold=True) + "  ".join(_RETRIEVERS)
    )
    places = []
    for own in samples:
        for question in own.questions:
            for text, lead in ((question.text, ""), (question.reworded, "or: ")):
                places.append(_asked(memory, own, question, text))
                drawn = "  ".join(f"{place or '-':>{len(name)}}" for name, place in places[-1].by.items())
                click.echo(f"{one_line(lead + text, limit=64):<66}{drawn}")
    click.echo()
    return places


def _stream(memory: Memory, own: Sample) -> None:
    steps = own.trajectory.steps
    with progress_drawn():
        for step in counted(steps, f"streaming {own.name}", of=lambda: len(steps)):
            memory.add(step, trajectory=own.name)
    memory.flush()
    click.echo(click.style(f"{own.name}: {len(steps)} steps", bold=True))


def _asked(memory: Memory, own: Sample, question: SampleQuestion, text: str) -> _Place:
    by: dict[str, int | None] = {}
    for name, retriever in _RETRIEVERS.items():
        hits = memory.search(text, trajectory=own.name, retriever=retriever, k=max(_CONSIDERED)).hits
        right = (rank for rank, hit in enumerate(hits, start=1) if _is_right(hit, question))
        by[name] = next(right, None)
    return _Place(text, by)


def _show_counts(places: list[_Place]) -> None:
    """Say how often the right step was first, among the first three, and among the first ten."""
    for most in _CONSIDERED:
        told = [f"{name} {sum((each.by[name] or most + 1) <= most for each in places)}" for name in _RETRIEVERS]
        among = "first" if most == 1 else f"among the first {most}"
        click.echo(f"Right step {among}, of {len(places)}: " + click.style(", ".join(told), bold=True))
    click.echo()


def _show_question(memory: Memory, samples: tuple[Sample, ...], places: list[_Place]) -> None:
    """Show the hits of the question in which labels gain most over words and vectors."""
    gains = {each.text: (each.by["hybrid"] or 11) - (each.by["stitch"] or 11) for each in places}
    most = max(gains, key=lambda text: gains[text])
    for own in samples:
        for question in own.questions:
            if most in (question.text, question.reworded):
                _show_hits(memory, own, question, most)


def _show_hits(memory: Memory, own: Sample, question: SampleQuestion, text: str) -> None:
    by_intent = memory.search(text, trajectory=own.name, k=10)
    by_similarity = memory.search(text, trajectory=own.name, retriever="hybrid", k=10)
    click.echo(click.style(text, bold=True) + f"  (right: {question.answer})")
    for named, found in (("stitch", by_intent), ("hybrid", by_similarity)):
        click.echo(f"  {named}")
        for rank, hit in enumerate(found.hits[:_SHOWN], start=1):
            click.echo(_line(rank, hit, question, found))
    click.echo()


def _line(rank: int, hit: ScoredSnippet, question: SampleQuestion, found: RetrievalResult) -> str:
    from stitch.retrieve.reasons import reasons

    mark = click.style("✓", fg="green") if _is_right(hit, question) else click.style("✗", fg="red")
    why = "; ".join(reasons(hit, found)) or f"similarity {hit.similarity:.2f}"
    return f"  {mark} {rank}. {one_line(hit.snippet.resolved, limit=84)}\n       step {hit.snippet.step}: {why}"


def _is_right(hit: ScoredSnippet, question: SampleQuestion) -> bool:
    return hit.snippet.step in question.evidence


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
