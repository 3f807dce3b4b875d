"""Sets held in memories, and options: shared by fits of the search."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import click

from stitch.bench.data.sets import load_questions
from stitch.bench.data.types import DataSet, Question
from stitch.config import load_settings
from stitch.core import SearchRequest
from stitch.errors import InputError
from stitch.factory import open_parts
from stitch.memory_parts import MemoryParts
from stitch.retrieve import IntentRetriever

DEPTH = 200
"""Hits asked for, as `stitch bench retrieval` does: what is looked at may depend on it."""
NO_CONTEXT = 16
"""A budget of so few tokens makes no context: that takes as long as the ranking, and nobody reads it here."""

_FOLDER = click.Path(path_type=Path, exists=True, file_okay=False)
DATA = click.option(
    "--data", "folders", multiple=True, type=_FOLDER, help="A set that chooses and is left out once; at least two."
)
JUDGED = click.option("--judged", multiple=True, type=_FOLDER, help="A set that is judged and chooses nothing.")
LIMIT = click.option("--limit", type=click.IntRange(1), help="Use so many questions of a set.")
KEPT = click.option(
    "--kept", type=click.Path(path_type=Path, file_okay=False), help="Keep the memories in this folder."
)


def load_sets(folders: Sequence[Path], *, limit: int | None) -> list[DataSet]:
    """The sets in some folders.

    Raises:
        InputError: There are fewer than two names of sets, so that none can be left out.
    """
    sets = [load_questions(folder).limited(limit) for folder in folders]
    if len({data.name for data in sets}) < max(2, len(sets)):
        raise InputError("fitting needs sets of at least two names", hint="give --data once for each set")
    return sets


def tenants_of(data: DataSet) -> dict[str, str]:
    """The tenant in which each trajectory of a set is, by its id."""
    return {trajectory.id: f"t{number}" for number, trajectory in enumerate(data.trajectories)}


def request_for(question: Question, tenants: Mapping[str, str], **settings: Any) -> SearchRequest:
    """The request for a question, without a context unless `budget_tokens` is given."""
    return SearchRequest(
        query=question.text,
        tenant=tenants[question.trajectory],
        trajectory=question.trajectory,
        asked_at=question.asked_at,
        **{"k": DEPTH, "budget_tokens": NO_CONTEXT, **settings},
    )


def steps_of(parts: MemoryParts) -> IntentRetriever:
    """The search of the default lens."""
    found = parts.retrievers[IntentRetriever.mode]
    assert isinstance(found, IntentRetriever)
    return found


@contextmanager
def held(data: DataSet, *, kept: Path | None = None) -> Iterator[MemoryParts]:
    """A set, each trajectory as a tenant of its own, in a memory that goes when this ends, or stays in a folder."""
    with ExitStack() as stack:
        chosen = sha256("\n".join(own.id for own in data.trajectories).encode()).hexdigest()
        folder = (
            kept / f"{data.name}-{data.digest[:12]}-{chosen[:12]}"
            if kept
            else Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="stitch-bench-")))
        )
        folder.mkdir(parents=True, exist_ok=True)
        parts = open_parts(load_settings(memory=folder, labels="local", filter="local"))
        stack.callback(parts.close)
        if not (whole := folder / "whole").exists():
            for trajectory in data.trajectories:
                parts.ingestor.add_many(
                    trajectory.steps, tenant=tenants_of(data)[trajectory.id], trajectory=trajectory.id
                )
            whole.touch()
        yield parts
        click.echo(f"stitch: {data.name}, {len(data.questions)} questions", err=True)
