"""The CAME-Bench generator: trajectories by the four phases of Appendix A, with questions, in the release's format."""

from __future__ import annotations

from stitch.bench.generate.generation import SIZES, Size, generate
from stitch.bench.generate.trajectory import GeneratedTrajectory
from stitch.bench.generate.verify import VerificationError, verify

__all__ = ["GeneratedTrajectory", "SIZES", "Size", "VerificationError", "generate", "verify"]
