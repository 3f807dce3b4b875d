"""The CAME-Bench generator: trajectories by the four phases of Appendix A, with questions, in the release's format."""

from __future__ import annotations

from stitch.bench.generate.generation import SIZES, Size, generate
from stitch.bench.generate.realization import RealizationRequest, Realize
from stitch.bench.generate.statistics import EXAMPLE, statistics
from stitch.bench.generate.trajectory import GeneratedTrajectory, Question, Turn, write_release
from stitch.bench.generate.verify import VerificationError, verify

__all__ = [
    "EXAMPLE", "GeneratedTrajectory", "Question", "RealizationRequest", "Realize", "SIZES", "Size", "Turn",
    "VerificationError", "generate", "statistics", "verify", "write_release",
]  # fmt: skip
