"""The memory of a worker, opened."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from stitch.config import load_settings
from stitch.factory import open_parts
from stitch.ingest import Role

if TYPE_CHECKING:
    from stitch.memory import MemoryParts


def open_worker(
    memory: str | None = None, *, config: str | Path | None = None, concurrency: int, **settings: Any
) -> MemoryParts:
    """The parts of a memory whose steps this process labels for all that share its journal.

    Args:
        memory: The URL of a Qdrant server.
        config: A YAML file of settings.
        concurrency: How many trajectories are worked on at once; by default so many calls of a model are, too.
        settings: Any other of `stitch.config.Settings` by name.

    Raises:
        SettingsError: A setting is missing or wrong.
        StoreMismatchError: Other workers are there, and label or embed otherwise.
    """
    settings |= {"workers": True, "vectors": "with"}
    loaded = load_settings(config, memory=memory, **settings)
    if "model_concurrency" not in loaded.given:
        loaded = load_settings(config, memory=memory, **settings, model_concurrency=concurrency)
    return open_parts(loaded, role=Role.WORKER)
