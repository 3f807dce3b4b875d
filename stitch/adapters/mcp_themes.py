"""A tool of the Model Context Protocol that browses: what a memory is about, and what was said of one thing."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pydantic import BaseModel

from stitch.adapters.recalled import recalled_steps
from stitch.api.operations import Action, ask, made
from stitch.api.theme_models import StatementRow, ThemeRequest, ThemesRequest
from stitch.core import MemorySnippet, Trust

if TYPE_CHECKING:
    from stitch.memory import Memory

SHOWN = 50
"""So many themes, or statements of one, are a page."""


class Browsed(BaseModel):
    """Themes, or one of them."""

    context: str
    themes: list[str]
    """Their ids, those of most statements first; of one theme those around it, the nearest first."""
    steps: list[str]
    """On which the statements of one theme stand, as `trajectory/step`, the oldest first."""
    next: str | None
    """What to give as `after` for more."""


class ThemeAnswers:
    """What the tool does.

    Args:
        memory_for: Gives the memory that a call may use, by what it does.
    """

    def __init__(self, memory_for: Callable[[Action], Memory]) -> None:
        self._memory_for = memory_for

    def themes(self, theme: str | None = None, after: str | None = None) -> Browsed:
        """List what the memory is about; with the id of a theme, what was said of it."""
        memory = self._memory_for("read")
        if theme is not None:
            return self._one(memory, theme, after=after)
        page = ask(memory, "themes", made(ThemesRequest, limit=SHOWN, after=after))
        lines = [
            _line(memory, "themes", each.id, place=place, trust=Trust.LOW,
                  role=f"{each.id} of {len(each.statements)} statements",
                  text=", ".join(dict.fromkeys([*each.name.split(", "), *each.terms])))
            for place, each in enumerate(page.themes)
        ]  # fmt: skip
        ids = [each.id for each in page.themes]
        return Browsed(context=recalled_steps(lines), themes=ids, steps=[], next=page.next)

    def _one(self, memory: Memory, theme: str, *, after: str | None) -> Browsed:
        found = ask(memory, "theme", made(ThemeRequest, theme=theme, limit=SHOWN, after=after))
        said: dict[tuple[str, str], list[StatementRow]] = {}
        for each in found.statements:
            said.setdefault((each.trajectory, each.steps[-1]), []).append(each)
        lines = [
            _line(memory, trajectory, step, place=place, role=rows[0].speaker, said_at=rows[0].said_at,
                  trust=min(Trust(each.trust) for each in rows), text=" ".join(each.text for each in rows))
            for place, ((trajectory, step), rows) in enumerate(said.items())
        ]  # fmt: skip
        return Browsed(
            context=recalled_steps(lines),
            themes=[each.id for each in found.neighbors],
            steps=list(dict.fromkeys(f"{each.trajectory}/{step}" for each in found.statements for step in each.steps)),
            next=found.next,
        )


def _line(
    memory: Memory, trajectory: str, name: str, *, place: int, role: str, trust: Trust, text: str,
    said_at: float | str | None = None,
) -> MemorySnippet:  # fmt: skip
    return MemorySnippet(
        tenant=memory.tenant, trajectory=trajectory, step=name, position=place, role=role, trust=trust, text=text,
        resolved=text, happened=said_at, recorded=0.0,
    )  # fmt: skip
