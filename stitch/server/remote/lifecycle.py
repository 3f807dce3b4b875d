"""`RemoteLifecycle`: the API of `Lifecycle` over a transport."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from stitch.core import trajectory_name
from stitch.lifecycle.erase import Erased
from stitch.lifecycle.lifecycle import Lifecycle
from stitch.lifecycle.relabel import Relabeled
from stitch.lifecycle.transfer import Imported
from stitch.server.api import maintenance_models, models
from stitch.server.api.operations import made
from stitch.server.remote import rebuilding

if TYPE_CHECKING:
    from stitch.core import ReferenceRewrite
    from stitch.core.retention import RetentionRule
    from stitch.journal import Revision
    from stitch.label.model.offline import OfflineLabeler
    from stitch.lifecycle.backup import BackedUp
    from stitch.lifecycle.correct import Correction
    from stitch.lifecycle.handover import Handover
    from stitch.lifecycle.repair import Repaired, Verification
    from stitch.lifecycle.retention import Expiry
    from stitch.lifecycle.selection import Selector
    from stitch.server.remote.asking import Asking


class RemoteLifecycle(Lifecycle):
    """What can be done with the steps of a memory that is somewhere else.

    Without retention rules `expire` goes by what the settings there say.
    """

    def __init__(self, memory: Asking, *, retention: Sequence[RetentionRule] | None) -> None:
        # Not that of `Lifecycle`: everything that uses its parts is overridden.
        self._memory = memory
        self._rules = retention
        self.retention = tuple(retention or ())

    @override
    def count(self, selector: Selector) -> int:
        counted: models.ForgetResponse = self._memory.ask("forget", _forget(selector, dry_run=True))
        return counted.steps

    @override
    def correct(
        self,
        step: str,
        *,
        trajectory: str,
        text: str | None = None,
        labels: Mapping[str, Any] | None = None,
        references: Sequence[ReferenceRewrite] | None = None,
        asks: Sequence[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
        by: str = "person",
    ) -> None:
        request = made(
            maintenance_models.CorrectRequest,
            step=step,
            trajectory=trajectory_name(trajectory),
            text=text,
            labels=dict(labels or {}),
            references=references,
            asks=asks,
            metadata=metadata,
            by=by,
        )
        self._memory.ask("correct", request)

    @override
    def history(self, step: str, *, trajectory: str) -> list[Revision]:
        request = made(maintenance_models.HistoryRequest, step=step, trajectory=trajectory_name(trajectory))
        response: maintenance_models.HistoryResponse = self._memory.ask("history", request)
        return list(map(rebuilding.revision_of, response.revisions))

    @override
    def corrections(self) -> Iterator[Correction]:
        return map(rebuilding.correction_of, self._memory.ask("corrections", models.Nothing()))

    @override
    def retire(self, selector: Selector, *, reason: str = "", trust_clock: bool = False) -> int:
        request = _forget(selector, action="retire", reason=reason, trust_clock=trust_clock)
        retired: models.ForgetResponse = self._memory.ask("forget", request)
        return retired.steps

    @override
    def erase(self, selector: Selector, *, trust_clock: bool = False) -> Erased:
        erased: models.ForgetResponse = self._memory.ask("forget", _forget(selector, trust_clock=trust_clock))
        assert erased.proof is not None
        assert erased.trajectories is not None
        return Erased(erased.steps, erased.trajectories, rebuilding.proof_of(erased.proof))

    @override
    def expire(
        self,
        rules: Sequence[RetentionRule] | None = None,
        *,
        now: float | None = None,
        dry_run: bool = False,
        trust_clock: bool = False,
    ) -> Expiry:
        request = made(
            maintenance_models.ExpireRequest,
            rules=self._rules if rules is None else rules,
            now=now,
            dry_run=dry_run,
            trust_clock=trust_clock,
        )
        return rebuilding.expiry_of(self._memory.ask("expire", request))

    @override
    def export(self, *, trajectory: str | None = None) -> Iterator[str]:
        name = None if trajectory is None else trajectory_name(trajectory)
        lines = self._memory.ask("export", made(maintenance_models.ExportRequest, trajectory=name))
        return (item.line for item in lines)

    @override
    def import_lines(self, lines: Iterable[str | bytes], *, source: str = "-", again: bool = False) -> Imported:
        request = made(maintenance_models.ImportRequest, source=source, again=again)
        answer: maintenance_models.ImportResponse = self._memory.ask("import", request, lines)
        return Imported(**{name: getattr(answer, name) for name in Imported._fields})

    @override
    def backup(self, to: str | os.PathLike[str]) -> BackedUp:
        request = made(maintenance_models.BackupRequest, to=os.path.abspath(to))
        return rebuilding.backup_of(self._memory.ask("backup", request))

    @override
    def verify(self, *, repair: bool = False) -> Verification | Repaired:
        request = maintenance_models.VerifyRequest(repair=repair)
        return rebuilding.verification_of(self._memory.ask("verify", request), repaired=repair)

    @override
    def reindex(self) -> int:
        written: int = self._memory.ask("reindex", models.Nothing()).written
        return written

    @override
    def handover(self, labeler: OfflineLabeler) -> Handover:
        from stitch.server.remote.handover import RemoteHandover

        return RemoteHandover(self._memory, labeler)

    @override
    def relabel(self) -> Relabeled:
        answer: maintenance_models.RelabelResponse = self._memory.ask("relabel", models.Nothing())
        return Relabeled(answer.trajectories, answer.steps, answer.relabeled)


def _forget(selector: Selector, **options: Any) -> models.ForgetRequest:
    return made(models.ForgetRequest, **selector.model_dump(), missing_ok=True, **options)
