"""Steps come in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stitch.core import Receipt
from stitch.errors import StepRejectedError
from stitch.server.api.models import AddRequest, AddResponse, MessagesRequest, RejectedStep
from stitch.sources.given import step_of

if TYPE_CHECKING:
    from stitch.memory import Memory

STEP = "stitch_step"
"""A message that has this field alone is a step."""


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


def messages(memory: Memory, request: MessagesRequest) -> AddResponse:
    """Store what is new of a conversation."""
    given = [step_of(each[STEP]) if set(each) == {STEP} else each for each in request.messages]
    receipts = memory.add_messages(
        given,
        trajectory=request.trajectory,
        start=request.start,
        edited=request.edited,
        wait=request.wait,
        again=request.again,
    )
    return AddResponse(receipts=tuple(receipts))
