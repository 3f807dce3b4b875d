"""How a model is to answer and to judge: settings of sampling."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from dspy import lm15

EFFORTS = ("off", "minimal", "low", "medium", "high", "xhigh", "max")
"""How much a model may think; each model takes some of them."""
TEMPERATURE = click.FloatRange(0, 2)
TOP_P = click.FloatRange(0, 1, min_open=True)


@dataclass(frozen=True)
class Sampling:
    """Settings of sampling; what is None is the provider's own choice. `effort` is one of `EFFORTS`."""

    temperature: float | None = None
    top_p: float | None = None
    effort: str | None = None
    seed: int | None = None

    def __call__(self, config: lm15.Config) -> lm15.Config:
        """A request's settings, with what they do not say themselves."""
        from dspy import lm15

        reasoning = lm15.Reasoning(self.effort) if self.effort else None
        own = {"temperature": self.temperature, "top_p": self.top_p, "seed": self.seed, "reasoning": reasoning}
        return replace(config, **{name: value for name, value in own.items() if getattr(config, name) is None})

    def __str__(self) -> str:
        """What is set, such as `temperature=0 top_p=0.9`; empty if nothing is."""
        said = ((name, value) for name, value in vars(self).items() if value is not None)
        return " ".join(f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}" for name, value in said)
