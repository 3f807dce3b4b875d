"""Labels without a model (§2.2 with structure in the place of a language model): light, offline, deterministic."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stitch.label.local.labeler import LocalLabeler, LocalLabelSession

_HOME = {
    "LocalLabelSession": "stitch.label.local.labeler",
    "LocalLabeler": "stitch.label.local.labeler",
}

__all__ = ["LocalLabelSession", "LocalLabeler"]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
