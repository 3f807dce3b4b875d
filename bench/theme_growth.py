"""What themes cost as a memory grows: `stitch bench themes --statements 1000,10000,100000`.

A whole memory takes in trajectories, one after the other, as one tenant. At each of the sizes it is told what the last
steps cost to derive and place, what it takes to load what is derived, and what searches by themes cost. All is
processor time, and not what a busy machine makes of it.
"""

from __future__ import annotations

import tempfile
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from stitch.bench.data.types import DataSet, Question
from stitch.bench.perf import _percentile, _resident_mb
from stitch.core.progress import Progress

if TYPE_CHECKING:
    from stitch.core import Step
    from stitch.memory import Memory

BATCH_STEPS = 100
"""After so many steps the themes are brought up."""
WINDOW = 1_000
"""The cost of a step is that of the last steps that said so many statements together."""
QUESTIONS = 60
"""So many questions are asked at each size."""
BUDGET_TOKENS = 1_024


class Size(NamedTuple):
    """What themes cost in a memory of a size."""

    statements: int
    steps: int
    step_cpu_ms: float
    """What one of the last steps cost to derive and place."""
    statement_cpu_ms: float
    load_cpu_s: float
    """What another process pays to have what is derived."""
    search_p50_cpu_ms: float | None
    """None where no question is asked."""
    search_p95_cpu_ms: float | None
    intent_p50_cpu_ms: float | None
    """The same questions, answered by the steps that `intent` ranks."""
    rss_mb: float
    """Of the whole process, with all that it holds of the memory."""


class _Spent(NamedTuple):
    steps: int
    statements: int
    seconds: float


def measure_growth(sets: Sequence[DataSet], sizes: Sequence[int], *, questions: int = QUESTIONS) -> list[Size]:
    """What themes cost at sizes, in statements; of a size that the sets do not reach, at their end.

    Args:
        sets: What comes; of all together, as of one tenant.
        sizes: At so many statements it is measured.
        questions: So many of the questions on what came last are asked at each size; 0 asks none.
    """
    wanted, rows, asked = deque(sorted(set(sizes))), list[Size](), list[Question]()
    with tempfile.TemporaryDirectory(prefix="stitch-themes-") as folder:
        growing = _Growing(Path(folder), progress=Progress("statements", of=max(sizes)))
        try:
            for data in sets:
                for trajectory in data.trajectories:
                    asked += [each for each in data.questions if each.trajectory == trajectory.id]
                    for start in range(0, len(trajectory.steps), BATCH_STEPS):
                        growing.take_in(trajectory.id, trajectory.steps[start : start + BATCH_STEPS])
                        if growing.statements >= wanted[0]:
                            rows.append(growing.size(asked[-questions:] if questions else []))
                            while wanted and growing.statements >= wanted[0]:
                                wanted.popleft()
                            if not wanted:
                                return rows
            rows.append(growing.size(asked[-questions:] if questions else []))
        finally:
            growing.memory.close()
    return rows


class _Growing:
    """A memory that takes in steps, and what its themes cost meanwhile.

    Args:
        folder: Where it is.
        progress: Is told how many statements there are.
    """

    def __init__(self, folder: Path, *, progress: Progress) -> None:
        self.memory = _opened(folder)
        self.steps = self.statements = 0
        self._folder, self._progress = folder, progress
        self._last = deque[_Spent]()

    def take_in(self, trajectory: str, steps: Sequence[Step]) -> None:
        """Take in the next steps of a trajectory."""
        self.memory.add_many(steps, trajectory=trajectory)
        seconds = _cpu_s(lambda: self.memory.hierarchy)
        said = self.memory.hierarchy.count() - self.statements
        self.steps, self.statements = self.steps + len(steps), self.statements + said
        self._progress.advance(said)
        self._last.append(_Spent(len(steps), said, seconds))
        while sum(each.statements for each in self._last) - self._last[0].statements >= WINDOW:
            self._last.popleft()

    def size(self, asked: Sequence[Question]) -> Size:
        """What themes cost now: the memory is closed, opened again, and asked."""
        self.memory.close()
        self.memory = _opened(self._folder)
        load_cpu_s = _cpu_s(lambda: self.memory.hierarchy)
        found = {lens: [self._search_ms(each, lens) for each in asked] for lens in ("themes", "intent")}
        seconds = sum(each.seconds for each in self._last)
        return Size(
            statements=self.statements,
            steps=self.steps,
            step_cpu_ms=1e3 * seconds / max(1, sum(each.steps for each in self._last)),
            statement_cpu_ms=1e3 * seconds / max(1, sum(each.statements for each in self._last)),
            load_cpu_s=load_cpu_s,
            search_p50_cpu_ms=_percentile(found["themes"], 50) if asked else None,
            search_p95_cpu_ms=_percentile(found["themes"], 95) if asked else None,
            intent_p50_cpu_ms=_percentile(found["intent"], 50) if asked else None,
            rss_mb=_resident_mb()["rss_mb"],
        )

    def _search_ms(self, question: Question, lens: str) -> float:
        def search() -> None:
            self.memory.search(question.text, retriever=lens, budget_tokens=BUDGET_TOKENS, asked_at=question.asked_at)

        return 1e3 * _cpu_s(search)


def _opened(folder: Path) -> Memory:
    """A memory, with all read that is read at the first search whatever its size."""
    from stitch.assemble import open_memory

    memory = open_memory(folder)
    memory.search("is asked before anything is measured", retriever="intent")
    return memory


def _cpu_s(do: Callable[[], object]) -> float:
    began = time.process_time()
    do()
    return time.process_time() - began
