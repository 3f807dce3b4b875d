"""Revisions: steps as they were before they were corrected, and by whom."""

from __future__ import annotations

import json
from collections.abc import Sequence

from stitch.core import Step, StepLabels
from stitch.errors import JournalError
from stitch.journal.entries import Encoded, Revision
from stitch.journal.sqlite.records import SqliteRecords
from stitch.journal.sqlite.writing import GIVEN


class SqliteHistory(SqliteRecords):
    """The revisions of a journal; the rest of it is `Journal`."""

    def revisions(self, seqs: Sequence[int]) -> dict[int, list[Revision]]:
        """Steps before each of their corrections, oldest first; nothing of those never corrected."""
        query = (
            "SELECT seq, at, made_by, payload, expand(labels, payload) FROM history"
            f" WHERE seq IN {GIVEN} ORDER BY number"
        )
        found: dict[int, list[Revision]] = {}
        for seq, *fields in self._file.rows(query, json.dumps(list(seqs))):
            found.setdefault(seq, []).append(_revision(*fields))
        return found

    def as_they_were(self, tenant: str, *, at: float) -> dict[int, Revision]:
        """Steps that were corrected after a moment as they were then, by their numbers."""
        query = (
            "SELECT h.seq, h.at, h.made_by, h.payload, expand(h.labels, h.payload), min(h.number) FROM history h"
            " JOIN steps s USING (seq) JOIN trajectories t ON t.number = s.trajectory"
            " WHERE t.tenant = ? AND h.at > ? GROUP BY h.seq"
        )
        return {seq: _revision(*fields) for seq, *fields, _ in self._file.rows(query, tenant, at)}

    def correctors(self, tenant: str) -> frozenset[tuple[int, str]]:
        """The steps of a tenant that were corrected, with who did it."""
        query = (
            "SELECT h.seq, h.made_by FROM history h JOIN steps s USING (seq)"
            " JOIN trajectories t ON t.number = s.trajectory WHERE t.tenant = ?"
        )
        return frozenset((seq, by) for seq, by in self._file.rows(query, tenant))

    def encoded_revisions(self, tenant: str, trajectory: str) -> list[Encoded]:
        """The steps of a trajectory before their corrections, as JSON."""
        query = (
            "SELECT h.number, h.payload, expand(h.labels, h.payload) FROM history h JOIN steps s USING (seq)"
            " JOIN trajectories t ON t.number = s.trajectory WHERE t.tenant = ? AND t.name = ? ORDER BY h.number"
        )
        return [Encoded(*row) for row in self._file.rows(query, tenant, trajectory)]


def _revision(at: float, by: str, step: bytes, labels: bytes | None) -> Revision:
    try:
        made = None if labels is None else StepLabels.model_validate_json(labels)
        return Revision(at, by, Step.model_validate_json(step), made)
    except ValueError as error:
        raise JournalError(
            "what a step was before its correction is damaged in the journal", hint="`stitch verify` names the step"
        ) from error
