"""The old name of `stitch.trees`."""

import warnings
from typing import Any

from stitch import trees


def __getattr__(name: str) -> Any:
    """A name of `stitch.trees`, with a warning."""
    value = getattr(trees, name)
    warnings.warn("stitch.artifacts is called stitch.trees now", DeprecationWarning, stacklevel=2)
    return value
