"""Windows to label as DSPy's optimizers take them, with the metric of `stitch optimize`: for scripts of one's own.

    lessons = WindowLessons("days.jsonl.gz")
    dspy.GEPA(metric=lessons.metric, ...).compile(WindowProgram(), trainset=lessons.train, valset=lessons.held_back)

`examples/optimize_with_dspy.py` is a whole script.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import dspy

from stitch.bench.training.labels import LabelTask
from stitch.bench.training.sources import open_task
from stitch.errors import InputError, ReplyError
from stitch.lm import LanguageModel
from stitch.pipelines.optimize.splitting import take
from stitch.pipelines.optimize.tasks import Lesson
from stitch.signatures.programs import WindowProgram
from stitch.text.markers import harmless


class WindowLessons:
    """Examples for `WindowProgram`, and what marks its predictions.

    An example has the fields of the prompt `LabelWindow` as the labeler fills them, with the past as gold has it. It
    has no readings: names of gold are not what a prompt should show, so give optimizers `max_labeled_demos=0`.

    Data are what `stitch optimize windowed --train` takes: labeled trajectories, CAME-Bench, or a memory with
    corrections (of a `tenant`). At most `limit` examples are drawn to learn from, and to judge by.

    Raises:
        InputError: The data cannot be read, or have too few labels.
    """

    train: list[Any]
    """To learn from."""
    held_back: list[Any]
    """To judge by: of a third of the trajectories."""

    def __init__(self, data: str | Path, *, limit: int = 40, tenant: str | None = None, seed: int = 0) -> None:
        with ExitStack() as stack:
            task, parts = open_task("windowed", Path(data), valid=None, tenant=tenant, seed=seed, stack=stack)
        assert isinstance(task, LabelTask)
        self._task, self._lessons = task, dict[str, Lesson]()
        self._model = LanguageModel("replayed", completion=_Silent())
        self.train, self.held_back = ([*map(self._example, take(each, limit, seed=seed))] for each in parts)

    def metric(
        self, example: Any, prediction: Any, trace: Any = None, pred_name: Any = None, pred_trace: Any = None
    ) -> Any:
        """Score, from 0 to 1, and feedback: what optimizers take that reflect, and a number for all others."""
        if (lesson := self._lessons.get(example.get("lesson"))) is None:
            raise InputError("the example is none of these lessons", hint="give the metric's own .train and .held_back")
        marks = self._task.mark(lesson, self._task.run(_replaying(prediction), lesson, model=self._model))
        return dspy.Prediction(score=marks.score, feedback=marks.feedback or "All right.")

    def _example(self, lesson: Lesson) -> Any:
        self._lessons[lesson.key] = lesson
        shown = {name: harmless(said) for name, said in self._task.shown(lesson, model=self._model).items()}
        return dspy.Example(**shown, wanted=lesson.wanted, lesson=lesson.key).with_inputs(*shown)


class _Silent:
    """A model that answers nothing: what it would say is there already."""

    def complete(self, request: Any) -> Any:
        raise ReplyError("nothing more was predicted")


class _Said:
    """A predictor that says once what was predicted; whatever is asked again was left out."""

    def __init__(self, prediction: Any) -> None:
        self._said = [prediction]

    def __call__(self, **inputs: str) -> Any:
        if not self._said or not (made := self._said.pop()).get("readings"):
            raise ReplyError("nothing more was predicted")
        readings = [each.model_copy() for each in made.readings]  # reading them changes them
        return dspy.Prediction(readings=readings, renames=list(made.get("renames") or ()))


def _replaying(prediction: Any) -> WindowProgram:
    program = WindowProgram()
    program.label_window = _Said(prediction)
    return program
