"""The CAME-Bench generator: trajectories by the four phases of Appendix A, with questions, in the release's format."""

from __future__ import annotations

from stitch.bench.generate.generation import SIZES, Size, VerificationError, generate, verify
from stitch.bench.generate.questions import GeneratedTrajectory

__all__ = ["GeneratedTrajectory", "SIZES", "Size", "VerificationError", "generate", "verify"]
