"""The four optimizers of DSPy, each set up so that what it costs is known before."""

from __future__ import annotations

import logging
import os
import random
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stitch.pipelines.optimize.students import Metric, Student, as_example, judge
from stitch.pipelines.optimize.tasks import Lesson

SETS_OF_DEMOS = 3
"""Number of sets of examples tried."""
INSTRUCTIONS = 4
"""Number of instructions MIPRO proposes, the present one among them."""
TRIALS = 8
"""Number of pairs of instruction and examples MIPRO tries."""
REFLECTIONS = 10
"""Number of improved instructions GEPA tries at most, about."""
STEPS = 3
"""Number of steps SIMBA takes."""
CANDIDATES = 4
"""Number of programs SIMBA tries in a step."""
BATCH = 12
"""Number of lessons a step of SIMBA looks at."""
MINIBATCH = 3
"""Number of lessons a reflection of GEPA looks at."""


@dataclass(frozen=True)
class Setting:
    """Means of an optimizer."""

    metric: Metric
    """Marks what students do."""
    demos: int
    """Number of examples a prompt may get."""
    seed: int
    """Of whatever is drawn."""
    threads: int
    """Number of lessons run at once."""
    lm: Any
    """The model that answers, as DSPy takes it."""
    proposer: Any
    """The model that proposes instructions."""


Optimizer = Callable[[Student, Sequence[Lesson], Setting], Any]
"""Returns a student that was made better, or the same."""


def bootstrap(student: Student, lessons: Sequence[Lesson], setting: Setting) -> Any:
    """Give prompts examples: the model's own replies to lessons that it did better than on average."""
    from dspy.teleprompt import BootstrapFewShotWithRandomSearch

    shared = _showing_replies(student, lessons, setting)
    optimizer = BootstrapFewShotWithRandomSearch(**shared, num_candidate_programs=SETS_OF_DEMOS - 1)
    # -3 is the student as it is, -1 the examples in their order, from 0 on shuffled ones.
    candidates = [-3, -1, *range(SETS_OF_DEMOS - 1)]
    return optimizer.compile(student, trainset=_examples(lessons, seed=setting.seed), restrict=candidates)


def _showing_replies(student: Student, lessons: Sequence[Lesson], setting: Setting) -> dict[str, Any]:
    """Arguments of an optimizer that shows a model its own replies, if these are better than its average."""
    usual = judge(student, lessons, metric=setting.metric, threads=setting.threads).scores.score
    return {
        "metric": setting.metric.score,
        "metric_threshold": max(usual, 1e-6),
        "max_bootstrapped_demos": setting.demos,
        "max_labeled_demos": 0,
        "num_threads": setting.threads,
        "max_errors": len(lessons),
    }


def mipro(student: Student, lessons: Sequence[Lesson], setting: Setting) -> Any:
    """MIPRO: the model proposes instructions, and the best pair of instruction and examples is searched for."""
    from dspy.teleprompt import MIPROv2

    optimizer = MIPROv2(
        **_showing_replies(student, lessons, setting),
        prompt_model=setting.proposer,
        task_model=setting.lm,
        auto=None,
        num_candidates=INSTRUCTIONS,
        seed=setting.seed,
        track_stats=False,
    )
    examples = _examples(lessons, seed=setting.seed)
    return optimizer.compile(
        student,
        trainset=examples,
        valset=examples,
        num_trials=TRIALS,
        minibatch=False,
        program_aware_proposer=False,  # it would show the model our source code
    )


def gepa(student: Student, lessons: Sequence[Lesson], setting: Setting) -> Any:
    """GEPA: the model reflects on the feedback and rewrites the instructions; the better ones are kept."""
    from dspy.teleprompt import GEPA

    examples = _examples(lessons, seed=setting.seed)
    optimizer = GEPA(
        metric=setting.metric.feedback,
        max_metric_calls=gepa_runs(len(lessons)),
        reflection_minibatch_size=min(MINIBATCH, len(lessons)),
        reflection_lm=setting.proposer,
        num_threads=setting.threads,
        seed=setting.seed,
    )
    return optimizer.compile(student, trainset=examples, valset=examples)


def gepa_runs(lessons: int) -> int:
    """Number of runs of GEPA at most: each reflection looks at a few lessons twice, every third is tried on all."""
    return lessons * (1 + REFLECTIONS // 3) + 2 * MINIBATCH * REFLECTIONS


def simba(student: Student, lessons: Sequence[Lesson], setting: Setting) -> Any:
    """Sample replies, and add examples or rules where the same lesson goes now well and now badly."""
    from dspy.teleprompt import SIMBA

    optimizer = SIMBA(
        metric=setting.metric.feedback,
        bsize=min(BATCH, len(lessons)),
        num_candidates=CANDIDATES,
        max_steps=STEPS,
        max_demos=setting.demos,
        prompt_model=setting.proposer,
        num_threads=setting.threads,
    )
    return optimizer.compile(student, trainset=_examples(lessons, seed=setting.seed), seed=setting.seed)


OPTIMIZERS: Mapping[str, Optimizer] = {"bootstrap": bootstrap, "mipro": mipro, "gepa": gepa, "simba": simba}
"""By name."""


@contextmanager
def silenced(log: Path | None = None) -> Iterator[None]:
    """Keep what DSPy's optimizers print and warn of from the output of the command; it is added to a log, if any."""
    loggers = [logging.getLogger(name) for name in ("dspy", "optuna", "gepa")]
    levels = [logger.level for logger in loggers]
    with open(log or os.devnull, "a", encoding="utf-8") as nowhere, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for logger in loggers:
            logger.setLevel(logging.CRITICAL)
        try:
            with redirect_stdout(nowhere), redirect_stderr(nowhere):
                yield
        finally:
            for logger, level in zip(loggers, levels, strict=True):
                logger.setLevel(level)


def _examples(lessons: Sequence[Lesson], *, seed: int) -> list[Any]:
    examples = [as_example(lesson) for lesson in lessons]
    random.Random(seed).shuffle(examples)
    return examples
