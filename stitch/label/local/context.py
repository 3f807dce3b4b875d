"""The end of the step before: what a step answers is indexed with it, and never shown."""

from __future__ import annotations

import re

from stitch.core.steps import Step

END_CHARS = 200
_SENTENCES = 2
_SENTENCE = re.compile(r"[^.!?\n]*(?:[.!?](?!\s)[^.!?\n]*)*[.!?\n]*")


class StepBefore:
    """The end of the last step of a trajectory, and its speaker."""

    def __init__(self, role: str = "", end: str = "") -> None:
        self._role, self._end = role, end

    def lend(self, step: Step) -> str:
        """The last sentences of the step before, if somebody else said it; then this step is the one before."""
        lent = self._end if self._role != step.role else ""
        self._role, self._end = step.role, _end_of(step.content)
        return lent

    def save(self) -> list[str]:
        """Everything remembered, as JSON values."""
        return [self._role, self._end]


def _end_of(text: str) -> str:
    sentences = [part for part in _SENTENCE.findall(text.rstrip()[-END_CHARS:]) if part.strip()]
    return "".join(sentences[-_SENTENCES:]).strip()
