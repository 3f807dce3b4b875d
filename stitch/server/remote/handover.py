"""`RemoteHandover`: windows for labeling elsewhere, of a memory that is somewhere else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from stitch.core import Rejection
from stitch.lifecycle.handover import Handover, NumberedLine, TakenIn
from stitch.server.api import labeling_models as models
from stitch.server.api.labeling import about_labeler
from stitch.server.api.operations import made

if TYPE_CHECKING:
    from stitch.label.model.offline import OfflineLabeler
    from stitch.lm.batch import BatchRequest
    from stitch.server.remote.asking import Asking

_TOGETHER, _TOGETHER_CHARS = 500, 4_000_000
"""How many replies go in one request, and how long they are together; one that is longer goes alone."""


class RemoteHandover(Handover):
    """Hands out windows of the trajectories of a memory that is somewhere else, and gives replies to it.

    Requests are made and replies are read there, by a labeler like the one that is given.
    """

    def __init__(self, memory: Asking, labeler: OfflineLabeler) -> None:
        # Not that of `Handover`: there are no parts here, and everything that uses some is overridden.
        self._memory, self._about = memory, about_labeler(labeler)

    @override
    def windows(self) -> Iterator[BatchRequest]:
        from stitch.lm.batch import BatchRequest

        told: Iterator[models.LabelWindow] = self._memory.ask("label_windows", self._made(models.LabelWindowsRequest))
        for each in told:
            asked = BatchRequest(each.id, each.model, each.system, each.user, each.reply_schema)
            yield asked._replace(trajectory=each.trajectory, steps=each.steps)

    @override
    def waiting(self) -> tuple[int, int]:
        told: models.LabelWaitingResponse = self._memory.ask("label_waiting", self._made(models.LabelWaitingRequest))
        return told.trajectories, told.steps

    @override
    def take_in(self, lines: Iterable[NumberedLine]) -> TakenIn:
        windows = steps = repeated = 0
        rejections: list[Rejection] = []
        for batch in _batches(lines):
            request = self._made(models.LabelRepliesRequest, replies=batch)
            told: models.LabelRepliesResponse = self._memory.ask("label_replies", request)
            windows, steps, repeated = windows + told.windows, steps + told.steps, repeated + told.repeated
            rejections += told.rejections
        return TakenIn(windows, steps, repeated, tuple(rejections))

    def _made(self, kind: type[models.ElsewhereRequest], **fields: Any) -> models.ElsewhereRequest:
        return made(kind, **self._about, **fields)


def _batches(lines: Iterable[NumberedLine]) -> Iterator[list[models.ReplyLine]]:
    batch: list[models.ReplyLine] = []
    chars = 0
    for source, number, content in lines:
        line = models.ReplyLine(source=source, line=number, text=content.decode("utf-8", "replace"))
        if batch and (len(batch) == _TOGETHER or chars + len(line.text) > _TOGETHER_CHARS):
            yield batch
            batch, chars = [], 0
        batch.append(line)
        chars += len(line.text)
    if batch:
        yield batch
