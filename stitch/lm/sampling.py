"""Settings of sampling."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from stitch.errors import SettingsError

if TYPE_CHECKING:
    from dspy import lm15

EFFORTS = ("off", "minimal", "low", "medium", "high", "xhigh", "max")
"""How much a model may think; each model takes some of them."""


@dataclass(frozen=True)
class Sampling:
    """How a model is to answer; what is None is the provider's own choice.

    Attributes:
        temperature: From 0, always the likeliest word, to 2.
        top_p: Of how much of the probability a word is drawn, above 0 and at most 1.
        effort: How much it may think, one of `EFFORTS`.
        seed: Makes a provider that can repeat itself do so.
    """

    temperature: float | None = None
    top_p: float | None = None
    effort: str | None = None
    seed: int | None = None

    def __post_init__(self) -> None:
        if self.temperature is not None and not 0 <= self.temperature <= 2:
            raise SettingsError(f"a temperature of {self.temperature:g} is not between 0 and 2")
        if self.top_p is not None and not 0 < self.top_p <= 1:
            raise SettingsError(f"a top_p of {self.top_p:g} is not above 0 and at most 1")
        if self.effort is not None and self.effort not in EFFORTS:
            raise SettingsError(f"no effort is called {self.effort!r}", hint=f"one of {', '.join(EFFORTS)}")

    def put_into(self, config: lm15.Config) -> lm15.Config:
        """What of this a request does not say itself; an optimizer sets a temperature of its own."""
        from dspy import lm15

        return replace(
            config,
            temperature=self.temperature if config.temperature is None else config.temperature,
            top_p=self.top_p if config.top_p is None else config.top_p,
            seed=self.seed if config.seed is None else config.seed,
            reasoning=lm15.Reasoning(self.effort) if config.reasoning is None and self.effort else config.reasoning,
        )

    def __str__(self) -> str:
        """What is set, such as `temperature=0 top_p=0.9`; empty if nothing is."""
        said = {"temperature": self.temperature, "top_p": self.top_p, "effort": self.effort, "seed": self.seed}
        return " ".join(
            f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}"
            for name, value in said.items()
            if value is not None
        )
