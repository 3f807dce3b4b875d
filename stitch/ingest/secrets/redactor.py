"""What a memory does with secrets: whether they are taken out of what is to be written, and how many were."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from stitch.core import Redaction, Step
from stitch.ingest.secrets.steps import redact_steps, redact_value
from stitch.ingest.secrets.texts import redact_text

if TYPE_CHECKING:
    from stitch.journal import Journal


class Redactor:
    """Takes secrets out of what is to be written, if the settings want it.

    Args:
        journal: Knows what was taken out of which step.
        redacts: Whether anything is taken out.
    """

    def __init__(self, journal: Journal, *, redacts: bool) -> None:
        self._journal = journal
        self.redacts = redacts
        """Whether secrets are taken out of steps."""

    def text(self, text: str) -> str:
        """A text as it may be written."""
        return redact_text(text)[0] if self.redacts else text

    def labels(self, labels: dict[str, Any]) -> dict[str, Any]:
        """Labels that somebody gives, by field, as they may be written."""
        cleaned: dict[str, Any] = redact_value(labels) if self.redacts else labels
        return cleaned

    def steps(
        self, steps: Sequence[Step], *, tenant: str, trajectory: str
    ) -> tuple[Sequence[Step], Mapping[int, Sequence[Redaction]]]:
        """Steps as they may be written, and what was taken out of each, by its place."""
        return redact_steps(steps, tenant=tenant, trajectory=trajectory) if self.redacts else (steps, {})

    def counts(self, tenant: str) -> dict[str, int]:
        """How many secrets of each kind were taken out of the steps of a tenant."""
        counts: Counter[str] = Counter()
        for redactions in self._journal.redactions(tenant).values():
            for each in redactions:
                counts[each.kind] += each.count
        return dict(sorted(counts.items()))
