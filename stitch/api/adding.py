"""Steps come in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stitch.api.models import AddRequest, AddResponse, RejectedStep
from stitch.core import Receipt
from stitch.errors import StepRejectedError

if TYPE_CHECKING:
    from stitch.memory import Memory


def add(memory: Memory, request: AddRequest) -> AddResponse:
    """Store steps; when this returns they are durable and a search finds them."""
    options = {"wait": request.wait, "again": request.again}
    if not request.each:
        return AddResponse(receipts=tuple(memory.add_many(request.steps, trajectory=request.trajectory, **options)))
    results = memory.add_each(request.steps, trajectory=request.trajectory, **options)
    return AddResponse(
        receipts=tuple(each for each in results if isinstance(each, Receipt)),
        rejected=tuple(
            RejectedStep(index=index, message=each.message, hint=each.hint)
            for index, each in enumerate(results)
            if isinstance(each, StepRejectedError)
        ),
    )
