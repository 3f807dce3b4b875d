"""A memory to ask while prompts are trained: real, with local labels, in a temporary folder."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from stitch.bench.data.types import DataSet, Question
from stitch.bench.memories import SharedMemory

if TYPE_CHECKING:
    from stitch.memory import Memory


@contextmanager
def asked_memory(data: DataSet) -> Iterator[Memory]:
    """A memory that holds the trajectories of a data set."""
    shared = SharedMemory(_open)
    try:
        shared.take_in(data.trajectories)
        yield shared.memory
    finally:
        shared.close()


def question_keys(data: DataSet) -> dict[str, str]:
    """For each question, by id, a digest of what is asked of which steps: the same in two copies of a data set."""
    contents = {
        trajectory.id: hashlib.sha256(
            "\0".join(f"{step.role}\0{step.content}" for step in trajectory.steps).encode()
        ).hexdigest()
        for trajectory in data.trajectories
    }
    return {question.id: _key(question, contents[question.trajectory]) for question in data.questions}


def _key(question: Question, content: str) -> str:
    return hashlib.sha256(f"{content}\0{question.text}\0{question.asked_at}".encode()).hexdigest()


def _open(folder: Path) -> Memory:
    from stitch.assemble import open_memory

    return open_memory(folder, labels="local", filter="local")
