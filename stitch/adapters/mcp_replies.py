"""Answers of the tools of the Model Context Protocol: fields for programs, and a text for a model."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from stitch.adapters.recalled import NOTHING
from stitch.text.markers import harmless


class Reply(BaseModel):
    """The answer of a tool: fields for programs, and as `str` what a model reads; of steps only what is quoted."""


def _lines(*lines: str) -> str:
    return "\n".join(filter(None, lines))


class SearchReply(Reply):
    """The result of a search."""

    context: str
    steps: list[str]
    """Best first, as `trajectory/step`."""
    nothing_relevant: bool
    """Whether nothing bears on the query."""

    def __str__(self) -> str:
        named = f"Steps, best first: {', '.join(map(harmless, self.steps))}" if self.steps else ""
        return _lines(self.context or NOTHING, named)


class Remembered(Reply):
    """Receipt of a stored step."""

    trajectory: str
    step: str
    state: str
    repeated: bool
    redacted: int
    """Number of secrets that were taken out."""
    reason: str = ""

    def __str__(self) -> str:
        known = " (it was known)" if self.repeated else ""
        out = f"{self.redacted} secrets were taken out" if self.redacted else ""
        return _lines(harmless(f"{self.state} as {self.trajectory}/{self.step}{known}"), out, harmless(self.reason))


class Explained(Reply):
    """The reasons why a step was found or not."""

    found: bool
    explanation: list[str]

    def __str__(self) -> str:
        return _lines(*map(harmless, self.explanation))


class HistoryReply(Reply):
    """Steps in order."""

    trajectories: dict[str, int]
    """Numbers of steps of those that were asked for."""
    scopes: dict[str, list[tuple[int, int]]]
    """First and last position of each stretch."""
    context: str
    next: int | None
    """The `after` of the next page."""

    def __str__(self) -> str:
        names = [f"{name}: {steps} steps" for name, steps in self.trajectories.items()]
        spans = [
            f"scope {name}: {', '.join(f'{first}-{last}' for first, last in stretches)}"
            for name, stretches in self.scopes.items()
        ]
        more = "" if self.next is None else f"More with after={self.next}"
        return _lines(*map(harmless, names), *map(harmless, spans), self.context, more) or NOTHING


class Corrected(Reply):
    """Receipt of a correction."""

    trajectory: str
    step: str
    revisions: int
    """Number of earlier versions that are kept."""

    def __str__(self) -> str:
        return str(harmless(f"corrected {self.trajectory}/{self.step}"))


class Forgotten(Reply):
    """Counts of what was forgotten, or would be."""

    steps: int
    done: bool
    """False: nothing was changed; call again with `confirm`."""
    traces: int | None = None
    """Number of files in which something of erased steps was found afterwards."""

    def __str__(self) -> str:
        if not self.done:
            return f"steps concerned: {self.steps}; nothing was changed. Tell the user, then call with confirm=true"
        left = f"; files with traces: {self.traces}" if self.traces else ""
        return f"steps forgotten: {self.steps}{left}"


class Browsed(Reply):
    """Themes, or one of them."""

    context: str
    themes: list[str]
    """Their ids, those of most statements first; of one theme those around it, the nearest first."""
    steps: list[str]
    """On which the statements of one theme stand, as `trajectory/step`, the oldest first."""
    next: str | None
    """The `after` of the next page."""

    def __str__(self) -> str:
        near = f"Themes: {', '.join(self.themes)}" if self.themes else ""
        steps = f"Steps: {', '.join(map(harmless, self.steps))}" if self.steps else ""
        return _lines(self.context or NOTHING, near, steps, f"More with after={self.next}" if self.next else "")


class Nodes(Reply):
    """Nodes that a path query found."""

    context: str
    nodes: list[dict[str, Any]]
    """By rank: id, path and score."""
    explanation: str
    version: str | None

    def __str__(self) -> str:
        places = [harmless(f"{node['id']} at {node['path']} ({node['score']:.2f})") for node in self.nodes]
        version = f"Version: {self.version}" if self.version else ""
        return _lines(self.context, *places, version) if places else str(harmless(self.explanation))


class Edited(Reply):
    """Receipt of an edit."""

    tree: str
    versions: list[str]

    def __str__(self) -> str:
        return str(harmless(f"{self.tree}: {', '.join(self.versions)}"))
