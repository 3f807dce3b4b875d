"""Compiling prompts: an optimizer of DSPy makes a program better on examples, and a gate judges it on others.

What the examples say and how an answer is marked is a `Task`, which whoever has the gold brings along
(`bench.training`): so this room knows neither data sets nor measures.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stitch.pipelines.optimize.compiling import Compilation, compile_program
    from stitch.pipelines.optimize.estimates import OptimizingEstimate, estimate
    from stitch.pipelines.optimize.optimizers import OPTIMIZERS
    from stitch.pipelines.optimize.splitting import hold_back, take
    from stitch.pipelines.optimize.tasks import Lesson, Marks, Task

_HOME = {
    "Compilation": "compiling",
    "Lesson": "tasks",
    "Marks": "tasks",
    "OPTIMIZERS": "optimizers",
    "OptimizingEstimate": "estimates",
    "Task": "tasks",
    "compile_program": "compiling",
    "estimate": "estimates",
    "hold_back": "splitting",
    "take": "splitting",
}

__all__ = [
    "OPTIMIZERS", "Compilation", "Lesson", "Marks", "OptimizingEstimate", "Task", "compile_program", "estimate",
    "hold_back", "take",
]  # fmt: skip


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
