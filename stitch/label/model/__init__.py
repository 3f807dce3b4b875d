"""Labels by a language model (§2.2): several steps in one call, or step by step as in the paper."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stitch.label.model.session import Estimate
    from stitch.label.model.stepwise import StepwiseLabeler
    from stitch.label.model.windowed import WindowedLabeler

_HOME = {
    "Estimate": "stitch.label.model.session",
    "StepwiseLabeler": "stitch.label.model.stepwise",
    "WindowedLabeler": "stitch.label.model.windowed",
}

__all__ = ["Estimate", "StepwiseLabeler", "WindowedLabeler"]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
