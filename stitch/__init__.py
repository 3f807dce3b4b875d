"""The memory of an agent: index every step by intent, find the right one again.

The names below load on first use, so that `import stitch` costs next to nothing (no DSPy, no Qdrant, no numpy).
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path as _Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stitch.core import (
        Answer,
        ContextualIntent,
        IntentFilter,
        LabelKind,
        MemorySnippet,
        Receipt,
        RetrievalResult,
        ScoredSnippet,
        Step,
        ToolCall,
        Trajectory,
    )
    from stitch.errors import StitchError
    from stitch.factory import open_memory, open_tenants
    from stitch.lifecycle.selection import Selector
    from stitch.memory import Memory
    from stitch.tenants import Tenants

__version__ = "0.1.0"

__all__ = [
    "Answer",
    "ContextualIntent",
    "IntentFilter",
    "LabelKind",
    "Memory",
    "MemorySnippet",
    "Receipt",
    "RetrievalResult",
    "ScoredSnippet",
    "Selector",
    "Step",
    "StitchError",
    "Tenants",
    "ToolCall",
    "Trajectory",
    "open_memory",
    "open_tenants",
]

_HOME = {
    "Memory": "stitch.memory",
    "Selector": "stitch.lifecycle.selection",
    "StitchError": "stitch.errors",
    "Tenants": "stitch.tenants",
    "open_memory": "stitch.factory",
    "open_tenants": "stitch.factory",
}

# In a source checkout the root folders (signatures/, pipelines/, ...) are this package's subpackages.
_root = _Path(__file__).resolve().parent.parent
if (_root / "pyproject.toml").is_file() and (_root / "signatures" / "__init__.py").is_file():
    __path__.append(str(_root))
del _root


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'stitch' has no attribute {name!r}")
    value = getattr(import_module(_HOME.get(name, "stitch.core")), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
