"""`stitch demo`: the main job on two sample trajectories, with nothing but this machine."""

from __future__ import annotations

import shlex
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from stitch.bench.coding_sample import coding_sample
from stitch.bench.demo_tree import show_tree
from stitch.bench.samples import Sample, SampleQuestion, travel_sample, write_jsonl
from stitch.console.printing import draw_lanes, one_line
from stitch.console.progress import progress_drawn
from stitch.core.progress import counted

if TYPE_CHECKING:
    from stitch.core import RetrievalResult, ScoredSnippet
    from stitch.memory import Memory

_SHOWN = 3


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

    samples = (travel_sample(), coding_sample())
    with open_memory(folder / "demo.memory") as memory:
        for sample in samples:
            write_jsonl(sample, folder / f"{sample.name}.jsonl")
            _stream(memory, sample)
            inventory = memory.inventory(sample.trajectory.id)
            click.echo(click.style("what it was for, over time", bold=True) + "  (━ pursued, · waiting)")
            click.echo(draw_lanes(inventory.scopes, length=inventory.steps))
            click.echo()
        right = by_similarity = asked = 0
        for sample in samples:
            for question in sample.questions:
                found, found_by_similarity = _ask(memory, sample, question)
                asked += 1
                right += found
                by_similarity += found_by_similarity
        click.echo(
            click.style(f"Right step first: {right} of {asked} by intent, ", bold=True)
            + click.style(f"{by_similarity} of {asked} by similarity alone (words and vectors fused).", bold=True)
        )
        click.echo()
        show_tree(memory)


def _stream(memory: Memory, sample: Sample) -> None:
    steps = sample.trajectory.steps
    with progress_drawn():
        for step in counted(steps, f"streaming {sample.trajectory.id}", of=lambda: len(steps)):
            memory.add(step, trajectory=sample.trajectory.id)
    click.echo(click.style(f"{sample.trajectory.id}: {len(steps)} steps", bold=True))


def _ask(memory: Memory, sample: Sample, question: SampleQuestion) -> tuple[bool, bool]:
    """Ask by intent and by similarity; print both; return whether each had a right step first."""
    by_intent = memory.search(question.text, trajectory=sample.trajectory.id)
    by_similarity = memory.search(question.text, trajectory=sample.trajectory.id, retriever="hybrid")
    click.echo(click.style(question.text, bold=True) + f"  (right: {question.answer})")
    chosen = sorted(by_intent.intent_filter.labels())
    click.echo("  labels  " + (", ".join(f"{kind.value} {value!r}" for kind, value in chosen) or "none"))
    for rank, hit in enumerate(by_intent.hits[:_SHOWN], start=1):
        click.echo(_line(rank, hit, question))
    click.echo(f"  by similarity alone the right step comes {_place(by_similarity, question)}:")
    click.echo(_line(1, by_similarity.hits[0], question))
    click.echo()
    return _is_right(by_intent.hits[0], question), _is_right(by_similarity.hits[0], question)


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
