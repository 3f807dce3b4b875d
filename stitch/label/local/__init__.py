"""Labels without a model (§2.2 with structure in the place of a language model): light, offline, deterministic."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stitch.label.local.weights import NAME

if TYPE_CHECKING:
    from stitch.label.local.labeler import LocalLabelSession


class LocalLabeler:
    """The default labeler: needs no model, no network and no training."""

    @property
    def name(self) -> str:
        """Name of the labeler."""
        return NAME

    def begin(self, trajectory: str, saved: bytes | None = None) -> LocalLabelSession:
        """Start labeling a trajectory, or continue from what a session saved."""
        from stitch.label.local.labeler import LocalLabelSession  # who only searches need not load it

        return LocalLabelSession(trajectory) if saved is None else LocalLabelSession.load(trajectory, saved)
